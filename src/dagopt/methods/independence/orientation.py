"""Directions for a skeleton: background knowledge, then v-structures, then Meek's rules, without contradictions.

Tests on data can contradict each other, so the order in which directions are found matters. The rules are:

1. Edges that the knowledge directs are directed first.
2. Every unshielded y - x - z whose separating set of (y, z) lacks x asks for y → x ← z. These are taken in the order
   of the p-value with which y and z were separated, smallest first. A v-structure is left out if it would reverse a
   directed edge, close a directed cycle, or give x more parents than allowed.
3. Meek's rules direct the remaining edges, one after the other, unless the arrow would close a directed cycle, make a
   new v-structure, or give a node too many parents: such an edge stays undirected.

Without contradictions, this is Meek's closure of the v-structures. On the graphs compared it agrees with the R package
bnlearn 4.9.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import Marks, members
from dagopt.graph.order import edge_ends
from dagopt.methods.independence.skeleton import Skeleton

__all__ = ["apply_v_structures", "direct_by_knowledge", "propagate", "v_structures_of"]

VStructure = tuple[int, int, int]


def direct_by_knowledge(skeleton: Skeleton, must: NDArray[np.bool_], may: NDArray[np.bool_]) -> Marks:
    """Return the edges of a skeleton; those required or allowed in one direction only are directed."""
    marks = Marks(skeleton.adjacent)
    told = must | ~may.T  # from tail to head
    tails, heads = edge_ends(skeleton.adjacent & told)
    for i, j in zip(tails.tolist(), heads.tolist(), strict=True):
        if i < j or not told[j, i]:
            marks.orient(i, j)
    return marks


def v_structures_of(skeleton: Skeleton, stop: Callable[[], object]) -> list[VStructure]:
    """Return the triples (y, x, z), y < z, that ask for y → x ← z, in the order in which they are taken.

    That is, by the p-value of y and z given their separating set, smallest first; ties by x, y, z.
    """
    found = []
    for x, row in enumerate(skeleton.adjacent):
        if stop():
            return []
        for y, z in combinations(np.flatnonzero(row).tolist(), 2):
            separator = None if skeleton.adjacent[y, z] else skeleton.separator(y, z)
            if separator is not None and x not in separator:
                found.append((float(skeleton.log_p[y, z]), x, y, z))
    return [(y, x, z) for _, x, y, z in sorted(found)]


def apply_v_structures(
    marks: Marks, wanted: list[VStructure], at_most: NDArray[np.int64], stop: Callable[[], object]
) -> list[VStructure]:
    """Direct the v-structures in their order; return those left out because they contradict earlier arrows."""
    left_out = []
    for y, x, z in wanted:
        if stop():
            break
        open_to_x = marks.parents[x] | marks.neighbours[x]
        both = 1 << y | 1 << z
        full = (marks.parents[x] | both).bit_count() > at_most[x]
        if open_to_x & both != both or full or _reaches(marks, x, both & ~marks.parents[x]):
            left_out.append((y, x, z))
            continue
        for tail in members(both & marks.neighbours[x]):
            marks.orient(tail, x)
    return left_out


def propagate(marks: Marks, at_most: NDArray[np.int64], stop: Callable[[], object]) -> None:
    """Direct edges by Meek's rules, in the order of their nodes, until none can be directed."""
    changed = True
    while changed:
        changed = False
        for a in range(marks.n_nodes):
            for b in list(members(marks.neighbours[a])):
                if stop():
                    return
                if _asks(marks, a, b) and _is_free(marks, a, b) and marks.parents[b].bit_count() < at_most[b]:
                    marks.orient(a, b)
                    changed = True


def _asks(marks: Marks, a: int, b: int) -> bool:
    """Say whether one of Meek's four rules asks for a → b (see ``dagopt.graph.meek_closure``)."""
    apart = ~(marks.adjacent[b] | 1 << b)
    into = marks.parents[b]
    if marks.parents[a] & apart or marks.children[a] & into:
        return True
    fork = marks.neighbours[a] & into
    if any(fork & ~(marks.adjacent[c] | 1 << c) for c in members(fork)):
        return True
    beyond = marks.neighbours[a] & apart
    return any(marks.parents[c] & beyond for c in members(into & marks.adjacent[a]))


def _is_free(marks: Marks, a: int, b: int) -> bool:
    """Say whether a → b closes no directed cycle and makes no new v-structure."""
    return not marks.parents[b] & ~marks.adjacent[a] and not _reaches(marks, b, 1 << a)


def _reaches(marks: Marks, start: int, goals: int) -> bool:
    """Say whether a directed path leads from a node to one of a set of nodes."""
    seen, front = 0, 1 << start
    while front:
        following = 0
        for node in members(front):
            following |= marks.children[node]
        if following & goals:
            return True
        seen |= front
        front = following & ~seen
    return False
