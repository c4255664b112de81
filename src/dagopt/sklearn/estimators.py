"""The methods as scikit-learn estimators, one class each.

The fields of a class are the parameters of its method, all by keyword. A test compares their names, types and defaults
with the options of the method, which document and check them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dagopt.methods.registry import METHODS, MethodName
from dagopt.sklearn.structure_learner import StructureLearner, estimator

if TYPE_CHECKING:
    from dagopt.methods.exact.exact import Device

__all__ = [
    "CGDCA",
    "CGMINLP",
    "MMHC",
    "BranchAndCut",
    "CuttingPlanes",
    "ExactDP",
    "HillClimbing",
    "OrderSearch",
    "StablePC",
    "Tabu",
]


@estimator
class ExactDP(StructureLearner):
    """The proven best DAG, by dynamic programming over subsets.

    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=6, n_samples=500, random_state=1)
    >>> learner = dagopt.ExactDP(max_parents=2).fit(data)
    >>> learner.result_.status, learner.adjacency_.shape
    ('optimal', (6, 6))
    """

    method: ClassVar[MethodName] = "exact"

    device: Device = "auto"
    memory_limit: int | float | str | None = None
    n_jobs: int | None = None
    n_best: int = 1


@estimator
class OrderSearch(StructureLearner):
    """Local search over orders of the columns, from many starts.

    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> learner = dagopt.OrderSearch(restarts=5).fit(data)
    >>> learner.adjacency_.shape, learner.result_.status
    ((4, 4), 'converged')
    """

    method: ClassVar[MethodName] = "order"

    restarts: int | None = None
    kicks: int | None = None
    candidates: int | None = None
    random_state: int = 0
    n_jobs: int | None = None
    start: Any = None


@estimator
class BranchAndCut(StructureLearner):
    """The proven best DAG of 25 to 100 continuous columns with a sparse graph, by submodular rows and branching.

    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=8, n_samples=500, random_state=1)
    >>> learner = dagopt.BranchAndCut().fit(data)
    >>> learner.result_.status, learner.result_.scope
    ('optimal', 'all DAGs')
    """

    method: ClassVar[MethodName] = "branch-and-cut"

    max_sets: int | None = None
    rows: Any = ("entropies", "matrices", "last-node", "symmetry", "local")
    restarts: int | None = None
    random_state: int = 0
    n_jobs: int | None = None
    start: Any = None
    memory_limit: int | str | None = None
    checkpoint: str | Path | None = None
    resume: bool = False
    cluster: Any = None


@estimator
class CuttingPlanes(StructureLearner):
    """The integer program of GOBNILP, proven by cutting planes.

    {options}

    Notes
    -----
    ``max_parents`` is 3 unless given, except for discrete data with a penalised likelihood, which has no limit.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.datasets.load("asia", n_samples=1000, random_state=1)
    >>> learner = dagopt.CuttingPlanes().fit(data)
    >>> learner.result_.status, learner.result_.scope
    ('optimal', 'all DAGs')
    """

    method: ClassVar[MethodName] = "gobnilp"

    local_size: int = 6
    restarts: int = 100
    random_state: int = 0
    n_jobs: int | None = None
    n_best: int = 1
    start: Any = None
    save_scores: str | Path | None = None


@estimator
class CGDCA(StructureLearner):
    """Row and column generation with DCA pricing, combined with order search.

    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=6, n_samples=500, random_state=1)
    >>> dagopt.CGDCA().fit(data).result_.method
    'cg-dca'
    """

    method: ClassVar[MethodName] = "cg-dca"

    init: str = "hybrid"
    switch_at: int = 50
    convex_step: str = "min-norm"
    kelley_cuts: int = 3
    tie_orders: int = 5
    clusters_per_round: int = 50
    pricing: str = "auto"
    rows: Any = ("entropies", "matrices")
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
    random_state: int = 0
    n_jobs: int | None = None
    start: Any = None
    checkpoint: str | Path | None = None
    resume: bool = False

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return an estimator of ``cg-dca-paper``; ``docs/algorithms.md`` says where it differs from the paper.

        Examples
        --------
        >>> import dagopt
        >>> dagopt.CGDCA.paper().order_start
        False
        """
        return cls(**METHODS["cg-dca-paper"].options() | parameters)


@estimator
class CGMINLP(StructureLearner):
    """Column generation with exact pricing, for few columns, which are read as continuous by default.

    {options}

    Notes
    -----
    The score must be a penalised Gaussian likelihood.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, degree=0.5, random_state=3)
    >>> dagopt.CGMINLP().fit(data).result_.status
    'optimal'
    """

    method: ClassVar[MethodName] = "cg-minlp"

    kind: str | Mapping[str, str] = "continuous"
    integer_solver: str = "auto"
    tolerance: float = 1e-6
    gap: float = 1e-4
    node_time_limit: float | None = None
    max_nodes: int = 10
    max_passes: int | None = None


@estimator
class HillClimbing(StructureLearner):
    """Hill climbing over additions, deletions and reversals.

    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> learner = dagopt.HillClimbing(restarts=2).fit(data)
    >>> learner.adjacency_.shape, learner.result_.status
    ((4, 4), 'converged')
    """

    method: ClassVar[MethodName] = "hc"

    start: Any = None
    restarts: int = 0
    perturb: int = 1
    random_state: int = 0
    ties: str = "names"
    reinsert: bool | None = None


@estimator
class Tabu(HillClimbing):
    """Hill climbing that continues past local optima.

    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> learner = dagopt.Tabu().fit(data)
    >>> learner.adjacency_.shape, learner.result_.status
    ((4, 4), 'converged')
    """

    method: ClassVar[MethodName] = "tabu"

    tabu: int = 10
    max_worse: int = 20


@estimator
class StablePC(StructureLearner):
    """Stable PC: a PDAG from tests of independence.

    {options}

    Notes
    -----
    The score does not guide the search. It scores the answer, and it chooses the edges to drop if a node has more
    parents than allowed. A learned class whose directions contradict each other has no DAG and no score.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> learner = dagopt.StablePC(alpha=0.01).fit(data)
    >>> learner.adjacency_.shape, learner.result_.status
    ((4, 4), 'converged')
    """

    method: ClassVar[MethodName] = "pc"

    test: Any = "auto"
    alpha: float = 0.05
    n_jobs: int | None = None
    max_given: int | None = None
    separator: str = "auto"
    ties: str = "names"


@estimator
class MMHC(StructureLearner):
    """Hill climbing over the neighbours that MMPC's tests keep; ``max_worse=0, restarts=0`` is plain hill climbing.

    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> learner = dagopt.MMHC().fit(data)
    >>> learner.adjacency_.shape, learner.result_.status
    ((4, 4), 'converged')
    """

    method: ClassVar[MethodName] = "mmhc"

    test: Any = "auto"
    alpha: float = 0.05
    n_jobs: int | None = None
    max_given: int | None = 3
    tabu: int = 100
    max_worse: int = 15
    restarts: int = 10
    perturb: int | None = None
    random_state: int = 0
