"""``learn``: data, score, knowledge and clock wired to a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from dagopt.candidates.jkl import read_jkl
from dagopt.candidates.pool import Pool
from dagopt.data.doctor import examine_table
from dagopt.data.findings import Diagnosis
from dagopt.data.table import as_table
from dagopt.deadline import Deadline
from dagopt.errors import InputError, quoted
from dagopt.knowledge import Constraints
from dagopt.methods.likelihood_bound import with_likelihood_bound
from dagopt.methods.registry import FROM_SCORES, METHODS, method_name
from dagopt.methods.start import start_dag, with_start
from dagopt.problem import Problem
from dagopt.progress import Progress, make_progress
from dagopt.recording import recorded
from dagopt.result import Result
from dagopt.scores.build import Convention, ScoreLike, make_score

__all__ = ["check_options", "learn", "pose"]

DATA_OPTIONS = ("columns", "kind", "discretize", "bins", "missing", "na_values")


@recorded
def learn(
    data: object,
    method: str = "auto",
    *,
    score: ScoreLike = "bic",
    convention: Convention = "paper",
    equivalent_sample_size: float = 1.0,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> Result:
    """Learn a Bayesian network structure from data.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``, whose options (``columns``, ``kind``, ``discretize``, ``bins``, ``missing``,
        ``na_values``) may be given too. A ``.jkl`` file of local scores, as GOBNILP writes them, has the best DAG over
        its parent sets as answer.
    method : str
        One of ``METHODS``, or ``"auto"``.
    score : str, float, Score or callable
        ``"bic"``, ``"aic"``, ``"bdeu"``, ``"bge"``, ``"loglik"``, the penalty Λ of one parameter, or a score of your
        own, see ``make_score``: a sub-class of ``Score``, or a function of a column's name and its parents' names.
    convention : {"paper", "bnlearn"}
        How a penalised Gaussian likelihood counts parameters.
    equivalent_sample_size : float
        Weight of the prior of BDeu or BGe.
    constraints : Constraints or mapping, optional
        What is known about the graph; every method honours it. A dict has any of the keys of ``Constraints``.
    max_parents : int, optional
        The largest number of parents of a node, in addition to the constraints; no limit unless given, except 3 for
        ``"gobnilp"``.
    time_limit : float, optional
        Seconds for everything; the best answer so far is returned when they are over.
    progress : bool, Progress or None
        Whether to show the run; on a terminal by default.
    **options
        Options of the data and of the method.

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
    check_options(method, options)
    if isinstance(data, str | Path) and Path(data).suffix == ".jkl":
        return _learn_from_scores(Path(data), method, constraints, max_parents, deadline, progress, options)
    problem, diagnosis = pose(
        data,
        method,
        score=score,
        convention=convention,
        equivalent_sample_size=equivalent_sample_size,
        constraints=constraints,
        max_parents=max_parents,
        **{key: options.pop(key) for key in DATA_OPTIONS if key in options},
    )
    begin = None if options.get("start") is None else start_dag(problem, options["start"])
    if begin is not None:
        options["start"] = begin
    shown = make_progress(progress)
    try:
        with deadline:
            result = METHODS[method].load()(problem, deadline=deadline, progress=shown, **options)
    finally:
        shown.close()
    if begin is not None:
        result = with_start(result, problem, begin)
    return replace(
        with_likelihood_bound(result, problem),
        findings=diagnosis.warnings,
        seconds=deadline.elapsed(),
        n_samples=problem.table.n_samples,
        problem=problem,
    )


def pose(
    data: object,
    method: str = "auto",
    *,
    score: ScoreLike = "bic",
    convention: Convention = "paper",
    equivalent_sample_size: float = 1.0,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    **options: Any,
) -> tuple[Problem, Diagnosis]:
    """Return the problem that ``learn`` solves for these arguments, and what the doctor says about its table.

    The parameters are those of ``learn``; the options are those of the data.
    """
    table = as_table(data, **options)
    known = Constraints.of(constraints)
    if max_parents is None and known.max_parents is None:
        max_parents = METHODS[method].max_parents
    knowledge = _with_limit(known, max_parents).resolve(table.names)
    diagnosis = examine_table(table, knowledge.limit)
    diagnosis.raise_for_errors()
    scorer = make_score(table, score, convention=convention, equivalent_sample_size=equivalent_sample_size)
    return Problem(table, scorer, knowledge), diagnosis


def _learn_from_scores(
    path: Path,
    method: str,
    constraints: Constraints | Mapping[str, Any] | None,
    max_parents: int | None,
    deadline: Deadline,
    progress: bool | Progress | None,
    options: dict[str, Any],
) -> Result:
    """Return the best DAG over the parent sets of a ``.jkl`` file, of those that the constraints allow."""
    if method not in FROM_SCORES:
        raise InputError(
            f"method {method!r} needs data but {path} holds local scores; use method='exact' or, for many nodes, "
            f"method='gobnilp'"
        )
    module, function, known = FROM_SCORES[method]
    taken = {name: options[name] for name in known if name in options}
    if len(taken) < len(options):
        extra = quoted(name for name in options if name not in taken)
        raise InputError(f"with the local scores of {path} the option {extra} has no meaning; leave it out")
    pool = Pool.from_local_scores(read_jkl(path))
    knowledge = _with_limit(Constraints.of(constraints), max_parents).resolve(pool.names)
    shown = make_progress(progress)
    try:
        with deadline:
            solve: Callable[..., Result] = getattr(import_module(f"dagopt.methods.{module}"), function)
            result = solve(pool.allowed_by(knowledge), deadline=deadline, progress=shown, **taken)
    finally:
        shown.close()
    return replace(result, seconds=deadline.elapsed())


def check_options(method: str, options: Iterable[str]) -> None:
    """Raise the error that names the first option which neither the method nor the data takes."""
    taken = METHODS[method].options()
    for option in options:
        if option in taken or option in DATA_OPTIONS:
            continue
        near = get_close_matches(option, [*taken, *DATA_OPTIONS, *signature(learn).parameters], n=1)
        hint = f"; did you mean {near[0]}=?" if near else ""
        raise InputError(f"method {method!r} takes no option {option!r}, but it takes {quoted(taken, 20)}{hint}")


def _with_limit(constraints: Constraints, max_parents: int | None) -> Constraints:
    """Return the constraints with a further limit on the number of parents."""
    if max_parents is None:
        return constraints
    limits = constraints.max_parents
    if limits is None:
        return replace(constraints, max_parents=max_parents)
    if isinstance(limits, int):
        return replace(constraints, max_parents=min(limits, max_parents))
    raise InputError("max_parents= was given twice: in the constraints by column, and as an option; give it once")
