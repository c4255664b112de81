"""Equivalence classes of DAGs in the integer program: those next to a DAG, and a row that excludes one."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from dagopt.arrays import Bools, Dag
from dagopt.families.families import Families
from dagopt.graph.known_directions import essential_told
from dagopt.graph.order import is_acyclic
from dagopt.lp.rows.row import Row
from dagopt.problem import Problem

__all__ = ["neighbouring_classes", "row_without_class"]


def neighbouring_classes(problem: Problem, dag: Dag) -> list[dict[str, Any]]:
    """Return the classes, other than the DAG's, of the allowed DAGs that differ in one edge, from the best down."""
    n = problem.n_nodes
    told = problem.score.told_pairs
    found: dict[bytes, dict[str, Any]] = {essential_told(dag, told).tobytes(): {}}
    for i, j in combinations(range(n), 2):
        for here, back in ((0, 0), (1, 0), (0, 1)):
            if (dag[i, j], dag[j, i]) == (here, back):
                continue
            other = dag.copy()
            other[i, j], other[j, i] = here, back
            allowed = all(problem.knowledge.allows(k, np.flatnonzero(other[:, k])) for k in (i, j))
            if allowed and is_acyclic(other):
                essential = essential_told(other, told)
                if essential.tobytes() not in found:
                    score = problem.score.total(other)
                    found[essential.tobytes()] = {"score": score, "adjacency": other, "cpdag": essential}
    return sorted(list(found.values())[1:], key=lambda one: -one["score"])


def row_without_class(families: Families, dag: Dag, told: Bools) -> Row:
    """Return the row that only the DAGs equivalent to one DAG violate: all others differ in c on a pair or triple.

    With s(S) = 1 where c(S) = 1 for the class and -1 elsewhere, only the class has Σ s(S) c(S) = its number of ones.
    Edges whose direction is told have a c of their own for each direction.
    """
    ones = {one for i in range(families.n_nodes) for one in _marks(i, np.flatnonzero(dag[:, i]).tolist(), told)}
    values = np.empty(len(families.node))
    parents, starts = families.listed
    for k, node in enumerate(families.node):
        marks = _marks(int(node), parents[starts[k] : starts[k + 1]].tolist(), told)
        values[k] = sum(1.0 if one in ones else -1.0 for one in marks)
    places = np.flatnonzero(values)
    return Row(places, values[places], len(ones) - 1.0)


def _marks(node: int, parents: list[int], told: Bools) -> list[frozenset[int] | tuple[int, int]]:
    """Return the pairs, triples and told edges that a family brings into its class."""
    sets = [frozenset((node, *some)) for size in (1, 2) for some in combinations(parents, size)]
    return [*sets, *((j, node) for j in parents if told[j, node])]
