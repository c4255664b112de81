"""``learn``: read, pose, run, certify, record. Each step is done once and hands its result to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from math import isclose, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.chance import chance_edges
from dagopt.data.data_options import DataOptions
from dagopt.data.experiments import Experiments, with_indicators
from dagopt.data.findings import Diagnosis, warn_of
from dagopt.data.incomplete import IncompleteLevels, incomplete_levels
from dagopt.data.lags import Lags
from dagopt.data.reading import read_again
from dagopt.data.table import DiscreteTable, Table
from dagopt.data.transforms import transforms_in_words
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted
from dagopt.graph.constraints import Constraints
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.order import is_acyclic
from dagopt.kernels import ahead
from dagopt.learning.lag_choice import chosen_lags
from dagopt.learning.many_columns import solve_wide, wide_question
from dagopt.learning.posing import covariance_table, pose, pose_read, read_posed, with_limit
from dagopt.learning.recording import recorded
from dagopt.learning.score_files import is_score_file, solve_scores
from dagopt.memory import with_memory_in_words
from dagopt.methods.claims import (
    in_other_units,
    refuse_infinite,
    refuse_unbounded,
    usual_units,
    with_rounding,
    without_idle_edges,
    without_losses,
    without_past,
)
from dagopt.methods.likelihood_bound import with_likelihood_bound
from dagopt.methods.ordered_problem import in_order
from dagopt.methods.paths import refuse_paths, with_paths
from dagopt.methods.registry import METHODS, MethodName, method_name
from dagopt.methods.start import StartDag, start_dag, with_start
from dagopt.methods.structural_em import structural_em
from dagopt.options import BROUGHT, Options, hint_for, with_options
from dagopt.problem import Problem
from dagopt.progress import Progress, begin_part, expect, make_progress
from dagopt.results.answer import Answer, worth
from dagopt.results.changes import differences
from dagopt.results.result import Result, result_of
from dagopt.scores.interventions import interventional_score
from dagopt.scores.prior import PriorScore
from dagopt.scores.score_options import ScoreLike, ScoreOptions

__all__ = [
    "certified",
    "checked_options",
    "lags_of",
    "learn",
    "solve",
    "with_problem",
]


LEAST_AGAIN = 1.0  # seconds to learn again without beliefs, in addition to those that it took with them
TESTS_ARE_LINEAR = "score 'basis': the tests of independence still see linear effects only"


@with_memory_in_words
@recorded
@with_options(ScoreOptions, DataOptions, leave_out=["score"], also=True)
def learn(
    data: object = None,
    method: MethodName = "auto",
    *,
    score: ScoreLike = "auto",
    covariance: object = None,
    names: Sequence[str] | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
    format: str | None = None,
    interventions: object = None,
    experiments: str | None = None,
    edge_prior: object = None,
    **options: Any,
) -> Result:
    """Learn a Bayesian network structure from data.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``. For a ``.jkl`` file of local scores (also ``.jkl.gz``), as GOBNILP writes them, the
        answer is the best DAG over its parent sets.
    method : str
        One of ``METHODS``, or ``"auto"``.
    score : str, float, Score or callable
        The name of a score, one of ``SCORES``, or ``"auto"``: BIC, or EBIC if BIC would add more than one edge by
        chance (continuous and mixed data); a number, the penalty of one parameter; or your own score: a sub-class of
        Score, or a function of a column's name and its parents' names.
    covariance : array or DataFrame, optional
        A covariance (or correlation) matrix instead of data, with ``n_samples`` the number of rows behind it.
    names : sequence of str, optional
        The names of its columns; those of the DataFrame, or X0, X1, ..., unless given.
    constraints : Constraints or mapping, optional
        What is known about the graph; every method respects it. A dict has any of the keys of ``Constraints``.
    max_parents : int, optional
        The largest number of parents of a node, in addition to the constraints. By default there is no limit, except 3
        for ``"gobnilp"`` with continuous data or BDeu, unless a superstructure leaves few enough parent sets.
        What is proven under a limit that the method chose is in ``Result.limited``.
    time_limit : float, optional
        Seconds for everything; then the best answer so far is returned.
    progress : bool, Progress or None
        Whether to show the run; on a terminal by default.
    format : {"jkl"}, optional
        Says that the file contains local scores, whatever its name.
    interventions : str or sequence, optional
        Which columns each row sets from outside: the column of the file or DataFrame that names them, or one entry per
        row, a name, several, or None; numbers are positions of columns from 1, and 0 is none. A row does not count for
        the local score of the columns that it sets.
    experiments : str, optional
        The column of the file or DataFrame that names the experiment of each row, if it is not known what these change.
        Each experiment becomes a column that may only be a parent; its children are what it changed:
        ``Result.targets``.
    edge_prior : table, path or mapping, optional
        How probable edges are before the data, as in ``Constraints``; a note says which edges this changes.
    {options}
    **options
        Options of the method.

    Returns
    -------
    Result

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.datasets.load("asia", n_samples=2000, random_state=1)
    >>> result = dagopt.learn(data)
    >>> result.status
    'optimal'
    """
    deadline = Deadline(time_limit)
    known = Constraints.of(constraints).believing(edge_prior)
    asked = _Asked(method, {"score": score, **options}, known, max_parents, deadline, progress)
    if format not in (None, "jkl"):
        raise InputError(
            f"expected format= to be 'jkl', for local scores, or None but got {format!r}; change the option"
        )
    if is_score_file(data, format):
        given = {**asked.given, **asked.posing}
        return solve_scores(Path(str(data)), method, given, with_limit(known, max_parents), deadline, progress)
    if covariance is not None or names is not None:
        data = covariance_table(data, covariance, names, asked.posing.pop("n_samples", None))
    made = None
    if experiments is not None:
        if interventions is not None:
            raise InputError("give interventions= if the targets are known, else experiments=, not both")
        made = asked.with_experiments(data, experiments)
        data = made.data
    if interventions is not None:
        data = asked.with_interventions(data, interventions)
    data = asked.read_again(data)
    chosen = asked.choose_lags(data)
    incomplete = asked.incomplete(data)
    result = asked.solve(data) if incomplete is None else structural_em(incomplete, asked.solve, deadline)
    notes = [note for note in (chosen, asked.decided_by_beliefs(result)) if note is not None]
    if made is not None:
        notes += changed_by(result, made)
    result = replace(result, notes=(*result.notes, *notes))
    warn_of(result.findings)
    return result


class _Asked:
    """What ``learn`` was asked, checked once: the method, its options, those of data and score, knowledge and clock."""

    def __init__(
        self,
        method: str,
        options: dict[str, Any],
        constraints: Constraints,
        max_parents: int | None,
        deadline: Deadline,
        progress: bool | Progress | None,
    ) -> None:
        self.method = method_name(method)
        self.options = checked_options(self.method, options)
        self.given = {name: value for name, value in options.items() if name in self.options.defaults()}
        self.posing = {name: options[name] for name in _NOT_OF_METHODS if name in options}
        self.constraints = constraints
        self.max_parents = max_parents
        self.deadline = deadline
        self.progress = progress

    def with_interventions(self, data: object, interventions: object) -> Table:
        """Return the table without the rows' settings, which the score knows from then on."""
        if self.method in ("pc", "mmhc"):
            raise InputError(
                f"method {self.method!r} tests independence in all rows and cannot use interventions=; use 'auto' or "
                "'order'"
            )
        scoring = ScoreOptions.taken_from(self.posing)
        reading = DataOptions(**self.posing)
        table, told = interventional_score(data, interventions, scoring, reading, self.deadline)
        self.posing = {"score": told}
        return table

    def with_experiments(self, data: object, column: str) -> Experiments:
        """Return the table with a column for each experiment, to which no edge may lead from then on."""
        made = with_indicators(data, column, self.posing.get("na_values", ()))
        self.constraints = replace(
            self.constraints, forbidden=(*self.constraints.forbidden, *made.forbidden())
        )  # fmt: skip
        if self.posing.get("columns") is not None:
            named = self.posing["columns"]
            self.posing["columns"] = [*([named] if isinstance(named, str) else named), *made.indicators]
        return made

    def read_again(self, data: object) -> object:
        """Return data that can be read more than once, if they have to be."""
        if self.posing.get("missing") != "em" and self.posing.get("lags") != "auto":
            return data
        return read_again(data, self.posing.get("na_values", ()))

    def choose_lags(self, data: object) -> str | None:
        """Replace ``lags="auto"`` by the number with the best score, and return a note on it."""
        if self.posing.get("lags") != "auto":
            return None
        options = dict(self.posing)
        scoring = ScoreOptions.taken_from(options)
        self.posing["lags"], note = chosen_lags(data, DataOptions(**options), scoring, self.deadline)
        return note

    def incomplete(self, data: object) -> IncompleteLevels | None:
        """Return discrete data with missing cells that structural EM is to fill in, None for other data."""
        if self.posing.get("missing") != "em":
            return None
        reading = DataOptions(**{name: self.posing[name] for name in DataOptions.defaults() if name in self.posing})
        found = incomplete_levels(data, reading, getattr(self.options, "random_state", 0))
        if found is not None:
            self.posing = {name: self.posing[name] for name in ScoreOptions.defaults() if name in self.posing}
        return found

    def solve(self, data: object) -> Result:
        """Read the data, pose the problem, run the method and certify its answer."""
        known: dict[str, Any] = {"constraints": self.constraints, "max_parents": self.max_parents}
        shown, begun = make_progress(self.progress), self.deadline.elapsed()
        options = dict(self.posing)
        scoring = ScoreOptions.taken_from(options)
        try:
            table, findings = read_posed(data, scoring, DataOptions(**options), shown, self.deadline)
            reading = self.deadline.elapsed() - begun
            wide = wide_question(table, scoring, self.method, self.options, **known)
            if wide is not None:
                return solve_wide(wide, findings, self.deadline, shown, reading)
            problem, diagnosis = pose_read(
                table, findings, scoring, self.method, **known, progress=shown, deadline=self.deadline
            )
        except BaseException:
            shown.close()
            raise
        reading = self.deadline.elapsed() - begun
        return solve(problem, self.method, self.options, self.deadline, shown, diagnosis, reading)

    def decided_by_beliefs(self, result: Result) -> str | None:
        """Learn again without an edge prior, for as long as with it, and return a note on the edges that it decides."""
        problem = result.problem
        if problem is None or not isinstance(problem.score, PriorScore):
            return None
        count = int((problem.score.log_odds != 0).sum())
        beliefs = f"beliefs about {count} edge{'' if count == 1 else 's'}"
        if self.deadline.reason is not None:
            return f"{beliefs}: no time was left to say which edges they decide"
        known = replace(problem.knowledge, log_odds=None)
        plain = replace(problem, score=problem.score.data_score, knowledge=known)
        clock = Deadline(min(self.deadline.remaining(), LEAST_AGAIN + result.seconds))
        free = solve(plain, self.method, self.options, clock, progress=False)
        said = differences(free, result) or "no edge is different"
        ended = "" if clock.reason is None else ", as far as a search of the same time says"
        return f"{beliefs}, compared with none{ended}: {said}"


def changed_by(result: Result, made: Experiments) -> list[str]:
    """Return a note on what each experiment changed."""
    targets = result.targets(made.column)
    return [
        f"experiment {name!r} changed {', '.join(found) or 'no column'}, compared with {made.reference}"
        for name, found in targets.items()
    ]


def solve(
    problem: Problem,
    method: str,
    options: Options,
    deadline: Deadline,
    progress: bool | Progress | None = None,
    diagnosis: Diagnosis | None = None,
    reading_seconds: float = 0.0,
) -> Result:
    """Return the result of a method on a problem.

    Parameters
    ----------
    problem : Problem
        The problem from ``pose``.
    method : str
        One of ``METHODS``.
    options : Options
        The options of the method.
    deadline : Deadline
        The clock.
    progress : bool, Progress or None
        Whether to show the run.
    diagnosis : Diagnosis, optional
        The doctor's diagnosis; its warnings become ``Result.findings``.
    reading_seconds : float
        How long it took to read and check the table, which the clock counts.
    """
    given = getattr(options, "start", None)
    begin = None if given is None else StartDag(start_dag(problem, given))
    if begin is not None:
        options = options.with_checked(start=begin)
    shown = make_progress(progress)
    with deadline:  # to the end, so that Ctrl-C does not take away what was found
        try:
            shown.posed(problem.table.kind, () if diagnosis is None else diagnosis.warnings)
            posed, power = usual_units(problem)
            _ = problem.score.rounding  # known from now on: a factorisation of many columns would come after the limit
            begin_part(shown, method)
            ahead.expect(f"{problem.table.kind} {method}")
            if isfinite(deadline.remaining()):
                expect(shown, deadline.remaining())
            run = partial(_run, method, options, shown)
            if posed.knowledge.ancestors:
                refuse_paths(method, options)
                answer = with_paths(posed, run, deadline)
            else:
                answer = run(posed, deadline)
        finally:
            shown.close()
        if problem.asked is not None:
            problem, answer = replace(problem, knowledge=problem.asked, asked=None), answer.under_limit()
        if power:
            answer = in_other_units(answer, -power)
            if answer.figures.edge_gain is not None:
                answer = answer.with_figures(**worth(problem, answer.adjacency))
        answer = without_past(certified(answer, problem, None if begin is None else begin.dag, deadline), problem)
        return result_of(
            answer,
            problem.names,
            problem.score.label,
            findings=() if diagnosis is None else diagnosis.warnings,
            seconds=deadline.elapsed(),
            reading_seconds=reading_seconds,
            n_samples=problem.table.n_samples,
            problem=problem,
            lags=lags_of(problem),
        )


def _run(method: str, options: Options, progress: Progress, problem: Problem, deadline: Deadline) -> Answer:
    """Return the answer of a method, under what is known about the order of the columns."""
    ordered = in_order(problem, method, options)
    solver = METHODS[method].load()
    if ordered is None:
        return solver(problem, options, deadline=deadline, progress=progress)
    return ordered.plain(solver(ordered.problem, ordered.begun(options), deadline=deadline, progress=progress))


def with_problem(
    given: Result | object,
    data: object,
    *,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    **options: Any,
) -> Result:
    """Return a saved result together with its data, or the result of a graph that was not learned.

    Parameters
    ----------
    given : Result or graph
        A result that ``Result.load`` read, or anything that ``as_graph`` takes.
    data : path, frame, array or Table
        For a result, the data that it was learned from.
    constraints, max_parents, **options
        As in ``learn``; for a result, those that it was learned with.
    """
    problem, diagnosis = pose(data, constraints=constraints, max_parents=max_parents, **options)
    if isinstance(given, Result):
        if given.names != problem.names:
            raise InputError(
                f"expected data with the columns {quoted(given.names, 5)} but got {quoted(problem.names, 5)}; give the "
                "data that the graph was learned from"
            )
        is_dag, past = is_acyclic(given.adjacency), problem.past_score
        total = problem.score.total(given.adjacency) - past if is_dag else None
        if (
            total is not None
            and given.score is not None
            and not isclose(total, given.score, rel_tol=1e-6, abs_tol=1e-6)
        ):
            raise InputError(
                f"the graph scores {total:.4f} on these data but {given.score:.4f} in its file; give the data and the "
                "options that it was learned with"
            )
        again = replace(given, problem=problem)
        vars(again)["cpdag_adjacency"] = given.cpdag_adjacency
        return again
    graph = as_graph(given, problem.names)
    require_dag(graph)
    answer = Answer("given", graph.adjacency, problem.score.total(graph.adjacency), "converged")
    answer = answer.with_figures(empty_score=problem.score.total(np.zeros_like(graph.adjacency)))
    about: dict[str, Any] = {"findings": diagnosis.warnings, "n_samples": problem.table.n_samples, "problem": problem}
    answer = without_past(answer, problem)
    return result_of(answer, problem.names, problem.score.label, lags=lags_of(problem), **about)


def lags_of(problem: Problem) -> Lags | None:
    """Return the layout in time of a dynamic network, None for others."""
    lags = problem.table.lags
    return lags if lags is not None and lags.count else None


def certified(
    answer: Answer, problem: Problem, start: NDArray[np.int8] | None = None, deadline: Deadline = FOREVER
) -> Answer:
    """Return the answer with what may be claimed about it, and with the figures of the table and of the start."""
    refuse_infinite(answer)
    refuse_unbounded(answer, problem)
    answer = without_idle_edges(without_losses(answer, problem), problem)
    if start is not None:
        answer = with_start(answer, problem, start)
    chosen = [problem.score.reason] if problem.score.reason else []
    told = [TESTS_ARE_LINEAR] if problem.score.degree > 1 and answer.method in ("pc", "mmhc") else []
    answer = replace(answer, notes=(*_table_notes(problem.table), *told, *answer.notes, *chosen))
    empty = np.zeros_like(answer.adjacency)
    answer = answer.with_figures(empty_score=problem.score.total(empty), **_chance(problem))
    return with_rounding(with_likelihood_bound(answer, problem, deadline), problem)


def _table_notes(table: Table) -> list[str]:
    """Return notes about columns that were transformed and missing cells that EM handled."""
    notes = _row_notes(table)
    if isinstance(table, DiscreteTable):
        return notes
    said = transforms_in_words(table.transforms)
    notes += [said] if said else []
    if table.is_complete:
        return notes
    rows = int(table.missing.any(axis=1).sum())
    return [
        *notes,
        f"missing cells: {int(table.missing.sum())} in {rows} of {table.n_rows} rows, treated as missing at random; "
        f"mean and covariance by EM, {table.n_samples} rows count in the score",
    ]


def _row_notes(table: Table) -> list[str]:
    """Return notes about rows that count more or less than once, and about means of groups."""
    if isinstance(table, DiscreteTable):
        rows, survey, grouped = 0 if table.members is None else len(table.members.units), table.survey, False
    else:
        rows, survey, grouped = table.n_rows, table.about.survey, table.about.centred
    notes = []
    if survey:
        notes.append(
            f"survey weights: {rows} rows count as {table.n_samples} in the score, the effective sample size of Kish"
        )
    elif not isinstance(table, DiscreteTable) and table.about.weights is not None:
        notes.append(f"frequency weights: {rows} distinct rows stand for {round(table.about.mass(rows))}")
    if grouped and not isinstance(table, DiscreteTable):
        notes.append(
            f"means of {table.about.n_groups} groups removed: {table.n_rows} rows count as {table.n_samples} in the "
            "score, and edges are about differences within groups"
        )
    return notes


def _chance(problem: Problem) -> dict[str, float]:
    """Return the number of edges expected by chance, if the score has a penalty."""
    penalty = problem.score.joints
    if penalty is None or problem.score.likelihood is None:
        return {}
    costs = penalty.parameter_cost, penalty.edge_cost
    return {"chance_edges": chance_edges(penalty.sizes_in(problem.table), *costs, problem.table.lags)}


_NOT_OF_METHODS = (*ScoreOptions.defaults(), *DataOptions.defaults())


def checked_options(method: str, options: Mapping[str, Any]) -> Options:
    """Return the options of a method; refuse one that neither it nor data and score have, and a bad value."""
    taken = METHODS[method].options()
    for option in options:
        if option in taken or option in _NOT_OF_METHODS:
            continue
        if option in signature(learn).parameters:
            raise InputError(f"only learn takes {option}=, which is not an option of a method; leave it out here")
        every = [name for one in METHODS.values() for name in one.options()] if option in BROUGHT else taken
        hint = hint_for(option, [*every, *signature(learn).parameters])
        raise InputError(f"method {method!r} has no option {option!r}; it has {quoted(taken, 20)}{hint}")
    return METHODS[method].options_type()(**{name: value for name, value in options.items() if name in taken})
