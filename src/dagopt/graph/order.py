"""Adjacency arrays: checks, topological order, and a cycle if there is no such order.

Graphs of more than ``MOST_DENSE`` nodes have a ``scipy.sparse.csr_array`` instead of an array. ``adjacency_of`` makes
either, and ``edge_ends`` and ``parent_lists`` read either.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dagopt.bits import members, to_bitsets
from dagopt.errors import InputError
from dagopt.memory import require_memory

__all__ = [
    "MOST_DENSE",
    "adjacency_of",
    "checked_adjacency",
    "default_names",
    "edge_ends",
    "find_cycle",
    "is_acyclic",
    "is_sparse",
    "parent_lists",
    "refuse_unless_dag",
    "topological_order",
]


MOST_DENSE = 10_000
COPIES = 4  # of an adjacency array while a graph is made


def default_names(n_nodes: int) -> tuple[str, ...]:
    """Return the names ``X0, X1, ...`` for nodes without names."""
    return tuple(f"X{i}" for i in range(n_nodes))


def is_sparse(adjacency: object) -> bool:
    """Say whether this is an array of scipy.sparse, which is not imported for that: whoever made one has done so."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(adjacency))


def adjacency_of(n_nodes: int, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.int8]:
    """Return the adjacency array of edges, a sparse one if there are more than ``MOST_DENSE`` nodes."""
    if n_nodes > MOST_DENSE:
        from scipy.sparse import csr_array

        ends = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
        found: Any = csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n_nodes, n_nodes))
        found.sum_duplicates()
        found.data[:] = 1
        return found  # type: ignore[no-any-return]
    require_memory(COPIES * n_nodes**2, f"a graph of {n_nodes:,} nodes")
    adjacency = np.zeros((n_nodes, n_nodes), dtype=np.int8)
    adjacency[np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)] = 1
    return adjacency


def parent_lists(adjacency: NDArray[np.generic]) -> list[NDArray[np.int64]]:
    """Return the parents of every node in increasing order; faster than one search of a column per node."""
    tails, heads = edge_ends(adjacency != 0)
    n = adjacency.shape[0]
    ends = np.cumsum(np.bincount(heads, minlength=n))
    return np.split(tails[np.argsort(heads, kind="stable")], ends[:-1]) if n else []


def edge_ends(joined: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tails and the heads of the edges, sorted; on large arrays several times as fast as ``nonzero``."""
    if is_sparse(joined):
        entries: Any = joined
        entries = entries.tocsr()
        entries.sort_indices()
        tails, heads = entries.nonzero()
        return tails.astype(np.int64), heads.astype(np.int64)
    return np.divmod(np.flatnonzero(joined), len(joined))


def checked_adjacency(adjacency: ArrayLike, names: Sequence[str] | None = None) -> NDArray[np.int8]:
    """Return a copy as a square int8 array of 0 and 1 with a zero diagonal, or raise an error that says why not.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        Booleans or numbers, all 0 or 1.
    names : sequence of str, optional
        The names of the nodes for the messages; ``X0, X1, ...`` if not given.
    """
    if is_sparse(adjacency):
        return _checked_sparse(adjacency, names)
    try:
        array = np.asarray(adjacency)
    except ValueError:
        raise InputError(
            "expected a square adjacency array but got rows of different lengths; give each node one row and one column"
        ) from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(
            f"expected a square adjacency array but got shape {array.shape}; give each node one row and one column"
        )
    if array.dtype.kind not in "biuf":
        array = _as_numbers(array)
    filled: NDArray[np.bool_] = array != 0
    if not np.array_equal(array, filled):
        i, j = (int(k) for k in np.argwhere(array != filled)[0])
        raise InputError(
            f"expected an adjacency array of 0 and 1 but got {array[i, j]} at [{i}, {j}]; threshold the weights"
            " first, e.g. (abs(weights) > 0.3).astype(int)"
        )
    loops = np.flatnonzero(np.diagonal(filled))
    if loops.size:
        labels = names if names is not None and len(names) == len(array) else default_names(len(array))
        raise InputError(
            f"expected no self loops but node {labels[loops[0]]!r} has an edge to itself; remove this self loop"
        )
    return filled.view(np.int8)


def _checked_sparse(adjacency: Any, names: Sequence[str] | None) -> NDArray[np.int8]:
    """Return a sparse array of 0 and 1 as ``checked_adjacency`` does."""
    n = adjacency.shape[0]
    if adjacency.shape != (n, n):
        raise InputError(
            f"expected a square adjacency array but got shape {adjacency.shape}; give each node one row and one column"
        )
    if not ((adjacency.data == 0) | (adjacency.data == 1)).all():
        raise InputError("expected an adjacency array of 0 and 1 but got other entries; threshold the weights first")
    tails, heads = edge_ends(adjacency)
    if (tails == heads).any():
        loop = int(tails[tails == heads][0])
        label = names[loop] if names is not None and len(names) == n else f"X{loop}"
        raise InputError(f"expected no self loops but node {label!r} has an edge to itself; remove this self loop")
    return adjacency_of(n, tails, heads) if n > MOST_DENSE else np.asarray(adjacency.toarray() != 0).view(np.int8)


def _as_numbers(array: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return an array of objects or texts as floats."""
    try:
        return array.astype(float)
    except (TypeError, ValueError):
        raise InputError(
            f"expected an adjacency array of 0 and 1 but got entries of type {array.dtype}; give numbers or booleans"
        ) from None


def _sources_first(adjacency: NDArray[np.int8]) -> list[int]:
    """Return the nodes, each after all its parents and the smallest possible one first; stops at a cycle."""
    n = adjacency.shape[0]
    tails, heads = edge_ends(adjacency)
    ends = np.searchsorted(tails, np.arange(n), side="right")
    missing = np.bincount(heads, minlength=n)
    ready = [int(i) for i in np.flatnonzero(missing == 0)]
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        children = heads[ends[node - 1] if node else 0 : ends[node]]
        missing[children] -= 1
        for child in children[missing[children] == 0]:
            heapq.heappush(ready, int(child))
    return order


def is_acyclic(adjacency: ArrayLike) -> bool:
    """Say whether the array is a DAG; ones both ways (an undirected edge) count as a cycle."""
    array = checked_adjacency(adjacency)
    return len(_sources_first(array)) == int(array.shape[0])


def topological_order(adjacency: ArrayLike) -> NDArray[np.intp]:
    """Return the nodes of a DAG, parents before children.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        A DAG; anything else raises an `InputError` that names a cycle or an undirected edge.

    Returns
    -------
    ndarray of int
        The order that takes, at every step, the smallest node whose parents have all been taken.
    """
    array = checked_adjacency(adjacency)
    order = _sources_first(array)
    if len(order) < array.shape[0]:
        refuse_unless_dag(array, default_names(array.shape[0]))
    return np.array(order, dtype=np.intp)


def find_cycle(adjacency: ArrayLike) -> list[int] | None:
    """Return a shortest cycle of directed edges, or None.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        Any PDAG; its undirected edges are not part of a cycle.

    Returns
    -------
    list of int, or None
        The nodes along the cycle, each once, from its smallest node on.
    """
    array = checked_adjacency(adjacency)
    if is_sparse(array):
        return _sparse_cycle(array)
    children = to_bitsets(array & ~array.T)
    settled = _sources_first(array & ~array.T)
    if len(settled) == len(array):
        return None
    best: list[int] | None = None
    for start in sorted(set(range(len(array))) - set(settled)):
        longest = len(best) - 1 if best else len(array)
        best = _cycle_through(children, start, longest) or best
        if best and len(best) == 3:  # no cycle of directed edges is shorter
            break
    return best and _from_smallest(best)


def _sparse_cycle(adjacency: NDArray[np.int8]) -> list[int] | None:
    """Return the cycle of a graph with many nodes: it is among those that no order settles, which are few."""
    rest = np.setdiff1d(np.arange(adjacency.shape[0]), _sources_first(adjacency))[: MOST_DENSE // 2]
    entries: Any = adjacency
    found = find_cycle(entries[rest][:, rest].toarray())
    return None if found is None else _from_smallest([int(rest[k]) for k in found])


def _cycle_through(children: list[int], start: int, longest: int) -> list[int] | None:
    """Search breadth first for a cycle through ``start`` of at most ``longest`` nodes."""
    levels, seen = [1 << start], 0
    while levels[-1] and len(levels) <= longest:
        reached = 0
        for node in members(levels[-1]):
            reached |= children[node]
        if reached >> start & 1:
            return _walk_back(children, levels, start)
        levels.append(reached & ~seen)
        seen |= reached
    return None


def _walk_back(children: list[int], levels: list[int], start: int) -> list[int]:
    """Return the nodes ``start, ..., last``, one of each level, with an edge from the last to ``start``."""
    path = [start]
    for level in reversed(levels):
        path.append(next(node for node in members(level) if children[node] >> path[-1] & 1))
    return path[:0:-1]


def _from_smallest(cycle: list[int]) -> list[int]:
    """Rotate a cycle so that its smallest node comes first."""
    k = cycle.index(min(cycle))
    return cycle[k:] + cycle[:k]


def _printable(name: str) -> str:
    return name if name.isprintable() else repr(name)


def refuse_unless_dag(adjacency: NDArray[np.int8], names: Sequence[str]) -> None:
    """Raise an `InputError` that names a cycle or an undirected edge, unless the graph is a DAG."""
    if len(_sources_first(adjacency)) == adjacency.shape[0]:
        return
    tails, heads = edge_ends(adjacency)
    n = adjacency.shape[0]
    twice = np.isin(tails * n + heads, heads * n + tails) & (tails < heads)
    both = np.column_stack([tails[twice], heads[twice]])
    if both.size:
        a, b = (names[k] for k in both[0])
        more = f" (and {len(both) - 1} more)" if len(both) > 1 else ""
        raise InputError(
            f"expected a DAG but the edge {a!r} - {b!r}{more} is undirected; direct it, or take a member of"
            " the class with dagopt.graph.extend_pdag"
        )
    cycle = find_cycle(adjacency) or []
    path = " -> ".join(_printable(names[k]) for k in [*cycle, cycle[0]])
    raise InputError(f"expected a DAG but the graph has the cycle {path}; remove or reverse one of its edges")
