"""Sums over orders and parent sets against the orders one by one."""

import math

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.kernels.lattice import order_sums as kernels
from dagopt.kernels.lattice.subsets import Allowed, is_allowed

N, CHUNK = 4, 1


def members(mask):
    return frozenset(j for j in range(N) if mask >> j & 1)


def bits(S):
    return sum(1 << j for j in S)


def without(mask, i):
    """Return the bits of a set without the bit of node i."""
    return mask & (1 << i) - 1 | mask >> i + 1 << i


def test_allowed_sets():
    allowed = Allowed(False, 0b0010, 0b1011, 2)
    for mask in range(16):
        J = members(mask)
        assert is_allowed(allowed, mask) == ({1} <= J <= {0, 1, 3} and len(J) <= 2)


@pytest.mark.parametrize("seed", range(4))
def test_tables_are_sums_over_orders(seed):
    """Choices, sums before and after, and the share of each parent are those of listing every order."""
    rng = np.random.default_rng(seed)
    table, prior = 3 * rng.normal(size=1 << N), rng.normal(size=(N, N))
    local = {
        (i, J): table[bits(J | {i})] - table[bits(J)] for i in range(N) for J in naive.subsets(set(range(N)) - {i})
    }
    allowed = [Allowed(False, 0, 0b1111 & ~(1 << i), N if seed % 2 else 2) for i in range(N)]

    def weight(i, J):
        ok = len(J) <= allowed[i].at_most
        return math.exp(local[i, J] - local[i, frozenset()] + prior[i, len(J)]) if ok else 0.0

    chunks = np.arange(1 << N - 1 >> CHUNK)
    choice = np.empty((N, 1 << N - 1))
    made = []
    for i in range(N):
        own = kernels.Weights(table, i, local[i, frozenset()], prior[i], allowed[i])
        parts, levels = np.empty((2, 1 << N - 1))
        kernels.weigh(own, parts, levels, CHUNK, 0, len(chunks))
        for chunk in range(len(chunks)):  # summed within chunks so far
            logs = np.empty(1 << N - 1)
            kernels.logarithms(parts, levels, logs, 0, 1 << N - 1)
            for x in range(2 * chunk, 2 * chunk + 2):
                J = members(x & (1 << i) - 1 | x >> i << i + 1)
                low = [members(y & (1 << i) - 1 | y >> i << i + 1) for y in range(2 * chunk, x + 1) if y & x == y]
                assert J in low
                assert math.exp(logs[x]) == pytest.approx(sum(weight(i, T) for T in low))
        for S in naive.subsets(set(range(N)) - {i}):
            total = sum(weight(i, J) for J in naive.subsets(S))
            choice[i, without(bits(S), i)] = math.log(total)
        made.append(own)
    before, after = np.empty((2, 1 << N))
    kernels.sum_before(choice, before, CHUNK, np.arange(1 << N >> CHUNK))
    kernels.sum_after(choice, after, CHUNK, np.arange(1 << N >> CHUNK)[::-1])
    everything = math.exp(before[-1])
    for S in naive.subsets(range(N)):
        assert math.exp(before[bits(S)]) == pytest.approx(naive.order_sums(weight, S))
    assert after[0] == pytest.approx(before[-1])
    for i in range(N):
        parts, levels = np.empty((2, 1 << N - 1))
        kernels.around(before, after, i, parts, levels, N - 1, 0, 1)  # one chunk: closed over all supersets
        shares = np.zeros(N - 1)
        kernels.parent_shares(made[i], parts, levels, before[-1], CHUNK, 0, len(chunks), shares)
        for j in range(N):
            if j != i:
                with_edge = naive.order_sums(lambda v, J, i=i, j=j: weight(v, J) if v != i or j in J else 0.0, range(N))
                assert shares[j - (j > i)] == pytest.approx(with_edge / everything)
