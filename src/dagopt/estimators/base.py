"""What all estimators share: parameters in the constructor, ``fit``, learned attributes with ``_``."""

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

from dagopt.data.doctor import examine_table
from dagopt.data.table import ContinuousTable, DiscreteTable, Table, as_table
from dagopt.errors import InputError
from dagopt.knowledge import Constraints
from dagopt.learning import learn
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.scores.build import Convention, make_score

__all__ = ["StructureLearner", "estimator"]

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


def _seed(random_state: Any) -> Any:
    """Return a seed drawn from what scikit-learn takes as a random state; a number stays as it is."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_SEED))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(LARGEST_SEED))
    return random_state
