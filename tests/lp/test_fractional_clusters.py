"""Clusters that are returned are violated, and where none is returned none is."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dagopt.bits import mask_of
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families, Family
from dagopt.kernels.cuts import separation as kernels
from dagopt.kernels.orders import listed
from dagopt.lp.fractional_clusters import (
    CUT_TOLERANCE,
    PROOF_TOLERANCE,
    FractionalSeparator,
    _by_ip,
    integer_clusters,
)
from made_pools import most_violated, random_point, random_pool, violation


def seeded(seed, n_nodes, n_families, **options):
    """Return a generator and a random pool."""
    rng = np.random.default_rng(seed)
    return rng, random_pool(rng, n_nodes, n_families, **options)


def support(pool, values):
    """Return the nodes, words and masses of the families with positive value."""
    families = pool
    own = values
    some = np.flatnonzero(own > 0)
    return families.node[some], families.words[some], own[some]


# --- integer points -------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.floats(0.02, 0.5))
@settings(max_examples=30, deadline=None)
def test_clusters_of_a_graph_are_closed_and_found_iff_it_has_a_cycle(seed, n_nodes, density):
    """Each node of a returned cluster has a parent in it, and a DAG has no such clusters."""
    rng = np.random.default_rng(seed)
    adjacency = (rng.random((n_nodes, n_nodes)) < density).astype(np.int8)
    np.fill_diagonal(adjacency, 0)
    graph = nx.from_numpy_array(adjacency, create_using=nx.DiGraph)
    clusters = integer_clusters(adjacency)
    assert bool(clusters) == (not nx.is_directed_acyclic_graph(graph))
    assert len(set(clusters)) == len(clusters)
    for cluster in clusters:
        inside = sorted(cluster)
        assert adjacency[np.ix_(inside, inside)].any(axis=0).all()
    components = {frozenset(own) for own in nx.strongly_connected_components(graph) if len(own) > 1}
    assert components <= set(clusters)


def test_shortest_cycles_come_before_their_component():
    """Two cycles that share a node give both cycles and their union."""
    adjacency = np.zeros((6, 6), dtype=np.int8)
    for i, j in [(0, 1), (1, 0), (1, 2), (2, 3), (3, 1), (4, 5)]:
        adjacency[i, j] = 1
    assert integer_clusters(adjacency) == [frozenset({0, 1}), frozenset({1, 2, 3}), frozenset({0, 1, 2, 3})]


# --- fractional points ----------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_heuristic_clusters_are_violated_distinct_and_sorted(seed, n_nodes, spread):
    """Every cluster that the heuristic returns is violated by more than the tolerance, the worst first."""
    rng, pool = seeded(seed, n_nodes, 8)
    values = random_point(rng, pool, spread)
    families = pool
    clusters = FractionalSeparator(10).heuristic(families, values)
    violations = [violation(pool, values, cluster) for cluster in clusters]
    assert all(size > 0.99 * CUT_TOLERANCE for size in violations)
    np.testing.assert_allclose(violations, sorted(violations, reverse=True), atol=1e-9)
    assert len(set(clusters)) == len(clusters) <= 10


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(1, 4))
@settings(max_examples=18, deadline=None)
def test_exact_separation_equals_all_clusters(seed, n_nodes, spread):
    """The search, the separation IP and the exhaustive kernel find the largest violation of the definition."""
    rng, pool = seeded(seed, n_nodes, 6)
    values = random_point(rng, pool, spread)
    expected = max(most_violated(pool, values), PROOF_TOLERANCE)
    found = FractionalSeparator().most_violated(pool, values, Deadline())
    least, best = naive.every_escape(*support(pool, values), n_nodes)
    assert max(1.0 - least, PROOF_TOLERANCE) == pytest.approx(expected, abs=1e-8)
    by_ip = _by_ip(*support(pool, values), n_nodes, Deadline())
    for answer in (found, by_ip):
        assert answer.proven
        assert answer.violation == pytest.approx(expected, abs=2e-6)
        if answer.cluster is None:
            assert expected <= 2e-6
        else:
            assert violation(pool, values, answer.cluster) == pytest.approx(answer.violation, abs=1e-8)
    assert found.cluster is None or violation(pool, values, set(np.flatnonzero(best >> np.arange(n_nodes) & 1))) > 0


@pytest.mark.parametrize("seed", range(5))
def test_exact_search_equals_exhaustive_kernel_on_more_nodes(seed):
    """At 14 nodes the search and the exhaustive kernel agree."""
    rng, pool = seeded(seed, 14, 12)
    values = random_point(rng, pool, 3)
    found = FractionalSeparator().most_violated(pool, values, Deadline())
    least, _ = naive.every_escape(*support(pool, values), 14)
    assert found.violation == pytest.approx(max(1.0 - least, PROOF_TOLERANCE), abs=1e-8)


def test_the_integer_program_takes_over_from_a_long_search():
    """With hardly any steps allowed the answer is still the proven one."""
    rng, pool = seeded(3, 9, 8)
    values = random_point(rng, pool)
    short = FractionalSeparator(most_steps=2).most_violated(pool, values, Deadline())
    full = FractionalSeparator().most_violated(pool, values, Deadline())
    assert short.proven
    assert full.proven
    assert short.violation == pytest.approx(full.violation, abs=1e-6)


def test_the_integer_program_stops_when_asked():
    """An interrupt that comes while the separation IP runs ends it without a claim."""

    class Later(Deadline):
        """Stops at the second look."""

        looks = 0

        @property
        def reason(self):
            self.looks += 1
            return "interrupted" if self.looks > 1 else None

    rng, pool = seeded(3, 12, 30)
    values = random_point(rng, pool, 12)
    found = FractionalSeparator(most_steps=2).most_violated(pool, values, Later())
    assert not found.proven
    assert found.cluster is None or violation(pool, values, found.cluster) > 0


def test_a_mixture_of_dags_violates_nothing():
    """A convex combination of DAGs satisfies all clusters, and this is proven."""
    rng, pool = seeded(7, 10, 15)
    families = pool
    values = np.zeros(len(pool))
    for _ in range(4):
        order = rng.permutation(10)
        chosen = np.empty(10, dtype=np.int64)
        listed.listed_parents(families.lists, order, chosen)
        values[chosen] += 0.25
    separator = FractionalSeparator()
    assert separator.most_violated(pool, values, Deadline()) == (None, pytest.approx(PROOF_TOLERANCE), True)
    assert separator.separate(pool, values, Deadline()) == []


@pytest.mark.parametrize("seed", range(10))
def test_one_cluster_at_a_time_is_the_most_violated_one(seed):
    """With ``most=1`` the violation is the largest over all clusters, by trying them all."""
    rng, pool = seeded(seed, 7, 8)
    values = random_point(rng, pool, 3)
    expected = most_violated(pool, values)
    clusters = FractionalSeparator(1).separate(pool, values, Deadline())
    assert len(clusters) == (1 if expected > PROOF_TOLERANCE else 0)
    for cluster in clusters:
        assert violation(pool, values, cluster) == pytest.approx(expected, abs=1e-8)


def test_separate_finds_what_only_the_search_finds(monkeypatch):
    """Where the heuristics find nothing the exact search is asked."""
    pool = Families.from_list(3, [Family(node, mask_of([(node + 1) % 3]), 0.0) for node in range(3)])
    separator = FractionalSeparator()
    monkeypatch.setattr(separator, "heuristic", lambda families, values: [])
    assert separator.separate(pool, np.ones(3), Deadline()) == [frozenset({0, 1, 2})]


def test_a_stopped_search_proves_nothing():
    """After an interrupt nothing is claimed."""
    rng, pool = seeded(1, 6, 6)
    deadline = Deadline()
    deadline.interrupt()
    found = FractionalSeparator().most_violated(pool, random_point(rng, pool), deadline)
    assert found.cluster is None
    assert not found.proven


def test_more_than_64_nodes():
    """A long cycle over 130 nodes, half of it fractional, is found by the heuristic and by the search."""
    n = 130
    own = [(0, 0.0), (1, 1.0)]
    pool = Families.from_list(n, [Family(i, some << (i + 1) % n, score) for i in range(n) for some, score in own])
    values = np.array([0.5 if family.node == 5 else float(family.mask != 0) for family in pool])
    families = pool
    assert FractionalSeparator().heuristic(families, values) == [frozenset(range(n))]
    found = FractionalSeparator().most_violated(pool, values, Deadline())
    assert found == (frozenset(range(n)), pytest.approx(0.5), True)


# --- the arrays and the order ---------------------------------------------------------------------------------


def best_along(pool, order):
    """Return the best score along an order, by looking at every family."""
    total, before = 0.0, 0
    for node in order:
        fitting = [family.score for family in pool if family.node == node and family.mask & ~before == 0]
        total += max(fitting, default=-np.inf)
        before |= 1 << int(node)
    return total


@pytest.mark.parametrize("seed", range(8))
def test_no_single_move_improves_the_order(seed):
    """The DAG near a point is a DAG, is scored right, and no node can move to a better place."""
    rng, pool = seeded(seed, 6, 8)
    families = pool
    order = rng.permutation(6)
    before = best_along(pool, order)
    listed.settle(families.lists, order)
    after = best_along(pool, order)
    chosen = np.empty(6, dtype=np.int64)
    listed.listed_parents(families.lists, order, chosen)
    assert families.score[chosen].sum() == pytest.approx(after, abs=1e-6)
    assert after >= before
    for v, place in itertools.product(range(6), range(6)):
        moved = [i for i in order if i != v]
        moved.insert(place, v)
        assert best_along(pool, moved) <= after + 1e-6


def test_dominated_columns_are_left_out():
    """A family with a subset of at least its score goes, the smaller of equals stays."""
    own = [(0, 1.0), (0b010, 1.0), (0b100, 3.0), (0b110, 2.0)]
    given = [*(Family(0, *one) for one in own), Family(1, 0, 0.0), Family(2, 0, 0.0)]
    families = Families.from_list(3, given).without_dominated()
    assert {family[:2] for family in families} == {(0, 0), (0, 0b100), (1, 0), (2, 0)}
    assert [given[k] for k in families.place] == list(families)


def test_parents_outside_the_pool_give_the_best_column_inside_them():
    """An incumbent with a parent set that is no family starts from the best family inside it."""
    pool = Families.from_list(3, [*(Family(node, 0, 0.0) for node in range(3)), Family(2, 0b001, 5.0)])
    incumbent = np.zeros((3, 3), dtype=np.int8)
    incumbent[[0, 1], 2] = 1
    families = pool
    np.testing.assert_array_equal(families.adjacency(families.inside(incumbent))[:, 2], [1, 0, 0])


def test_a_node_without_columns_is_refused():
    """The message says what to add."""
    pool = Families.from_list(2, [Family(0, 0, 0.0)])
    with pytest.raises(InputError, match="add the empty set"):
        pool.start(None)


@pytest.mark.parametrize("seed", range(6))
def test_impossible_columns_are_in_no_dag_of_the_rest(seed):
    """A marked family is part of no DAG over the families that are alive, and a refusal means that there is none."""
    rng, pool = seeded(seed, 4, 4)
    families = pool
    alive = rng.random(len(families.node)) < 0.6
    drop = np.zeros(len(alive), dtype=np.bool_)
    possible = kernels.impossible(families.words, families.offsets, alive, drop)
    choices = [np.flatnonzero(alive & (families.node == i)) for i in range(4)]
    dags = [
        chosen
        for chosen in itertools.product(*choices)
        if not integer_clusters(families.adjacency(np.array(chosen, dtype=np.int64)))
    ]
    if not possible:
        assert dags == []
    assert not drop[[k for chosen in dags for k in chosen]].any()
