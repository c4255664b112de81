"""Cuts from small sets of nodes: inequalities violated by an LP point that is not a mixture of DAGs over the set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.families.families import SUPPORT_TOLERANCE, Families
from dagopt.kernels.cuts import local_cuts as kernels
from dagopt.kernels.cuts.growing import Support

__all__ = ["LARGEST_SIZE", "LocalCut", "LocalSeparator"]


SMALLEST_SIZE, LARGEST_SIZE = 3, 12  # pairs are clusters, and are in the LP from the start
LEAST_VIOLATION = 0.01  # of a cut whose right-hand side is 1
SUBSETS_PER_WAVE = 32  # subsets tried between checks whether there are enough cuts, whatever the number of threads
SUBSETS_PER_PIECE = 2  # of nodes, per task of a thread
WAYS = 2  # ways in which subsets grow from each pair: by mass alone, and with some randomness
CHANCE = 0.6  # the largest random factor, less one, of the mass that draws a node


class LocalCut(NamedTuple):
    """The inequality Σ a(i, J ∩ S) x_iJ ≤ 1.

    Attributes
    ----------
    subset : int array
        The nodes of S, in increasing order.
    table : array
        ``table[T * |S| + a]`` is the coefficient of the a-th node of S with parents T in S. It grows with T.
    """

    subset: Ints
    table: Floats

    def over(self, families: Families) -> tuple[Ints, Floats]:
        """Return the families that have a coefficient, and the coefficients."""
        offsets = families.offsets
        places = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in self.subset])
        coefficient = np.empty(len(places))
        kernels.cut_row(families.words, offsets, self.subset, self.table, coefficient)
        some = coefficient > SUPPORT_TOLERANCE
        return places[some], coefficient[some]


class LocalSeparator:
    """Finds local cuts over subsets that grow from the arcs of an LP point.

    Parameters
    ----------
    families : Families
        The families.
    threads : ThreadPoolExecutor
        Where kernels run.
    largest : int
        The number of nodes of the largest subsets.
    wanted : int
        Larger subsets are tried only while fewer cuts than this are found.
    random_state : int
        The seed of the randomness in the growth.
    """

    def __init__(
        self, families: Families, threads: ThreadPoolExecutor, largest: int, wanted: int, random_state: int
    ) -> None:
        self._families = families
        self._threads = threads
        self._largest = min(largest, families.n_nodes)
        self.wanted = wanted
        self._rng = np.random.default_rng(random_state)

    def separate(self, values: Floats, stopped: Callable[[], bool]) -> list[LocalCut]:
        """Return violated local cuts, those of small subsets first; ``stopped`` says when to return early."""
        families = self._families
        some = np.flatnonzero(values > SUPPORT_TOLERANCE)
        node, words, mass = families.node[some], families.words[some], values[some]
        offsets = np.searchsorted(node, np.arange(families.n_nodes + 1)).astype(np.int64)
        parts = [_Part.of(nodes, support) for nodes, support in families.components(values)]
        found: list[LocalCut] = []
        for size in range(SMALLEST_SIZE, self._largest + 1):
            for wave in self._waves(parts, size):
                tables = np.empty((len(wave), size << size))
                pieces = [slice(k, k + SUBSETS_PER_PIECE) for k in range(0, len(wave), SUBSETS_PER_PIECE)]

                def look(piece: slice, wave: Ints = wave, tables: Floats = tables) -> Floats:
                    if stopped():
                        return np.zeros(len(wave[piece]))
                    found: Floats = kernels.local_cuts(
                        words, mass, offsets, wave[piece], LEAST_VIOLATION, tables[piece]
                    )
                    return found

                violation = np.concatenate(list(self._threads.map(look, pieces)))
                found += [LocalCut(wave[q], tables[q].copy()) for q in np.flatnonzero(violation)]
                if len(found) >= self.wanted or stopped():
                    return found
        return found

    def _waves(self, parts: list[_Part], size: int) -> Iterator[Ints]:
        """Yield subsets of a size, some at a time, in random order."""
        grown = [self._subsets(part, size) for part in parts if len(part.nodes) >= size]
        distinct = np.concatenate([np.zeros((0, size), dtype=np.int64), *grown])
        distinct = distinct[self._rng.permutation(len(distinct))]
        for first in range(0, len(distinct), SUBSETS_PER_WAVE):
            yield distinct[first : first + SUBSETS_PER_WAVE]

    def _subsets(self, part: _Part, size: int) -> Ints:
        """Return the subsets of a size that grow from the arcs of a part."""
        seeds = np.concatenate([part.pairs] * WAYS)
        noise = np.ones((len(seeds), len(part.nodes)))
        noise[len(part.pairs) :] += CHANCE * self._rng.random((len(seeds) - len(part.pairs), len(part.nodes)))
        subsets = np.empty((len(seeds), size), dtype=np.int64)
        count = kernels.grow_subsets(part.arcs, noise, seeds, size, subsets)
        return np.unique(np.sort(part.nodes[subsets[:count]], axis=1), axis=0)


class _Part(NamedTuple):
    """A strongly connected component of the arcs with mass: its nodes, the mass of its arcs, and joined pairs."""

    nodes: Ints
    arcs: Floats
    pairs: Ints

    @classmethod
    def of(cls, nodes: Ints, support: Support) -> _Part:
        """Return the part of a component."""
        arcs = np.zeros((len(nodes), len(nodes)))
        kernels.arc_mass(support.node, support.parents, support.starts, support.mass, arcs)
        return cls(nodes, arcs, np.argwhere(np.triu(arcs + arcs.T > SUPPORT_TOLERANCE)))
