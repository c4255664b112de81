"""`GaussianNetwork`: a DAG with a linear equation and Gaussian noise at every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dagopt.errors import InputError, checked_whole
from dagopt.networks.checks import (
    Parents,
    RandomState,
    as_generator,
    checked_names,
    named_columns,
    parents_of,
    topological_order,
)
from dagopt.networks.network import Network

if TYPE_CHECKING:
    import networkx

    from dagopt.networks.inference.conditional_normal import ConditionalNormal

__all__ = ["GaussianNetwork"]


@dataclass(frozen=True, eq=False, repr=False)
class GaussianNetwork(Network):
    """A DAG over continuous variables, each a linear function of its parents plus Gaussian noise.

    Parameters
    ----------
    names : sequence of str
        Node names, in column order.
    weights : array of shape (n, n)
        ``weights[i, j]`` is the coefficient of i in the equation of j; 0 means that there is no edge.
    intercepts, variances : arrays of shape (n,)
        The constant of each equation, and the variance of its noise.
    """

    names: tuple[str, ...]
    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    variances: NDArray[np.float64]

    def __post_init__(self) -> None:
        names = checked_names(self.names)
        n = len(names)
        object.__setattr__(self, "names", names)
        for field, shape in (("weights", (n, n)), ("intercepts", (n,)), ("variances", (n,))):
            object.__setattr__(self, field, _checked_numbers(field, getattr(self, field), shape))
        topological_order(names, self.parents)
        if (bad := self.variances <= 0).any():
            j = int(np.argmax(bad))
            raise InputError(f"expected a variance > 0 for {names[j]!r} but got {self.variances[j]}")

    @cached_property
    def parents(self) -> Parents:  # type: ignore[override]  # worked out, not given
        """The parents of each node, by position."""
        return tuple(tuple(np.flatnonzero(column).tolist()) for column in self.weights.T)

    @property
    def dag(self) -> networkx.DiGraph:
        """The structure, as a new graph: edges have a ``weight``, nodes a ``variance``."""
        graph = super().dag
        for j, name in enumerate(self.names):
            graph.nodes[name]["variance"] = float(self.variances[j])
        for i, j in zip(*np.nonzero(self.weights), strict=True):
            graph.edges[self.names[i], self.names[j]]["weight"] = float(self.weights[i, j])
        return graph

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, intercepts and variances."""
        return int(np.count_nonzero(self.weights)) + 2 * len(self.names)

    def covariance(self) -> NDArray[np.float64]:
        """Return the covariance matrix the equations imply, (I - W)^-T diag(variances) (I - W)^-1."""
        effects = np.linalg.inv(np.eye(len(self.names)) - self.weights)  # total effect of i on j
        return np.asarray(effects.T @ (self.variances[:, None] * effects))

    def mean(self) -> NDArray[np.float64]:
        """Return the means that the equations imply, (I - W)^-T intercepts."""
        return np.asarray(np.linalg.solve((np.eye(len(self.names)) - self.weights).T, self.intercepts))

    def levels_of(self, node: int) -> None:
        """Return None: every node is continuous."""

    def draw_node(self, node: int, cells: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw a node in each row, given its parents there."""
        return np.asarray(rng.normal(self._expected(node, cells), np.sqrt(self.variances[node])))

    def log_node(self, node: int, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log of the conditional density of a node in each row."""
        residuals = cells[:, node] - self._expected(node, cells)
        return np.asarray(-0.5 * (np.log(2 * np.pi * self.variances[node]) + residuals**2 / self.variances[node]))

    def without_parents(self, node: int) -> GaussianNetwork:
        """Return the network in which a node has no parents, only its own mean and variance."""
        weights, intercepts, variances = self.weights.copy(), self.intercepts.copy(), self.variances.copy()
        weights[:, node] = 0
        intercepts[node], variances[node] = self.mean()[node], self.covariance()[node, node]
        return GaussianNetwork(self.names, weights, intercepts, variances)

    def _expected(self, node: int, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of a node in each row, given its parents there."""
        known = np.flatnonzero(self.weights[:, node])
        return np.asarray(cells[:, known] @ self.weights[known, node] + self.intercepts[node])

    def sample(
        self,
        n_samples: int,
        random_state: RandomState = None,
        *,
        evidence: Mapping[str, object] | None = None,
        order: Sequence[int] | None = None,
    ) -> pd.DataFrame:
        """Draw rows: by forward sampling, or from the conditional distribution given some columns.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, Generator or None
            Seed, generator, or fresh entropy.
        evidence : mapping of str to value, optional
            What is known in every row.
        order : sequence of int, optional
            For forward sampling: a topological order in which the nodes draw their noise (one is found by default).
        """
        if evidence:
            return super().sample(n_samples, random_state, evidence=evidence)
        n_samples = checked_whole("n_samples", n_samples, 1)
        rng = as_generator(random_state)
        parents = self.parents
        values = np.empty((n_samples, len(self.names)), order="F")
        for j in topological_order(self.names, parents) if order is None else _checked_order(order, parents):
            noise = rng.normal(0, np.sqrt(self.variances[j]), n_samples)
            known = list(parents[j])
            values[:, j] = values[:, known] @ self.weights[known, j] + self.intercepts[j] + noise
        return pd.DataFrame(values, columns=list(self.names))

    @classmethod
    def fit(cls, data: pd.DataFrame, dag: networkx.DiGraph) -> GaussianNetwork:
        """Fit the equations of a given structure by maximum likelihood: least squares with intercept.

        Parameters
        ----------
        data : DataFrame
            Numeric columns without missing values.
        dag : networkx.DiGraph
            The structure, over exactly the columns.

        Returns
        -------
        GaussianNetwork
            Nodes in column order; each variance is the residual sum of squares over the number of rows.
        """
        names, data = named_columns(data)
        parents = parents_of(dag, names)
        values = _numbers(data)
        if len(values) < 2:
            raise InputError(f"expected at least 2 rows to fit the equations but got {len(values)}; add data")
        mean = values.mean(axis=0)
        covariance = np.atleast_2d(np.cov(values, rowvar=False, bias=True))
        scale = np.sqrt(np.diagonal(covariance))
        scale = np.where(scale > 0, scale, 1.0)
        correlation = covariance / np.outer(scale, scale)
        weights, variances = np.zeros_like(covariance), np.zeros(len(names))
        for j, own in enumerate(parents):
            known = list(own)
            beta = np.linalg.lstsq(correlation[np.ix_(known, known)], correlation[known, j], rcond=None)[0]
            left = correlation[j, j] - beta @ correlation[known, j]
            if left <= 1e-13:
                why = "is a linear function of its parents" if correlation[j, j] > 0 else "is constant"
                raise InputError(f"column {names[j]!r} {why}, so its noise has no variance; drop the column")
            weights[known, j] = beta * scale[j] / scale[known]
            variances[j] = left * scale[j] ** 2
        return cls(names, weights, mean - mean @ weights, variances)

    def log_likelihoods(self, data: pd.DataFrame) -> NDArray[np.float64]:
        """Return the natural log of the density of each row."""
        values = _numbers(named_columns(data, self.names)[1])
        residuals = values - values @ self.weights - self.intercepts
        terms = np.log(2 * np.pi * self.variances) + residuals**2 / self.variances
        return np.asarray(-0.5 * terms.sum(axis=1))

    def engine(self) -> ConditionalNormal:
        """Return the engine that answers questions about the network."""
        from dagopt.networks.inference.conditional_normal import ConditionalNormal

        return ConditionalNormal(self)


def _checked_order(order: Sequence[int], parents: Parents) -> list[int]:
    place = {int(j): k for k, j in enumerate(order)}
    if sorted(place) != list(range(len(parents))) or len(order) != len(parents):
        raise InputError(f"expected an order that holds each of 0..{len(parents) - 1} once but got {list(order)}")
    if late := [j for j, own in enumerate(parents) if any(place[i] > place[j] for i in own)]:
        raise InputError(f"expected an order with parents before children but got node {late[0]} before a parent")
    return list(place)


def _checked_numbers(what: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = np.array(value, dtype=np.float64)
    if array.shape != shape:
        raise InputError(f"expected {what} of shape {shape}, one entry per name but got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"expected finite {what} but got nan or infinity")
    array.setflags(write=False)
    return array


def _numbers(data: pd.DataFrame) -> NDArray[np.float64]:
    for name in data.columns:
        if not pd.api.types.is_numeric_dtype(data[name]):
            raise InputError(f"expected numbers in column {name!r} but got {data[name].dtype}; convert or drop it")
    values = data.to_numpy(dtype=np.float64, na_value=np.nan)
    if (bad := ~np.isfinite(values).all(axis=0)).any():
        column = data.columns[int(np.argmax(bad))]
        raise InputError(f"expected finite numbers in column {column!r} but got missing or infinite; drop such rows")
    return values
