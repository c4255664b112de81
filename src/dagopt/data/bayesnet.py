"""Bayesian networks with parameters: conditional probability tables, or linear-Gaussian equations."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import networkx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dagopt.errors import InputError, quoted

__all__ = ["DiscreteNetwork", "GaussianNetwork"]

RandomState = int | np.random.Generator | None
Parents = tuple[tuple[int, ...], ...]

MOST_CELLS = 10**8  # a larger table is refused before memory is asked for
SUM_TOLERANCE = 1e-6  # probabilities of a row may miss 1 by this much; they are then divided by their sum
ROUNDING = 1e-12  # rows nearer to 1 than this stay as they are, so that a network read back is the same


@dataclass(frozen=True, eq=False, repr=False)
class DiscreteNetwork:
    """A DAG over discrete variables with one conditional probability table a node.

    Parameters
    ----------
    names : sequence of str
        Node names, in column order.
    levels : sequence of sequences of str
        The levels of each node.
    parents : sequence of sequences of int
        The parents of each node, by position; their order is the order of the table's axes.
    tables : sequence of arrays
        ``tables[j][a, b, ..., k]`` is P(node j = level k | parents = a, b, ...).
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    parents: Parents
    tables: tuple[NDArray[np.float64], ...]

    def __post_init__(self) -> None:
        names = _checked_names(self.names)
        for what, given in (("levels", self.levels), ("parents", self.parents), ("tables", self.tables)):
            if len(given) != len(names):
                raise InputError(f"expected {what} for {len(names)} nodes, got {len(given)}; give one per name")
        levels = tuple(_checked_levels(n, own) for n, own in zip(names, self.levels, strict=True))
        parents = tuple(tuple(int(i) for i in own) for own in self.parents)
        topological_order(names, parents)
        tables = tuple(_checked_table(names, levels, parents, j, t) for j, t in enumerate(self.tables))
        for field, value in (("names", names), ("levels", levels), ("parents", parents), ("tables", tables)):
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        edges = sum(map(len, self.parents))
        return f"DiscreteNetwork({len(self.names)} nodes, {edges} edges, {self.n_parameters} parameters)"

    @property
    def adjacency(self) -> NDArray[np.int64]:
        """Array with ``[i, j] = 1`` where i -> j."""
        return _adjacency(self.parents)

    @property
    def dag(self) -> networkx.DiGraph:
        """The structure, as a new graph over the names."""
        return _graph(self.names, self.adjacency)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: (arity - 1) for each configuration of the parents."""
        return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in self.tables)

    def sample(self, n_samples: int, random_state: RandomState = None) -> pd.DataFrame:
        """Draw rows by forward sampling; the columns are categorical with the levels as strings."""
        n_samples = checked_count("n_samples", n_samples)
        rng = as_generator(random_state)
        codes = np.zeros((len(self.names), n_samples), dtype=np.intp)
        for j in topological_order(self.names, self.parents):
            table = self.tables[j]
            rows = _configurations(codes, self.parents[j], table.shape, n_samples)
            cumulative = np.cumsum(table.reshape(-1, table.shape[-1]), axis=1)
            cumulative /= cumulative[:, -1:]  # exactly 1 from the last possible level on
            draws = rng.random(n_samples)
            for level in range(table.shape[-1] - 1):
                codes[j] += draws >= cumulative[rows, level]
        columns = {
            name: pd.Categorical.from_codes(codes[j], categories=pd.Index(list(self.levels[j]), dtype=object))
            for j, name in enumerate(self.names)
        }
        return pd.DataFrame(columns)

    @classmethod
    def fit(
        cls,
        data: pd.DataFrame,
        dag: networkx.DiGraph,
        levels: Mapping[str, Sequence[str]] | None = None,
        pseudocount: float = 0.0,
    ) -> DiscreteNetwork:
        """Fit the tables of a given structure by maximum likelihood.

        Parameters
        ----------
        data : DataFrame
            Discrete columns without missing values; values are compared as strings.
        dag : networkx.DiGraph
            The structure, over exactly the columns.
        levels : mapping of str to sequence of str, optional
            Levels by column. By default the categories of a categorical column, else the sorted values.
        pseudocount : float
            Added to every count (0: the ratios of the counts).

        Returns
        -------
        DiscreteNetwork
            Nodes in column order. A parent configuration that never occurs gets the uniform distribution,
            for which the likelihood has no say.
        """
        if not 0 <= pseudocount < np.inf:
            raise InputError(f"expected a finite pseudocount >= 0, got {pseudocount}; 0 is maximum likelihood")
        names, data = _named_columns(data)
        parents = _parents_of(dag, names)
        given = {} if levels is None else {str(name): tuple(own) for name, own in levels.items()}
        if unknown := [name for name in given if name not in names]:
            raise InputError(f"levels are given for {quoted(unknown)}, not among the columns: {quoted(names)}")
        every = tuple(_checked_levels(name, given[name] if name in given else _levels_of(data[name])) for name in names)
        codes = np.stack([_codes(data[name], own) for name, own in zip(names, every, strict=True)])
        tables = []
        for j in range(len(names)):
            shape = table_shape(names, every, parents, j)
            cells = _configurations(codes, parents[j], shape, len(data)) * shape[-1] + codes[j]
            counts = np.bincount(cells, minlength=prod(shape)).reshape(shape) + float(pseudocount)
            totals = counts.sum(axis=-1, keepdims=True)
            tables.append(np.where(totals > 0, counts / np.where(totals > 0, totals, 1), 1 / shape[-1]))
        return cls(names, every, parents, tuple(tables))

    def log_likelihood(self, data: pd.DataFrame) -> float:
        """Return the natural log of the probability of the rows (-inf if one of them is impossible)."""
        _, data = _named_columns(data, self.names)
        codes = np.stack([_codes(data[n], own) for n, own in zip(self.names, self.levels, strict=True)])
        total = 0.0
        for j, table in enumerate(self.tables):
            rows = _configurations(codes, self.parents[j], table.shape, len(data))
            with np.errstate(divide="ignore"):
                total += float(np.log(table.reshape(-1, table.shape[-1])[rows, codes[j]]).sum())
        return total


@dataclass(frozen=True, eq=False, repr=False)
class GaussianNetwork:
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
        names = _checked_names(self.names)
        n = len(names)
        object.__setattr__(self, "names", names)
        for field, shape in (("weights", (n, n)), ("intercepts", (n,)), ("variances", (n,))):
            object.__setattr__(self, field, _checked_numbers(field, getattr(self, field), shape))
        topological_order(names, self.parents)
        if (bad := self.variances <= 0).any():
            j = int(np.argmax(bad))
            raise InputError(f"expected a variance > 0 for {names[j]!r}, got {self.variances[j]}")

    def __repr__(self) -> str:
        edges = np.count_nonzero(self.weights)
        return f"GaussianNetwork({len(self.names)} nodes, {edges} edges, {self.n_parameters} parameters)"

    @property
    def parents(self) -> Parents:
        """The parents of each node, by position."""
        return tuple(tuple(np.flatnonzero(column).tolist()) for column in self.weights.T)

    @property
    def adjacency(self) -> NDArray[np.int64]:
        """Array with ``[i, j] = 1`` where i -> j."""
        return _adjacency(self.parents)

    @property
    def dag(self) -> networkx.DiGraph:
        """The structure, as a new graph: edges have a ``weight``, nodes a ``variance``."""
        graph = _graph(self.names, self.adjacency)
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

    def sample(
        self, n_samples: int, random_state: RandomState = None, order: Sequence[int] | None = None
    ) -> pd.DataFrame:
        """Draw rows by forward sampling.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, Generator or None
            Seed, generator, or fresh entropy.
        order : sequence of int, optional
            A topological order in which the nodes draw their noise (by default, one found here).
        """
        n_samples = checked_count("n_samples", n_samples)
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
        names, data = _named_columns(data)
        parents = _parents_of(dag, names)
        values = _numbers(data)
        if len(values) < 2:
            raise InputError(f"expected at least 2 rows to fit the equations, got {len(values)}; add data")
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

    def log_likelihood(self, data: pd.DataFrame) -> float:
        """Return the natural log of the density of the rows."""
        values = _numbers(_named_columns(data, self.names)[1])
        residuals = values - values @ self.weights - self.intercepts
        return float(-0.5 * (np.log(2 * np.pi * self.variances) + residuals**2 / self.variances).sum())


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator itself, or a new one from a seed or from fresh entropy."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(checked_count("random_state", random_state, least=0))


def checked_count(what: str, value: Any, least: int = 1) -> int:
    """Return ``value`` as an int, or raise if it is no integer or too small."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"expected {what} to be an integer >= {least}, got {value!r}")
    return int(value)


def topological_order(names: Sequence[str], parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the positions with parents before children; raise if a parent is unknown or there is a cycle."""
    n = len(names)
    children: list[list[int]] = [[] for _ in range(n)]
    for j, own in enumerate(parents):
        if len(set(own)) < len(own) or not all(0 <= i < n for i in own):
            raise InputError(f"expected different parents among positions 0..{n - 1} for {names[j]!r}, got {own}")
        for i in own:
            children[i].append(j)
    waiting = [len(own) for own in parents]
    ready = deque(j for j in range(n) if not waiting[j])
    order: list[int] = []
    while ready:
        order.append(ready.popleft())
        for child in children[order[-1]]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if len(order) < n:
        stuck = quoted(names[j] for j in range(n) if waiting[j])
        raise InputError(f"expected an acyclic graph, got a cycle among or above {stuck}; remove one of its edges")
    return order


def _checked_order(order: Sequence[int], parents: Parents) -> list[int]:
    place = {int(j): k for k, j in enumerate(order)}
    if sorted(place) != list(range(len(parents))) or len(order) != len(parents):
        raise InputError(f"expected an order that holds each of 0..{len(parents) - 1} once, got {list(order)}")
    if late := [j for j, own in enumerate(parents) if any(place[i] > place[j] for i in own)]:
        raise InputError(f"expected an order with parents before children, got node {late[0]} before a parent")
    return list(place)


def table_shape(
    names: Sequence[str], levels: Sequence[Sequence[str]], parents: Sequence[Sequence[int]], node: int
) -> tuple[int, ...]:
    """Return (arities of the parents..., own arity), or raise if such a table would not fit in memory."""
    shape = (*(len(levels[i]) for i in parents[node]), len(levels[node]))
    if prod(shape) > MOST_CELLS:
        raise InputError(
            f"the table of {names[node]!r} with {len(shape) - 1} parents would have {prod(shape):,} cells,"
            f" expected at most {MOST_CELLS:,}; give it fewer parents or levels"
        )
    return shape


def _configurations(
    codes: NDArray[np.intp], parents: Sequence[int], shape: Sequence[int], n_samples: int
) -> NDArray[np.intp]:
    """Return each row's configuration of the parents, counted with the last parent fastest."""
    rows = np.zeros(n_samples, dtype=np.intp)
    for i, arity in zip(parents, shape, strict=False):
        rows = rows * arity + codes[i]
    return rows


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    names = tuple(names)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"expected at least one node name, each a string, got {quoted(names) or 'none'}")
    if len(set(names)) < len(names):
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        raise InputError(f"expected different node names, got {quoted(twice)} more than once; rename")
    return names


def _checked_levels(name: str, levels: Sequence[str]) -> tuple[str, ...]:
    levels = tuple(str(level) for level in levels)
    if not levels or len(set(levels)) < len(levels):
        raise InputError(f"expected at least one level, all different, for {name!r}, got {quoted(levels) or 'none'}")
    return levels


def _checked_table(
    names: Sequence[str], levels: Sequence[Sequence[str]], parents: Parents, node: int, table: ArrayLike
) -> NDArray[np.float64]:
    """Return a read-only copy of one table, its rows summing to 1."""
    shape = table_shape(names, levels, parents, node)
    array = np.array(table, dtype=np.float64)
    if array.shape != shape:
        raise InputError(
            f"expected a table of shape {shape} for {names[node]!r} (its parents' levels, then its own),"
            f" got {array.shape}"
        )
    sums = array.sum(axis=-1)
    inside = ((array >= 0) & (array <= 1)).all(axis=-1)
    bad = ~inside | (np.abs(sums - 1) > SUM_TOLERANCE)
    if bad.any():
        where = np.unravel_index(int(np.argmax(bad)), bad.shape)
        given = ", ".join(f"{names[i]}={levels[i][int(k)]}" for i, k in zip(parents[node], where, strict=True))
        raise InputError(
            f"expected probabilities in [0, 1] that sum to 1 for {names[node]!r}"
            + (f" given {given}" if given else "")
            + f", got {array[where].tolist()}"
        )
    rows = np.abs(sums - 1) > ROUNDING
    array[rows] /= sums[rows][..., None]
    array.setflags(write=False)
    return array


def _checked_numbers(what: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = np.array(value, dtype=np.float64)
    if array.shape != shape:
        raise InputError(f"expected {what} of shape {shape}, one entry per name, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"expected finite {what}, got nan or infinity")
    array.setflags(write=False)
    return array


def _adjacency(parents: Parents) -> NDArray[np.int64]:
    adjacency = np.zeros((len(parents), len(parents)), dtype=np.int64)
    for j, own in enumerate(parents):
        adjacency[list(own), j] = 1
    return adjacency


def _graph(names: Sequence[str], adjacency: NDArray[np.int64]) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[i], names[j]) for i, j in zip(*np.nonzero(adjacency), strict=True))
    return graph


def _parents_of(dag: networkx.DiGraph, names: Sequence[str]) -> Parents:
    """Return the parents of each column, in column order."""
    if not isinstance(dag, networkx.DiGraph):
        raise InputError(f"expected the DAG as a networkx.DiGraph over the columns, got {type(dag).__name__}")
    position = {name: k for k, name in enumerate(names)}
    nodes = {str(node) for node in dag}
    if strange := [node for node in sorted(nodes) if node not in position]:
        raise InputError(f"the DAG has nodes that are no columns: {quoted(strange)}; columns: {quoted(names)}")
    if missing := [name for name in names if name not in nodes]:
        raise InputError(f"the DAG has no node for the columns {quoted(missing)}; add them with dag.add_node")
    parents: list[set[int]] = [set() for _ in names]
    for i, j in dag.edges():
        parents[position[str(j)]].add(position[str(i)])
    return tuple(tuple(sorted(own)) for own in parents)


def _named_columns(data: pd.DataFrame, names: Sequence[str] | None = None) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Return names and frame with string column labels, cut to ``names`` if given."""
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"expected the data as a pandas DataFrame, got {type(data).__name__}")
    labels = _checked_names([str(label) for label in data.columns])
    data = data.set_axis(list(labels), axis=1)
    if names is None:
        return labels, data
    if missing := [name for name in names if name not in labels]:
        raise InputError(f"expected a column for every node, missing: {quoted(missing)}; got {quoted(labels)}")
    return tuple(names), data[list(names)]


def _numbers(data: pd.DataFrame) -> NDArray[np.float64]:
    for name in data.columns:
        if not pd.api.types.is_numeric_dtype(data[name]):
            raise InputError(f"expected numbers in column {name!r}, got {data[name].dtype}; convert or drop it")
    values = data.to_numpy(dtype=np.float64, na_value=np.nan)
    if (bad := ~np.isfinite(values).all(axis=0)).any():
        column = data.columns[int(np.argmax(bad))]
        raise InputError(f"expected finite numbers in column {column!r}, got missing or infinite; drop such rows")
    return values


def _levels_of(column: pd.Series[Any]) -> tuple[str, ...]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return tuple(str(level) for level in column.cat.categories)
    return tuple(sorted({str(level) for level in column.dropna().unique()}))


def _codes(column: pd.Series[Any], levels: Sequence[str]) -> NDArray[np.intp]:
    """Return the position of each value among the levels."""
    places, values = pd.factorize(column)
    if (places < 0).any():
        raise InputError(
            f"expected no missing value in column {column.name!r}, got {(places < 0).sum()};"
            " drop the rows or fill them in"
        )
    position = {level: k for k, level in enumerate(levels)}
    if unknown := [value for value in map(str, values) if value not in position]:
        raise InputError(
            f"expected one of {quoted(levels)} in column {column.name!r}, got {quoted(unknown)};"
            " give levels that hold every value"
        )
    return np.array([position[str(value)] for value in values], dtype=np.intp)[places]
