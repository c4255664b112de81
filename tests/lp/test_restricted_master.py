"""The restricted master LP: scipy's value, signs of duals, and independence of the way in which it grew."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dagopt.families.families import Family
from dagopt.lp.restricted_master import RestrictedMaster, reduced_cost

SEEDS = st.integers(0, 2**16)


def cluster_of(row):
    """Return the cluster of a row."""
    return frozenset(np.flatnonzero(row.origin.inside).tolist())


def made_parts(seed, scale=20.0):
    """Return a number of nodes, families that begin with the empty sets, and clusters of two nodes or more."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    families = {(i, 0): Family(i, 0, float(rng.normal() * scale)) for i in range(n)}
    for _ in range(rng.integers(0, 25)):
        i = int(rng.integers(n))
        mask = int(rng.integers(1 << n)) & ~(1 << i)
        families.setdefault((i, mask), Family(i, mask, float(rng.normal() * scale + 10)))
    clusters = [frozenset(rng.permutation(n)[: rng.integers(2, n + 1)].tolist()) for _ in range(rng.integers(0, 8))]
    return n, list(families.values()), list(dict.fromkeys(clusters))


def grown(n, families, clusters, seed):
    """Return a master to which families and clusters came mixed, with solves between."""
    rng = np.random.default_rng(seed)
    master = RestrictedMaster(n)
    assert master.add_families(families[:n]) == n
    parts = [("family", c) for c in families[n:]] + [("cluster", c) for c in clusters]
    for kind, part in [parts[k] for k in rng.permutation(len(parts))]:
        added = master.add_families([part]) if kind == "family" else master.add_clusters([part])
        assert added == 1
        if rng.random() < 0.3:
            master.solve()
    return master


def at_once(n, families, clusters):
    """Return a master that got its families, then its clusters, in one piece."""
    master = RestrictedMaster(n)
    master.add_families(families)
    master.add_clusters(clusters)
    return master


def oracle(master):
    """Return the LP's value by scipy, from the definition of its rows."""
    families = list(master.families)
    nodes = np.array([[family.node == i for family in families] for i in range(master.n_nodes)], dtype=float)
    rows = [
        [float(family.node in cluster and any(family.mask >> j & 1 for j in cluster)) for family in families]
        for cluster in master.clusters
    ]
    answer = linprog(
        [-family.score for family in families],
        A_ub=rows or None,
        b_ub=[len(cluster) - 1 for cluster in master.clusters] or None,
        A_eq=nodes,
        b_eq=np.ones(master.n_nodes),
        method="highs-ipm",
    )
    assert answer.status == 0
    return -answer.fun


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_the_value_is_that_of_the_definition(seed):
    """However families and clusters came, the value is scipy's over the same families and clusters."""
    n, families, clusters = made_parts(seed)
    master = grown(n, families, clusters, seed)
    assert set(master.families) == set(families)
    assert set(master.clusters) == set(clusters)
    expected = oracle(master)
    assert master.solve().bound == pytest.approx(expected, abs=1e-5)
    assert at_once(n, families, clusters).solve().bound == pytest.approx(expected, abs=1e-5)


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_the_point_and_its_duals_are_optimal(seed):
    """Reduced costs are zero where the point is positive and never negative; duals of clusters are not either."""
    master = grown(*made_parts(seed), seed)
    lp = master.solve()
    assert len(lp.values) == len(master.families)
    assert lp.values @ [family.score for family in master.families] == pytest.approx(lp.bound, abs=1e-6)
    reduced = np.array([reduced_cost(lp, family) for family in master.families])
    assert (reduced >= -1e-6).all()
    np.testing.assert_allclose(reduced[lp.values > 1e-7], 0.0, atol=1e-6)
    assert (lp.duals.weights > 0).all()
    assert {cluster_of(row) for row in lp.duals.rows} <= set(master.clusters)
    most = np.array([len(cluster_of(row)) - 1 for row in lp.duals.rows])
    assert lp.node_duals.sum() + lp.duals.weights @ most == pytest.approx(lp.bound, abs=1e-5)
    for node in range(master.n_nodes):
        assert lp.values[lp.families.own(node)].sum() == pytest.approx(1.0)


@settings(deadline=None, max_examples=15)
@given(SEEDS)
def test_rebuilding_changes_nothing(seed):
    """The model made anew has the same families, clusters and value, and grows on as before."""
    n, families, clusters = made_parts(seed)
    master = grown(n, families, clusters, seed)
    before = master.solve().bound
    pool, rows = list(master.families), list(master.clusters)
    master.rebuild()
    assert list(master.families) == pool
    assert master.clusters == rows
    assert master.solve().bound == pytest.approx(before, abs=1e-6)
    assert master.add_families(families) == master.add_clusters(clusters) == 0
    whole = frozenset(range(n))
    assert master.add_clusters([whole]) == (whole not in rows)
    assert master.solve().bound == pytest.approx(oracle(master), abs=1e-5)


@settings(deadline=None, max_examples=15)
@given(SEEDS, st.floats(-1e5, 1e5))
def test_a_constant_in_a_nodes_scores_moves_its_dual_alone(seed, constant):
    """Scores of a node shifted by a constant shift value and λ_i by it, and leave reduced costs as they are."""
    n, families, clusters = made_parts(seed)
    moved = [family._replace(score=family.score + constant * (family.node == 0)) for family in families]
    one, other = at_once(n, families, clusters), at_once(n, moved, clusters)
    lp, shifted = one.solve(), other.solve()
    assert shifted.bound == pytest.approx(lp.bound + constant, abs=1e-5)
    np.testing.assert_allclose(shifted.node_duals, lp.node_duals + constant * (np.arange(n) == 0), atol=1e-5)
    duals, others = (
        {cluster_of(row): w for row, w in zip(x.rows, x.weights, strict=True)} for x in (lp.duals, shifted.duals)
    )
    for cluster in duals.keys() | others.keys():
        assert duals.get(cluster, 0.0) == pytest.approx(others.get(cluster, 0.0), abs=1e-5)
    for family, twin in zip(families, moved, strict=True):
        assert reduced_cost(shifted, twin) == pytest.approx(reduced_cost(lp, family), abs=1e-5)


def test_what_is_there_is_not_added_again():
    """Families and clusters count as new once, also within one list."""
    master = RestrictedMaster(2)
    both = [Family(0, 0, 0.0), Family(1, 0, 0.0), Family(0, 0, 5.0), Family(0, 0b10, 1.0)]
    assert master.add_families(both) == 3
    assert master.add_families(both) == 0
    cluster = frozenset({0, 1})
    assert master.add_clusters([cluster, cluster]) == 1
    assert master.add_clusters([cluster]) == 0


def test_a_cycle_of_two_is_cut():
    """Two nodes that each want the other: the cluster leaves one of them, and its dual is what the other loses."""
    master = RestrictedMaster(2)
    master.add_families([Family(0, 0, 0.0), Family(1, 0, 0.0), Family(0, 0b10, 5.0), Family(1, 0b01, 3.0)])
    assert master.solve().bound == pytest.approx(8.0)
    master.add_clusters([frozenset({0, 1})])
    lp = master.solve()
    assert lp.bound == pytest.approx(5.0)
    assert 3.0 - 1e-7 <= lp.duals.weights[0] <= 5.0 + 1e-7
