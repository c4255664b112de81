"""Estimators that generate columns: CG-DCA and CG-MINLP."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from dagopt.estimators.base import StructureLearner, estimator

__all__ = ["CGDCA", "CGMINLP"]


@estimator
class CGDCA(StructureLearner):
    """CG-DCA: row and column generation whose pricing is a difference of submodular functions, with order search.

    Parameters
    ----------
    init : {"hybrid", "random", "warm"}
        Start points of pricing (section 4.1 of the paper).
    switch_at : int
        Columns of a node from which ``hybrid`` starts warm.
    convex_step : {"kelley", "min-norm"}
        How the convex programs of DCA are solved; both exactly.
    pricing : {"auto", "dca", "listed", "exhaustive"}
        ``listed`` looks at all parent sets up to a size, ``exhaustive`` at all, while they are few; ``auto`` lists for
        discrete data.
    integer_solver : {"auto", "dp", "scip", "gurobi"}
        How the best DAG over the columns is found.
    integer_seconds : float, optional
        Limit on each integer phase.
    order_start, order_again, price_incumbent, start_integer : bool
        What order search and incumbents add to column generation.
    epsilon, tolerance : float
        Thresholds of DCA and of reduced costs.
    max_passes, max_families : int, optional
        Limits beside the time.
    random_state : int, RandomState, Generator or None
        Of the random start points and of the order search.
    n_jobs : int, optional
        Threads; all cores unless given.
    start : graph, optional
        An allowed DAG; the answer is never worse.
    checkpoint : path, optional
        Where the run is saved after every pass.
    resume : bool
        Continue from the checkpoint if it is there.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``; DCA's pricing needs a ``penalty`` that
    is a penalised likelihood.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=6, n_samples=500, random_state=1)
    >>> dagopt.CGDCA().fit(data).result_.method
    'cg-dca'
    """

    method: ClassVar[str] = "cg-dca"

    init: str = "hybrid"
    switch_at: int = 50
    convex_step: str = "min-norm"
    pricing: str = "auto"
    integer_solver: str = "auto"
    integer_seconds: float | None = 10.0
    order_start: bool = True
    order_again: bool = True
    price_incumbent: bool = True
    start_integer: bool = True
    epsilon: float = 1e-6
    tolerance: float = 1e-6
    max_passes: int | None = None
    max_families: int | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    start: Any = None
    checkpoint: Any = None
    resume: bool = False

    @classmethod
    def paper(cls, **parameters: Any) -> CGDCA:
        """Return the paper's settings: hybrid start, switch at 50, Kelley (``docs/algorithms.md`` has what differs)."""
        settings = {"init": "hybrid", "switch_at": 50, "convex_step": "kelley", "pricing": "dca"}
        beyond = dict.fromkeys(("order_start", "order_again", "price_incumbent", "start_integer"), False)
        return cls(**{**settings, "integer_seconds": None, **beyond, **parameters})


@estimator
class CGMINLP(StructureLearner):
    """Column generation with exact pricing by a mixed-integer nonlinear program, for few continuous columns.

    Parameters
    ----------
    integer_solver : {"auto", "dp", "scip", "gurobi"}
        How the best DAG over the columns is found.
    tolerance : float
        A reduced cost counts as negative below minus this.
    gap : float
        Up to which the least reduced cost of a node is proven.
    node_time_limit : float, optional
        Seconds for one pricing of one node.
    max_nodes : int
        With more columns than this ``time_limit`` must be given.
    max_passes : int, optional
        Limit beside the time.

    Notes
    -----
    The other parameters and the attributes are those of ``StructureLearner``, but columns are read as continuous
    unless ``kind`` says otherwise; ``penalty`` must be a penalised likelihood.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, degree=0.5, random_state=3)
    >>> dagopt.CGMINLP().fit(data).result_.status
    'optimal'
    """

    method: ClassVar[str] = "cg-minlp"

    kind: Literal["auto", "continuous", "discrete"] = "continuous"
    integer_solver: str = "auto"
    tolerance: float = 1e-6
    gap: float = 1e-4
    node_time_limit: float | None = None
    max_nodes: int = 10
    max_passes: int | None = None
