"""`DiscreteNetwork`: a DAG with a table of conditional probabilities at every node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dagopt.errors import InputError, checked_whole, quoted
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

    from dagopt.networks.inference.elimination import Elimination

__all__ = ["SUM_TOLERANCE", "DiscreteNetwork", "counted_cells", "table_shape"]

MOST_CELLS = 10**8  # a larger table is rejected before memory is allocated
SUM_TOLERANCE = 1e-6  # the sum of a row may differ from 1 by this much; the row is then divided by its sum
ROUNDING = 1e-12  # rows with a sum closer to 1 than this are kept, so that a network read back is the same


@dataclass(frozen=True, eq=False, repr=False)
class DiscreteNetwork(Network):
    """A DAG over discrete variables with one conditional probability table per node.

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
        names = checked_names(self.names)
        for what, given in (("levels", self.levels), ("parents", self.parents), ("tables", self.tables)):
            if len(given) != len(names):
                raise InputError(f"expected {what} for {len(names)} nodes but got {len(given)}; give one per name")
        levels = tuple(_checked_levels(n, own) for n, own in zip(names, self.levels, strict=True))
        parents = tuple(tuple(int(i) for i in own) for own in self.parents)
        topological_order(names, parents)
        tables = tuple(_checked_table(names, levels, parents, j, t) for j, t in enumerate(self.tables))
        for field, value in (("names", names), ("levels", levels), ("parents", parents), ("tables", tables)):
            object.__setattr__(self, field, value)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: (arity - 1) for each configuration of the parents."""
        return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in self.tables)

    def sample(
        self, n_samples: int, random_state: RandomState = None, *, evidence: Mapping[str, object] | None = None
    ) -> pd.DataFrame:
        """Draw rows, given the values of some columns; they are categorical with the levels as strings."""
        if evidence:
            return super().sample(n_samples, random_state, evidence=evidence)
        n_samples = checked_whole("n_samples", n_samples, 1)
        rng = as_generator(random_state)
        codes = np.zeros((len(self.names), n_samples), dtype=np.intp)
        for j in topological_order(self.names, self.parents):
            codes[j] = self._draw(j, codes, rng)
        return pd.DataFrame({name: self._categorical(codes[j], j) for j, name in enumerate(self.names)})

    def levels_of(self, node: int) -> tuple[str, ...]:
        """Return the levels of a node."""
        return self.levels[node]

    def draw_node(self, node: int, cells: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the code of a node's level in each row, given the codes of its parents there."""
        return self._draw(node, self._known_codes(node, cells, own=False), rng).astype(np.float64)

    def log_node(self, node: int, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log of the conditional probability of a node's level in each row."""
        return self._log_probabilities(self._known_codes(node, cells, own=True), [node])

    def without_parents(self, node: int) -> DiscreteNetwork:
        """Return the network in which a node has no parents, and all of its levels are equally probable."""
        parents = tuple(() if j == node else own for j, own in enumerate(self.parents))
        uniform = np.full(len(self.levels[node]), 1 / len(self.levels[node]))
        tables = tuple(uniform if j == node else table for j, table in enumerate(self.tables))
        return DiscreteNetwork(self.names, self.levels, parents, tables)

    def _known_codes(self, node: int, cells: NDArray[np.float64], own: bool) -> NDArray[np.intp]:
        """Return the codes of a family, zero for all other nodes, as an array of nodes by rows."""
        codes = np.zeros(cells.shape[::-1], dtype=np.intp)
        family = [*self.parents[node], *([node] if own else [])]
        codes[family] = cells[:, family].T
        return codes

    def _draw(self, node: int, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the level of a node in each row, given its parents there."""
        table = self.tables[node]
        rows = _configurations(codes, self.parents[node], table.shape)
        cumulative = np.cumsum(table.reshape(-1, table.shape[-1]), axis=1)
        cumulative /= cumulative[:, -1:]  # exactly 1 from the last possible level on
        draws = rng.random(codes.shape[1])
        found = np.zeros(codes.shape[1], dtype=np.intp)
        for level in range(table.shape[-1] - 1):
            found += draws >= cumulative[rows, level]
        return found

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
            Levels by column. By default the categories of a categorical column, otherwise the sorted values.
        pseudocount : float
            Added to every count (0 gives the ratios of the counts).

        Returns
        -------
        DiscreteNetwork
            Nodes in column order. A parent configuration that never occurs does not affect the likelihood and gets the
            uniform distribution.
        """
        if not 0 <= pseudocount < np.inf:
            raise InputError(f"expected a finite pseudocount >= 0 but got {pseudocount}; 0 is maximum likelihood")
        names, data = named_columns(data)
        parents = parents_of(dag, names)
        given = {} if levels is None else {str(name): tuple(own) for name, own in levels.items()}
        if unknown := [name for name in given if name not in names]:
            raise InputError(f"levels are given for {quoted(unknown)}, not among the columns: {quoted(names)}")
        every = tuple(_checked_levels(name, given[name] if name in given else _levels_of(data[name])) for name in names)
        codes = np.stack([_codes(data[name], own) for name, own in zip(names, every, strict=True)])
        tables = []
        for j in range(len(names)):
            counts = counted_cells(codes, parents[j], j, table_shape(names, every, parents, j)) + float(pseudocount)
            totals = counts.sum(axis=-1, keepdims=True)
            tables.append(np.where(totals > 0, counts / np.where(totals > 0, totals, 1), 1 / counts.shape[-1]))
        return cls(names, every, parents, tuple(tables))

    def log_likelihoods(self, data: pd.DataFrame) -> NDArray[np.float64]:
        """Return the natural log of the probability of each row (-inf where it is impossible)."""
        _, data = named_columns(data, self.names)
        codes = np.stack([_codes(data[n], own) for n, own in zip(self.names, self.levels, strict=True)])
        return self._log_probabilities(codes, range(len(self.names)))

    def engine(self) -> Elimination:
        """Return the engine that answers questions about the network."""
        from dagopt.networks.inference.elimination import Elimination

        return Elimination(self)

    def _log_probabilities(self, codes: NDArray[np.intp], nodes: Iterable[int]) -> NDArray[np.float64]:
        """Return the sum over some nodes of the log of P(node | parents) in each row."""
        total = np.zeros(codes.shape[1])
        for j in nodes:
            table = self.tables[j]
            rows = _configurations(codes, self.parents[j], table.shape)
            with np.errstate(divide="ignore"):
                total += np.log(table.reshape(-1, table.shape[-1])[rows, codes[j]])
        return total

    def _categorical(self, codes: NDArray[np.intp], node: int) -> pd.Categorical:
        return pd.Categorical.from_codes(codes, categories=pd.Index(list(self.levels[node]), dtype=object))


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


def counted_cells(
    codes: NDArray[np.integer[Any]],
    parents: Sequence[int],
    node: int,
    shape: tuple[int, ...],
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return how often each cell of a node's table occurs; ``weights`` says how often each row occurs."""
    cells = _configurations(codes, parents, shape) * shape[-1] + codes[node]
    return np.bincount(cells, weights=weights, minlength=prod(shape)).reshape(shape).astype(np.float64)


def _configurations(codes: NDArray[np.integer[Any]], parents: Sequence[int], shape: Sequence[int]) -> NDArray[np.intp]:
    """Return each row's configuration of the parents, counted with the last parent fastest."""
    rows = np.zeros(codes.shape[1], dtype=np.intp)
    for i, arity in zip(parents, shape, strict=False):
        rows = rows * arity + codes[i]
    return rows


def _checked_levels(name: str, levels: Sequence[str]) -> tuple[str, ...]:
    levels = tuple(str(level) for level in levels)
    if not levels or len(set(levels)) < len(levels):
        raise InputError(f"expected at least one level, all different, for {name!r} but got {quoted(levels) or 'none'}")
    return levels


def _checked_table(
    names: Sequence[str], levels: Sequence[Sequence[str]], parents: Parents, node: int, table: ArrayLike
) -> NDArray[np.float64]:
    """Return a read-only copy of one table, its rows summing to 1."""
    shape = table_shape(names, levels, parents, node)
    array = np.array(table, dtype=np.float64)
    if array.shape != shape:
        raise InputError(
            f"expected a table of shape {shape} for {names[node]!r} (its parents' levels, then its own)"
            f" but got {array.shape}; reshape it"
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
            + f" but got {array[where].tolist()}"
        )
    rows = np.abs(sums - 1) > ROUNDING
    array[rows] /= sums[rows][..., None]
    array.setflags(write=False)
    return array


def _levels_of(column: pd.Series[Any]) -> tuple[str, ...]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return tuple(str(level) for level in column.cat.categories)
    return tuple(sorted({str(level) for level in column.dropna().unique()}))


def _codes(column: pd.Series[Any], levels: Sequence[str]) -> NDArray[np.intp]:
    """Return the position of each value among the levels."""
    places, values = pd.factorize(column)
    if (places < 0).any():
        raise InputError(
            f"expected no missing value in column {column.name!r} but got {(places < 0).sum()};"
            " drop the rows or fill them in"
        )
    position = {level: k for k, level in enumerate(levels)}
    if unknown := [value for value in map(str, values) if value not in position]:
        raise InputError(
            f"expected one of {quoted(levels)} in column {column.name!r} but got {quoted(unknown)};"
            " give levels that include every value"
        )
    return np.array([position[str(value)] for value in values], dtype=np.intp)[places]
