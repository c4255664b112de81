"""The methods as scikit-learn estimators: parameters in the constructor, ``fit``, learned attributes with ``_``.

Each class is made from the entry of its method in ``methods.registry`` when it is first used: the options of method,
score and data become the parameters of its constructor and its docstring.
"""

from __future__ import annotations

import inspect
import os
import warnings
from dataclasses import dataclass, fields
from functools import cache
from inspect import Parameter, Signature
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from dagopt.data.data_options import DataOptions
from dagopt.data.table import TABLES, Table, as_table
from dagopt.errors import InputError
from dagopt.graph.knowledge import Constraints
from dagopt.learning import learn
from dagopt.methods.registry import METHODS, Method
from dagopt.options import Options, anything, described, option
from dagopt.results.result import Result
from dagopt.scores.score_options import ScoreOptions

__all__ = ["StructureLearner", *sorted(method.estimator for method in METHODS.values() if method.estimator)]

LARGEST_SEED = 2**31 - 1

SCORED_AS = {"score": "penalty"}  # ``score`` is a method of every estimator
NOT_HERE = tuple(one.name for one in fields(DataOptions) if DataOptions.about(one).of_source)


@dataclass(frozen=True)
class RunOptions(Options):
    """Background knowledge and the options of the run."""

    constraints: Constraints | None = option(None, "What is known about the graph.", anything("Constraints"))
    max_parents: int | None = option(None, "The largest number of parents of a node.", anything("int"))
    time_limit: float | None = option(None, "Seconds for fit; a run that reaches the limit warns.", anything("float"))
    progress: Any = option(False, "Whether to show the run.", anything("bool or Progress"))


SHARED: tuple[type[Options], ...] = (ScoreOptions, RunOptions, DataOptions)
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


class StructureLearner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What all estimators share; use one of its subclasses, which ``estimator_of`` makes from the methods."""

    method: ClassVar[str]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        method = METHODS[cls.method]
        _give_parameters(cls, (method.options_type(), *SHARED), method.kind)
        cls.__doc__ = _docstring(method)

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the graph of the columns of X.

        Parameters
        ----------
        X : array, pandas or polars frame, dict of columns, or Table
            The data, one row per sample. Floats are continuous; integers, booleans, categories and text are discrete.
        y : ignored
            There is no target.
        """
        table = self._table(X, reset=True)
        options = self.get_params(deep=False)
        if "random_state" in options:
            options["random_state"] = _seed(options["random_state"])
        for name in self._data_options():
            options.pop(name)
        self.result_: Result = learn(table, self.method, score=options.pop("penalty"), **options)
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

    def score(self, X: Any, y: object = None) -> float:
        """Return the log-likelihood per row of other data, with graph and parameters from the data of ``fit``.

        Parameters
        ----------
        X : as in ``fit``
            Data with the same columns.
        y : ignored
            There is no target.

        Returns
        -------
        float
            Per row, so that folds of different sizes can be compared; higher is better.

        Notes
        -----
        X is not used for the graph or its parameters, so needless edges predict worse and grid searches can compare
        penalties. Tables of discrete columns are smoothed by a prior with the weight of one row.
        """
        check_is_fitted(self, "result_")
        table = self._table(X, reset=False)
        if self.result_.dag is None:
            raise InputError(
                f"the graph that {type(self).__name__} learned has no DAG, because its directions contradict each "
                f"other, so it has no score; try another alpha= or more rows"
            )
        return self.result_.log_likelihood(table) / table.n_samples

    def _score_options(self) -> dict[str, Any]:
        """Return the parameters that are options of the score, by the names of these options."""
        return {name: getattr(self, SCORED_AS.get(name, name)) for name in ScoreOptions.defaults()}

    def _data_options(self) -> dict[str, Any]:
        """Return the parameters that are options of data."""
        return {name: getattr(self, name) for name in DataOptions.defaults() if name not in NOT_HERE}

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Return the data as a table; check, or with ``reset`` keep, the number and the names of its columns."""
        if isinstance(X, (str, os.PathLike)):
            raise InputError(
                f"expected an array or a frame but got the path {str(X)!r}; read it with dagopt.as_table, or use "
                f"dagopt.learn, which reads files"
            )
        if isinstance(X, TABLES):
            validate_data(self, pd.DataFrame(columns=list(X.names)), reset=reset, skip_check_array=True)
            return X
        if type(X) is dict:  # not a sparse array, which may be a dict too
            X = pd.DataFrame(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_min_samples=2, ensure_min_features=2, estimator=self, input_name="X")
        try:
            return as_table(X, **self._data_options())
        except TypeError as error:
            raise InputError(
                f"expected numbers, text or other single values in the cells of X but got {error}; convert them"
            ) from error

    def __sklearn_tags__(self) -> Any:
        """Say that cells may hold text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def _give_parameters(cls: type[StructureLearner], kinds: tuple[type[Options], ...], kind: str = "auto") -> None:
    """Give a class a constructor made from options, which only assigns, as scikit-learn requires."""
    made = [
        Parameter(SCORED_AS.get(one.name, one.name), Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for options in kinds
        for one in fields(options)
        if one.name not in NOT_HERE
    ]
    made = [one.replace(default=kind) if one.name == "kind" else one for one in made]
    known = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *made])

    def __init__(self: Any, **parameters: Any) -> None:
        bound = known.bind(self, **parameters)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = known  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[method-assign]


def _docstring(method: Method) -> str:
    """Return the docstring of the estimator of a method."""
    own = method.options_type()
    _, _, more = inspect.cleandoc(own.__doc__ or "").partition("\n")
    parts = [f"{method.about[0].upper()}{method.about[1:]}.", "", "Parameters", "----------"]
    return "\n".join([*parts, described((own, *SHARED), SCORED_AS, NOT_HERE), ATTRIBUTES, more.strip()])


_give_parameters(StructureLearner, SHARED)


def _seed(random_state: Any) -> Any:
    """Return a seed drawn from a random state of scikit-learn; a number is returned as it is."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_SEED))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(LARGEST_SEED))
    return random_state


@cache
def estimator_of(method: str) -> type[StructureLearner]:
    """Return the estimator class of a method."""
    name = METHODS[method].estimator
    assert name is not None
    members: dict[str, Any] = {"method": method, "__module__": __name__}
    if method == "cg-dca":
        members["paper"] = classmethod(_paper)
    return type(name, (StructureLearner,), members)


def _paper(cls: type[Any], /, **parameters: Any) -> Any:
    """Return the paper's settings: hybrid start, switch at 50, Kelley (differences are in ``docs/algorithms.md``)."""
    return cls(**METHODS["cg-dca-paper"].options() | parameters)


def __getattr__(name: str) -> Any:
    for method, entry in METHODS.items():
        if entry.estimator == name:
            return estimator_of(method)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
