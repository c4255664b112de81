"""Tests of the subset recursion's kernels against loops over all sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.kernels.lattice import subsets as kernels


def subsets(mask):
    """Return all subsets of a set."""
    bits = [1 << b for b in range(mask.bit_length()) if mask >> b & 1]
    found = [0]
    for bit in bits:
        found += [one + bit for one in found]
    return found


def places(node, low_bits):
    """Return the sets of low variables in the order of a node's table, which leaves its own bit out."""
    return [x for x in range(1 << low_bits) if node >= low_bits or not x >> node & 1]


def allowed(mask, must, may, at_most):
    """Say whether must ⊆ J ⊆ may and |J| ≤ at most."""
    return mask & must == must and mask & ~may == 0 and mask.bit_count() <= at_most


def best_tables(table, n, node, low_bits, block, known):
    """Return the best local score of a node over all allowed J inside the block and each place."""
    best = []
    for x in places(node, low_bits):
        scores = [table[J | 1 << node] - table[J] for J in subsets(x | block) if known is None or allowed(J, *known)]
        best.append(max(scores, default=-np.inf))
    return np.array(best)


def all_knowledge(n):
    """Return the arguments of a kernel that say that everything is allowed."""
    return True, 0, (1 << n) - 1, n


def filled(table, n, node, low_bits, block, known=None):
    """Return a node's table by the kernels, closed over all its bits."""
    bits = low_bits - (node < low_bits)
    out = np.full(1 << bits, np.nan)
    arguments = all_knowledge(n) if known is None else (False, *known)
    chunks = 1 << max(bits - kernels.LOW_BITS, 0)
    kernels.fill(table, node, low_bits, block, kernels.Allowed(*arguments), out, 0, chunks)
    if bits > kernels.LOW_BITS:
        more = bits - kernels.LOW_BITS
        kernels.close_high(out, kernels.LOW_BITS, more, 0, (out.size >> more) // kernels.ROW)
    return out


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


@settings(deadline=None)
@given(data=st.data(), n=st.integers(1, 8), seed=st.integers(0, 1000))
def test_fill_gives_the_best_subset(data, n, seed):
    """A filled table has the maximum over all subsets, for any split into high and low variables."""
    low_bits = data.draw(st.integers(1, n))
    node = data.draw(st.integers(0, n - 1))
    high = ((1 << n) - 1) >> low_bits << low_bits & ~(1 << node)
    block = data.draw(st.sampled_from(subsets(high)))
    table = np.random.default_rng(seed).normal(size=1 << n)
    expected = best_tables(table, n, node, low_bits, block, None)
    np.testing.assert_array_equal(filled(table, n, node, low_bits, block), expected)


@settings(deadline=None)
@given(data=st.data(), n=st.integers(1, 7), seed=st.integers(0, 1000))
def test_fill_honours_knowledge(data, n, seed):
    """With must, may and a limit, the maximum is over allowed sets, and -inf where there are none."""
    low_bits = data.draw(st.integers(1, n))
    node = data.draw(st.integers(0, n - 1))
    others = ((1 << n) - 1) & ~(1 << node)
    may = data.draw(st.sampled_from(subsets(others)))
    known = data.draw(st.sampled_from(subsets(may))), may, data.draw(st.integers(0, n))
    block = data.draw(st.sampled_from(subsets(others >> low_bits << low_bits)))
    table = np.random.default_rng(seed).normal(size=1 << n)
    expected = best_tables(table, n, node, low_bits, block, known)
    np.testing.assert_array_equal(filled(table, n, node, low_bits, block, known), expected)


@pytest.mark.parametrize("node", [0, 3, 4, 11, 12, 13, 14])
def test_fill_in_several_chunks(node, rng):
    """Tables longer than a chunk agree with the plain transform, one bit at a time."""
    n = 15
    table = rng.normal(size=1 << n)
    sets = np.array(places(node, n))
    expected = table[sets | 1 << node] - table[sets]
    for b in range(n - 1):
        halves = expected.reshape(-1, 2, 1 << b)
        halves[:, 1] = np.maximum(halves[:, 0], halves[:, 1])
    np.testing.assert_array_equal(filled(table, n, node, n, 0), expected)


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


@pytest.mark.parametrize("low_bits, chunk_bits", [(1, 1), (2, 2), (3, 1), (3, 3), (6, 2), (6, 3), (7, 4), (7, 7)])
def test_sinks_take_the_best_last_node(low_bits, chunk_bits, rng):
    """Every set gets the best of what came and of each of its members as the last one."""
    best = rng.normal(size=(low_bits, max(1 << (low_bits - 1), 1)))
    block, size = 3 << low_bits, 1 << low_bits
    opt = np.full(5 << low_bits, np.nan)
    opt[block : block + size] = pushed = np.where(rng.random(size) < 0.3, rng.normal(size=size) + 2, -np.inf)
    opt[block] = pushed[0] = 0.0
    expected = pushed.copy()
    for s in range(1, size):
        for i in range(low_bits):
            if s >> i & 1:
                rest = s & ~(1 << i)
                expected[s] = max(expected[s], expected[rest] + best[i, places(i, low_bits).index(rest)])
    chunks = np.arange(1 << (low_bits - chunk_bits))
    for layer in range(low_bits - chunk_bits + 1):
        members = chunks[np.bitwise_count(chunks) == layer]
        kernels.sinks(best, low_bits, block, opt, chunk_bits, rng.permutation(members))
    np.testing.assert_array_equal(opt[block : block + size], expected)
    assert np.isnan(np.delete(opt, np.arange(block, block + size))).all()


def test_push_raises_the_block_above(rng):
    """Pushing makes a high node the last one of every set of the block, where that is better."""
    opt = rng.normal(size=64)
    scores = rng.normal(size=8)
    expected = opt.copy()
    for x in range(2, 7):
        expected[16 + 32 + x] = max(opt[16 + 32 + x], opt[16 + x] + scores[x])
    kernels.push(scores, 16, 32, opt, 2, 7)
    np.testing.assert_array_equal(opt, expected)


@settings(deadline=None)
@given(data=st.data(), n=st.integers(1, 7), seed=st.integers(0, 100))
def test_best_set_is_the_first_of_the_best(data, n, seed):
    """The best allowed parent set inside some candidates, the smallest number among equals, or none."""
    node = data.draw(st.integers(0, n - 1))
    others = ((1 << n) - 1) & ~(1 << node)
    candidates, may = (data.draw(st.sampled_from(subsets(others))) for _ in range(2))
    must = data.draw(st.sampled_from(subsets(may)))
    at_most = data.draw(st.integers(0, n))
    table = np.random.default_rng(seed).integers(0, 3, 1 << n).astype(float)  # with many ties
    fits = [J for J in sorted(subsets(candidates)) if allowed(J, must, may, at_most)]
    chosen, value = kernels.best_set(table, node, candidates, must, may, at_most)
    if not fits:
        assert (chosen, value) == (-1, -np.inf)
    else:
        best = max(fits, key=lambda J: table[J | 1 << node] - table[J])  # the first of equals
        assert (chosen, value) == (best, table[best | 1 << node] - table[best])


# --- potentials -----------------------------------------------------------------------------------------------


def test_scale_by_size(rng):
    """Each entry becomes constant - power / 2 times itself, by the size of its set."""
    table, constant, power = rng.normal(size=32), rng.normal(size=9), rng.normal(size=9)
    expected = [constant[x.bit_count() + 3] - power[x.bit_count() + 3] / 2 * table[x] for x in range(32)]
    kernels.scale_by_size(table, constant, power, 3)
    np.testing.assert_allclose(table, expected, rtol=1e-14)


@pytest.mark.parametrize("rate", [0.0, 1.5])
def test_subtract_products(rate, rng):
    """From each entry goes the rate times the product of the arities of its set, high bits included."""
    arity = np.array([2, 3, 4, 5, 6])
    table = rng.normal(size=8)
    expected = [table[x] - rate * np.prod(arity[[b for b in range(5) if (2 << 3 | x) >> b & 1]]) for x in range(8)]
    kernels.subtract_products(table, arity, rate, 2, 3)
    np.testing.assert_allclose(table, expected, rtol=1e-14)
