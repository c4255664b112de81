"""Slow, obvious twins: DAGs by enumeration, classes by their definition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

import numpy as np


def acyclic(adjacency):
    """A directed graph has no cycle exactly when no walk has n steps."""
    n = len(adjacency)
    return not np.linalg.matrix_power(adjacency.astype(np.int64), n).any()


def all_dags(n) -> Iterator[np.ndarray]:
    """Yield every DAG on n nodes."""
    pairs = list(combinations(range(n), 2))
    for marks in product((None, "->", "<-"), repeat=len(pairs)):
        dag = np.zeros((n, n), dtype=np.int8)
        for (i, j), mark in zip(pairs, marks, strict=True):
            if mark == "->":
                dag[i, j] = 1
            elif mark == "<-":
                dag[j, i] = 1
        if acyclic(dag):
            yield dag


def colliders(adjacency):
    """The v-structures by their definition, from directed edges only."""
    n = len(adjacency)

    def arrow(i, j):
        return adjacency[i, j] and not adjacency[j, i]

    return {
        (i, k, j)
        for k in range(n)
        for i in range(n)
        for j in range(i + 1, n)
        if arrow(i, k) and arrow(j, k) and not adjacency[i, j] and not adjacency[j, i]
    }


def extensions(pdag):
    """Every DAG with the skeleton, the arrows and the v-structures of a PDAG."""
    free = [(i, j) for i, j in np.argwhere(np.triu(pdag & pdag.T))]
    wanted = colliders(pdag)
    found = []
    for flips in product((False, True), repeat=len(free)):
        dag = pdag.copy()
        for (i, j), flip in zip(free, flips, strict=True):
            dag[(i, j) if flip else (j, i)] = 0
        if acyclic(dag) and colliders(dag) == wanted:
            found.append(dag)
    return found


def equivalence_class(dag):
    """Every DAG with the skeleton and the v-structures of a DAG."""
    undirected = dag | dag.T
    wanted = colliders(dag)
    pairs = np.argwhere(np.triu(undirected))
    found = []
    for flips in product((False, True), repeat=len(pairs)):
        other = np.zeros_like(dag)
        for (i, j), flip in zip(pairs, flips, strict=True):
            other[(j, i) if flip else (i, j)] = 1
        if acyclic(other) and colliders(other) == wanted:
            found.append(other)
    return found


def union(dags):
    """The marks that DAGs agree on, and no arrow elsewhere."""
    return np.bitwise_or.reduce(np.array(dags))


def random_dag(n, p, rng):
    """A DAG along a random order, each edge with probability p."""
    upper = np.triu(rng.random((n, n)) < p, 1).astype(np.int8)
    order = rng.permutation(n)
    return upper[np.ix_(order, order)]


def random_pdag(n, p, rng, undirected=1 / 3):
    """Each pair joined with probability p, by - with the given share, else by -> or <- alike."""
    pdag = np.zeros((n, n), dtype=np.int8)
    for i, j in combinations(range(n), 2):
        if rng.random() < p:
            pdag[(i, j) if rng.random() < 0.5 else (j, i)] = 1
            if rng.random() < undirected:
                pdag[i, j] = pdag[j, i] = 1
    return pdag


def meek_by_scanning(pdag):
    """Apply Meek's rules, as they are stated, to every ordered edge until a whole pass changes nothing."""
    pdag, n = pdag.copy(), len(pdag)

    def arrow(i, j):
        return pdag[i, j] and not pdag[j, i]

    def line(i, j):
        return pdag[i, j] and pdag[j, i]

    def apart(i, j):
        return not pdag[i, j] and not pdag[j, i]

    def compelled(a, b):
        others = [c for c in range(n) if c not in (a, b)]
        return (
            any(arrow(c, a) and apart(c, b) for c in others)
            or any(arrow(a, c) and arrow(c, b) for c in others)
            or any(
                line(a, c) and line(a, d) and arrow(c, b) and arrow(d, b) and apart(c, d)
                for c, d in combinations(others, 2)
            )
            or any(
                line(a, d) and not apart(a, c) and arrow(d, c) and arrow(c, b) and apart(d, b)
                for c, d in permutations(others, 2)
            )
        )

    changed = True
    while changed:
        changed = False
        for a, b in np.argwhere(pdag & pdag.T):
            if line(a, b) and compelled(a, b):
                pdag[b, a], changed = 0, True
    return pdag


def undominated(score, knowledge, node, safe=()):
    """Return all allowed sets that no allowed subset equals or beats, by going through them.

    Parents in ``safe`` do not count in the comparison: of the sets that differ in them only, the best one stays.
    """
    others = [j for j in range(score.n_nodes) if j != node]
    allowed = [
        own
        for size in range(len(others) + 1)
        for own in combinations(others, size)
        if knowledge.allows(node, np.array(own, dtype=int))
    ]
    value = {own: score.local(node, own) for own in allowed}
    rest = {own: set(own) - set(safe) for own in allowed}

    def beats(other, own):
        same = rest[other] == rest[own] and (value[other] > value[own] or len(other) < len(own))
        return (same or rest[other] < rest[own]) and value[other] >= value[own]

    return {own for own in allowed if not any(beats(other, own) for other in allowed)}
