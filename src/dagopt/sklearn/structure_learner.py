"""What all estimators share: the parameters of score, run and data, ``fit``, ``score``, and docstrings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from inspect import signature
from types import MethodType
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from dagopt.data.data_options import DataOptions
from dagopt.data.findings import Finding, warn_of
from dagopt.data.table import TABLES, Table, read_table
from dagopt.errors import InputError, quoted
from dagopt.graph.constraints import Constraints
from dagopt.learning.learning import learn
from dagopt.methods.registry import METHODS, MethodName
from dagopt.options import MARK, described, hint_for, with_marked
from dagopt.progress import Progress
from dagopt.results.result import Result
from dagopt.scores.score_options import ScoreLike, ScoreOptions

__all__ = ["StructureLearner", "estimator"]

LARGEST_SEED = 2**31 - 1  # that numpy takes on every platform

CALLED = {"transform": "transformed"}  # a parameter ``transform`` would make it a transformer
NOT_HERE = tuple(one.name for one in fields(DataOptions) if DataOptions.about(one).of_source)

OF_THE_RUN = """
constraints : Constraints or mapping, optional
    What is known about the graph.
max_parents : int, optional
    The largest number of parents of a node.
time_limit : float, optional
    Seconds for fit; a run that reaches the limit warns.
progress : bool or Progress, default False
    Whether to show the run.
"""
ATTRIBUTES = """
Attributes
----------
result_ : Result
    Everything about the run: bound, status, notes, trace, drawings and report.
adjacency_ : int8 array of shape (n_features_in_, n_features_in_)
    The graph, ``[i, j] = 1`` means i → j; ones both ways, from methods that learn a class, mean undirected.
cpdag_adjacency_ : int8 array of shape (n_features_in_, n_features_in_)
    The essential graph.
score_ : float or None
    The score of the DAG on the data of ``fit``; None if the graph has no DAG.
n_features_in_ : int
    Number of columns.
feature_names_in_ : array of str
    The columns, if all names are text.
"""

Estimator = TypeVar("Estimator", bound="type[StructureLearner]")


class _Docstring:
    """A docstring whose ``{options}`` are filled in when it is read: only then is the method imported."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, instance: object, owner: type[StructureLearner]) -> str:
        own = described([METHODS[owner.method].options_type()])
        shared = described([ScoreOptions, DataOptions], CALLED, NOT_HERE)
        parameters = ["Parameters", "----------", own, shared, OF_THE_RUN.strip(), ATTRIBUTES.rstrip()]
        return with_marked(self.text, "\n".join(parameters))


class _ScoreToo:
    """The name ``score`` of an estimator: the parameter of ``learn``, and the method that scikit-learn calls.

    Read from an estimator it is the method; what was set, by the constructor or by ``set_params``, is the parameter,
    which ``get_params`` returns.
    """

    def __init__(self, method: Callable[..., float]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        return self._method if instance is None else MethodType(self._method, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)["score"] = value


def _with_hints(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that says what a name which it does not have is called here."""
    taken = [name for name in signature(constructor).parameters if name != "self"]

    @wraps(constructor)
    def constructed(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in taken:
                known = f"it has {quoted(taken, 20)}{hint_for(name, taken)}"
                raise InputError(f"{type(self).__name__} has no parameter {name!r}; {known}")
        constructor(self, *args, **given)

    return constructed


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: Estimator) -> Estimator:
    """Make the constructor of an estimator from its fields, and complete its docstring."""
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    cls.__init__ = _with_hints(cls.__init__)  # type: ignore[method-assign]
    text = cls.__doc__ or ""
    if MARK in text:
        cls.__doc__ = _Docstring(text)  # type: ignore[assignment]  # Python reads it by __get__
    return cls


@estimator
class StructureLearner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What all estimators share; use one of its subclasses."""

    method: ClassVar[MethodName]

    score: ScoreLike = "auto"
    convention: str = "paper"
    equivalent_sample_size: float = 1.0
    degree: int = 3
    constraints: Constraints | Mapping[str, Any] | None = None
    max_parents: int | None = None
    time_limit: float | None = None
    progress: bool | Progress | None = False
    kind: str | Mapping[str, str] = "auto"
    transformed: str | Mapping[str, Any] | None = None
    discretize: str | Mapping[str, str] | None = None
    bins: int = 3
    missing: str = "error"
    weighting: str = "auto"
    centre_groups: bool = False

    def fit(self, X: Any, y: object = None, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the graph of the columns of X.

        Parameters
        ----------
        X : array, pandas or polars frame, dict of columns, or Table
            The data, one row per sample. Floats are continuous; integers, booleans, categories and text are discrete.
        y : ignored
            There is no target.
        sample_weight : array, optional
            How much each row counts, ``weights=`` of ``learn``.
        groups : array, optional
            Which unit each row belongs to, ``groups=`` of ``learn``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> learner = dagopt.ExactDP().fit(data)
        >>> learner.result_.status
        'optimal'
        """
        table, findings = self._read(X, reset=True, doctor=True, weights=sample_weight, groups=groups)
        options = self.get_params(deep=False)
        if "random_state" in options:
            options["random_state"] = _seed(options["random_state"])
        for name in self._data_options():
            options.pop(CALLED.get(name, name))
        result = learn(table, self.method, score=options.pop("score"), **options)
        self.result_: Result = replace(result, findings=(*findings, *result.findings))
        warn_of(findings)
        if self.result_.status == "time_limit":
            warnings.warn(
                f"{type(self).__name__} was stopped by time_limit={self.time_limit}; the graph is the best so far; "
                f"raise time_limit for a better one",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.adjacency_: NDArray[np.int8] = self.result_.adjacency
        self.cpdag_adjacency_: NDArray[np.int8] = self.result_.cpdag_adjacency
        self.score_: float | None = self.result_.score
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, ``score`` among them.

        Examples
        --------
        >>> import dagopt
        >>> dagopt.ExactDP(max_parents=2).get_params()["max_parents"]
        2
        """
        return {name: vars(self)[name] for name in self._get_param_names()}

    def _log_likelihood_per_row(self, X: Any, y: object = None, *, sample_weight: Any = None) -> float:
        """Return the log-likelihood per row of other data, with graph and parameters from the data of ``fit``.

        Parameters
        ----------
        X : as in ``fit``
            Data with the same columns.
        y : ignored
            There is no target.
        sample_weight : array, optional
            How much each row counts.

        Returns
        -------
        float
            Per row, so that folds of different sizes can be compared; higher is better.

        Notes
        -----
        X is not used for the graph or its parameters, so needless edges predict worse and grid searches can compare
        penalties. Tables of discrete columns are smoothed by a prior with the weight of one row.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> learner = dagopt.ExactDP().fit(data)
        >>> learner.score(data) < 0
        True
        """
        check_is_fitted(self, "result_")
        table, _ = self._read(X, reset=False, weights=sample_weight)
        if self.result_.dag is None:
            raise InputError(
                f"the graph that {type(self).__name__} learned has no DAG, because its directions contradict each "
                f"other, so it has no score; try another alpha= or more rows"
            )
        return self.result_.log_likelihood(table) / table.n_samples

    def _data_options(self) -> dict[str, Any]:
        """Return the parameters that are options of data."""
        return {name: getattr(self, CALLED.get(name, name)) for name in DataOptions.defaults() if name not in NOT_HERE}

    def _read(self, X: Any, *, reset: bool, doctor: bool = False, **rows: Any) -> tuple[Table, tuple[Finding, ...]]:
        """Return the data as a table, and findings; check, or with ``reset`` keep, number and names of the columns."""
        if isinstance(X, (str, os.PathLike)):
            raise InputError(
                f"expected an array or a frame but got the path {str(X)!r}; read it with dagopt.as_table, or use "
                f"dagopt.learn, which reads files"
            )
        if isinstance(X, TABLES):
            validate_data(self, pd.DataFrame(columns=list(X.names)), reset=reset, skip_check_array=True)
            return X, ()
        if type(X) is dict:  # not a sparse array, which may be a dict too
            X = pd.DataFrame(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_min_samples=2, ensure_min_features=2, estimator=self, input_name="X")
        try:
            return read_table(X, DataOptions(**self._data_options(), **rows), doctor=doctor)
        except TypeError as error:
            raise InputError(
                f"expected numbers, text or other single values in the cells of X but got {error}; convert them"
            ) from error

    def __sklearn_tags__(self) -> Any:
        """Say that cells may hold text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


StructureLearner.score = _ScoreToo(StructureLearner._log_likelihood_per_row)  # type: ignore[assignment]


def _seed(random_state: Any) -> Any:
    """Return a seed drawn from a random state of scikit-learn; a number is returned as it is."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_SEED))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(LARGEST_SEED))
    return random_state
