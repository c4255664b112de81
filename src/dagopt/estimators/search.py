"""Estimators that search: over orders, and over DAGs by single edges."""

from __future__ import annotations

from typing import Any, ClassVar

from dagopt.estimators.base import StructureLearner, estimator

__all__ = ["HillClimbing", "OrderSearch", "Tabu"]


@estimator
class OrderSearch(StructureLearner):
    """Local search over orders of the columns, from many starts.

    Parameters
    ----------
    restarts : int, optional
        Independent searches.
    kicks : int, optional
        How often each is disturbed and continued.
    candidates : int, optional
        Gaussian data: candidate parents kept for each column.
    random_state : int, RandomState, Generator or None
        Of starts and disturbances.
    n_jobs : int, optional
        Threads; all cores unless given.
    start : graph, optional
        A DAG to begin at.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``.
    """

    method: ClassVar[str] = "order"

    restarts: int | None = None
    kicks: int | None = None
    candidates: int | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    start: Any = None


@estimator
class HillClimbing(StructureLearner):
    """Hill climbing over DAGs by additions, deletions and reversals of edges.

    Parameters
    ----------
    start : graph, optional
        The DAG to start from; the required edges alone if not given.
    restarts : int
        Further climbs, each from the best DAG so far after ``perturb`` random moves.
    perturb : int
        Random moves before each restart.
    random_state : int, RandomState, Generator or None
        Of the random moves; None draws anew each time.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``.
    """

    method: ClassVar[str] = "hc"

    start: Any = None
    restarts: int = 0
    perturb: int = 1
    random_state: Any = 0


@estimator
class Tabu(StructureLearner):
    """Hill climbing that walks on past local optima, but never back to one of the last DAGs.

    Parameters
    ----------
    start : graph, optional
        The DAG to start from; the required edges alone if not given.
    tabu : int
        How many of the DAGs last visited are remembered.
    max_worse : int
        Moves in a row without a new best DAG after which the search ends.
    restarts, perturb, random_state
        As in ``HillClimbing``.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``.
    """

    method: ClassVar[str] = "tabu"

    start: Any = None
    tabu: int = 10
    max_worse: int = 10
    restarts: int = 0
    perturb: int = 1
    random_state: Any = 0
