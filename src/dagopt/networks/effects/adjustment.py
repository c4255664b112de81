"""Adjustment sets: what to hold fixed so that a regression gives a causal effect.

A graph is an array with ``adjacency[i, j] = 1`` for ``i -> j`` and ones both ways for ``i - j``: a DAG, an essential
graph, or one with directions that knowledge adds.

References
----------
.. [1] M. H. Maathuis, M. Kalisch, P. Bühlmann, "Estimating high-dimensional intervention effects from observational
   data", Annals of Statistics 37(6A), 2009, DOI 10.1214/09-AOS685.
.. [2] E. Perković, M. Kalisch, M. H. Maathuis, "Interpreting and using CPDAGs with background knowledge", UAI 2017.
.. [3] J. Witte, L. Henckel, M. H. Maathuis, V. Didelez, "On efficient adjustment in causal graphs", JMLR 21(246), 2020.
.. [4] L. Henckel, E. Perković, M. H. Maathuis, "Graphical criteria for efficient total effect estimation via adjustment
   in causal linear models", JRSS B 84(2), 2022, DOI 10.1111/rssb.12451.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.graph.cpdag import extend_pdag, meek_closure, v_structures

__all__ = [
    "Possibility",
    "optimal_adjustment",
    "oriented_graphs",
    "parent_sets_by_neighbours",
    "possibilities",
    "reached",
]

MOST_SIBLINGS = 20  # all combinations of their directions are examined


class Possibility(NamedTuple):
    """One way in which the edges at a cause may point.

    Attributes
    ----------
    parents : tuple of int
        The parents of the cause.
    adjustment : tuple of int or None
        The set to adjust for; None if the cause has no effect at all.
    """

    parents: tuple[int, ...]
    adjustment: tuple[int, ...] | None


def possibilities(
    adjacency: NDArray[np.int8], cause: int, outcome: int, limits: NDArray[np.int64] | None = None
) -> list[Possibility]:
    """Return every way in which the undirected edges at a cause may point, with its adjustment set.

    Parameters
    ----------
    adjacency : array of shape (n_nodes, n_nodes)
        A DAG, an essential graph, or one with knowledge, closed under Meek's rules.
    cause, outcome : int
        Two nodes.
    limits : array of shape (n_nodes,), optional
        The largest number of parents of each node; only DAGs within them count.

    Returns
    -------
    list of Possibility
        One for each set of parents that the cause has in some DAG of the class: semi-local IDA [2]_ with the optimal
        adjustment set [3]_.
    """
    found = []
    for oriented in oriented_graphs(adjacency, cause, limits):
        parents = tuple(np.flatnonzero(oriented[:, cause]).tolist())
        found.append(Possibility(parents, optimal_adjustment(oriented, cause, outcome)))
    return found


def oriented_graphs(
    adjacency: NDArray[np.int8], cause: int, limits: NDArray[np.int64] | None
) -> Iterator[NDArray[np.int8]]:
    """Yield the graph with every way in which the undirected edges at a cause may point, and what follows from it."""
    for chosen in _parent_sets(adjacency, cause):
        oriented = _oriented(adjacency, cause, chosen)
        if oriented is not None and (limits is None or _has_member(oriented, limits)):
            yield oriented


def optimal_adjustment(adjacency: NDArray[np.int8], cause: int, outcome: int) -> tuple[int, ...] | None:
    r"""Return the adjustment set of least asymptotic variance; None if the cause has no effect.

    Parameters
    ----------
    adjacency : array of shape (n_nodes, n_nodes)
        A graph in which every edge at the cause is directed.
    cause, outcome : int
        Two nodes.

    Notes
    -----
    :math:`O(X, Y) = pa(cn) \setminus (de(X) \cup \{X\})`, where the causal nodes ``cn`` lie on directed paths from X to
    Y [4]_. As all edges at X are directed, a path from X that could be directed without chords is directed by Meek's
    first rule, so the possible descendants of X are its descendants.
    """
    directed = (adjacency != 0) & (adjacency.T == 0)
    below = reached(directed, cause)
    if not below[outcome]:
        return None
    causal = below & (reached(directed.T, outcome) | (np.arange(len(adjacency)) == outcome))
    around = directed[:, causal].any(axis=1) & ~below
    around[cause] = False
    return tuple(np.flatnonzero(around).tolist())


def parent_sets_by_neighbours(adjacency: Any, cause: int) -> list[tuple[int, ...]]:
    """Return the sets of parents that a cause has in some DAG of a class, by its neighbours alone.

    In an essential graph these are its parents together with undirected neighbours that are joined to each other and
    to all of its parents: no other choice leaves the v-structures as they are, and each of these is in some DAG of the
    class [1]_. So nothing else of a large graph, which is sparse here, is looked at.
    """
    into = set(adjacency[:, [cause]].nonzero()[0].tolist())
    out = set(adjacency[[cause], :].nonzero()[1].tolist())
    sure, open_ = sorted(into - out), sorted(into & out)
    if len(open_) > MOST_SIBLINGS:
        raise _too_many(len(open_))

    def joined(a: int, b: int) -> bool:
        return bool(adjacency[a, b] or adjacency[b, a])

    possible = [node for node in open_ if all(joined(node, parent) for parent in sure)]
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[list[int], list[int]]] = [([], possible)]
    while waiting:
        chosen, others = waiting.pop()
        found.append(tuple(sorted([*sure, *chosen])))
        for k, node in enumerate(others):
            waiting.append(([*chosen, node], [other for other in others[k + 1 :] if joined(node, other)]))
    return sorted(found, key=lambda one: (len(one), one))


def _too_many(siblings: int) -> InputError:
    return InputError(
        f"{siblings} edges at the cause have no direction, more than the {MOST_SIBLINGS} whose combinations can be "
        "tried; direct some of them with tiers or required edges, or use the learned DAG with over='dag'"
    )


def reached(directed: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    """Return the nodes at the end of directed paths from a node, without the node itself."""
    found = np.zeros(len(directed), dtype=bool)
    waiting = [start]
    while waiting:
        new = directed[waiting.pop()] & ~found
        found |= new
        waiting.extend(np.flatnonzero(new).tolist())
    return found


def _parent_sets(adjacency: NDArray[np.int8], cause: int) -> Iterator[list[int]]:
    """Yield the sets of undirected neighbours that can be parents together: those joined to each other."""
    joined = (adjacency | adjacency.T) != 0
    siblings = np.flatnonzero((adjacency[cause] != 0) & (adjacency[:, cause] != 0)).tolist()
    if len(siblings) > MOST_SIBLINGS:
        raise _too_many(len(siblings))
    waiting: list[tuple[list[int], list[int]]] = [([], siblings)]
    while waiting:
        chosen, others = waiting.pop()
        yield chosen
        for k, node in enumerate(others):
            waiting.append(([*chosen, node], [other for other in others[k + 1 :] if joined[node, other]]))


def _oriented(adjacency: NDArray[np.int8], cause: int, parents: list[int]) -> NDArray[np.int8] | None:
    """Return the graph with some neighbours as parents of the cause and the others as children, if a DAG allows it."""
    siblings = np.flatnonzero((adjacency[cause] != 0) & (adjacency[:, cause] != 0))
    graph = adjacency.copy()
    for node in siblings:
        if node in parents:
            graph[cause, node] = 0
        else:
            graph[node, cause] = 0
    return _closed(graph, adjacency)


def _closed(graph: NDArray[np.int8], before: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """Return a graph with what follows from its directions, None if no DAG of the class before has them."""
    closed = meek_closure(graph)
    if v_structures(closed) != v_structures(before) or extend_pdag(closed) is None:
        return None
    return closed


def _has_member(graph: NDArray[np.int8], limits: NDArray[np.int64]) -> bool:
    """Say whether a DAG of the class has no more parents than the limits, by directing one edge after the other."""
    present, both = graph != 0, (graph != 0) & (graph.T != 0)
    if (present.sum(axis=0) <= limits).all():  # whatever the directions
        return True
    if ((present & ~both).sum(axis=0) > limits).any():
        return False
    close = np.flatnonzero(both.any(axis=0) & (present.sum(axis=0) > limits))
    node, other = int(close[0]), int(np.flatnonzero(both[close[0]])[0])
    for a, b in ((node, other), (other, node)):
        directed = graph.copy()
        directed[b, a] = 0
        closed = _closed(directed, graph)
        if closed is not None and _has_member(closed, limits):
            return True
    return False
