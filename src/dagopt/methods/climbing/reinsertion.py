"""Reinsertion of nodes: at a local optimum, one node after another loses its edges and the climb continues.

A climb settles ties between equivalent DAGs early, and single moves rarely undo that later. So each attempt begins at
another DAG in the equivalence class of the best one, in which one node keeps only its required edges. The attempts end
when reinserting any of the nodes no longer helps.

References
----------
Moore, Wong (2003). Optimal reinsertion: a new search operator for accelerated and more accurate Bayesian network
structure learning. ICML. There the node takes its best edges at once; here the climb finds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.methods.climbing.moves import MovingDag

__all__ = ["other_member", "reinsert"]

SWEEPS = 2  # over the edges, to get from one DAG of a class to another
TURNED = 0.7  # share of the edges that a sweep tries to reverse; only covered edges can be


def other_member(dag: MovingDag, adjacency: Dag, rng: np.random.Generator) -> Dag:
    """Return another DAG of the class that the knowledge allows, by reversing covered edges in random order.

    An edge i → j is covered if the parents of j are i and the parents of i.
    """
    adjacency = adjacency.copy()
    for _ in range(SWEEPS):
        edges = np.argwhere(adjacency)
        for i, j in edges[rng.permutation(len(edges))[rng.random(len(edges)) < TURNED]]:
            others = adjacency[:, j].copy()
            others[i] = 0
            if (others == adjacency[:, i]).all() and dag.may_turn(adjacency, i, j):
                adjacency[i, j], adjacency[j, i] = 0, 1
    return adjacency


def reinsert(
    dag: MovingDag,
    best: Dag,
    score: float,
    climb: Callable[[], tuple[Dag, float]],
    told: Callable[[int, float, float], None],
    deadline: Deadline,
    rng: np.random.Generator,
) -> Dag:
    """Reinsert nodes until that no longer helps; return the best DAG, in name order.

    Parameters
    ----------
    dag : MovingDag
        The DAG on which the climbs work.
    best, score : array and float
        The DAG to begin with, and its score.
    climb : callable
        Climbs from the current DAG; returns the DAG found and its score.
    told : callable
        Called with the node, the gain and the score when a reinsertion helps.
    deadline : Deadline
        When to stop.
    rng : Generator
        Draws the order of the nodes and the DAGs of the class.
    """
    n = len(best)
    order = rng.permutation(n)
    tried = idle = 0
    while idle < n and deadline.reason is None:
        node = int(order[tried % n])
        tried += 1
        if not dag.load(dag.without_edges(other_member(dag, best, rng), node), deadline):
            break
        found, reached = climb()
        if reached > score + dag.tolerance:
            told(node, reached - score, reached)
            best, score, idle = found, reached, 0
        else:
            idle += 1
    return best
