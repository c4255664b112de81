"""What only best DAGs satisfy, against all 543 DAGs of four nodes: undominated sets, last-node and symmetry rows.

The propositions are those of docs/proofs.md.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from brute_force import all_dags
from dagopt.families.families import Families, Family
from dagopt.graph.order import topological_order
from dagopt.kernels.cuts import tree as kernels
from dagopt.lp.rows.clusters import LastNodeRows
from dagopt.lp.rows.row import Point
from dagopt.lp.rows.symmetry import SymmetryRows
from dagopt.methods.branch_and_cut.precedence import Part, propagate

N = 4
ROUNDING = 1e-6  # of scores of nearly dependent columns
DAGS = [np.asarray(dag, dtype=np.int8) for dag in all_dags(N)]


def made(seed):
    """Return the undominated families of a Gaussian score, what must come after each, and the scores of all sets."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(N, N)) + 1.5 * np.eye(N)
    matrix = factor @ factor.T
    half, cost = rng.choice([10.0, 100.0, 1000.0]), rng.choice([0.5, 2.0])
    scores, pool = {}, []
    for node in range(N):
        for size in range(N):
            for parents in combinations([j for j in range(N) if j != node], size):
                own = [*parents, node]
                both = [np.linalg.slogdet(matrix[np.ix_(k, k)])[1] if k else 0.0 for k in (list(parents), own)]
                scores[node, parents] = float(half * (both[0] - both[1]) - cost * size)
                pool.append(Family(node, sum(1 << j for j in parents), scores[node, parents]))
    families = Families.from_list(N, pool).without_dominated()
    families = replace(families, place=np.arange(len(families.node)))
    after = np.zeros_like(families.words)
    kernels.improvable(families.words, families.score, families.offsets, ROUNDING, 0, N, after)
    return families, after, scores, rng


def parents_of(dag, node):
    """Return the parents of a node in a DAG."""
    return tuple(int(j) for j in np.flatnonzero(dag[:, node]))


def chosen_in(families, dag):
    """Return where the families of a DAG are; None if one of them is not there."""
    masks = zip(families.node.tolist(), families.words[:, 0].tolist(), strict=True)
    place = {key: k for k, key in enumerate(masks)}
    wanted = [(i, sum(1 << j for j in parents_of(dag, i))) for i in range(N)]
    return [place[key] for key in wanted] if all(key in place for key in wanted) else None


def best_dags(scores):
    """Return all DAGs with the best score."""
    totals = np.array([sum(scores[i, parents_of(dag, i)] for i in range(N)) for dag in DAGS])
    return [DAGS[k] for k in np.flatnonzero(totals > totals.max() - ROUNDING)]


def has_last_nodes(after, chosen):
    """Say whether every set C has a node that nothing in C would improve."""
    own = [int(after[k, 0]) for k in chosen]
    return all(any(cluster >> i & 1 and not own[i] & cluster for i in range(N)) for cluster in range(1, 1 << N))


def point_of(families, chosen):
    """Return the LP point of a DAG."""
    values = np.zeros(len(families.node))
    values[chosen] = 1.0
    return Point(families, values, 0.0, np.zeros_like(values))


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(30))
def test_some_best_dag_has_everything_at_once(seed):
    """No dominated family, a last node in every set, and no covered arc towards a higher priority."""
    families, after, scores, rng = made(seed)
    rank = rng.permutation(N)
    kept = []
    for dag in best_dags(scores):
        chosen = chosen_in(families, dag)
        if chosen is None:
            continue
        assert has_last_nodes(after, chosen)  # of every best DAG
        point = point_of(families, chosen)
        assert LastNodeRows(after, 20).separate(point) == []
        if not SymmetryRows(rank, 20).separate(point):
            kept.append(dag)
    assert kept


def test_last_nodes_and_priorities_exclude_dags():
    """Neither is empty: some DAGs that are not best lack a last node, and of equivalent best DAGs some go."""
    families, after, scores, rng = made(0)
    found = [chosen for dag in DAGS if (chosen := chosen_in(families, dag)) is not None]
    assert not all(has_last_nodes(after, chosen) for chosen in found)
    best = [chosen for dag in best_dags(scores) if (chosen := chosen_in(families, dag)) is not None]
    assert any(SymmetryRows(rng.permutation(N), 20).separate(point_of(families, chosen)) for chosen in best)


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(30))
def test_conclusions_keep_a_best_dag(seed):
    """From statements that are true of its order, only true ones follow, and no family of it is excluded."""
    families, after, scores, rng = made(seed)
    for dag in best_dags(scores):
        chosen = chosen_in(families, dag)
        if chosen is None:
            continue
        order = [int(i) for i in topological_order(dag)]
        part = Part.whole(families)
        for first, second in combinations(order, 2):
            if rng.random() < 0.4:
                part = part.with_order(first, second)
        assert propagate(families, after, part)
        assert part.alive[chosen].all()
        place = np.argsort(order)
        said = [(i, j) for i in range(N) for j in range(N) if int(part.later[i, 0]) >> j & 1]
        assert all(place[i] < place[j] for i, j in said)


def test_statements_in_a_circle_leave_nothing():
    """Each of two nodes before the other."""
    families, after, _, _ = made(1)
    assert not propagate(families, after, Part.whole(families).with_order(0, 1).with_order(1, 0))
