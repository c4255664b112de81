"""The methods as scikit-learn estimators: parameters in the constructor, ``fit``, learned attributes with ``_``.

To add a method, name it in ``learning.METHODS`` and write a class here that lists its options with the defaults of
its function: dataclass fields become the arguments of ``__init__``, which does nothing but assign them.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from dagopt.constraints import Constraints
from dagopt.data.doctor import examine_table
from dagopt.data.table import ContinuousTable, DiscreteTable, Table, as_table
from dagopt.errors import InputError
from dagopt.learning import learn
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.scores.build import Convention, make_score

__all__ = [
    "CGDCA",
    "CGMINLP",
    "MMHC",
    "CuttingPlanes",
    "ExactDP",
    "HillClimbing",
    "OrderSearch",
    "StablePC",
    "StructureLearner",
    "Tabu",
]

LARGEST_SEED = 2**31 - 1

estimator = dataclass(kw_only=True, eq=False, repr=False)


@estimator
class StructureLearner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What all estimators share; use one of its subclasses.

    Parameters
    ----------
    penalty : str or float
        What is maximised, as ``score`` of ``dagopt.learn``: ``"bic"``, ``"aic"``, ``"bdeu"``, ``"bge"``,
        ``"loglik"``, or the penalty Λ of one parameter. (``score`` is a method of every estimator.)
    convention : {"paper", "bnlearn"}
        How a penalised Gaussian likelihood counts parameters.
    equivalent_sample_size : float
        Weight of the prior of BDeu or BGe.
    constraints : Constraints, optional
        What is known about the graph.
    max_parents : int, optional
        The largest number of parents of a node.
    kind : {"auto", "continuous", "discrete"}
        How columns are read, as in ``as_table``; ``auto`` goes by dtype. After a step of a pipeline that returns
        levels as floats, such as ``KBinsDiscretizer(encode="ordinal")``, give ``"discrete"``.
    time_limit : float, optional
        Seconds for ``fit``; a run that ends there warns.
    progress : bool or Progress
        Whether to show the run.

    Attributes
    ----------
    result_ : Result
        Everything about the run: bound, status, notes, trace, drawings and report.
    adjacency_ : int8 array of shape (n_features_in_, n_features_in_)
        The graph, ``[i, j] = 1`` means i → j; ones both ways, of methods that learn a class, mean undirected.
    cpdag_adjacency_ : int8 array of shape (n_features_in_, n_features_in_)
        The essential graph.
    score_ : float or None
        The score of the DAG on the data of ``fit``; None where the graph has no DAG.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        The columns, where all names are text.
    """

    method: ClassVar[str]

    penalty: str | float = "bic"
    convention: Convention = "paper"
    equivalent_sample_size: float = 1.0
    constraints: Constraints | None = None
    max_parents: int | None = None
    kind: Literal["auto", "continuous", "discrete"] = "auto"
    time_limit: float | None = None
    progress: bool | Progress = False

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the graph of the columns of X.

        Parameters
        ----------
        X : array, pandas or polars frame, dict of columns, or Table
            The data, one row a sample. Floats are continuous; integers, booleans, categories and text discrete.
        y : ignored
            There is no target.
        """
        table = self._table(X, reset=True)
        self.result_: Result = learn(
            table,
            self.method,
            score=self.penalty,
            convention=self.convention,
            equivalent_sample_size=self.equivalent_sample_size,
            constraints=self.constraints,
            max_parents=self.max_parents,
            time_limit=self.time_limit,
            progress=self.progress,
            **self._own_options(),
        )
        if self.result_.status == "time_limit":
            warnings.warn(
                f"{type(self).__name__} was stopped by time_limit={self.time_limit}; the graph is the best so far, "
                f"raise time_limit for a better one",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.adjacency_: NDArray[np.int8] = self.result_.adjacency
        self.cpdag_adjacency_: NDArray[np.int8] = self.result_.cpdag_adjacency
        self.score_: float | None = self.result_.score
        return self

    def score(self, X: Any, y: object = None) -> float:
        """Return the score of the learned DAG on other data, divided by the number of its rows.

        Parameters
        ----------
        X : as in ``fit``
            Data with the same columns.
        y : ignored
            There is no target.

        Returns
        -------
        float
            The score named by ``penalty``, per row, so that folds of different sizes compare; higher is better.

        Notes
        -----
        The structure is judged, not its parameters: those are estimated anew from X, and their number is paid for
        by the penalty. With ``penalty="loglik"`` nothing is paid, and more edges never score lower.
        """
        check_is_fitted(self, "result_")
        table = self._table(X, reset=False)
        dag = self.result_.dag
        if dag is None:
            raise InputError(
                f"the graph that {type(self).__name__} learned has no DAG, so it has no score; its directions "
                f"contradict each other: try another alpha= or more rows"
            )
        most = max(degree for _, degree in dag.in_degree())
        examine_table(table, most).raise_for_errors()
        scorer = make_score(
            table,
            self.penalty,
            convention=self.convention,
            equivalent_sample_size=self.equivalent_sample_size,
        )
        return float(scorer.total(self._dag_adjacency())) / table.n_samples

    def _dag_adjacency(self) -> NDArray[np.int8]:
        """Return the learned DAG, or a member of the learned class, in column order."""
        dag = self.result_.dag
        adjacency = np.zeros_like(self.result_.adjacency)
        place = {name: k for k, name in enumerate(self.result_.names)}
        for tail, head in dag.edges if dag is not None else ():
            adjacency[place[tail], place[head]] = 1
        return adjacency

    def _own_options(self) -> dict[str, Any]:
        """Return the parameters that only this method has, the seed as a number."""
        shared = StructureLearner._get_param_names()
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in shared}
        if "random_state" in options:
            options["random_state"] = _seed(options["random_state"])
        return options

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Return the data as a table; check, or with ``reset`` keep, the number and the names of its columns."""
        if isinstance(X, (str, os.PathLike)):
            raise InputError(
                f"expected an array or a frame but got the path {str(X)!r}; read it with dagopt.as_table, or use "
                f"dagopt.learn, which takes files"
            )
        if isinstance(X, (ContinuousTable, DiscreteTable)):
            validate_data(self, pd.DataFrame(columns=list(X.names)), reset=reset, skip_check_array=True)
            return X
        if type(X) is dict:  # and not a sparse array that is one, too
            X = pd.DataFrame(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_min_samples=2, ensure_min_features=2, estimator=self, input_name="X")
        try:
            return as_table(X, kind=self.kind)
        except TypeError as error:
            raise InputError(
                f"expected numbers, text or other single values in the cells of X but got {error}"
            ) from error

    def __sklearn_tags__(self) -> Any:
        """Say that cells may hold text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


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
    max_passes, max_columns : int, optional
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
    max_columns: int | None = None
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


def _seed(random_state: Any) -> Any:
    """Return a seed drawn from what scikit-learn takes as a random state; a number stays as it is."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_SEED))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(LARGEST_SEED))
    return random_state
