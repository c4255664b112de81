"""Later moments of a dynamic network: drawn one after the other, or as a distribution over all of them.

The past of a moment is its last p moments. `futures` draws moments after given pasts. `Chain` has the probability of
every present given every past, for series with few levels: the distribution over the pasts after one more moment is
then a sum, and no draws are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats
from dagopt.data.lags import Lags
from dagopt.networks.checks import Parents, topological_order
from dagopt.networks.network import Network

__all__ = ["Chain", "futures"]


def futures(
    network: Network,
    lags: Lags,
    past: Floats,
    steps: int,
    rng: np.random.Generator,
    held: Mapping[int, float],
    *,
    once: bool = False,
) -> Floats:
    """Return drawn moments ``[draw, step, series]`` after pasts ``[draw, lag - 1, series]``.

    Parameters
    ----------
    network : Network
        The network over the lagged columns.
    lags : Lags
        The layout of its columns.
    past : array
        The last moments, the latest first.
    steps : int
        The number of moments.
    rng : Generator
        Where draws come from.
    held : mapping of int to float
        Series that are held at a value from outside.
    once : bool
        Whether they are held at the first moment only.
    """
    n, p = lags.n_series, lags.count
    order = [j for j in topological_order(network.names, network.parents) if j < n]
    cells = np.zeros((len(past), n * (p + 1)))
    cells[:, n:] = past.reshape(len(past), n * p)
    found = np.empty((len(past), steps, n))
    for step in range(steps):
        fixed = held if step == 0 or not once else {}
        for j in order:
            cells[:, j] = fixed[j] if j in fixed else network.draw_node(j, cells, rng)
        found[:, step] = cells[:, :n]
        cells[:, n:] = cells[:, : n * p].copy()
    return found


class Chain:
    """The probabilities of every present given every past of series with levels.

    Parameters
    ----------
    arity : sequence of int
        The number of levels of each series.
    count : int
        The number of lags p.
    parents : sequence of sequences of int
        The parents of each series, by the position of the lagged column.
    tables : sequence of arrays
        The conditional probabilities ``[parents..., own level]`` of each series.
    """

    def __init__(self, arity: Sequence[int], count: int, parents: Parents, tables: Sequence[Floats]) -> None:
        self._arity = tuple(arity)
        self._count = count
        self._n_present = prod(arity)
        shape = self._arity * (count + 1)
        self._codes = np.indices(shape, dtype=np.intp).reshape(len(shape), -1)
        self._parents = parents
        self._factors = [self._factor(j, table) for j, table in enumerate(tables)]
        self._all = self._product(range(len(self._arity)))

    def past_of(self, pasts: NDArray[np.intp]) -> Floats:
        """Return the distribution over the pasts that rows ``[row, lagged column]`` of codes have."""
        shape = self._arity * self._count
        return np.bincount(np.ravel_multi_index(pasts.T, shape), minlength=prod(shape)) / len(pasts)

    def marginals(self, past: Floats, steps: int, cause: int, value: int) -> list[list[Floats]]:
        """Return the probabilities of the levels ``[step][series]`` if a series is set at the first moment only."""
        n = len(self._arity)
        others = self._product(j for j in range(n) if j != cause)
        conditional = others * (self._codes[cause] == value).reshape(others.shape)
        found = []
        for _ in range(steps + 1):
            joint = conditional * past
            present = joint.sum(axis=1).reshape(self._arity)
            found.append([present.sum(axis=tuple(k for k in range(n) if k != j)) for j in range(n)])
            past = joint.reshape(-1, self._n_present).sum(axis=1)  # the oldest moment is forgotten
            conditional = self._all
        return found

    def _factor(self, series: int, table: Floats) -> Floats:
        return np.asarray(table[(*(self._codes[k] for k in self._parents[series]), self._codes[series])])

    def _product(self, series: Iterable[int]) -> Floats:
        found = np.ones(self._codes.shape[1])
        for j in series:
            found = found * self._factors[j]
        return found.reshape(self._n_present, -1)
