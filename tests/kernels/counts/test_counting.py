"""The counting kernels against counters over rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dagopt.kernels.counts import count_arrays, cube, few_cells, labelled, slices
from dagopt.kernels.counts import counting as kernels

# Only uncompiled (NUMBA_DISABLE_JIT=1) do hashes and products say that they wrap around.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


class Case:
    """Random weighted rows with the arities given, and what the kernels take."""

    def __init__(self, arity, n_rows, seed=0, most=1, ess=0.0):
        rng = np.random.default_rng(seed)
        self.arity = np.array(arity, dtype=np.int64)
        self.codes = np.stack([rng.integers(0, a, n_rows) for a in arity]).astype(np.uint16)
        self.weights = rng.integers(1, most + 1, n_rows)
        self.ess = ess
        self.rows = [
            tuple(int(x) for x in row) for row, w in zip(self.codes.T, self.weights, strict=True) for _ in range(w)
        ]
        clogc = np.array([0.0] + [c * math.log(c) for c in range(1, len(self.rows) + 1)])
        self.data = kernels.Counts(self.codes, self.arity, self.weights, clogc, ess)

    @property
    def n(self):
        return len(self.arity)

    def joint(self, S):
        return naive.joint(self.rows, list(S), self.ess, self.arity)


CASES = {
    "small": {"arity": (2, 3, 2, 4), "n_rows": 50},
    "weighted": {"arity": (2, 3, 2, 4), "n_rows": 31, "most": 9},
    "one row": {"arity": (2, 3, 2, 4), "n_rows": 1},
    "one heavy row": {"arity": (1, 1, 1), "n_rows": 1, "most": 40},
    "constant column": {"arity": (1, 3, 1, 4), "n_rows": 22},
    "renumbering": {"arity": (30, 40, 50, 20), "n_rows": 300},
    "sorting": {"arity": (60000, 2, 50000, 30), "n_rows": 40, "most": 3},
    "more cells than a table of four": {"arity": (40, 30, 2), "n_rows": 403},
}
PRIOR = {name: case for name, case in CASES.items() if math.prod(case["arity"]) < 10**5}


def _cases():
    for name, case in CASES.items():
        yield pytest.param(Case(**case), id=name)
    for name, case in PRIOR.items():
        yield pytest.param(Case(**case, ess=2.5), id=f"{name}, with prior")


@pytest.fixture(params=_cases())
def case(request):
    """Return one case with or without a prior."""
    return request.param


def _ints(values):
    return np.array(values, dtype=np.int64)


def _pairs(case):
    for i in range(case.n):
        others = [j for j in range(case.n) if j != i]
        for mask in range(1 << len(others)):
            yield i, naive.members(mask, others)


def test_joints_are_sums_over_counters(case):
    """The joints of every set and of the set with the node are those of counters over the rows."""
    room = np.empty(case.codes.shape[1], dtype=np.int64)
    for i, J in _pairs(case):
        without, together, product = kernels.joints(case.data, i, _ints(J), room)
        assert without == pytest.approx(case.joint(J), rel=1e-9, abs=1e-9)
        assert together == pytest.approx(case.joint([*J, i]), rel=1e-9, abs=1e-9)
        assert product == math.prod(int(case.arity[j]) for j in J)


def test_joints_many_is_joints_of_each(case):
    """Many sets in one call give what each gives alone."""
    pairs = list(_pairs(case))
    flat = _ints([j for _, J in pairs for j in J])
    offsets = _ints(np.cumsum([0, *(len(J) for _, J in pairs)]))
    out = np.empty((3, len(pairs)))
    kernels.joints_many(case.data, _ints([i for i, _ in pairs]), flat, offsets, *out)
    room = np.empty(case.codes.shape[1], dtype=np.int64)
    expected = [kernels.joints(case.data, i, _ints(J), room) for i, J in pairs]
    np.testing.assert_array_equal(out.T, expected)


def test_chains_are_joints_of_prefixes(case):
    """Every prefix of an order has the joints of counters, without and with the node."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        node, *order = (int(j) for j in rng.permutation(case.n))
        without, together, joint = np.empty((3, case.n))
        kernels.chain(case.data, node, _ints(order), without, together)
        kernels.joint_chain(case.data, _ints(order), joint)
        for k in range(case.n):
            assert without[k] == pytest.approx(case.joint(order[:k]), rel=1e-9, abs=1e-9)
            assert joint[k] == pytest.approx(case.joint(order[:k]), rel=1e-9, abs=1e-9)
            assert together[k] == pytest.approx(case.joint([*order[:k], node]), rel=1e-9, abs=1e-9)


def test_the_sum_over_the_cells_of_a_set(case):
    """Rows labelled by the levels of some columns give the joint of these columns."""
    for size in (1, 2):
        columns = list(range(size))
        cells, span = np.zeros(case.codes.shape[1], dtype=np.int64), 1
        for j in columns:
            span = kernels.refine(cells, np.int64(span), case.data.codes[j], case.arity[j])
        product = float(math.prod(int(case.arity[j]) for j in columns))
        found = kernels.cell_sum(cells, span, *case.data[2:], product)
        assert found == pytest.approx(case.joint(columns), rel=1e-9, abs=1e-9)


def test_additions_are_joints_of_larger_sets(case):
    """Each column outside is added by counting; the node and its parents are NaN."""
    for i, J in _pairs(case):
        without, together = np.empty((2, case.n))
        kernels.additions(case.data, i, _ints(J), without, together)
        for j in range(case.n):
            if j == i or j in J:
                assert np.isnan(without[j])
                assert np.isnan(together[j])
            else:
                assert without[j] == pytest.approx(case.joint([*J, j]), rel=1e-9, abs=1e-9)
                assert together[j] == pytest.approx(case.joint([*J, j, i]), rel=1e-9, abs=1e-9)


def test_all_joints_cover_all_masks(case):
    """The tree of refinements has the joint of every subset at its mask, in the order of the variables given."""
    variables = [int(v) for v in np.random.default_rng(6).permutation(case.n)]
    out = np.empty(1 << case.n)
    kernels.all_joints(case.data, _ints(variables), out)
    for mask in range(1 << case.n):
        assert out[mask] == pytest.approx(case.joint(naive.members(mask, variables)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("labelled_variables", [0, 1, 2, labelled.MOST_LABELLED])
def test_slices_cover_the_sets_with_given_high_bits(case, labelled_variables, monkeypatch):
    """Both ways to fill a slice have the joint of every set in it, however many variables are left to labels."""
    monkeypatch.setattr(labelled, "MOST_LABELLED", labelled_variables)
    expected = [case.joint(naive.members(mask, range(case.n))) for mask in range(1 << case.n)]
    for low_bits in range(case.n + 1):
        for high in range(1 << (case.n - low_bits)):
            merged, refined = np.empty((2, 1 << low_bits))
            slices.joint_slice(case.data, high, low_bits, merged)
            kernels.plain_joint_slice(case.data, high, low_bits, refined)
            part = expected[high << low_bits : (high + 1) << low_bits]
            np.testing.assert_allclose(merged, part, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(refined, part, rtol=1e-9, atol=1e-9)


def test_occurring_configurations_are_counted(case):
    """The number of configurations that occur is that of a counter, for every set."""
    sets = [naive.members(mask, range(case.n)) for mask in range(1 << case.n)]
    out = np.empty(len(sets), dtype=np.int64)
    flat, offsets = _ints([j for S in sets for j in S]), _ints(np.cumsum([0, *(len(S) for S in sets)]))
    kernels.occurring_many(case.codes, case.arity, flat, offsets, out)
    assert out.tolist() == [len(naive.configurations(case.rows, S)) for S in sets]


def test_only_variables_with_few_levels_are_labelled():
    """The lowest variables are labelled up to the first one with many levels, or with no bits left."""
    assert labelled.labelled_bits(_ints([2, 3, 4])) == 3
    assert labelled.labelled_bits(_ints([2, 3, labelled.MOST_ARITY + 1, 2])) == 2
    assert labelled.labelled_bits(_ints([labelled.MOST_ARITY + 1, 2])) == 0
    assert labelled.labelled_bits(_ints([32] * 9)) == 6  # 5 bits each
    assert labelled.labelled_bits(_ints([2] * 20)) == labelled.MOST_LABELLED


def test_many_rows_alone_and_heavy_rows(rng):
    """Rows that are alone, of small and of large weight, count in all larger sets, with and without a prior."""
    arity = _ints([3, 2, 5, 4, 3, 2, 6, 3, 2, 4, 3, 40])
    codes = np.array([rng.integers(0, a, 400) for a in arity]).astype(np.uint16)
    weights = rng.choice([1, 2, 15, 16, 17, 300], 400)
    clogc = np.arange(int(weights.sum()) + 1.0)
    clogc[1:] *= np.log(clogc[1:])
    for ess in (0.0, 1.0):
        data = kernels.Counts(codes, arity, weights, clogc, ess)
        merged, refined = np.empty((2, 1 << 11))
        slices.joint_slice(data, 1, 11, merged)
        kernels.plain_joint_slice(data, 1, 11, refined)
        np.testing.assert_allclose(merged, refined, rtol=1e-12)


def test_cubes_have_the_joints_of_all_sets(case):
    """Every slice of the cube of counts, without a prior; with one, or with many levels, it is not small."""
    if case.data.ess > 0 or np.prod(case.arity + 1.0) > cube.MOST_CELLS:
        assert not cube.is_small_cube(case.data)
        return
    for low_bits in range(case.n + 1):
        for high in range(1 << (case.n - low_bits)):
            out = np.full(1 << low_bits, np.nan)
            cube.cube_slice(case.data, high, low_bits, out)
            joints = [case.joint(naive.members(high << low_bits | low, range(case.n))) for low in range(1 << low_bits)]
            np.testing.assert_allclose(out, joints, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("largest", [1.0, 5.5, 12.0, 40.0])
def test_sets_with_large_products_are_left_out(case, largest):
    """Sets whose arities multiply to more than a limit get 0, all others their joint, in every slice and either way."""
    ways = [slices.joint_slice]
    if case.data.ess == 0:
        ways.append(few_cells.few_cells_slice)
        if np.prod(case.arity + 1.0) <= cube.MOST_CELLS:
            ways.append(cube.cube_slice)
    for low_bits in range(case.n + 1):
        for high in range(1 << (case.n - low_bits)):
            for fill in ways:
                out = np.full(1 << low_bits, np.nan)
                fill(case.data, high, low_bits, out, largest)
                for low in range(1 << low_bits):
                    chosen = naive.members(high << low_bits | low, range(case.n))
                    counted = math.prod(int(case.arity[j]) for j in chosen) <= largest
                    assert out[low] == pytest.approx(case.joint(chosen) if counted else 0.0, rel=1e-9, abs=1e-9)


def test_cells_with_one_counter_and_with_several(rng):
    """Up to a number of possible cells each has several counters, beyond it one; both count all rows."""
    arity = np.array([40, 50, 3])
    codes = np.array([rng.integers(0, a, 2003) for a in arity]).astype(np.uint16)
    weights = rng.integers(1, 4, 2003)
    counts = np.arange(int(weights.sum()) + 1.0)
    counts[1:] *= np.log(counts[1:])
    data = kernels.Counts(codes, arity, weights, counts, 0.0)
    merged, counted = np.empty((2, 8))
    slices.joint_slice(data, 0, 3, merged)
    few_cells.few_cells_slice(data, 0, 3, counted, float(few_cells.MOST_CELLS))
    np.testing.assert_allclose(counted, merged, rtol=1e-12)


def test_sets_are_counted_by_arrays_to_the_last_digit(rng):
    """The way without compilation has the same numbers as the kernel."""
    arity = np.array([2, 3, 40, 2, 5, 50])
    codes = np.array([rng.integers(0, a, 1501) for a in arity]).astype(np.uint16)
    weights = rng.integers(1, 4, 1501)
    counts = np.arange(int(weights.sum()) + 1.0)
    counts[1:] *= np.log(counts[1:])
    found = []
    for walk in (few_cells.walk_few_cells, few_cells.walk_by_arrays):
        out = np.full(32, np.nan)
        walk(codes[:5], arity[:5], weights, counts, codes[5].astype(np.int32), 50, 4000, out)
        found.append(out)
    np.testing.assert_array_equal(*found)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_renumbering_keeps_equal_labels_equal(labels):
    """Renumbering, by table or by hashing, maps labels one to one on 0, 1, ..."""
    for span in (max(labels) + 1, 10**9):  # a table of the labels where it is small, else hashing
        cells = np.array(labels, dtype=np.int64)
        found = kernels.renumber(cells, span if span == 10**9 else max(labels) + 1)
        assert found == len(set(labels))
        assert set(cells.tolist()) == set(range(found))
        assert len(set(zip(labels, cells.tolist(), strict=True))) == found


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_refining_splits_by_one_more_variable(data):
    """After refining, two rows share a label exactly when they shared one and have the same code."""
    n_rows = data.draw(st.integers(1, 20))
    arity = data.draw(st.sampled_from([1, 2, 7, 20000]))
    span = data.draw(st.sampled_from([1, 3, 40000]))
    before = data.draw(st.lists(st.integers(0, span - 1), min_size=n_rows, max_size=n_rows))
    code = data.draw(st.lists(st.integers(0, arity - 1), min_size=n_rows, max_size=n_rows))
    cells = np.array(before, dtype=np.int64)
    finer = kernels.refine(cells, span, np.array(code, dtype=np.uint16), arity)
    assert cells.min() >= 0
    assert cells.max() < finer
    pairs = list(zip(before, code, strict=True))
    assert len(set(zip(pairs, cells.tolist(), strict=True))) == len(set(pairs)) == len(set(cells.tolist()))


def test_so_many_parents_that_the_product_overflows():
    """With more cells than floats can count, each new configuration still costs log(arity) under BDeu."""
    n = 1100
    codes = np.random.default_rng(7).integers(0, 2, (n, 5)).astype(np.uint16)
    data = kernels.Counts(codes, np.full(n, 2), np.ones(5, dtype=np.int64), np.zeros(1), 1.0)
    room = np.empty(5, dtype=np.int64)
    without, together, _ = kernels.joints(data, 0, np.arange(1, n), room)
    assert together - without == pytest.approx(-5 * math.log(2))


@pytest.mark.parametrize("most", [1 << 14, 8])
def test_joints_by_arrays_are_the_same_to_the_last_digit(rng, most, monkeypatch):
    """The way without compilation has the numbers of the kernel, also for sets with too many cells."""
    arity = np.array([2, 3, 4, 2, 5])
    codes = np.array([rng.integers(0, a, 700) for a in arity]).astype(np.uint16)
    weights = rng.integers(1, 4, 700)
    counts = np.arange(int(weights.sum()) + 1.0)
    counts[1:] *= np.log(counts[1:])
    data = kernels.Counts(codes, arity, weights, counts, 0.0)
    nodes, flat, offsets = _ints([0, 4, 2, 1]), _ints([1, 2, 3, 0, 4]), _ints([0, 0, 3, 4, 5])
    expected, found = np.empty((2, 3, 4))
    kernels.joints_many(data, nodes, flat, offsets, *expected)
    if most == 8:
        monkeypatch.setattr(kernels, "DENSE_CELLS", most)
        monkeypatch.setattr(kernels, "plain", lambda kernel: kernel)
    kernels.joints_many_arrays(data, nodes, flat, offsets, *found)
    np.testing.assert_array_equal(found, expected)


def test_additions_by_arrays_are_the_same_to_the_last_digit(rng):
    """The way without compilation has the numbers of the kernel, also where cells are renumbered or sums split."""
    arity = np.array([2, 3, 40, 50, 60, 30])
    codes = np.array([rng.integers(0, a, 300) for a in arity]).astype(np.uint16)
    weights = rng.integers(1, 4, 300)
    counts = np.arange(int(weights.sum()) + 1.0)
    counts[1:] *= np.log(counts[1:])
    data = kernels.Counts(codes, arity, weights, counts, 0.0)
    for node, parents in ((0, []), (3, [0, 1]), (5, [2, 3]), (4, [2, 3]), (2, [0, 1, 3, 4])):
        expected, found = np.empty((2, 2, 6))
        kernels.additions(data, node, _ints(parents), *expected)
        count_arrays.additions_arrays(data, node, _ints(parents), *found)
        np.testing.assert_array_equal(found, expected)
