"""Kernels of clusters, trees and prefixes against Python sets."""

import itertools

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import naive_kernels as naive
from dagopt.kernels.cuts import growing, local_cuts, prefixes, separation, tree

SEEDS = range(12)


def drawn_set(rng, i, n, density):
    """Return a random set of other nodes."""
    return frozenset(np.flatnonzero((rng.random(n) < density) & (np.arange(n) != i)).tolist())


def drawn(seed, n=6, per_node=4, density=0.4):
    """Return families (i, J, x) sorted by node, each node's different, and their arrays."""
    rng = np.random.default_rng(seed)
    families = []
    for i in range(n):
        sets = {
            frozenset(np.flatnonzero((rng.random(n) < density) & (np.arange(n) != i)).tolist()) for _ in range(per_node)
        }
        mass = rng.dirichlet(np.ones(len(sets)))
        families += [(i, J, x) for J, x in zip(sorted(sets, key=sorted), mass, strict=True)]
    node = np.array([i for i, _, _ in families])
    mass = np.array([x for _, _, x in families])
    return families, node, words([J for _, J, _ in families], n), mass, np.searchsorted(node, np.arange(n + 1))


def words(sets, n):
    """Return sets as rows of 64-bit words."""
    rows = np.zeros((len(sets), -(-n // 64)), dtype=np.uint64)
    for row, own in zip(rows, sets, strict=True):
        for j in own:
            row[j // 64] |= np.uint64(1 << j % 64)
    return rows


def nodes_of(row):
    """Return the members of a row of words."""
    return {j for j in range(64 * len(row)) if int(row[j // 64]) >> j % 64 & 1}


def packed(sets):
    """Return the members of all sets in one array, and where each begins."""
    starts = np.concatenate([[0], np.cumsum([len(J) for J in sets])]).astype(np.int64)
    return np.array([j for J in sets for j in sorted(J)], dtype=np.int64), starts


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [6, 70])
def test_escape(seed, n):
    families, node, rows, mass, _ = drawn(seed, n, density=2.5 / n)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        C = frozenset(np.flatnonzero(rng.random(n) < 0.5).tolist())
        assert separation.escape(node, rows, mass, words([C], n)[0]) == pytest.approx(naive.escape(families, C))


@pytest.mark.parametrize("seed", SEEDS)
def test_least_escape_over_all_clusters_with_a_smallest_node(seed):
    families, node, rows, mass, _ = drawn(seed)
    for smallest in range(6):
        best = np.zeros(1, dtype=np.uint64)
        least, steps = separation.least_escape(node, rows, mass, 6, smallest, np.inf, 10_000, best)
        clusters = [C | {smallest} for C in naive.subsets(range(smallest + 1, 6))]
        assert steps <= 10_000
        assert least == pytest.approx(min(naive.escape(families, C) for C in clusters))
        assert naive.escape(families, frozenset(nodes_of(best))) == pytest.approx(least)


@pytest.mark.parametrize("seed", SEEDS)
def test_sink_order_takes_the_cheapest_sink_each_time(seed):
    families, node, _, mass, _ = drawn(seed)
    flat, starts = packed([J for _, J, _ in families])
    order = np.empty(6, dtype=np.int64)
    separation.sink_order(node, mass, flat, starts, 6, order)
    left = set(range(6))
    for sink in order[::-1].tolist():
        cost = {j: sum(x for i, J, x in families if i in left and j in J) for j in left}
        assert cost[sink] == pytest.approx(min(cost.values()))
        left.remove(sink)


@pytest.mark.parametrize("seed", range(40))
def test_families_that_would_close_a_cycle(seed):
    n = 5
    families, node, rows, _, offsets = drawn(seed, n, per_node=2, density=0.3)
    alive = np.random.default_rng(seed).random(len(node)) < 0.8
    drop = np.zeros(len(node), dtype=bool)
    possible = separation.impossible(rows, offsets, alive, drop)
    left = [[J for (i, J, _), kept in zip(families, alive, strict=True) if i == v and kept] for v in range(n)]
    if not all(left):
        assert not possible
        return
    arcs = [(j, v) for v in range(n) for j in frozenset.intersection(*left[v])]
    leads = naive.reachable(arcs, n)
    assert possible == (not any(leads[a, b] and leads[b, a] for a, b in itertools.combinations(range(n), 2)))
    if possible:
        expected = [kept and any(leads[i, j] for j in J) for (i, J, _), kept in zip(families, alive, strict=True)]
        assert drop.tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_families_with_an_earlier_subset(seed):
    families, node, rows, _, offsets = drawn(seed)
    out = np.empty(len(node), dtype=bool)
    for begin, end in itertools.pairwise(offsets):  # in two pieces, the later one first
        middle = (begin + end) // 2
        separation.dominated(rows, begin, middle, end, out)
        separation.dominated(rows, begin, begin, middle, out)
    for k, (i, J, _) in enumerate(families):
        assert out[k] == any(own == i and other <= J for own, other, _ in families[:k])


@pytest.mark.parametrize("seed", SEEDS)
def test_strong_components(seed):
    rng = np.random.default_rng(seed)
    n, m = 12, rng.integers(0, 40)
    tails, heads = rng.integers(0, n, (2, m))
    found = growing.strong_components(heads, tails, n)
    graph = coo_matrix((np.ones(m), (tails, heads)), shape=(n, n))
    _, expected = connected_components(graph, connection="strong")
    assert (np.equal.outer(found, found) == np.equal.outer(expected, expected)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_support_and_clusters_grown_in_it(seed):
    """The support holds the families of its nodes; clusters have the escape that is said, and none is lower nearby."""
    families, _, _, mass, offsets = drawn(seed)
    flat, starts = packed([J for _, J, _ in families])
    nodes = np.array([0, 2, 3, 5])
    local = np.full(6, -1, dtype=np.int64)
    local[nodes] = range(4)
    support = growing.support_of(nodes, local, offsets, mass, flat, starts)
    inside = [(local[i], frozenset(local[list(J & {0, 2, 3, 5})].tolist()), x) for i, J, x in families if local[i] >= 0]
    found = [frozenset(support.parents[a:b].tolist()) for a, b in itertools.pairwise(support.starts)]
    assert list(zip(support.node, found, support.mass, strict=True)) == inside
    for j, (a, b) in enumerate(itertools.pairwise(support.use_starts)):
        assert set(support.uses[a:b]) == {k for k, (_, J, _) in enumerate(inside) if j in J}
    seeds = np.array(list(itertools.combinations_with_replacement(range(4), 2)))
    clusters, escapes = np.zeros((2 * len(seeds), 4), dtype=bool), np.zeros(2 * len(seeds))
    for k in range(growing.grow_clusters(support, seeds, 0.9, clusters, escapes)):
        C = frozenset(np.flatnonzero(clusters[k]).tolist())
        assert escapes[k] == pytest.approx(naive.escape(inside, C))
        assert escapes[k] < 0.9
        assert all(naive.escape(inside, C - {j}) > escapes[k] - 1e-9 for j in C if len(C) > 1)


@pytest.mark.parametrize("seed", range(30))
def test_what_an_order_implies(seed):
    n = 5
    rng = np.random.default_rng(seed)
    families, _, rows, _, offsets = drawn(seed, n, per_node=3)
    after = [frozenset(j for j in range(n) if j != i and j not in J and rng.random() < 0.2) for i, J, _ in families]
    later = [{j for j in range(n) if j != i and rng.random() < 0.1} for i in range(n)]
    listed = [[(J, own) for (i, J, _), own in zip(families, after, strict=True) if i == v] for v in range(n)]
    expected = naive.implied(listed, later, n)
    late, alive = words(later, n), np.ones(len(families), dtype=bool)
    assert tree.propagate(rows, words(after, n), offsets, late, alive) == (expected is not None)
    if expected is not None:
        assert [nodes_of(row) for row in late] == expected[1]
        kept = [sum(alive[a:b]) for a, b in itertools.pairwise(offsets)]
        assert kept == [len(own) for own in expected[0]]


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_that_improve_a_family(seed):
    families, node, rows, _, offsets = drawn(seed, per_node=6)
    score = np.random.default_rng(seed).random(len(node))
    for a, b in itertools.pairwise(offsets):
        score[a:b] = np.sort(score[a:b])[::-1]
    after = np.zeros_like(rows)
    tree.improvable(rows, score, offsets, 0.1, 0, 6, after)
    for k, (i, J, _) in enumerate(families):
        better = [other for q, (own, other, _) in enumerate(families) if own == i and score[q] > score[k] + 0.1]
        assert nodes_of(after[k]) == {b for b in range(6) for other in better if b in other - J and other <= J | {b}}


def test_remainders_of_rows(rng):
    remainder, alive, offsets = rng.random(10), rng.random(10) < 0.6, np.array([0, 3, 3, 7, 10])
    index, value = np.array([1, 4, 9]), rng.random(3)
    expected = remainder - 0.7 * np.bincount(index, value, 10)
    tree.take_row(index, value, 0.7, remainder)
    assert remainder == pytest.approx(expected)
    best = np.empty(4)
    tree.best_remainders(remainder, alive, offsets, best)
    parts = [
        [r for r, kept in zip(remainder[a:b], alive[a:b], strict=True) if kept] for a, b in itertools.pairwise(offsets)
    ]
    assert best.tolist() == [max(own, default=-np.inf) for own in parts]
    out = np.zeros(10)
    tree.entries(index, value, np.arange(10), out)
    assert (out == np.bincount(index, value, 10)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_of_families_of_a_covered_arc(seed):
    families, node, rows, _, offsets = drawn(seed, per_node=8, density=0.3)
    rank = np.random.default_rng(seed).permutation(6)
    expected = {
        (a, b)
        for a, (p, J, _) in enumerate(families)
        for b, (r, larger, _) in enumerate(families)
        if larger == J | {p} and p not in J and p != r and rank[r] < rank[p]
    }
    pairs = np.empty((len(node) ** 2, 2), dtype=np.int64)
    count = tree.covered_pairs(node, rows, offsets, rank, pairs)
    assert set(map(tuple, pairs[:count].tolist())) == expected
    assert tree.covered_pairs(node, rows, offsets, rank, pairs[: count // 2]) == count // 2


def test_mass_of_arcs():
    families, node, _, mass, _ = drawn(3)
    flat, starts = packed([J for _, J, _ in families])
    expected = np.zeros((6, 6))
    for i, J, x in families:
        expected[i, sorted(J)] += x
    arcs = np.zeros((6, 6))
    local_cuts.arc_mass(node, flat, starts, mass, arcs)
    assert arcs == pytest.approx(expected)


def made_lists(seed, n=5, per_node=90):
    """Return lists of parent sets with values, best first, and the same for kernels."""
    rng = np.random.default_rng(seed)
    lists, bits, first_word, values, starts = [], [], [0], [], [0]
    for i in range(n):
        sets = {
            frozenset(np.flatnonzero((rng.random(n) < 0.5) & (np.arange(n) != i)).tolist()) for _ in range(per_node)
        }
        own = sorted(((J, rng.random()) for J in sorted(sets, key=sorted)), key=lambda pair: -pair[1])
        lists.append(own)
        part = np.zeros((-(-len(own) // 64), n), dtype=np.uint64)
        prefixes.fill_bits(words([J for J, _ in own], n)[:, 0], part)
        bits.append(part)
        first_word.append(first_word[-1] + len(part))
        values += [value for _, value in own]
        starts.append(len(values))
    arrays = (np.concatenate(bits), np.array(first_word), np.array(values), np.array(starts))
    return lists, prefixes.Lists(*arrays)


@pytest.mark.parametrize("seed", range(6))
def test_the_first_set_without_some_nodes_and_the_totals_of_groups(seed):
    lists, made = made_lists(seed)
    for out in naive.subsets(range(5)):
        for i in range(5):
            if out:
                expected = naive.best_listed([J for J, _ in lists[i]], set(range(5)) - out)
                assert prefixes.first_fitting(made, i, np.array(sorted(out)), len(out)) == expected
    group = np.array([1, 3, 4])
    values = np.empty(8)
    prefixes.fill_group(made, group, values)
    others = {0, 2}
    for part in range(8):
        own = [int(g) for b, g in enumerate(group) if part >> b & 1]
        totals = []
        for order in itertools.permutations(own):
            before = [others | set(group.tolist()) - set(own) | set(order[:p]) for p in range(len(own))]
            places = [naive.best_listed([J for J, _ in lists[v]], b) for v, b in zip(order, before, strict=True)]
            totals.append(sum(lists[v][k][1] if k >= 0 else -np.inf for v, k in zip(order, places, strict=True)))
        assert values[part] == pytest.approx(max(totals))


def empty_table(size):
    """Return a hash table of prefixes without any."""
    return prefixes.Table(
        np.zeros(size, dtype=np.uint64), np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.int64)
    )


def test_merging_keeps_the_best_of_equal_prefixes(rng):
    keys = rng.integers(1, 12, 40).astype(np.uint64)
    score, loss, last = rng.random(40), -rng.random(40), rng.integers(0, 5, 40)
    table = empty_table(64)
    assert prefixes.merge(table, 0, keys, score, loss, last) == len(set(keys.tolist()))
    for key in set(keys.tolist()):
        at, own = prefixes.slot(table.keys, np.uint64(key)), keys == key
        assert (table.keys[at], table.score[at], table.loss[at]) == (key, score[own].max(), loss[own].max())
        assert table.last[at] == last[own][score[own].argmax()]


@pytest.mark.parametrize("seed", range(6))
def test_prefixes_grow_by_every_node_that_may_come_next(seed):
    lists, made = made_lists(seed, per_node=6)
    loss = prefixes.Lists(made.bits, made.first_word, -np.ones_like(made.values), made.starts)
    groups = prefixes.Groups(np.arange(5), np.array([0, 5]), np.full(32, 100.0), np.array([0]))
    prefix = {0, 2}
    table = empty_table(64)
    facts = (np.array([0b101], dtype=np.uint64), np.array([1.5]), np.array([-1.0]), made, loss, groups)
    used, done = prefixes.expand(*facts, (0.0, -9.0), table, 0)
    best = {v: naive.best_listed([J for J, _ in lists[v]], prefix) for v in (1, 3, 4)}
    free = [v for v in (1, 3, 4) if best[v] == 0][:1]  # has its best set of all: only this node needs to come next
    expected = {0b101 | 1 << v: 1.5 + lists[v][best[v]][1] for v in free or best if best[v] >= 0}
    assert (used, done) == (len(expected), 1)
    for key, score in expected.items():
        assert table.score[prefixes.slot(table.keys, np.uint64(key))] == pytest.approx(score)
