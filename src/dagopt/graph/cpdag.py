"""Markov equivalence: essential graphs, Meek's rules, and the DAGs that a PDAG stands for.

Every function takes and returns arrays with ``adjacency[i, j] = 1`` for ``i -> j`` and ones both
ways for ``i - j``. Two DAGs are equivalent when they have the same skeleton and the same
v-structures [1]_; the essential graph (CPDAG) of a DAG has an arrow where all equivalent DAGs agree
and no arrow elsewhere [2]_.

References
----------
.. [1] T. Verma, J. Pearl, "Equivalence and synthesis of causal models", UAI 1990.
.. [2] S. A. Andersson, D. Madigan, M. D. Perlman, "A characterization of Markov equivalence classes
   for acyclic digraphs", Annals of Statistics 25(2), 1997, DOI 10.1214/aos/1031833662.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dagopt.bits import Marks, from_bitsets, members
from dagopt.errors import InputError
from dagopt.graph.order import (
    adjacency_of,
    checked_adjacency,
    default_names,
    is_acyclic,
    is_sparse,
    parent_lists,
    refuse_unless_dag,
    topological_order,
)

__all__ = ["cpdag", "extend_pdag", "meek_closure", "random_member", "v_structures"]


def v_structures(adjacency: ArrayLike) -> list[tuple[int, int, int]]:
    """List the v-structures ``i -> k <- j`` with ``i`` and ``j`` not joined.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        Any PDAG; only its directed edges form v-structures.

    Returns
    -------
    list of tuple
        Triples ``(i, k, j)``, the collider in the middle and ``i < j``, sorted by ``k``, ``i``, ``j``.
    """
    marks = Marks(checked_adjacency(adjacency))
    found: list[tuple[int, int, int]] = []
    for k, parents in enumerate(marks.parents):
        for i in members(parents):
            apart = parents & ~marks.adjacent[i]
            found.extend((i, k, j) for j in members(apart) if j > i)
    return found


def cpdag(adjacency: ArrayLike) -> NDArray[np.int8]:
    """Return the essential graph of a DAG.

    Keeps the arrows of the v-structures, drops all others, and closes the result under Meek's
    rules [1]_, which is the essential graph [2]_. Of a sparse array, by Chickering's labels of edges [3]_.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        A DAG.

    Returns
    -------
    ndarray of int8
        The essential graph: ones both ways for an undirected edge.

    References
    ----------
    .. [1] C. Meek, "Causal inference and causal explanation with background knowledge", UAI 1995.
    .. [2] S. A. Andersson, D. Madigan, M. D. Perlman, "A characterization of Markov equivalence
       classes for acyclic digraphs", Annals of Statistics 25(2), 1997, DOI 10.1214/aos/1031833662.
    .. [3] D. M. Chickering, "A transformational characterization of equivalent Bayesian network structures", UAI 1995.
    """
    dag = checked_adjacency(adjacency)
    refuse_unless_dag(dag, default_names(dag.shape[0]))
    if is_sparse(dag):
        return _by_labels(dag)
    marks = Marks(dag)
    into = [_collider_parents(marks, k) for k in range(len(dag))]
    compelled = from_bitsets(into, len(dag)).T
    pattern = Marks(np.where(compelled | compelled.T, compelled, dag | dag.T))
    _close(pattern)
    return pattern.to_adjacency()


def _by_labels(dag: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the essential graph of a sparse DAG: the edges into each node, in order, are compelled or reversible.

    The last parent x of y in the order decides. If a compelled parent of x is not one of y, or some parent of y is not
    one of x, all edges into y are compelled; else those from the compelled parents of x.
    """
    n = dag.shape[0]
    parents = [set(own.tolist()) for own in parent_lists(dag)]
    place = np.empty(n, dtype=np.int64)
    place[topological_order(dag)] = np.arange(n)
    compelled: list[set[int]] = [set() for _ in range(n)]  # of each node, the parents of which the edge is compelled
    for y in np.argsort(place).tolist():
        if not parents[y]:
            continue
        x = max(parents[y], key=lambda parent: int(place[parent]))
        collides = parents[y] - {x} - parents[x]
        compelled[y] = parents[y] if collides or not compelled[x] <= parents[y] else set(compelled[x])
    heads = [y for y in range(n) for _ in parents[y]]
    tails = [x for y in range(n) for x in parents[y]]
    free = [(y, x) for x, y in zip(tails, heads, strict=True) if x not in compelled[y]]
    return adjacency_of(n, [*tails, *(y for y, _ in free)], [*heads, *(x for _, x in free)])


def _collider_parents(marks: Marks, k: int) -> int:
    """Return the parents of ``k`` that another parent of ``k`` is not joined to."""
    parents = marks.parents[k]
    return sum(1 << i for i in members(parents) if parents & ~marks.adjacent[i] & ~(1 << i))


def meek_closure(adjacency: ArrayLike) -> NDArray[np.int8]:
    """Direct every undirected edge that Meek's rules 1 to 4 direct.

    With ``a - b`` undirected, it becomes ``a -> b`` when

    1. some ``c -> a`` has ``c`` not joined to ``b`` (else a new v-structure);
    2. some ``c`` has ``a -> c -> b`` (else a cycle);
    3. some ``c -> b`` and ``d -> b``, not joined to each other, are both undirected neighbours of ``a``;
    4. some ``d -> c -> b`` has ``a - d``, ``a`` joined to ``c``, and ``d`` not joined to ``b``.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        Any PDAG, such as an essential graph with some edges directed by background knowledge.

    Returns
    -------
    ndarray of int8
        The closure. For an essential graph with background knowledge that some member of the class
        obeys, it is the maximally oriented graph [1]_: an edge stays undirected only if some members that
        obey the knowledge direct it one way and some the other.

    Notes
    -----
    On a PDAG that no DAG extends, two rules may ask for opposite arrows. Then the one found first (edges in
    the order of their nodes) is kept, so the answer is still the same in every run.

    References
    ----------
    .. [1] C. Meek, "Causal inference and causal explanation with background knowledge", UAI 1995.
    """
    marks = Marks(checked_adjacency(adjacency))
    _close(marks)
    return marks.to_adjacency()


def _close(marks: Marks) -> None:
    """Apply Meek's rules in place; each new arrow puts the edges that it can affect back on the list."""
    todo = deque((a, b) for a in range(marks.n_nodes) for b in members(marks.neighbours[a]))
    waiting = set(todo)
    while todo:
        a, b = todo.popleft()
        waiting.remove((a, b))
        if not marks.neighbours[a] >> b & 1 or not _is_compelled(marks, a, b):
            continue
        marks.orient(a, b)
        for touched in _touched(marks, a, b):
            if touched not in waiting:
                waiting.add(touched)
                todo.append(touched)


def _is_compelled(marks: Marks, a: int, b: int) -> bool:
    """Say whether one of Meek's rules turns the undirected ``a - b`` into ``a -> b``."""
    into_b, by_b = marks.parents[b], marks.adjacent[b]
    if marks.parents[a] & ~by_b & ~(1 << b):  # rule 1
        return True
    if marks.children[a] & into_b:  # rule 2
        return True
    both = marks.neighbours[a] & into_b
    if any(both & ~marks.adjacent[c] & ~(1 << c) for c in members(both)):  # rule 3
        return True
    far = marks.neighbours[a] & ~by_b & ~(1 << b)
    return far != 0 and any(marks.parents[c] & far for c in members(into_b & marks.adjacent[a]))  # rule 4


def _touched(marks: Marks, a: int, b: int) -> Iterable[tuple[int, int]]:
    """Yield the undirected edges, as (tail, head), that a rule may direct now that ``a -> b``."""
    by_a, by_b = marks.adjacent[a] | 1 << a, marks.adjacent[b] | 1 << b
    for head in members(marks.neighbours[b] & ~by_a):  # rule 1
        yield b, head
    for head in members(marks.neighbours[a] & marks.children[b]):  # rule 2, a -> b -> head
        yield a, head
    for tail in members(marks.neighbours[b] & marks.parents[a]):  # rule 2, tail -> a -> b
        yield tail, b
    if marks.parents[b] & ~by_a or marks.parents[a] & ~by_b:  # rules 3 and 4, with b as the head
        for tail in members(marks.neighbours[b] & marks.neighbours[a]):
            yield tail, b
    heads = marks.children[b] & ~by_a
    if heads:  # rule 4, a -> b -> head
        for tail in members(marks.neighbours[a] & marks.adjacent[b]):
            for head in members(marks.neighbours[tail] & heads):
                yield tail, head


def extend_pdag(adjacency: ArrayLike) -> NDArray[np.int8] | None:
    """Return a DAG that extends a PDAG, if there is one.

    A DAG extends a PDAG when it has the same skeleton and the same v-structures and keeps every
    arrow. The algorithm of Dor and Tarsi [1]_ looks for a node without arrows out, each of whose
    undirected neighbours is joined to all other nodes joined to it; directs its edges towards it;
    removes it; and repeats.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        Any PDAG.

    Returns
    -------
    ndarray of int8, or None
        A DAG, the same in every run (of the nodes that may be removed, the last is removed first); None if
        no DAG extends the PDAG.

    References
    ----------
    .. [1] D. Dor, M. Tarsi, "A simple algorithm to construct a consistent extension of a partially
       oriented graph", Technical report R-185, UCLA Cognitive Systems Laboratory, 1992.
    """
    return _extend(checked_adjacency(adjacency), take=list.pop)


def random_member(adjacency: ArrayLike, random_state: int | np.random.Generator | None = None) -> NDArray[np.int8]:
    """Draw a random DAG of the equivalence class of a DAG or of an essential graph.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        A DAG (its whole class is drawn from) or a PDAG (the DAGs that extend it are drawn from).
    random_state : int, numpy.random.Generator or None
        Seed or source of randomness.

    Returns
    -------
    ndarray of int8
        A DAG of the class.

    Notes
    -----
    Runs the algorithm of `extend_pdag` and removes, at each step, one of the possible nodes at random.
    The reverse of any topological order of a member is such a sequence of steps, so every member has
    positive probability. The distribution is **not uniform**: a member with more orders is drawn more often.
    """
    given = checked_adjacency(adjacency)
    rng = np.random.default_rng(random_state)
    essential = cpdag(given) if is_acyclic(given) else given
    member = _extend(essential, take=lambda ready: ready.pop(int(rng.integers(len(ready)))))
    if member is None:
        raise InputError(
            "expected a DAG or the graph of an equivalence class, but no DAG has the skeleton, arrows and"
            " v-structures of this PDAG; check its arrows, or start from dagopt.graph.cpdag of a DAG"
        )
    return member


def _extend(adjacency: NDArray[np.int8], take: Callable[[list[int]], int]) -> NDArray[np.int8] | None:
    """Run Dor and Tarsi's algorithm; ``take`` removes one node from the sorted list of possible sinks.

    A possible sink stays one when another node is removed, and only nodes joined to the removed node can
    become one, so each removal checks only its own neighbourhood.
    """
    marks = Marks(adjacency)
    left = marks.adjacent.copy()
    parents = [0] * marks.n_nodes
    ready = [x for x in range(marks.n_nodes) if _may_be_sink(marks, left, x)]
    waiting = (1 << marks.n_nodes) - 1
    for x in ready:
        waiting ^= 1 << x
    for _ in range(marks.n_nodes):
        if not ready:
            return None
        sink = take(ready)
        parents[sink] = left[sink]
        for y in members(left[sink]):
            left[y] &= ~(1 << sink)
        for y in members(left[sink] & waiting):
            if _may_be_sink(marks, left, y):
                insort(ready, y)
                waiting ^= 1 << y
    return np.ascontiguousarray(from_bitsets(parents, marks.n_nodes).T)


def _may_be_sink(marks: Marks, left: list[int], x: int) -> bool:
    """Say whether all edges at ``x``, among the nodes left, can point to it without a new v-structure."""
    if marks.children[x] & left[x]:
        return False
    rest = marks.neighbours[x] & left[x]
    while rest:  # one after the other, not by `members`: in a dense graph one of the first decides
        lowest = rest & -rest
        if left[x] & ~left[lowest.bit_length() - 1] & ~lowest:
            return False
        rest ^= lowest
    return True
