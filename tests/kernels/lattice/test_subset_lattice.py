"""Tests of the subset recursion's kernels against loops over all sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.kernels.lattice import best_orders, best_parents, edge_regret
from dagopt.kernels.lattice import subsets as kernels
from dagopt.kernels.lattice.whole_arrays import best_set_arrays


def subsets(mask):
    """Return all subsets of a set."""
    bits = [1 << b for b in range(mask.bit_length()) if mask >> b & 1]
    found = [0]
    for bit in bits:
        found += [one + bit for one in found]
    return found


def allowed(mask, must, may, at_most):
    """Say whether must ⊆ J ⊆ may and |J| ≤ at most."""
    return mask & must == must and mask & ~may == 0 and mask.bit_count() <= at_most


def without(mask, bit):
    """Return a number with the place of a bit removed."""
    return int(kernels._without(mask, bit))


def cut(mask, shape):
    """Return the row and the place of a set."""
    lower = min(best_parents.LOWER_BITS, shape.place_bits)
    upper = mask >> (lower + shape.row_bits) & ((1 << (shape.place_bits - lower)) - 1)
    return mask >> lower & ((1 << shape.row_bits) - 1), mask & ((1 << lower) - 1) | upper << lower


def own_entry(mask, node, shape):
    """Return where a node's table, which leaves its own bit out, has the entry of a set."""
    row, place = cut(mask, shape)
    own_row, own_place = cut(1 << node, shape) if node < sum(shape) else (0, 0)
    if own_row:
        row = without(row, own_row.bit_length() - 1)
    if own_place:
        place = without(place, own_place.bit_length() - 1)
    return row, place


def filled(table, node, shape, block, known=None, before=None):
    """Return a node's table of a block by the kernels, closed over rows and places."""
    own_row, own_place = cut(1 << node, shape) if node < sum(shape) else (0, 0)
    out = np.full((1 << (shape.row_bits - (own_row > 0)), 1 << (shape.place_bits - (own_place > 0))), np.nan)
    if before is not None:
        out[:] = before
    lower = min(best_parents.LOWER_BITS, shape.place_bits)
    tiles = out.shape[1] >> (lower - (node < lower))
    limits = kernels.Allowed(True, 0, 0, 0) if known is None else kernels.Allowed(False, *known)
    for one in np.random.default_rng(0).permutation(tiles):
        best_parents.fill(table, node, shape, block, limits, out, one, one + 1)
    for row in out:
        kernels._close_bits(row, 0, out.shape[1].bit_length() - 1)
    return out


def assert_best(found, table, node, shape, block, known=None):
    """Assert that a table has the best local score over all allowed J inside each set of a block."""
    for mask in range(1 << sum(shape)):
        if mask >> node & 1:
            continue
        scores = [table[J | 1 << node] - table[J] for J in subsets(mask | block) if known is None or allowed(J, *known)]
        assert found[own_entry(mask, node, shape)] == max(scores, default=-np.inf)


@st.composite
def cuts(draw):
    """Return a shape, the number of variables, a node and a block that does not contain it."""
    place_bits = draw(st.integers(1, 8))
    row_bits = draw(st.integers(0, 2)) if place_bits >= best_parents.LOWER_BITS else 0
    shape = best_parents.Shape(place_bits, row_bits)
    n = sum(shape) + draw(st.integers(0, 2 if sum(shape) < 8 else 1))
    node = draw(st.integers(0, n - 1))
    high = ((1 << n) - 1) >> sum(shape) << sum(shape) & ~(1 << node)
    return shape, n, node, draw(st.sampled_from(subsets(high)))


# --- places of bits -------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(mask=st.integers(0, 2**30 - 1), bit=st.integers(0, 20))
def test_gap_and_its_inverse(mask, bit):
    """A gap puts a zero at its place and moves what is above, and taking it out gives the mask back."""
    text = f"{mask:031b}"
    gapped = kernels._with_gap(mask, bit)
    assert gapped == int(text[: 31 - bit] + "0" + text[31 - bit :], 2)
    assert kernels._without(gapped, bit) == mask
    assert kernels._ones(mask) == mask.bit_count()


# --- tables of best parents -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(cut=cuts(), seed=st.integers(0, 1000))
def test_fill_gives_the_best_subset(cut, seed):
    """A filled table has the maximum over all subsets, for any cut into blocks, rows and places."""
    shape, n, node, block = cut
    table = np.random.default_rng(seed).normal(size=1 << n)
    assert_best(filled(table, node, shape, best_parents.Block(block, 0)), table, node, shape, block)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), cut=cuts(), seed=st.integers(0, 1000))
def test_fill_honours_knowledge(data, cut, seed):
    """With must, may and a limit, the maximum is over allowed sets, and -inf where there are none."""
    shape, n, node, block = cut
    others = [b for b in range(n) if b != node]
    may = sum(1 << b for b in others if data.draw(st.booleans()))
    must = may & sum(1 << b for b in others if data.draw(st.integers(0, 5)) == 0)
    known = must, may, data.draw(st.integers(0, n))
    table = np.random.default_rng(seed).normal(size=1 << n)
    assert_best(filled(table, node, shape, best_parents.Block(block, 0), known), table, node, shape, block, known)


@settings(max_examples=18, deadline=None)
@given(cut=cuts(), seed=st.integers(0, 1000))
def test_fill_starts_from_the_block_before(cut, seed):
    """With one high node more, the tables of the block without it and the new sets give the same table."""
    shape, n, node, block = cut
    table = np.random.default_rng(seed).normal(size=1 << n)
    new = block & -block
    before = filled(table, node, shape, best_parents.Block(block & ~new, 0))
    after = filled(table, node, shape, best_parents.Block(block, new), before=before)
    np.testing.assert_array_equal(after, filled(table, node, shape, best_parents.Block(block, 0)))


@pytest.mark.parametrize("first_bit, n_bits", [(6, 1), (6, 4), (7, 2), (9, 3)])
def test_close_high_in_any_order_of_stretches(first_bit, n_bits, rng):
    """Closing over some bits is the maximum over them alone, and each stretch stands for itself."""
    values = rng.normal(size=1 << 12)
    expected = values.copy()
    for x in range(1 << 12):
        over = x & (((1 << n_bits) - 1) << first_bit)
        expected[x] = max(values[x & ~over | part] for part in subsets(over))
    stretches = (values.size >> n_bits) // kernels.ROW
    for one in rng.permutation(stretches):
        kernels.close_high(values, first_bit, n_bits, one, one + 1)
    np.testing.assert_array_equal(values, expected)


# --- orders ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 6, 7, 9])
def test_sinks_take_the_best_last_node(bits, rng):
    """Every set gets the best of what came and of each of its members as the last one."""
    best = rng.normal(size=(bits, 1 << (bits - 1)))
    size = 1 << bits
    here = np.where(rng.random(size) < 0.3, rng.normal(size=size) + 2, -np.inf)
    here[0] = 0.0
    expected = here.copy()
    for s in range(1, size):
        for i in range(bits):
            if s >> i & 1:
                rest = s & ~(1 << i)
                expected[s] = max(expected[s], expected[rest] + best[i, without(rest, i)])
    best_orders.sinks(best, here)
    np.testing.assert_array_equal(here, expected)


@pytest.mark.parametrize("shape, high", [((6, 2), 0), ((7, 1), 1), ((6, 1), 2), ((4, 0), 3)])
def test_rows_and_blocks_give_the_best_order_of_every_set(shape, high, rng):
    """All rows of all blocks, upwards and downwards, against the recursion one set at a time."""
    shape = best_parents.Shape(*shape)
    low = sum(shape)
    n = low + high
    table = rng.normal(size=1 << n)
    lower = min(best_parents.LOWER_BITS, shape.place_bits)
    rows = list(range(lower, lower + shape.row_bits))
    parts = ([i for i in range(low) if i not in rows], rows, range(low, n))

    def tables(bits):
        own = [
            [filled(table, node, shape, best_parents.Block(bits & ~(1 << node), 0)) for node in part] for part in parts
        ]
        return best_orders.Tables(*(np.array(part) if part else np.empty((0, 1, 1)) for part in own))

    opt, rest = np.full((2, 1 << n), -np.inf)
    opt[0] = rest[-1] = 0.0
    steps = [(block << low, size) for block in range(1 << high) for size in range(shape.row_bits + 1)]
    for extend, found, some in ((best_orders.extend, opt, steps), (edge_regret.extend_back, rest, steps[::-1])):
        for bits, size in some:
            chosen = [row for row in range(1 << shape.row_bits) if row.bit_count() == size]
            extend(tables(bits), shape, bits, found, rng.permutation(np.array(chosen)))
    best = {
        (i, mask): max(table[J | 1 << i] - table[J] for J in subsets(mask))
        for mask in range(1 << n)
        for i in range(n)
        if not mask >> i & 1
    }
    before, after = np.full((2, 1 << n), -np.inf)
    before[0] = after[-1] = 0.0
    for mask in range(1 << n):
        for i in range(n):
            if mask >> i & 1:
                before[mask] = max(before[mask], before[mask ^ 1 << i] + best[i, mask ^ 1 << i])
    for mask in range((1 << n) - 2, -1, -1):
        after[mask] = max(best[i, mask] + after[mask | 1 << i] for i in range(n) if not mask >> i & 1)
    for mask in range(1 << n):
        row, place = cut(mask, shape)
        at = mask >> low << low | row << shape.place_bits | place
        assert opt[at] == before[mask]
        assert rest[at] == pytest.approx(after[mask], rel=1e-12)


BEST_SET = [kernels.best_set, best_set_arrays]  # compiled, and with whole arrays


@pytest.mark.parametrize("best_set", BEST_SET)
@settings(deadline=None)
@given(data=st.data(), n=st.integers(1, 7), seed=st.integers(0, 100))
def test_best_set_is_the_first_of_the_best(best_set, data, n, seed):
    """The best allowed parent set inside some candidates, the smallest number among equals, or none."""
    node = data.draw(st.integers(0, n - 1))
    others = ((1 << n) - 1) & ~(1 << node)
    candidates, may = (data.draw(st.sampled_from(subsets(others))) for _ in range(2))
    must = data.draw(st.sampled_from(subsets(may)))
    at_most = data.draw(st.integers(0, n))
    table = np.random.default_rng(seed).integers(0, 3, 1 << n).astype(float)  # with many ties
    fits = [J for J in sorted(subsets(candidates)) if allowed(J, must, may, at_most)]
    chosen, value = best_set(table, node, candidates, must, may, at_most)
    if not fits:
        assert (chosen, value) == (-1, -np.inf)
    else:
        best = max(fits, key=lambda J: table[J | 1 << node] - table[J])  # the first of equals
        assert (chosen, value) == (best, table[best | 1 << node] - table[best])


@pytest.mark.parametrize("best_set", BEST_SET)
@pytest.mark.parametrize("node", [0, 4, 9, 10, 12])
@pytest.mark.parametrize("at_most", [2, 13])
def test_best_set_among_more_sets_than_are_compared_at_once(best_set, node, at_most, rng):
    """With thirteen variables and many ties, the first of the best allowed sets is found."""
    table = rng.integers(0, 4, 1 << 13).astype(float)
    candidates = ((1 << 13) - 1) & ~(1 << node) & ~(1 << 6) & ~(1 << 11)
    must = 1 << 3 if node != 3 else 0
    fits = [J for J in sorted(subsets(candidates)) if allowed(J, must, -1, at_most)]
    best = max(fits, key=lambda J: table[J | 1 << node] - table[J])
    found = best_set(table, node, candidates, must, -1, at_most)
    assert found == (best, table[best | 1 << node] - table[best])


# --- potentials -----------------------------------------------------------------------------------------------


def test_scale_by_size(rng):
    """Each entry becomes constant - power / 2 times itself, by the size of its set."""
    table, constant, power = rng.normal(size=32), rng.normal(size=9), rng.normal(size=9)
    expected = [constant[x.bit_count() + 3] - power[x.bit_count() + 3] / 2 * table[x] for x in range(32)]
    kernels.scale_by_size(table, constant, power, 3)
    np.testing.assert_allclose(table, expected, rtol=1e-14)
