"""Equivalence classes of DAGs in the integer program: those next to a DAG, and a row that excludes one."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from dagopt.arrays import Dag
from dagopt.families.families import Families
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.lp.rows.row import Row
from dagopt.problem import Problem

__all__ = ["neighbouring_classes", "row_without_class"]


def neighbouring_classes(problem: Problem, dag: Dag) -> list[dict[str, Any]]:
    """Return the classes, other than the DAG's, of the allowed DAGs that differ in one edge, from the best down."""
    n = problem.n_nodes
    found: dict[bytes, dict[str, Any]] = {cpdag(dag).tobytes(): {}}
    for i, j in combinations(range(n), 2):
        for here, back in ((0, 0), (1, 0), (0, 1)):
            if (dag[i, j], dag[j, i]) == (here, back):
                continue
            other = dag.copy()
            other[i, j], other[j, i] = here, back
            allowed = all(problem.knowledge.allows(k, np.flatnonzero(other[:, k])) for k in (i, j))
            if allowed and is_acyclic(other):
                essential = cpdag(other)
                if essential.tobytes() not in found:
                    score = problem.score.total(other)
                    found[essential.tobytes()] = {"score": score, "adjacency": other, "cpdag": essential}
    return sorted(list(found.values())[1:], key=lambda one: -one["score"])


def row_without_class(families: Families, dag: Dag) -> Row:
    """Return the row that only the DAGs equivalent to one DAG violate: all others differ in c on a pair or triple.

    With s(S) = 1 where c(S) = 1 for the class and -1 elsewhere, only the class has Σ s(S) c(S) = its number of ones.
    """
    ones = set()
    for i in range(families.n_nodes):
        own = [int(j) for j in np.flatnonzero(dag[:, i])]
        ones |= {frozenset((i, *some)) for size in (1, 2) for some in combinations(own, size)}
    values = np.empty(len(families.node))
    parents, starts = families.listed
    for k, node in enumerate(families.node):
        own = parents[starts[k] : starts[k + 1]].tolist()
        some = (frozenset((int(node), *part)) for size in (1, 2) for part in combinations(own, size))
        values[k] = sum(1.0 if one in ones else -1.0 for one in some)
    places = np.flatnonzero(values)
    return Row(places, values[places], len(ones) - 1.0)
