"""Families of nodes that are blocks of columns, written as families of the columns.

Column b of block i has as parents the columns of J and the columns of i before it. So a DAG of the nodes is a DAG of
the columns, log det of block i given J is the sum over its columns, and every row of log-determinants over the columns,
with any set C of columns, is a row over the nodes: the coefficient of a family is the sum over its columns.
"""

from __future__ import annotations

from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.families.families import Families
from dagopt.kernels.cuts import logdet_rows as kernels
from dagopt.lp.rows.row import Support

__all__ = ["Blocks"]


class Blocks:
    """The columns of each node.

    Parameters
    ----------
    starts : int array, optional
        Node j has the columns ``starts[j]`` to ``starts[j + 1]``, exclusive; by default every node is one column.
    """

    def __init__(self, starts: Ints | None = None) -> None:
        self.starts = np.zeros(1, dtype=np.int64) if starts is None else np.ascontiguousarray(starts, dtype=np.int64)
        self.are_single = bool((np.diff(self.starts) == 1).all())  # every node is one column
        self._known: WeakKeyDictionary[Families, tuple[Ints, Ints, Ints, Ints, Ints]] = WeakKeyDictionary()

    def columns(self, n_nodes: int) -> list[Ints]:
        """Return the columns of each node."""
        starts = np.arange(n_nodes + 1) if self.are_single else self.starts
        return [np.arange(first, last) for first, last in pairwise(starts)]

    def coefficients(self, families: Families, matrix: Floats, inside: np.ndarray) -> Floats:
        """Return the coefficients of all families in the row of a matrix and a set of columns."""
        if self.are_single:
            values = np.empty(len(families))
            kernels.coefficients(matrix, families.node, *families.listed, *families.walk, inside, values)
            return values
        node, *wider = self._walk(families)
        values = np.empty(len(node))
        kernels.coefficients(matrix, node, *wider, inside, values)
        owner = np.repeat(np.arange(len(families)), np.diff(self.starts)[families.node])
        return np.asarray(np.bincount(owner, values, len(families)), dtype=np.float64)

    def _walk(self, families: Families) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Return families as families of columns, and the order in which neighbours share first parents."""
        known = self._known.get(families)
        if known is None:
            node, flat, starts = self._expanded(families.node, *families.listed)
            sizes = np.diff(self.starts)[families.node]
            first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
            along = families.walk[0]
            parts = [first[own] + b for b in range(int(sizes.max(initial=0))) for own in [along[sizes[along] > b]]]
            order = np.concatenate([np.zeros(0), *parts]).astype(np.int64)
            shared = np.empty_like(order)
            kernels.shared_parents(node, flat, starts, order, shared)
            known = self._known[families] = (node, flat, starts, order, shared)
        return known

    def _expanded(self, node: Ints, flat: Ints, starts: Ints) -> tuple[Ints, Ints, Ints]:
        sizes = np.diff(self.starts)
        widths = np.concatenate([[0], np.cumsum(sizes[flat])])
        widths = widths[starts[1:]] - widths[starts[:-1]]
        own = sizes[node]
        room = int((own * widths + own * (own - 1) // 2).sum())
        out = np.empty(int(own.sum()), np.int64), np.empty(room, np.int64), np.empty(int(own.sum()) + 1, np.int64)
        kernels.expand(self.starts, node.astype(np.int64), flat, starts, *out)
        return out

    def support(self, support: Support) -> Support:
        """Return the support of an LP point over columns."""
        if self.are_single:
            return support
        repeats = np.diff(self.starts)[support.node]
        wider = self._expanded(support.node, support.flat, support.starts)
        return Support(np.repeat(support.places, repeats), *wider, np.repeat(support.mass, repeats))

    def unit(self, matrix: Floats) -> Floats:
        """Return a matrix with the identity within each block: the same rows, up to a constant for each node."""
        if self.are_single:
            return matrix
        made = np.array(matrix)
        for first, last in pairwise(self.starts):
            if first < last:
                own = slice(first, last)
                inverse = np.linalg.inv(np.linalg.cholesky(made[own, own]))
                made[own, :] = inverse @ made[own, :]
                made[:, own] = made[:, own] @ inverse.T
        made = (made + made.T) / 2
        for first, last in pairwise(self.starts):
            made[first:last, first:last] = np.eye(last - first)
        return np.ascontiguousarray(made)
