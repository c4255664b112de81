"""Merge two DAGs into one that scores at least as well as the first: each region comes from the better of the two.

Local optima of a large graph differ in many small regions, and no search is the best in all of them. Two nodes are in
the same region if their families differ by an edge between them. The families of a whole region can be exchanged
without creating an edge in both directions. This is done wherever it raises the score and creates no cycle.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Dag, Ints
from dagopt.graph.order import edge_ends, parent_lists
from dagopt.problem import Problem

__all__ = ["merged"]

ENOUGH = 1e-7  # a smaller gain does not count


def merged(first: Dag, second: Dag, problem: Problem) -> Dag:
    """Return ``first`` with the regions of ``second`` that score better, as far as the graph stays acyclic."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    tails, heads = edge_ends(first != second)
    nodes = np.unique(heads)
    if not len(nodes):
        return first
    between = np.isin(tails, nodes)
    edges = (np.ones(int(between.sum()), dtype=np.int8), (tails[between], heads[between]))
    region = connected_components(csr_matrix(edges, shape=first.shape), directed=False)[1][nodes]
    gains = problem.score.per_node(second)[nodes] - problem.score.per_node(first)[nodes]
    by_region = np.bincount(region, weights=gains)
    better = [r for r in np.argsort(-by_region, kind="stable").tolist() if by_region[r] > ENOUGH]
    families, others = parent_lists(first), parent_lists(second)
    if not _exchange(families, others, nodes[np.isin(region, better)]):
        for r in better:
            _exchange(families, others, nodes[region == r])
    dag = np.zeros_like(first)
    dag[np.concatenate(families), np.repeat(np.arange(len(families)), [len(own) for own in families])] = 1
    return dag


def _exchange(families: list[Ints], others: list[Ints], nodes: Ints) -> bool:
    """Give these nodes their other families unless that creates a cycle; say whether it was done."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    before = {int(v): families[v] for v in nodes}
    for v in before:
        families[v] = others[v]
    sizes = [len(parents) for parents in families]
    starts, parents = np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(families)
    graph = csr_matrix((np.ones(len(parents), dtype=np.int8), parents, starts), shape=(len(sizes), len(sizes)))
    count, _ = connected_components(graph, directed=True, connection="strong")
    if count == len(sizes):
        return True
    for v, own in before.items():
        families[v] = own
    return False
