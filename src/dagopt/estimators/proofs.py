"""Estimators whose answer is proven the best: over all DAGs, or over parent sets up to a size."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from dagopt.estimators.base import StructureLearner, estimator

__all__ = ["CuttingPlanes", "ExactDP"]


@estimator
class ExactDP(StructureLearner):
    """The proven best DAG, by dynamic programming over subsets of the columns.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}
        ``auto`` takes a GPU if there is one and the problem is large enough to gain from it.
    memory_limit : int or str, optional
        Bytes, or text such as ``"8GB"``; most of what is free unless given.
    n_jobs : int, optional
        Threads; all cores unless given.
    n_best : int
        How many best equivalence classes to find; they are listed in ``result_.details["best_classes"]``.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=6, n_samples=500, random_state=1)
    >>> learner = dagopt.ExactDP(max_parents=2).fit(data)
    >>> learner.result_.status, learner.adjacency_.shape
    ('optimal', (6, 6))
    """

    method: ClassVar[str] = "exact"

    device: Literal["auto", "cpu", "gpu"] = "auto"
    memory_limit: int | float | str | None = None
    n_jobs: int | None = None
    n_best: int = 1


@estimator
class CuttingPlanes(StructureLearner):
    """The integer program of GOBNILP over all parent sets up to a size, proven by cutting planes and branching.

    Parameters
    ----------
    n_best : int
        How many best equivalence classes to find; they are listed in ``result_.details["best_classes"]``.
    local_size : int
        Nodes of the largest local cuts; 0 for cluster cuts alone.
    restarts : int
        Random orders that are improved to find a DAG to start from.
    random_state : int, RandomState, Generator or None
        Of these orders and of the choice of cuts.
    n_jobs : int, optional
        Threads; all cores unless given.
    start : graph, optional
        A DAG to begin at.
    save_scores : path, optional
        Where to write the scored parent sets, as a ``.jkl`` file.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``; ``max_parents`` is 3 unless given.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.datasets.load("asia", n_samples=1000, random_state=1)
    >>> learner = dagopt.CuttingPlanes().fit(data)
    >>> learner.result_.status, learner.result_.scope
    ('optimal', 'parent sets of size <= 3')
    """

    method: ClassVar[str] = "gobnilp"

    n_best: int = 1
    local_size: int = 10
    restarts: int = 100
    random_state: Any = 0
    n_jobs: int | None = None
    start: Any = None
    save_scores: Any = None
