"""``bootstrap``: learn from many resamples of the rows, and count how often each edge is learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from itertools import takewhile
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dagopt.confidence.agreement import Bootstrap
from dagopt.data.clusters import Parts, is_in_parts, parts_of, resamples_of_parts
from dagopt.data.data_options import DataOptions
from dagopt.data.resampling import is_grouped, n_units, resampled
from dagopt.data.summarised import SummarisedMixedTable, SummarisedTable, table_of_moments
from dagopt.data.table import Table, in_one_pass
from dagopt.deadline import Deadline
from dagopt.errors import InputError, checked_jobs, checked_number, checked_whole
from dagopt.graph.constraints import Constraints
from dagopt.graph.known_directions import essential_given
from dagopt.graph.order import is_acyclic
from dagopt.kernels.plain import new_pass, repeated
from dagopt.learning.learning import checked_options, lags_of
from dagopt.learning.posing import ROW_SCORES, pose
from dagopt.methods.claims import without_past
from dagopt.methods.exact.exact import ExactOptions, best_dag
from dagopt.methods.exact.plan import ExactPlan
from dagopt.methods.ordered_problem import refuse_order
from dagopt.methods.registry import METHODS, MethodName, method_name
from dagopt.methods.warm_search import likely_parents, quick_method, solve_warm
from dagopt.options import with_options
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress, begin_part, expect, make_progress
from dagopt.results.answer import Answer
from dagopt.results.result import result_of
from dagopt.scores.build import chosen_score, make_score
from dagopt.scores.custom import is_made_from_table
from dagopt.scores.prior import with_prior
from dagopt.scores.score_options import ScoreOptions
from dagopt.workers import Stopped, Workers

__all__ = ["bootstrap"]

EXACT_BYTES = 1 << 27  # if one exact run needs at most this, ``auto`` proves the optimum of every resample
EXACT_SECONDS = 0.5  # per resample, of which there are many
WARM_SEARCH = {"restarts": 2, "kicks": 5}  # one search starts from the DAG of all rows, one from a random order


@with_options(ScoreOptions, DataOptions, also=True)
def bootstrap(
    data: object,
    n: int = 100,
    *,
    method: MethodName = "auto",
    constraints: Constraints | None = None,
    max_parents: int | None = None,
    fraction: float = 1.0,
    replace: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> Bootstrap:
    """Learn from many resamples of the rows, and count how often each edge is learned.

    Parameters
    ----------
    data : path, frame, array, Dask DataFrame or Table
        The data, as in ``learn``. Rows of a Dask DataFrame are drawn where its parts are.
    n : int
        Number of resamples.
    method : str
        As in ``learn``, but ``auto`` proves the optimum of every resample only if that takes about half a second;
        otherwise it uses ``order``. For a resample, order search makes two searches, one of them from the DAG of all
        rows; for discrete columns it tries the candidate parents that all rows suggest, then hill climbing tries all.
    constraints, max_parents
        As in ``learn``.
    fraction : float
        Rows per resample, as a share of all rows; with ``groups=``, groups as a share of all groups.
    replace : bool
        Whether rows, or whole groups, are drawn with replacement (the bootstrap) or without (subsampling, ``fraction``
        below 1).
    random_state : int
        Seed. Every resample has its own random numbers, so the answer does not depend on ``n_jobs``.
    n_jobs : int, optional
        How many resamples run at a time, on threads or the active joblib backend; all cores for None and -1.
    time_limit : float, optional
        Seconds for everything; the resamples done by then are counted.
    progress : bool, Progress or None
        Whether to show the run; on a terminal by default.
    {options}
    **options
        Options of the method.

    Returns
    -------
    Bootstrap

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.datasets.load("asia", n_samples=1000, random_state=0)
    >>> sure = dagopt.bootstrap(data, 20)
    >>> sure.n_done, sure.consensus(0.5).is_dag
    (20, True)

    Notes
    -----
    The score is computed from the rows drawn; for instance, the penalty of BIC depends on their number. If rows are
    moments (``lags=``), blocks of successive rows are drawn, so that what is alike stays together.
    """
    deadline = Deadline(time_limit)
    n = checked_whole("n", n, 1)
    random_state = checked_whole("random_state", random_state, 0)
    n_jobs = checked_jobs("n_jobs", n_jobs) or -1
    method = method_name(method)
    scoring = ScoreOptions.taken_from(options).to_dict()
    if not is_made_from_table(scoring["score"]):
        raise InputError(
            f"expected score= to be computed from the rows drawn but {scoring['score']!r} belongs to fixed rows; give "
            f"a sub-class of Score, or a function of the table that returns one"
        )
    reading = DataOptions.taken_from(options).to_dict()
    parts: Parts | None = None
    if is_in_parts(data) and in_one_pass(data, DataOptions(**reading), scoring["score"] in ROW_SCORES):
        parts = parts_of(data, DataOptions(**reading))
        data, reading = parts.whole, reading | {"columns": None, "exclude": None}
    problem, diagnosis = pose(data, method, constraints=constraints, max_parents=max_parents, **scoring, **reading)
    scoring["score"], _ = chosen_score(problem.table, scoring["score"])  # the same for all resamples
    refuse_order(problem.knowledge, "the bootstrap")
    grouped = is_grouped(problem.table)
    n_drawn = _units_drawn(n_units(problem.table), fraction, replace, "groups" if grouped else "rows")
    if method == "auto":
        method = quick_method(problem, EXACT_BYTES, EXACT_SECONDS)
    checked_options(method, options)
    shown = make_progress(progress)
    try:
        with deadline:
            learner = _Learner(problem, scoring, method, options, n_drawn, replace)
            begin_part(shown, "all rows", is_last=False)
            whole = learner.learn(problem, random_state, n_jobs, deadline, shown)
            drawn = None
            if parts is not None and isinstance(problem.table, SummarisedTable | SummarisedMixedTable):
                kinds = ["continuous"] * problem.n_nodes
                if isinstance(problem.table, SummarisedMixedTable):
                    kinds = [column.kind for column in problem.table.columns]
                found = resamples_of_parts(parts, kinds, n, n_drawn, random_state, with_replacement=replace)
                drawn = [table_of_moments(one, kinds) for one in found]
                whole = whole.noted("resamples: rows drawn, and counted, where the parts of the Dask DataFrame are")
            else:
                whole = whole.noted(*_of_statistics(problem.table))
            if method == "order" and deadline.reason is None:
                learner = learner.begun_at(whole.adjacency, n_jobs, deadline)
            elif method == "exact":
                learner = learner.planned(deadline)
            begin_part(shown, "resamples")
            expect(shown, {"resamples": 0.0})
            graphs = _each(learner, n, random_state, n_jobs, deadline, shown, drawn)
    finally:
        shown.close()
    return Bootstrap(
        names=problem.names,
        essential=np.array(graphs, dtype=np.int8).reshape(-1, problem.n_nodes, problem.n_nodes),
        result=result_of(
            without_past(whole, problem),
            problem.names,
            problem.score.label,
            findings=diagnosis.warnings,
            n_samples=problem.table.n_samples,
            problem=problem,
            lags=lags_of(problem),
        ),
        knowledge=problem.knowledge,
        n_asked=n,
        n_rows=n_drawn,
        grouped=grouped,
        replace=replace,
        method=method,
        status="converged" if len(graphs) == n else deadline.reason or "time_limit",
        seconds=deadline.elapsed(),
        random_state=random_state,
    )


def _of_statistics(table: object) -> tuple[str, ...]:
    """Return the note on what is drawn of a table that was read in one pass, whose rows are not kept."""
    if isinstance(table, SummarisedTable):
        return ("resamples: covariances of Gaussian rows, because the rows were read in one pass and are not kept",)
    if isinstance(table, SummarisedMixedTable):
        return (
            f"resamples: of a sample of {table.n_rows} of {table.n_samples} rows, so they agree less than with all",
        )
    return ()


@dataclass(frozen=True)
class _Learner:
    """How a graph is learned from a resample.

    Attributes
    ----------
    problem : Problem
        The problem of all rows.
    scoring : dict
        The arguments of ``make_score``.
    method, options
        The method and its options.
    n_drawn, replace
        How a resample is drawn.
    start : int8 array or None
        Where order search starts; None for other methods.
    likely : bool array or None
        The parents that order search tries first.
    plan : ExactPlan or None
        How the exact method runs, one thread per resample; None for other methods, and if it runs on a GPU.
    """

    problem: Problem
    scoring: dict[str, Any]
    method: str
    options: dict[str, Any]
    n_drawn: int
    replace: bool
    start: NDArray[np.int8] | None = None
    likely: NDArray[np.bool_] | None = None
    plan: ExactPlan | None = None

    def learn(self, problem: Problem, random_state: int, n_jobs: int, deadline: Deadline, shown: Progress) -> Answer:
        """Return the result of the method on a problem."""
        method = METHODS[self.method]
        taken = method.options()
        given = {"random_state": random_state, "n_jobs": n_jobs}
        options = {key: value for key, value in given.items() if key in taken} | self.options
        return method.load()(problem, deadline=deadline, progress=shown, **options)

    def begun_at(self, dag: NDArray[np.int8], n_jobs: int, deadline: Deadline) -> _Learner:
        """Return a learner whose order searches start from a DAG and, on discrete data, try likely parents first."""
        return with_fields(self, start=dag, likely=likely_parents(self.problem, deadline, n_jobs))

    def planned(self, deadline: Deadline) -> _Learner:
        """Return a learner that plans the exact method once; all resamples have the same size."""
        own = {name: value for name, value in self.options.items() if name in ExactOptions.defaults()}
        options = ExactOptions(**own | {"n_jobs": 1})
        plan = options.plan(self.problem, deadline, NoProgress())
        return self if options.n_best != 1 or plan.gpu is not None else with_fields(self, plan=plan)

    def essential(
        self, seed: np.random.SeedSequence, deadline: Deadline, drawn: Table | None = None
    ) -> NDArray[np.int8] | None:
        """Return the essential graph learned from one resample, or None if the deadline came first.

        The resample is drawn here unless it is given.
        """
        new_pass()
        if deadline.reason is not None:
            return None
        rng = np.random.default_rng(seed)
        known = self.problem.knowledge
        least = int(known.at_most.max(initial=0)) + 2
        table = drawn
        if table is None:
            table = resampled(self.problem.table, rng, self.n_drawn, replace=self.replace, least_distinct=least)
        problem = Problem(table, with_prior(make_score(table, **self.scoring), known.log_odds), known)
        random_state = int(rng.integers(1 << 31))
        if self.plan is not None:
            return self._best(problem, self.plan, deadline)
        if self.start is None:
            result = self.learn(problem, random_state, 1, deadline, NoProgress())
        else:
            options: dict[str, Any] = {"start": self.start, "random_state": random_state, **WARM_SEARCH, **self.options}
            result = solve_warm(problem, likely=self.likely, deadline=deadline, **options)
        if result.status in ("time_limit", "interrupted"):
            return None
        dag = result.adjacency
        return essential_given(dag, known.must, known.may) if is_acyclic(dag) else dag

    def _best(self, problem: Problem, plan: ExactPlan, deadline: Deadline) -> NDArray[np.int8] | None:
        """Return the essential graph of the best DAG, or None if the deadline came first."""
        known = problem.knowledge
        try:
            dag = best_dag(problem, with_fields(plan, workers=Workers(deadline, NoProgress(), 1)))
        except Stopped:
            return None
        return essential_given(dag, known.must, known.may)


def _each(
    learner: _Learner,
    n: int,
    random_state: int,
    n_jobs: int,
    deadline: Deadline,
    progress: Progress,
    drawn: Sequence[Table] | None = None,
) -> list[NDArray[np.int8]]:
    """Return the graphs of the resamples that were done, in their order; ``drawn`` has them if they are made."""
    numbers = takewhile(lambda _: deadline.reason is None, range(n))
    tasks = (
        delayed(learner.essential)(
            np.random.SeedSequence(random_state, spawn_key=(k,)), deadline, None if drawn is None else drawn[k]
        )
        for k in numbers
    )
    graphs: list[NDArray[np.int8]] = []
    with repeated(n):
        for done, graph in enumerate(_results(tasks, n_jobs), start=1):
            if graph is not None:
                graphs.append(graph)
                progress.update("resamples", done / n, done=len(graphs))
    return graphs


def _results(tasks: Iterable[Any], n_jobs: int) -> Iterable[NDArray[np.int8] | None]:
    """Run the tasks on threads, or on the active joblib backend."""
    try:
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    except ValueError:  # a backend that gives all results at once
        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    results: Iterable[NDArray[np.int8] | None] = parallel(tasks)
    return results


def _units_drawn(n_units: int, fraction: float, replace: bool, what: str) -> int:
    """Return the number of rows or groups of a resample, or raise an error that says what is wrong."""
    if checked_number("fraction", fraction) > 1:
        raise InputError(f"expected fraction= to be a share of the {what}, at most 1, but got {fraction!r}; lower it")
    if not replace and fraction == 1:
        raise InputError(
            f"drawing all {what} without replacement gives the same rows every time; give fraction= below 1"
        )
    n_drawn = round(fraction * n_units)
    if n_drawn < 2:
        raise InputError(f"fraction={fraction} of {n_units} {what} leaves {n_drawn} to draw; give a larger fraction=")
    return n_drawn
