"""``learn``: connects data, score, knowledge and clock to a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from dagopt.data.chance import chance_edges, chance_finding
from dagopt.data.continuous import CovarianceTable
from dagopt.data.data_options import DataOptions
from dagopt.data.doctor import examine_table
from dagopt.data.findings import Diagnosis, Finding
from dagopt.data.incomplete import incomplete_levels
from dagopt.data.table import DiscreteTable, Table, read_table
from dagopt.deadline import Deadline
from dagopt.errors import InputError, quoted
from dagopt.families.jkl import read_jkl
from dagopt.families.listing import limited, listable
from dagopt.families.pool import Pool
from dagopt.graph.knowledge import Constraints
from dagopt.methods.claims import refuse_unbounded, with_rounding, without_idle_edges, without_losses
from dagopt.methods.likelihood_bound import with_likelihood_bound
from dagopt.methods.registry import FROM_SCORES, METHODS, MethodName, method_name
from dagopt.methods.start import start_dag, with_start
from dagopt.methods.structural_em import structural_em
from dagopt.networks.checks import checked_names
from dagopt.options import with_options
from dagopt.problem import Problem
from dagopt.progress import Progress, make_progress
from dagopt.results.recording import recorded
from dagopt.results.result import Result
from dagopt.scores.build import make_score
from dagopt.scores.interventions import interventional_score
from dagopt.scores.score_options import ScoreLike, ScoreOptions

__all__ = ["check_options", "is_score_file", "learn", "pose", "pose_table", "solve", "solve_scores", "with_limit"]


@recorded
@with_options(ScoreOptions, DataOptions, leave_out=["score"], also=True)
def learn(
    data: object = None,
    method: MethodName = "auto",
    *,
    score: ScoreLike = "bic",
    covariance: object = None,
    names: Sequence[str] | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
    before: Callable[[Problem, Diagnosis], None] | None = None,
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
        The name of a score, one of ``SCORES``; a number, the penalty of one parameter; or your own score: a sub-class
        of Score, or a function of a column's name and its parents' names.
    covariance : array or DataFrame, optional
        A covariance (or correlation) matrix instead of data, with ``n_samples`` the number of rows behind it.
    names : sequence of str, optional
        The names of its columns; those of the DataFrame, or X0, X1, ..., unless given.
    constraints : Constraints or mapping, optional
        What is known about the graph; every method respects it. A dict has any of the keys of ``Constraints``.
    max_parents : int, optional
        The largest number of parents of a node, in addition to the constraints. By default there is no limit, except 3
        for ``"gobnilp"`` unless a superstructure leaves few enough parent sets. ``"auto"`` limits discrete data in the
        same way if it chooses ``"gobnilp"``; the scope of the result names the limit.
    time_limit : float, optional
        Seconds for everything; then the best answer so far is returned.
    progress : bool, Progress or None
        Whether to show the run; on a terminal by default.
    before : callable, optional
        Called with the problem and the doctor's diagnosis of its table before the method starts.
    format : {"jkl"}, optional
        Says that the file contains local scores, whatever its name.
    interventions : str or sequence, optional
        Which columns each row sets from outside: the column of a DataFrame that names them, or one entry per row, a
        name, several, or None. A row does not count for the local score of the columns that it sets.
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
    method = method_name(method)
    options = {"score": score, **options}
    check_options(method, options)
    if format not in (None, "jkl"):
        raise InputError(
            f"expected format= to be 'jkl', for local scores, or None but got {format!r}; change the option"
        )
    if is_score_file(data, format):
        known = with_limit(Constraints.of(constraints), max_parents)
        return solve_scores(Path(str(data)), method, options, deadline, progress, known)
    posing = {name: options.pop(name) for name in _NOT_OF_METHODS if name in options}
    if covariance is not None or names is not None:
        data = _given_covariance(data, covariance, names, posing.pop("n_samples", None))
    if interventions is not None:
        if method in ("pc", "mmhc"):
            raise InputError(
                f"method {method!r} tests independence in all rows and cannot use interventions=; use 'auto' or 'order'"
            )
        taken, told_how = ScoreOptions.taken_from(posing), DataOptions(**posing)
        table, told = interventional_score(data, interventions, taken, told_how)
        data, posing = table, {"score": told}
    limits: dict[str, Any] = {"constraints": constraints, "max_parents": max_parents}
    incomplete = None
    if posing.get("missing") == "em":
        reading = DataOptions(**{name: posing[name] for name in DataOptions.defaults() if name in posing})
        incomplete = incomplete_levels(data, reading, options.get("random_state") or 0)
    if incomplete is None:
        problem, diagnosis = pose(data, method, **limits, **posing)
        if before is not None:
            before(problem, diagnosis)
        return solve(problem, method, options, deadline, progress, diagnosis)
    scoring = {name: posing[name] for name in ScoreOptions.defaults() if name in posing}

    def solved(table: Table) -> Result:
        problem, diagnosis = pose(table, method, **limits, **scoring)
        if before is not None:
            before(problem, diagnosis)
        return solve(problem, method, options, deadline, progress, diagnosis)

    return structural_em(incomplete, solved, deadline)


def _given_covariance(data: object, covariance: object, names: Sequence[str] | None, n_samples: Any) -> Table:
    """Return the table of a covariance, or raise an error if something is missing or redundant."""
    if data is not None:
        raise InputError("expected data or covariance= but got both; leave one out")
    if covariance is None:
        raise InputError("names= is for covariance=, which was not given; give it, or leave names= out")
    if n_samples is None:
        raise InputError("expected n_samples=, the number of rows behind the covariance, but got none; add it")
    if names is None:
        size = len(np.atleast_1d(np.asarray(covariance)))
        names = [str(name) for name in getattr(covariance, "columns", [f"X{j}" for j in range(size)])]
    return CovarianceTable(checked_names(names), np.asarray(covariance), n_samples)


@with_options(ScoreOptions, DataOptions)
def pose(
    data: object,
    method: str = "auto",
    *,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    **options: Any,
) -> tuple[Problem, Diagnosis]:
    """Return the problem that ``learn`` solves for these arguments, and the doctor's diagnosis of its table.

    Parameters
    ----------
    data, method, constraints, max_parents
        As in ``learn``; a method may have a default limit on the number of parents.
    {options}
    """
    scoring = ScoreOptions.taken_from(options)
    table, findings = read_table(data, DataOptions(**options))
    return pose_table(table, scoring, constraints, max_parents, method, findings)


def pose_table(
    table: Table,
    scoring: ScoreOptions,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    method: str = "auto",
    findings: Iterable[Finding] = (),
) -> tuple[Problem, Diagnosis]:
    """Return the problem of a table, and the doctor's diagnosis of it together with earlier findings."""
    known = Constraints.of(constraints)
    knowledge = with_limit(known, max_parents).resolve(table.names)
    usual = METHODS[method].max_parents
    if usual is not None and max_parents is None and known.max_parents is None:
        knowledge = listable(knowledge, usual) if knowledge.in_superstructure else limited(knowledge, usual)
    diagnosis = examine_table(table, knowledge.limit, findings)
    diagnosis.raise_for_errors()
    problem = Problem(table, make_score(table, **scoring.to_dict()), knowledge)
    penalty = problem.score.joints
    if penalty is not None and problem.score.likelihood is not None:
        by_chance = chance_finding(table.names, table.sizes, penalty.parameter_cost, penalty.edge_cost)
        diagnosis = replace(diagnosis, findings=(*diagnosis.findings, *by_chance))
    return problem, diagnosis


def solve(
    problem: Problem,
    method: str,
    options: dict[str, Any],
    deadline: Deadline,
    progress: bool | Progress | None = None,
    diagnosis: Diagnosis | None = None,
) -> Result:
    """Return the result of a method on a problem.

    Parameters
    ----------
    problem : Problem
        The problem from ``pose``.
    method : str
        One of ``METHODS``.
    options : dict
        The options of the method, by name.
    deadline : Deadline
        The clock.
    progress : bool, Progress or None
        Whether to show the run.
    diagnosis : Diagnosis, optional
        The doctor's diagnosis; its warnings become ``Result.findings``.
    """
    begin = None if options.get("start") is None else start_dag(problem, options["start"])
    if begin is not None:
        options = {**options, "start": begin}
    shown = make_progress(progress)
    with deadline:  # to the end, so that Ctrl-C does not take away what was found
        try:
            result = METHODS[method].load()(problem, deadline=deadline, progress=shown, **options)
        finally:
            shown.close()
        refuse_unbounded(result, problem)
        result = without_idle_edges(without_losses(result, problem), problem)
        if begin is not None:
            result = with_start(result, problem, begin)
        result = replace(
            result,
            notes=(*_missing_note(problem.table), *result.notes),
            details={**result.details, **_chance(problem)},
        )
        return replace(
            with_rounding(with_likelihood_bound(result, problem), problem),
            findings=() if diagnosis is None else diagnosis.warnings,
            seconds=deadline.elapsed(),
            n_samples=problem.table.n_samples,
            problem=problem,
        )


def _missing_note(table: Table) -> list[str]:
    """Return a note about missing cells that EM handled."""
    if isinstance(table, DiscreteTable) or table.is_complete:
        return []
    rows = int(table.missing.any(axis=1).sum())
    return [
        f"missing cells: {int(table.missing.sum())} in {rows} of {table.n_rows} rows, treated as missing at random; "
        f"mean and covariance by EM, {table.n_samples} rows count in the score"
    ]


def _chance(problem: Problem) -> dict[str, float]:
    """Return the number of edges expected by chance, if the score has a penalty."""
    penalty = problem.score.joints
    if penalty is None or problem.score.likelihood is None:
        return {}
    return {"chance_edges": chance_edges(problem.table.sizes, penalty.parameter_cost, penalty.edge_cost)}


def is_score_file(data: object, format: str | None = None) -> bool:
    """Say whether data are the path of a file of local scores, by its name or because the format is given."""
    named = isinstance(data, str | Path) and Path(data).name.lower().endswith((".jkl", ".jkl.gz"))
    return named or (format == "jkl" and isinstance(data, str | Path))


def solve_scores(
    path: Path,
    method: str,
    options: dict[str, Any],
    deadline: Deadline,
    progress: bool | Progress | None,
    constraints: Constraints,
) -> Result:
    """Return the best DAG over the parent sets of a ``.jkl`` file that the constraints allow."""
    if method not in FROM_SCORES:
        raise InputError(
            f"method {method!r} needs data but {path} holds local scores; use method='exact' or, for many nodes, "
            f"method='gobnilp'"
        )
    solver = FROM_SCORES[method].load()
    unsaid = {**ScoreOptions.defaults(), **DataOptions.defaults()}
    options = {name: value for name, value in options.items() if name not in unsaid or value != unsaid[name]}
    extra = [name for name in options if name not in solver.options.defaults()]
    if extra:
        raise InputError(f"with the local scores of {path} the option {quoted(extra)} has no meaning; leave it out")
    pool = Pool.from_local_scores(read_jkl(path))
    knowledge = constraints.resolve(pool.names)
    shown = make_progress(progress)
    try:
        with deadline:
            result = solver(pool.allowed_by(knowledge), deadline=deadline, progress=shown, **options)
    finally:
        shown.close()
    return replace(result, seconds=deadline.elapsed())


_NOT_OF_METHODS = (*ScoreOptions.defaults(), *DataOptions.defaults())


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Raise an error for the first option that neither the method nor data and score have, or for a bad value."""
    taken = METHODS[method].options()
    for option in options:
        if option in taken or option in _NOT_OF_METHODS:
            continue
        near = get_close_matches(option, [*taken, *signature(learn).parameters], n=1)
        hint = f"; did you mean {near[0]}=?" if near else ""
        raise InputError(f"method {method!r} has no option {option!r}; it has {quoted(taken, 20)}{hint}")
    METHODS[method].options_type()(**{name: value for name, value in options.items() if name in taken})


def with_limit(constraints: Constraints, max_parents: int | None) -> Constraints:
    """Return the constraints with a further limit on the number of parents, if there is one."""
    if max_parents is None:
        return constraints
    limits = constraints.max_parents
    if limits is None:
        return replace(constraints, max_parents=max_parents)
    if isinstance(limits, int):
        return replace(constraints, max_parents=min(limits, max_parents))
    raise InputError("max_parents= is given twice, in the constraints by column and as an option; give it once")
