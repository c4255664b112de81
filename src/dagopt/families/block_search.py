"""The search for the undominated parent sets of one node whose columns are blocks, a piece at a time.

The mathematics is in ``kernels/gaussian/block_undominated.py``. Blocks of one column with a cost by number alone have a
faster search, ``node_search.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian import block_undominated as kernels
from dagopt.kernels.gaussian.block_matrices import room_for
from dagopt.kernels.gaussian.block_useful import useful_pairs, useful_parents
from dagopt.kernels.gaussian.subset_walk import FOUND, OVER, STEPS
from dagopt.kernels.gaussian.useful import OVER as EXCLUDED
from dagopt.scores.block_likelihood import NodeLikelihood

__all__ = ["BlockSearch", "useful_block_pairs", "useful_block_parents"]


SETS_PER_PIECE = 20_000  # room for the sets that one call finds


def _terms(own: NodeLikelihood, chosen: Ints) -> Box:
    """Return what parents cost, with the edges of these nodes."""
    return Box(
        kernels.Terms(
            own.half,
            own.volume,
            np.append(own.costs, np.inf),
            np.append(own.steps, np.inf),
            np.ascontiguousarray(own.edges[chosen]),
            own.is_exact,
        )
    )


class BlockSearch:
    """The search for the parent sets of one node, a piece at a time.

    Parameters
    ----------
    own : NodeLikelihood
        The local scores of the node.
    node : int
        The node i.
    must, free : int array
        The required parents, and the candidates to choose from.
    most : int
        The largest number of members of a set.
    """

    def __init__(
        self, own: NodeLikelihood, node: int, must: NDArray[np.intp], free: NDArray[np.intp], most: int
    ) -> None:
        sizes = np.diff(own.starts)
        # A block without columns tells nothing: required ones are in every set, others in none.
        self._always = must
        present = must[sizes[must] > 0]
        candidates = free[sizes[free] > 0] if sizes[node] else free[:0]
        self._ids = np.concatenate([present, candidates, [node]]).astype(np.int64)
        self._facts = (len(present), most - (len(must) - len(present)), own.margin)
        self._terms = _terms(own, self._ids)
        columns = [np.arange(own.starts[j], own.starts[j + 1]) for j in self._ids]
        order = np.concatenate(columns)
        starts = np.concatenate([[0], np.cumsum(sizes[self._ids])]).astype(np.int64)
        matrix = np.ascontiguousarray(own.matrix[np.ix_(order, order)])
        self._found: list[Bools] = []
        self._nothing = not sizes[node] or not len(candidates)
        if self._nothing:
            return
        self._rooms = Box(kernels.begin(matrix, starts, self._terms.edges, len(present)))
        self._counters = self._rooms.walk.counters

    @property
    def width(self) -> int:
        """The number of columns in the matrix that each step changes."""
        return 1 if self._nothing else self._rooms.walk.lower.shape[-1]

    @property
    def over(self) -> bool:
        """Whether all sets have been found."""
        return self._nothing or bool(self._counters[OVER])

    @property
    def share(self) -> float:
        """The estimated share of the search that has been done."""
        return 1.0 if self.over else float(self._rooms.done[0])

    @property
    def n_sets(self) -> int:
        """The number of sets found so far."""
        return 1 if self._nothing else sum(len(part) for part in self._found)

    @property
    def n_steps(self) -> int:
        """The number of steps done so far."""
        return 1 if self._nothing else int(self._counters[STEPS])

    def run(self, steps: int) -> None:
        """Do this many more steps, or fewer if many sets are found."""
        if self.over:
            return
        room = np.zeros((SETS_PER_PIECE, len(self._ids)), dtype=np.bool_)
        self._counters[FOUND] = 0
        kernels.resume(self._terms, *self._facts, self._rooms, steps, room)
        self._found.append(room[: self._counters[FOUND]].copy())

    def members(self, n_nodes: int) -> Bools:
        """Return the sets found, one row per set."""
        nothing = np.zeros((1 if self._nothing else 0, len(self._ids)), dtype=np.bool_)
        found = np.concatenate([nothing, *self._found])
        rows = np.zeros((len(found), n_nodes), dtype=np.bool_)
        rows[:, self._ids[:-1]] = found[:, :-1]
        rows[:, self._always] = True
        return rows


def useful_block_pairs(
    own: NodeLikelihood, needs: Floats, present: Ints, inverse: Floats, most_steps: int, pairs: Ints, useful: Bools
) -> None:
    """Set ``useful`` to False at the pairs, places in ``present``, that are parent and child in no undominated set.

    Parameters
    ----------
    own : NodeLikelihood
        Of any node: all share a matrix.
    needs : array of shape (n, n)
        What each of two columns must earn as a parent of the other.
    present : int array
        The nodes whose blocks have columns.
    inverse : array
        Of the matrix.
    most_steps, pairs, useful
        As in the kernel.
    """
    starts = np.append(own.starts[present], len(own.matrix)).astype(np.int64)
    part = np.ascontiguousarray(useful[np.ix_(present, present)])
    useful_pairs(
        inverse, own.matrix, starts, _terms(own, present), np.ascontiguousarray(needs[np.ix_(present, present)]),
        most_steps, own.margin, pairs, part, room_for(starts),
    )  # fmt: skip
    for a, b in pairs:
        if not part[a, b]:
            useful[present[a], present[b]] = useful[present[b], present[a]] = False


def useful_block_parents(
    own: NodeLikelihood, most_steps: int, node: int, must: Bools, useful: Bools, state: Ints, tries: int
) -> None:
    """Set ``useful`` to False at the candidates that are in no undominated set of a node.

    It stops after so many ``tries``, and goes on from ``state``, as in the kernel.
    """
    sizes = np.diff(own.starts)
    useful[~must & ((sizes == 0) | (sizes[node] == 0))] = False
    if not useful.any() or not sizes[node]:
        state[EXCLUDED] = 1
        return
    present = np.flatnonzero(sizes)
    starts = np.append(own.starts[present], len(own.matrix)).astype(np.int64)
    part = np.ascontiguousarray(useful[present])
    useful_parents(
        own.matrix, starts, _terms(own, present), own.least_needs()[present], most_steps, own.margin,
        int(np.searchsorted(present, node)), np.ascontiguousarray(must[present]), part, state, tries, room_for(starts),
    )  # fmt: skip
    useful[present] = part
