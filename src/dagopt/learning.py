"""``learn``: read, pose, run, certify, record. Each step is done once and hands its result to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from math import isclose, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.chance import chance_edges
from dagopt.data.data_options import DataOptions
from dagopt.data.findings import Diagnosis, warn_of
from dagopt.data.incomplete import IncompleteLevels, incomplete_levels
from dagopt.data.lags import Lags
from dagopt.data.table import DiscreteTable, Table
from dagopt.data.transforms import transforms_in_words
from dagopt.deadline import Deadline
from dagopt.errors import InputError, quoted
from dagopt.families.families import Families
from dagopt.families.jkl import read_jkl
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.knowledge import Constraints
from dagopt.graph.order import is_acyclic
from dagopt.lag_choice import chosen_lags
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
from dagopt.methods.registry import FROM_SCORES, METHODS, MethodName, method_name
from dagopt.methods.start import StartDag, start_dag, with_start
from dagopt.methods.structural_em import structural_em
from dagopt.options import BROUGHT, Options, hint_for, with_options
from dagopt.posing import covariance_table, pose, with_limit
from dagopt.problem import Problem
from dagopt.progress import Progress, begin_part, expect, make_progress
from dagopt.recording import recorded
from dagopt.results.answer import Answer, worth
from dagopt.results.result import Result, result_of
from dagopt.scores.custom import power_to_usual_size
from dagopt.scores.interventions import interventional_score
from dagopt.scores.score_options import ScoreLike, ScoreOptions

__all__ = [
    "certified",
    "checked_options",
    "is_score_file",
    "lags_of",
    "learn",
    "solve",
    "solve_scores",
    "update",
    "with_problem",
]


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
    asked = _Asked(method, {"score": score, **options}, Constraints.of(constraints), max_parents, deadline, progress)
    if format not in (None, "jkl"):
        raise InputError(
            f"expected format= to be 'jkl', for local scores, or None but got {format!r}; change the option"
        )
    if is_score_file(data, format):
        return solve_scores(Path(str(data)), asked)
    if covariance is not None or names is not None:
        data = covariance_table(data, covariance, names, asked.posing.pop("n_samples", None))
    if interventions is not None:
        data = asked.with_interventions(data, interventions)
    note = asked.choose_lags(data)
    incomplete = asked.incomplete(data)
    result = asked.solve(data) if incomplete is None else structural_em(incomplete, asked.solve, deadline)
    if note is not None:
        result = replace(result, notes=(*result.notes, note))
    warn_of(result.findings)
    return result


def update(result: Result, data: object, method: MethodName = "auto", **options: Any) -> Result:
    """Learn again after rows have arrived, from where the last search ended, and say what changed.

    Parameters
    ----------
    result : Result
        The last answer, over the same columns.
    data : Statistics, path, frame, ...
        All rows, such as the statistics of the old rows plus those of the new ones (``summarise``).
    method, **options
        As in ``learn``; give those of the last answer, which are not repeated by themselves.

    Returns
    -------
    Result
        Its notes say which edges are new, gone or directed differently.

    Examples
    --------
    >>> import dagopt
    >>> frame = dagopt.simulate(5, 2000, 1.0, 0).data
    >>> statistics = dagopt.summarise(frame[:1000])
    >>> first = dagopt.learn(statistics)
    >>> second = dagopt.update(first, statistics + frame[1000:])
    >>> second.n_samples
    2000
    """
    name = method_name(method)
    if "start" in METHODS[name].options():
        options = {"start": result.dag, **options}
    learned = learn(data, method, **options)
    if set(learned.names) != set(result.names):
        strange = sorted(set(learned.names) ^ set(result.names))
        raise InputError(f"expected the columns of the last answer but {quoted(strange)} differ; use learn instead")
    return replace(learned, notes=(*learned.notes, _changes(result, learned)))


def _changes(before: Result, after: Result) -> str:
    """Return what changed between two graphs, in words."""
    place = [before.names.index(name) for name in after.names]
    old, new = before.cpdag_adjacency[np.ix_(place, place)] != 0, after.cpdag_adjacency != 0
    joined, was = new | new.T, old | old.T
    kinds = {
        "new": np.triu(joined & ~was),
        "gone": np.triu(was & ~joined),
        "directed differently": np.triu(joined & was & ((new != old) | (new != old).T)),
    }
    said = [
        f"{what}: {quoted([f'{after.names[i]} - {after.names[j]}' for i, j in np.argwhere(pairs)])}"
        for what, pairs in kinds.items()
        if pairs.any()
    ]
    rows = f"since the last graph, of {before.n_samples} rows"
    return f"{rows}, edges are {'; '.join(said)}" if said else f"{rows}, no edge has changed"


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
        table, told = interventional_score(data, interventions, scoring, DataOptions(**self.posing))
        self.posing = {"score": told}
        return table

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
        try:
            problem, diagnosis = pose(data, self.method, progress=shown, deadline=self.deadline, **known, **self.posing)
        except BaseException:
            shown.close()
            raise
        reading = self.deadline.elapsed() - begun
        return solve(problem, self.method, self.options, self.deadline, shown, diagnosis, reading)


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
            ordered = in_order(posed, method, options)
            if ordered is not None:
                posed = ordered.problem
                options = ordered.begun(options)
            begin_part(shown, method)
            if isfinite(deadline.remaining()):
                expect(shown, deadline.remaining())
            answer = METHODS[method].load()(posed, options, deadline=deadline, progress=shown)
        finally:
            shown.close()
        if problem.asked is not None:
            problem, answer = replace(problem, knowledge=problem.asked, asked=None), answer.under_limit()
        if ordered is not None:
            answer = ordered.plain(answer)
        if power:
            answer = in_other_units(answer, -power)
            if answer.figures.edge_gain is not None:
                answer = answer.with_figures(**worth(problem, answer.adjacency))
        answer = without_past(certified(answer, problem, None if begin is None else begin.dag), problem)
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


def certified(answer: Answer, problem: Problem, start: NDArray[np.int8] | None = None) -> Answer:
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
    return with_rounding(with_likelihood_bound(answer, problem), problem)


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


def _equal(value: object, default: object) -> bool:
    """Say whether an option has its default; an array has not."""
    return value is default or (not hasattr(value, "__array__") and bool(value == default))


def is_score_file(data: object, format: str | None = None) -> bool:
    """Say whether data are the path of a file of local scores, by its name or because the format is given."""
    named = isinstance(data, str | Path) and Path(data).name.lower().endswith((".jkl", ".jkl.gz"))
    return named or (format == "jkl" and isinstance(data, str | Path))


def solve_scores(path: Path, asked: _Asked) -> Result:
    """Return the best DAG over the parent sets of a ``.jkl`` file that the constraints allow."""
    if asked.method not in FROM_SCORES:
        raise InputError(
            f"method {asked.method!r} needs data but {path} holds local scores; use method='exact' or, for many nodes, "
            f"method='gobnilp'"
        )
    solver = FROM_SCORES[asked.method].load()
    unsaid = {**ScoreOptions.defaults(), **DataOptions.defaults()}
    posing = {name: value for name, value in asked.posing.items() if not _equal(value, unsaid[name])}
    options = {**asked.given, **posing}
    extra = [name for name in options if name not in solver.options.defaults()]
    if extra:
        raise InputError(f"with the local scores of {path} the option {quoted(extra)} has no meaning; leave it out")
    pool = Families.from_local_scores(read_jkl(path))
    knowledge = with_limit(asked.constraints, asked.max_parents).resolve(pool.names)
    if knowledge.before is not None or knowledge.log_odds is not None:
        raise InputError(
            f"before= and edge_prior= need data, but {path} holds local scores; leave them out, or give the data"
        )
    shown = make_progress(asked.progress)
    try:
        with asked.deadline:
            allowed = pool.allowed_by(knowledge)
            power = power_to_usual_size([float(np.abs(allowed.score).max(initial=0.0))])
            taken = solver.options(**options)
            answer = solver(allowed.times(2.0**power), taken, deadline=asked.deadline, progress=shown)
    finally:
        shown.close()
    answer = in_other_units(answer, -power)
    rounding = allowed.rounding(answer.score)
    if answer.certificate is not None:
        answer = replace(answer, certificate=answer.certificate.with_rounding(rounding))
    answer = answer.with_figures(rounding=rounding)
    return result_of(answer, pool.names, "given local scores", seconds=asked.deadline.elapsed())


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
