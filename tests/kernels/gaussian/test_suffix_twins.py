"""Tables over subsets for the search from the end of the order, against listing all subsets."""

import itertools

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.kernels.gaussian import suffixes as kernels
from dagopt.kernels.gaussian.best_subsets import Trees


def inside(a, b):
    return a & ~b == 0


def test_largest_over_subsets(rng):
    values = rng.random(32)
    expected = [max(values[t] for t in range(32) if inside(t, a)) for a in range(32)]
    kernels.close_subsets(values)
    assert values.tolist() == expected


@pytest.mark.parametrize("n_sizes", [1, 3, 6])
def test_the_least_lack(n_sizes, rng):
    fit, most, costs, out = 5 * rng.random(32), 5 * rng.random(32), np.cumsum(rng.random(n_sizes + 1)), np.empty(32)
    for is_lack in (True, False):
        kernels.least_lack(fit, most, costs, is_lack, out)
        for a in range(32):
            told = [(costs[min(t.bit_count(), n_sizes)], fit[a] - most[t]) for t in range(32) if inside(t, a)]
            if is_lack:  # no larger set costs less than the last cost
                told = [(cost, max(lack, 0.0)) for cost, lack in told if cost < costs[-1]] + [(costs[-1], 0.0)]
            assert out[a] == pytest.approx(min(map(sum, told)))


def test_gains_and_where_they_are_attained(rng):
    least, total, gains, sets = rng.random(16), rng.random(16), np.empty(16), np.empty(16, dtype=np.int64)
    kernels.fill_gains(least, total, gains, sets)
    for a in range(16):
        assert gains[a] == max(total[t] - least[t] for t in range(16) if inside(t, a))
        assert gains[a] == total[sets[a]] - least[sets[a]]
        assert inside(sets[a], a)


def made(rng, n=6):
    """Return weights with two groups of three nodes, and tables over the groups' others and one node more."""
    group, bit = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 2, 4, 1, 2, 4])
    pairs, kappa = rng.random((n, n)), rng.random((2, 8))
    pairs += pairs.T
    weights = kernels.Weights(pairs, kappa, group, bit)
    near = [np.array([*(j for j in range(n) if group[j] == group[i] and j != i), (i + 3) % n]) for i in range(n)]
    bits = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        bits[i, near[i]] = 1 << np.arange(3)
    gains, sets = np.empty((n, 8)), np.empty((n, 8), dtype=np.int64)
    for i in range(n):
        kernels.fill_gains(rng.random(8), rng.random(8), gains[i], sets[i])
    return weights, near, kernels.Patterns(bits, gains, sets)


def kappa_of(weights, g, S):
    """Return the weight of the part of a set in group g."""
    return weights.kappa[g, sum(int(weights.bit[j]) for j in S if weights.group[j] == g)]


def test_weights_of_patterns(rng):
    weights, near, _ = made(rng)
    for i in range(6):
        out = np.empty(8)
        kernels.fill_totals(weights, i, near[i], out)
        for a in range(8):
            A = {int(j) for b, j in enumerate(near[i]) if a >> b & 1}
            g = weights.group[i]
            rise = kappa_of(weights, g, A | {i}) - kappa_of(weights, g, A)
            assert out[a] == pytest.approx(sum(weights.pairs[i, j] for j in A) + rise)


def bound(weights, near, patterns, S):
    """Return the lower bound on the cost of the nodes of a set, from its definition."""
    total = sum(kappa_of(weights, g, S) for g in range(2))
    total += sum(weights.pairs[i, j] for i, j in itertools.combinations(sorted(S), 2))
    for i in S:
        total -= patterns.gains[i, sum(1 << b for b, j in enumerate(near[i]) if j in S)]
    return total


def sets_of(keys):
    """Return sets of six nodes from their bits."""
    return [{j for j in range(6) if int(key) >> j & 1} for key in keys]


def test_bounds_of_sets(rng):
    weights, near, patterns = made(rng)
    keys, out = np.arange(64, dtype=np.uint64), np.empty(64)
    kernels.least_costs_of(keys, weights, patterns, out)
    assert out == pytest.approx([bound(weights, near, patterns, S) for S in sets_of(keys)])


def test_slopes_of_bounds(rng):
    """They are the differences of the bounds when one weight changes a little and the tables follow."""
    weights, near, patterns = made(rng)
    least = rng.random((6, 8))
    keys, shares = np.arange(64, dtype=np.uint64), rng.random(64)

    def total():
        for i in range(6):
            sums = np.empty(8)
            kernels.fill_totals(weights, i, near[i], sums)
            kernels.fill_gains(least[i], sums, patterns.gains[i], patterns.sets[i])
        return sum(share * bound(weights, near, patterns, S) for share, S in zip(shares, sets_of(keys), strict=True))

    first, step = total(), 1e-6
    pairs, kappa = np.zeros((6, 6)), np.zeros((2, 8))
    kernels.slopes(keys, shares, weights, patterns, pairs, kappa)
    for i, j in itertools.combinations(range(6), 2):
        if j in near[i]:
            weights.pairs[i, j] = weights.pairs[j, i] = weights.pairs[i, j] + step
            assert (total() - first) / step == pytest.approx(pairs[i, j], abs=1e-6)
            weights.pairs[i, j] = weights.pairs[j, i] = weights.pairs[i, j] - step
    for g, part in itertools.product(range(2), range(8)):
        weights.kappa[g, part] += step
        assert (total() - first) / step == pytest.approx(kappa[g, part], abs=1e-6)
        weights.kappa[g, part] -= step


@pytest.mark.parametrize("is_lack", [True, False])
@pytest.mark.parametrize("sizes", [[1] * 6, [1, 3, 2, 1, 1, 2]], ids=["columns", "blocks"])
@pytest.mark.parametrize("limit", [3.0, 6.0, 1e9])
def test_states_lose_each_node_in_turn(limit, sizes, is_lack, rng):
    """A node is removed as the last one if neither its cost nor the bound on the rest reaches the limit."""
    weights, near, patterns = made(rng)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    matrix = np.corrcoef(rng.normal(size=(starts[-1], 20)) @ rng.normal(size=(20, 20)))
    half, first = 2.0, 11
    states = kernels.States(np.array([0b111011, 0b001101], dtype=np.uint64), rng.random(2), rng.integers(0, 3, (2, 6)))
    values = rng.normal(size=(6, 3))
    trees = Trees(*[values if name == "values" else np.zeros(0) for name in Trees._fields])
    expected = set()
    for q, S in enumerate(sets_of(states.keys)):
        for i in S:
            others = [c for j in sorted(S - {i}) for c in range(starts[j], starts[j + 1])]
            columns = range(starts[i], starts[i + 1])
            fit = -half * sum(np.log(naive.variance(matrix, c, [*others, *range(starts[i], c)])) for c in columns)
            lack = fit - values[i, states.places[q, i]]
            cost = states.cost[q] + (max(lack, 0.0) if is_lack else lack)
            bounds = [cost + bound(weights, near, patterns, S - {i})] + [cost] * is_lack
            if max(bounds) < limit:
                expected.add((sum(1 << j for j in S - {i}), round(cost, 9), first + q, i))
    out = kernels.Found(np.zeros(12, dtype=np.uint64), np.zeros(12), *np.zeros((2, 12), dtype=np.int64))
    count = kernels.expand(states, trees, matrix, starts, half, is_lack, weights, patterns, limit, first, out)
    assert {(int(k), round(float(c), 9), int(o), int(v)) for k, c, o, v in zip(*out, strict=True) if k} == expected
    assert count == len(expected)


def test_states_are_gathered_once_with_the_least_cost(rng):
    keys, cost = rng.integers(1, 12, 40).astype(np.uint64), rng.random(40)
    origin, last = rng.integers(0, 9, 40), rng.integers(0, 6, 40)
    found = kernels.Found(np.zeros(64, dtype=np.uint64), np.zeros(64), *np.zeros((2, 64), dtype=np.int64))
    assert kernels.gather(found, 0, keys, cost, origin, last) == (len(set(keys.tolist())), 40)
    for at in np.flatnonzero(found.keys):
        own = np.flatnonzero(keys == found.keys[at])
        k = own[cost[own].argmin()]
        assert (found.cost[at], found.origin[at], found.last[at]) == (cost[k], origin[k], last[k])
    wanted = np.zeros((9, 6), dtype=bool)
    kernels.note_wanted(kernels.Found(keys, cost, origin, last), 30, wanted)
    assert {tuple(pair) for pair in np.argwhere(wanted)} == set(zip(origin[:30], last[:30], strict=True))
