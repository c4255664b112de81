"""``path``: the learned DAG along a grid of penalties, from almost no edges to more than BIC has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from dagopt.arrays import Floats
from dagopt.confidence.learned_path import PenaltyPath
from dagopt.data.data_options import DataOptions
from dagopt.data.table import Table
from dagopt.deadline import Deadline
from dagopt.errors import InputError, checked_whole
from dagopt.graph.constraints import Constraints
from dagopt.graph.order import is_acyclic
from dagopt.learning.learning import checked_options, lags_of
from dagopt.learning.posing import pose
from dagopt.methods.claims import without_past
from dagopt.methods.climbing.hill_climbing import solve_hc, start_dag
from dagopt.methods.ordered_problem import refuse_order
from dagopt.methods.registry import METHODS, MethodName, method_name
from dagopt.methods.warm_search import likely_parents, quick_method, solve_warm
from dagopt.options import with_options
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress, make_progress
from dagopt.results.answer import Answer
from dagopt.results.figures import Figures
from dagopt.results.result import Result, result_of
from dagopt.scores.build import LARGEST_PENALTY, make_score, penalty_value
from dagopt.scores.score_options import ScoreOptions

__all__ = ["PenaltyPath", "path"]


LOWEST = 0.25  # times the reference penalty: the last of the usual grid
EXACT_BYTES = 1 << 28  # if one exact run needs at most this, ``auto`` proves the optimum at every penalty
EXACT_SECONDS = 2.0  # per penalty
WARM_SEARCH = {"restarts": 5, "kicks": 10}  # one search starts from the previous penalty's DAG, four at random


@with_options(ScoreOptions, DataOptions, leave_out=["equivalent_sample_size", "degree"], also=True)
def path(
    data: object,
    penalties: Iterable[float] | None = None,
    *,
    n: int = 30,
    method: MethodName = "auto",
    constraints: Constraints | None = None,
    max_parents: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> PenaltyPath:
    """Learn a DAG for each of many penalties, and see which edges enter when.

    Parameters
    ----------
    data : path, frame, array or Table
        The data, as in ``learn``.
    penalties : sequence of float, optional
        The penalties Λ ≥ 0 of one parameter. By default, ``n`` penalties in a geometric sequence from the largest at
        which a single edge raises the score down to a quarter of the score's penalty, and the score's penalty itself.
    n : int
        Number of penalties of the default grid.
    method : str
        As in ``learn``, but ``auto`` proves the optimum at every penalty only if that takes about two seconds;
        otherwise it uses ``order``. A method that can start from a DAG starts from that of the previous penalty.
    constraints, max_parents
        As in ``learn``.
    random_state : int
        Seed.
    n_jobs : int, optional
        The number of threads; all cores for None and -1. The answer does not depend on it.
    time_limit : float, optional
        Seconds for everything; the penalties done by then are returned.
    progress : bool, Progress or None
        Whether to show the run; on a terminal by default.
    {options}
    **options
        Options of the method.

    Returns
    -------
    PenaltyPath

    Notes
    -----
    The penalty of ``score`` is marked in the path; scores without a penalty have no path. The default is that of
    ``learn``, for mixed data that of BIC.
    After order search, hill climbing goes back along the path, and at every penalty the best of all DAGs found along
    the path is kept. So the number of parameters never falls as the penalty falls, as is true for the best DAGs.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(6, 500, 1.0, random_state=0)
    >>> along = dagopt.path(data, n=8)
    >>> bool((along.table["parameters"].diff().dropna() >= 0).all())
    True
    """
    deadline = Deadline(time_limit)
    n = checked_whole("n", n, 2)
    random_state = checked_whole("random_state", random_state, 0)
    method = method_name(method)
    scoring = ScoreOptions.taken_from(options)
    score: Any = scoring.score
    convention = scoring.convention
    if score in ("bdeu", "bge"):
        raise InputError(f"score {score!r} has no penalty to vary; use 'bic', 'aic' or a penalty")
    reading = DataOptions.taken_from(options).to_dict()
    known: dict[str, Any] = {"constraints": constraints, "max_parents": max_parents}
    problem, diagnosis = pose(data, method, score=score, convention=convention, **known, **reading)
    refuse_order(problem.knowledge, "the path over penalties")
    if problem.knowledge.log_odds is not None:
        raise InputError("the path over penalties has no edge_prior=; leave it out, or learn with each score=")
    if score == "auto" and problem.score.joints is not None and problem.score.joints.edge_cost:
        problem = replace(problem, score=make_score(problem.table, "bic", convention=convention))
    reference = _reference(problem, score)
    grid = _checked(penalties) if penalties is not None else usual_grid(problem.table, reference, n, convention)
    if method == "auto":
        method = quick_method(problem, EXACT_BYTES, EXACT_SECONDS)
    checked_options(method, options)
    shown = make_progress(progress)
    given = {"random_state": random_state, "n_jobs": n_jobs} | options
    try:
        with deadline:
            found = _along(problem, grid, convention, method, given, deadline, shown)
            met = [result.adjacency for result in found] + (_way_back(found, deadline) if method == "order" else [])
    finally:
        shown.close()
    loglik, parameters = _ends(problem, met, convention)
    chosen = _best_of_all(len(found), grid, loglik, parameters)
    common: dict[str, Any] = {"findings": diagnosis.warnings, "n_samples": problem.table.n_samples}
    return PenaltyPath(
        names=problem.names,
        penalties=grid[: len(found)],
        results=tuple(replace(_with_dag(result, met[k]), **common) for k, result in zip(chosen, found, strict=True)),
        loglik=loglik[chosen],
        parameters=parameters[chosen],
        reference=reference,
        method=method,
        status="converged" if len(found) == len(grid) else deadline.reason or "time_limit",
        seconds=deadline.elapsed(),
    )


def _reference(problem: Problem, score: object) -> float:
    """Return the cost of a parameter under the score, or raise an error if that is not all that an edge costs."""
    joints = problem.score.joints
    if joints is None or problem.score.likelihood is None or joints.edge_cost:
        raise InputError(f"score {score!r} has more or less than a penalty to vary; use 'bic', 'aic' or a penalty")
    return joints.parameter_cost


def usual_grid(table: Table, reference: float, n: int, convention: str) -> Floats:
    """Return penalties from the largest at which a single edge helps to a quarter of the reference, and the reference.

    An edge j → i raises the score if the penalty is below its gain in log-likelihood over its number of parameters.
    """
    free, taxed = (make_score(table, penalty, convention=convention) for penalty in (0.0, 1.0))
    largest = 0.0
    for node in range(len(table.names)):
        gain = free.additions(node) - free.local(node)
        added = gain - (taxed.additions(node) - taxed.local(node))
        paid = np.delete(gain, node) / np.maximum(np.delete(added, node), 1e-12)
        largest = max(largest, float(np.max(paid, initial=0.0)))
    low = LOWEST * (reference or penalty_value("bic", table.n_samples) or 1.0)  # with one row even BIC has no penalty
    grid = np.geomspace(max(1.0001 * largest, 4 * low), low, n)  # slightly above, where no edge helps
    marked = [reference] if low < reference < grid[0] else []
    return np.unique(np.concatenate([grid, marked]))[::-1].copy()


def _checked(penalties: Iterable[float]) -> Floats:
    """Return the penalties from the largest down, each once, or raise an error that says what is wrong."""
    try:
        grid = np.unique(np.asarray(list(penalties), dtype=np.float64))[::-1].copy()
    except (TypeError, ValueError):
        raise InputError(f"expected penalties= to be a list of numbers >= 0 but got {penalties!r}; change it") from None
    if not grid.size or not np.isfinite(grid).all() or grid.min() < 0 or grid.max() > LARGEST_PENALTY:
        raise InputError(
            f"expected penalties= to be at least one number from 0 to {LARGEST_PENALTY:g} but got {grid.tolist()}; "
            f"change the option"
        )
    return grid


def _along(
    problem: Problem,
    grid: Floats,
    convention: str,
    method: str,
    given: dict[str, Any],
    deadline: Deadline,
    progress: Progress,
) -> list[Result]:
    """Return what is learned at each penalty, from the largest down, until the deadline."""
    taken = METHODS[method].options()
    options = {key: value for key, value in given.items() if key in taken}
    start = start_dag(problem, options.pop("start", None))
    found: list[Result] = []
    apart = _apart(problem, grid, convention, method, options, deadline) if "start" not in taken else None
    for k, penalty in enumerate(grid.tolist()):
        progress.update("penalties", len(found) / len(grid), penalty=penalty, edges=int(start.sum()))
        now = replace(problem, score=make_score(problem.table, penalty, convention=convention))
        if method == "order":
            likely = likely_parents(now, deadline, options["n_jobs"])
            answer = solve_warm(now, start, likely, deadline=deadline, **WARM_SEARCH | options)
        elif apart is not None:
            answer = apart[k]
        else:
            begin = {"start": start} if "start" in taken else {}
            answer = _at(now, method, options | begin, deadline)
        if answer.status in ("time_limit", "interrupted"):
            break
        if not is_acyclic(answer.adjacency):
            raise InputError(
                f"method {method!r} learns a class instead of a DAG and has no path; use 'auto' or 'order'"
            )
        start = answer.adjacency
        about: dict[str, Any] = {"n_samples": now.table.n_samples, "problem": now, "lags": lags_of(now)}
        found.append(result_of(without_past(answer, now), now.names, now.score.label, **about))
    return found


def _apart(
    problem: Problem, grid: Floats, convention: str, method: str, options: dict[str, Any], deadline: Deadline
) -> list[Answer] | None:
    """Return the answers of a method that starts afresh at each penalty, by the workers of joblib, if any."""
    backend, jobs = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False):  # threads of this machine: the method has them already
        return None
    posed = [replace(problem, score=make_score(problem.table, p, convention=convention)) for p in grid.tolist()]
    answers: list[Answer] = Parallel(n_jobs=jobs or -1)(delayed(_at)(one, method, options, deadline) for one in posed)
    return answers


def _at(problem: Problem, method: str, options: dict[str, Any], deadline: Deadline) -> Answer:
    """Return what a method learns from one problem."""
    return METHODS[method].load()(problem, deadline=deadline, progress=NoProgress(), **options)


def _way_back(found: list[Result], deadline: Deadline) -> list[NDArray[np.int8]]:
    """Return the DAGs that hill climbing finds back along the path, each from the best of the next lower penalty."""
    met: list[NDArray[np.int8]] = []
    dag = None
    for result in reversed(found):
        assert result.problem is not None
        score = result.problem.score
        if dag is not None:
            dag = solve_hc(result.problem, deadline=deadline, progress=NoProgress(), start=dag).adjacency
            met.append(dag)
        if dag is None or score.total(result.adjacency) > score.total(dag):
            dag = result.adjacency
    return met


def _ends(problem: Problem, dags: list[NDArray[np.int8]], convention: str) -> tuple[Floats, Floats]:
    """Return log-likelihood and number of parameters of each DAG, both derived from the scores at two penalties."""
    scores = [make_score(problem.table, penalty, convention=convention) for penalty in (0.0, 1.0)]
    past = [replace(problem, score=score).past_score for score in scores]
    free, taxed = (
        np.array([score.total(dag) for dag in dags], dtype=np.float64) - own
        for score, own in zip(scores, past, strict=True)
    )
    return free, np.round(free - taxed)


def _best_of_all(count: int, grid: Floats, loglik: Floats, parameters: Floats) -> list[int]:
    """Return for each of the first penalties the best of all DAGs: its own unless another is better."""
    best = []
    for own, penalty in enumerate(grid[:count]):
        scores = loglik - penalty * parameters
        top = int(scores.argmax())
        best.append(top if scores[top] > scores[own] + 1e-9 * max(abs(scores[own]), 1.0) else own)
    return best


def _with_dag(result: Result, dag: NDArray[np.int8]) -> Result:
    """Return the result with another DAG of its problem."""
    assert result.problem is not None
    if np.array_equal(dag, result.adjacency):
        return result
    score = result.problem.score.total(dag) - result.problem.past_score
    return replace(result, adjacency=dag, score=score, figures=Figures())
