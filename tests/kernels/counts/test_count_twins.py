"""Kernels on counts against counters and Python sets."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.kernels.counts import counting, joint_sets, open_sets, pair_tables, slices


@pytest.mark.parametrize("prior", [1e-9, 0.01, 0.5, 3.0, 17.5, 1e6])
def test_one_cell(prior):
    clogc = np.array([naive.cell_term(c, 0.0, 0.0) for c in range(400)])
    for count in [0, 1, 2, 9, 50, 399]:
        assert counting.log_rising(count, prior) == pytest.approx(naive.cell_term(count, 1.0, prior), rel=1e-13)
        assert counting.term(count, clogc, 1.0, prior) == pytest.approx(naive.cell_term(count, 1.0, prior), rel=1e-13)
        assert counting.term(count, clogc, 0.0, prior) == naive.cell_term(count, 0.0, prior)


@pytest.mark.parametrize("span", [12, 3_000, 60_000])
@pytest.mark.parametrize("ess", [0.0, 1.5])
def test_sums_of_a_set_and_of_the_set_without_its_last_variable(span, ess, rng):
    cells, weights = rng.integers(0, span, 300), rng.integers(1, 4, 300)
    clogc = np.array([naive.cell_term(c, 0.0, 0.0) for c in range(2000)])
    coarse, fine = counting.two_sums(cells, span, 3, weights, clogc, ess, float(span))
    assert fine == pytest.approx(naive.label_sum(cells.tolist(), weights.tolist(), ess, ess / span))
    assert coarse == pytest.approx(naive.label_sum((cells // 3).tolist(), weights.tolist(), ess, 3 * ess / span))


def test_rows_off_the_most_frequent_level(rng):
    arity = np.array([2, 3, 5])
    codes, weights = (rng.integers(0, 10**6, (3, 60)) % arity[:, None]).astype(np.uint16), rng.integers(1, 4, 60)
    listed, offsets = joint_sets.rare_rows(codes, arity, weights)
    for j in range(3):
        counts = Counter()
        for level, weight in zip(codes[j].tolist(), weights.tolist(), strict=True):
            counts[level] += weight
        mode = max(sorted(counts), key=counts.get)
        assert listed[offsets[j] : offsets[j + 1]].tolist() == [r for r in range(60) if codes[j, r] != mode]


@pytest.mark.parametrize("ess", [0.0, 2.5])
@pytest.mark.parametrize("arities", [(2, 3, 2, 4), (200, 150, 90, 2)])
def test_joints_of_sets(arities, ess, rng):
    codes = np.array([rng.integers(0, size, 80) for size in arities], dtype=np.uint16)
    arity, weights = np.array(arities), rng.integers(1, 4, 80)
    clogc = np.array([naive.cell_term(c, 0.0, 0.0) for c in range(400)])
    counts = counting.Counts(codes, arity, weights, clogc, ess)
    for size in range(5):
        sets = np.array(list(itertools.combinations(range(4), size)), dtype=np.int64).reshape(math.comb(4, size), size)
        joint, occurring = np.empty(len(sets)), np.empty(len(sets), dtype=np.int64)
        joint_sets.joints_of_sets(counts, *joint_sets.rare_rows(codes, arity, weights), sets, joint, occurring)
        for own, value, cells in zip(sets, joint, occurring, strict=True):
            labels = list(zip(*codes[own].tolist(), strict=True)) if size else [()] * 80
            assert cells == len(set(labels))
            assert value == pytest.approx(naive.label_sum(labels, weights.tolist(), ess, ess / math.prod(arity[own])))


@pytest.mark.parametrize("ess", [0.0, 2.5])
@pytest.mark.parametrize("arities", [(2, 3, 2, 4, 1), (5, 4, 9, 2, 3)])
def test_joints_from_tables_of_pairs(arities, ess, rng):
    """Of all sets, in order and not, and of each alone, to the last digit."""
    codes = np.array([np.minimum(rng.geometric(0.4, 80) - 1, size - 1) for size in arities], dtype=np.uint16)
    arity, weights = np.array(arities), rng.integers(1, 4, 80)
    clogc = np.array([naive.cell_term(c, 0.0, 0.0) for c in range(400)])
    order = rng.permutation(5)
    rows = pair_tables.ranked(codes, arity, weights, order)
    for size in range(2, 6):
        sets = np.array(list(itertools.combinations(range(5), size)), dtype=np.int64)
        sets = np.concatenate([sets, rng.permutation(sets)])
        products = np.prod(arity[order[sets]], axis=1).astype(float)
        joint, occurring = np.empty(len(sets)), np.empty(len(sets), dtype=np.int64)
        pair_tables.joints_from_pairs(rows, clogc, ess, sets, products, joint, occurring)
        for k, (own, value, cells) in enumerate(zip(sets, joint, occurring, strict=True)):
            labels = list(zip(*codes[order[own]].tolist(), strict=True))
            assert cells == len(set(labels))
            assert value == pytest.approx(naive.label_sum(labels, weights.tolist(), ess, ess / products[k]))
            one = np.empty(1), np.empty(1, dtype=np.int64)
            pair_tables.joints_from_pairs(rows, clogc, ess, sets[k : k + 1], products[k : k + 1], *one)
            assert one[0] == value


def test_rows_that_are_rare_in_two_variables(rng):
    codes, arity = rng.integers(0, 3, (4, 50)).astype(np.uint16), np.array([3, 3, 3, 3])
    weights = rng.integers(1, 5, 50)
    rows, within, kept, offsets = pair_tables.pair_rows(codes, arity, weights)
    for p, a in itertools.product(range(4), repeat=2):
        own = slice(offsets[p * 4 + a], offsets[p * 4 + a + 1])
        expected = [r for r in range(50) if p < a and codes[p, r] < 2 and codes[a, r] < 2]
        assert rows[own].tolist() == expected
        assert within[own].tolist() == [2 * int(codes[p, r]) + int(codes[a, r]) for r in expected]
        assert kept[own].tolist() == weights[expected].tolist()


def test_tables_of_terms():
    priors, values = np.array([0.1, 2.0]), np.empty((2, 50))
    slices.tabulate(priors, values)
    for prior, row in zip(priors, values, strict=True):
        assert row == pytest.approx([naive.cell_term(count, 1.0, prior) for count in range(50)], abs=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_sets_all_of_whose_subsets_are_open(seed):
    rng = np.random.default_rng(seed)
    n, size, unit, edge, most, reach, fixed = 6, 2, 0.02, 0.1, 1.5, 0.5, (3.0, 1)
    arity, spare = rng.integers(2, 4, n).astype(float), rng.random(n)
    keys = np.array(
        [sum(1 << b for b in J) for J in itertools.combinations(range(n), size) if rng.random() < 0.8 or 5 not in J]
    )
    keys.sort()
    best, ceiling, joints, worth = rng.random((4, len(keys)))
    ceiling, worth = ceiling + 0.3, worth + 0.2
    place = {int(key): k for k, key in enumerate(keys)}
    expected = {}
    for J in itertools.combinations(range(n), size + 1):
        key = sum(1 << b for b in J)
        smaller = [place.get(key ^ 1 << b) for b in J]
        if None in smaller:
            continue
        cost = unit * fixed[0] * math.prod(arity[list(J)])
        inherited = max(best[smaller])
        bound = min(most - cost - edge * (len(J) + fixed[1]), *ceiling[smaller])
        if bound > inherited - reach and cost < min(worth[smaller]):
            expected[key] = (inherited, bound, min(worth[smaller]))
    ends = np.full(len(keys), n)  # all candidates follow, so that a set that is not open was given up
    singles, none = 1 << np.arange(n), np.zeros(n)
    given = (
        open_sets.OpenSets(keys, best, ceiling, joints, ends, worth),
        open_sets.OpenSets(singles, none, none, none, np.full(n, n), none),
        open_sets.Penalties(unit, edge, most, arity, spare),
    )
    out_keys, out_values = np.empty(30, dtype=np.int64), np.empty((3, 30))
    found = open_sets.extended(*given, fixed, reach, 25, out_keys, out_values)
    assert out_keys[:found].tolist() == sorted(expected)
    for k, key in enumerate(sorted(expected)):
        assert out_values[:, k] == pytest.approx(expected[key])
    assert open_sets.extended(*given, fixed, reach, 1, out_keys, out_values) == min(len(expected), 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_worth_of_sets(seed):
    rng = np.random.default_rng(seed)
    n, edge, slack = 5, 0.1, 0.3
    arity, spare = np.array([2.0, 1.0, 4.0, 3.0, 2.0]), rng.random(n)
    pairs = [sum(1 << b for b in J) for J in itertools.combinations(range(n), 2)]
    triples = np.array(sorted(sum(1 << b for b in J) for J in itertools.combinations(range(n), 3)))
    before = np.array(sorted(pair for pair in pairs if rng.random() < 0.7))
    earlier, joints, worth = 3 * rng.random(len(before)), rng.random(len(triples)), rng.random(len(triples)) + 0.5
    joints[0], worth[-1] = np.nan, np.inf
    none = np.zeros(len(before))
    sets = open_sets.OpenSets(before, none, none, earlier, np.full(len(before), n), none)
    found = worth.copy()
    open_sets.worth_of(triples, joints, sets, open_sets.Penalties(0.02, edge, 1.5, arity, spare), slack, found)
    for key, joint, known, value in zip(triples.tolist(), joints, worth, found, strict=True):
        gains = [known]
        for b in range(n):
            if key >> b & 1 and arity[b] > 1 and key ^ 1 << b in before and not math.isnan(joint):
                at = before.tolist().index(key ^ 1 << b)
                gains.append((earlier[at] - joint - spare[b] - edge + slack) / (1 - 1 / arity[b]))
        assert value == pytest.approx(min(gains))
