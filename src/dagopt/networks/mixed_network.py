"""`MixedNetwork`: a DAG over continuous and discrete variables, with main effects of all parents.

A continuous variable is a linear function of its parents plus Gaussian noise; a discrete one has log odds that are
linear in its parents. A discrete parent enters by the indicators of its levels except the first, so edges between any
kinds are possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Floats
from dagopt.errors import InputError, checked_whole, quoted
from dagopt.networks.checks import (
    Parents,
    RandomState,
    as_generator,
    checked_names,
    named_columns,
    topological_order,
)
from dagopt.networks.logit import log_probabilities
from dagopt.networks.network import Network

if TYPE_CHECKING:
    import networkx

    from dagopt.networks.inference.blanket import BlanketWeighting

__all__ = ["MixedNetwork", "design_matrix", "terms_of"]

Columns = Mapping[int, NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class MixedNetwork(Network):
    """A DAG over continuous and discrete variables.

    Parameters
    ----------
    names : sequence of str
        Node names, in column order.
    levels : sequence of sequences of str
        The levels of each discrete variable; none for a continuous one.
    parents : sequence of sequences of int
        The parents of each node, by position, in order.
    coefficients : sequence of arrays
        Of shape (rows, 1 + embedded parents), the intercept first: one row for a continuous variable, one for each
        level except the first for a discrete one.
    variances : array of shape (n,)
        The variance of the noise of each continuous variable; NaN for the others.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    parents: Parents
    coefficients: tuple[Floats, ...]
    variances: Floats

    def __post_init__(self) -> None:
        names = checked_names(self.names)
        topological_order(names, self.parents)
        for j, name in enumerate(names):
            if len(self.levels[j]) == 1:
                raise InputError(f"expected at least two levels of {name!r} but got {quoted(self.levels[j])}")
            width = 1 + sum(self.embedded_size(i) for i in self.parents[j])
            shape = (max(len(self.levels[j]) - 1, 1), width)
            if self.coefficients[j].shape != shape:
                raise InputError(
                    f"expected coefficients of {name!r} of shape {shape} but got {self.coefficients[j].shape}"
                )
            if not self.levels[j] and not self.variances[j] > 0:
                raise InputError(f"expected a variance > 0 for {name!r} but got {self.variances[j]}")

    def embedded_size(self, node: int) -> int:
        """Return how many numbers represent a variable as a parent."""
        return max(len(self.levels[node]) - 1, 1)

    @property
    def dag(self) -> networkx.DiGraph:
        """The structure, as a new graph; nodes have a ``kind``."""
        graph = super().dag
        for j, name in enumerate(self.names):
            graph.nodes[name]["kind"] = "discrete" if self.levels[j] else "continuous"
        return graph

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, intercepts and variances."""
        return sum(own.size for own in self.coefficients) + sum(not own for own in self.levels)

    def sample(
        self, n_samples: int, random_state: RandomState = None, *, evidence: Mapping[str, object] | None = None
    ) -> pd.DataFrame:
        """Draw rows, given the values of some columns: floats, and categories with the levels as text."""
        if evidence:
            return super().sample(n_samples, random_state, evidence=evidence)
        n_samples = checked_whole("n_samples", n_samples, 1)
        rng = as_generator(random_state)
        columns: dict[int, NDArray[Any]] = {}
        for j in topological_order(self.names, self.parents):
            columns[j] = self._drawn(j, columns, n_samples, rng)
        return self._frame(columns)

    def _drawn(self, node: int, columns: Columns, rows: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a node in each row, given its parents there: numbers, or codes of levels."""
        effects = self._design(columns, node, rows) @ self.coefficients[node].T
        if not self.levels[node]:
            return np.asarray(effects[:, 0] + rng.normal(0, np.sqrt(self.variances[node]), rows))
        p = np.exp(_log_softmax(effects))
        return np.asarray((rng.random(rows)[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1))

    def _frame(self, columns: Columns) -> pd.DataFrame:
        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(columns[j], categories=pd.Index(list(self.levels[j]), dtype=object))
                if self.levels[j]
                else columns[j]
                for j, name in enumerate(self.names)
            }
        )

    def log_likelihoods(self, data: pd.DataFrame) -> Floats:
        """Return the natural log of the density of each row."""
        columns = self._columns(data, range(len(self.names)))
        return np.asarray(sum(self._node_logs(columns, j, len(data)) for j in range(len(self.names))))

    def _node_logs(self, columns: Columns, node: int, rows: int) -> Floats:
        """Return the log of the density of a node given its parents, in each row."""
        effects = self._design(columns, node, rows) @ self.coefficients[node].T
        if self.levels[node]:
            codes = np.asarray(columns[node], dtype=np.int64)
            return np.asarray(_log_softmax(effects)[np.arange(rows), codes])
        away = np.asarray(columns[node], dtype=np.float64) - effects[:, 0]
        variance = self.variances[node]
        return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + away**2 / variance))

    def levels_of(self, node: int) -> tuple[str, ...] | None:
        """Return the levels of a discrete node; None for a continuous one."""
        return self.levels[node] or None

    def draw_node(self, node: int, cells: Floats, rng: np.random.Generator) -> Floats:
        """Draw a node in each row, given its parents there."""
        return np.asarray(self._drawn(node, dict(enumerate(cells.T)), len(cells), rng), dtype=np.float64)

    def log_node(self, node: int, cells: Floats) -> Floats:
        """Return the log of the conditional density, or probability, of a node in each row."""
        return self._node_logs(dict(enumerate(cells.T)), node, len(cells))

    def expected(self, node: int, cells: Floats) -> Floats:
        """Return the mean of a continuous node in each row, given its parents there."""
        return np.asarray((self._design(dict(enumerate(cells.T)), node, len(cells)) @ self.coefficients[node].T)[:, 0])

    def without_parents(self, node: int) -> MixedNetwork:
        """Return the network in which a node has no parents: a standard normal one, or all levels equally probable."""
        parents = tuple(() if j == node else own for j, own in enumerate(self.parents))
        shape = (self.coefficients[node].shape[0], 1)
        coefficients = tuple(np.zeros(shape) if j == node else own for j, own in enumerate(self.coefficients))
        variances = self.variances.copy()
        if not self.levels[node]:
            variances[node] = 1.0
        return MixedNetwork(self.names, self.levels, parents, coefficients, variances)

    def engine(self) -> BlanketWeighting:
        """Return the engine that answers questions about the network."""
        from dagopt.networks.inference.blanket import BlanketWeighting

        return BlanketWeighting(self)

    def _design(self, columns: Columns, node: int, rows: int) -> Floats:
        own = self.parents[node]
        return design_matrix([columns[i] for i in own], [len(self.levels[i]) for i in own], rows)

    def _columns(self, data: pd.DataFrame, needed: Sequence[int]) -> Columns:
        """Return numbers and codes of levels, by node."""
        _, data = named_columns(data, [self.names[j] for j in needed])
        found: dict[int, NDArray[Any]] = {}
        for j in needed:
            series = data[self.names[j]]
            if not self.levels[j]:
                found[j] = series.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                place = {level: k for k, level in enumerate(self.levels[j])}
                codes = np.array([place.get(str(value), -1) for value in series], dtype=np.int64)
                if (codes < 0).any():
                    strange = sorted({str(value) for value in series[codes < 0]})
                    raise InputError(
                        f"expected one of {quoted(self.levels[j])} in column {self.names[j]!r} but got "
                        f"{quoted(strange)}; recode the column"
                    )
                found[j] = codes
            if not self.levels[j] and not np.isfinite(np.asarray(found[j], dtype=np.float64)).all():
                raise InputError(
                    f"expected finite numbers in column {self.names[j]!r} but got missing or infinite; drop such rows"
                )
        return found


def design_matrix(columns: Sequence[NDArray[np.generic]], n_levels: Sequence[int], rows: int) -> Floats:
    """Return the intercept and the embedded columns: numbers (0 levels), or indicators of all levels but the first."""
    parts = [np.ones((rows, 1))]
    for values, k in zip(columns, n_levels, strict=True):
        if k:
            parts.append((np.asarray(values)[:, None] == np.arange(1, k)).astype(np.float64))
        else:
            parts.append(np.asarray(values, dtype=np.float64)[:, None])
    return np.concatenate(parts, axis=1)


def terms_of(names: Sequence[str], levels: Sequence[Sequence[str]], parents: Sequence[int]) -> list[str]:
    """Return the name of each column of a design: ``(intercept)``, ``age``, ``smoker=yes``."""
    found = ["(intercept)"]
    for i in parents:
        found += [f"{names[i]}={level}" for level in levels[i][1:]] if levels[i] else [names[i]]
    return found


def _log_softmax(effects: Floats) -> Floats:
    """Return log probabilities of all levels from the log odds against the first."""
    return log_probabilities(effects, np.eye(effects.shape[1]))
