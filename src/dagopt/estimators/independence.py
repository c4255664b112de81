"""Estimators that begin with tests of independence: stable PC and MMHC."""

from __future__ import annotations

from typing import Any, ClassVar

from dagopt.estimators.base import StructureLearner, estimator

__all__ = ["MMHC", "StablePC"]


@estimator
class StablePC(StructureLearner):
    """Stable PC: a class of DAGs from tests of conditional independence.

    Parameters
    ----------
    test : str or IndependenceTest
        ``"t"`` or ``"z"`` for continuous data, ``"g2"`` or ``"chi2"`` for discrete data, or ``"auto"``.
    alpha : float
        Level of each test: pairs with a larger p-value are taken as independent.
    max_given : int, optional
        The largest size of a separating set; no limit if not given.
    n_jobs : int, optional
        Threads; all processors if not given.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``; ``penalty`` does not lead the search,
    but it scores its answer. A learned class whose directions contradict each other has no DAG: then ``score_``
    is None and ``score`` raises an error.
    """

    method: ClassVar[str] = "pc"

    test: Any = "auto"
    alpha: float = 0.05
    max_given: int | None = None
    n_jobs: int | None = None


@estimator
class MMHC(StructureLearner):
    """Max-min hill climbing: a climb among the neighbours that tests of independence leave.

    Parameters
    ----------
    test, alpha, max_given, n_jobs
        Of the tests, as in ``StablePC``.
    tabu, max_worse, restarts, random_state
        Of the climb, as in ``Tabu``.
    perturb : int, optional
        Random moves before each restart; as many as there are columns if not given.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``.
    """

    method: ClassVar[str] = "mmhc"

    test: Any = "auto"
    alpha: float = 0.05
    max_given: int | None = 3
    tabu: int = 100
    max_worse: int = 15
    restarts: int = 10
    perturb: int | None = None
    random_state: Any = 0
    n_jobs: int | None = None
