"""Sums over all orders of n variables, and over all parent sets that agree with them; a set is the bits of an integer.

With ``local(i, J) = F[J + i] - F[J]``, a logarithmic weight ``prior[i, size]`` of the parent sets of one size, and
``empty[i]``, which is subtracted to keep numbers small, the weight of a parent set is

    weight_i(J) = exp(local(i, J) - empty[i] + prior[i, |J|]),     0 where J is not allowed.

``before[S]``, ``after[S]`` and ``choice[i]`` are logarithms: of the sum over the orders of S and all parent sets that
agree with them; of the same for the variables outside S when those of S come first; and of the sum of weight_i over the
subsets of a set. Tables of a node leave its own bit out. Sums over supersets are sums over subsets of complements:
there, the index of an entry is the complement of its set.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.counts.wide_numbers import _log, _split, sum_low
from dagopt.kernels.lattice.subsets import Allowed, _ones, _with_gap, _without, is_allowed
from dagopt.kernels.store import njit

FAR = -745.0  # the exponential of anything less is zero


class Weights(NamedTuple):
    """What the weights of a node's parent sets are computed from.

    Attributes
    ----------
    table : array
        The potential of every set.
    node : int
        The node i.
    empty : float
        The local score without parents, which is subtracted from all scores.
    prior : array
        The logarithm of the prior weight of a parent set, by its size.
    allowed : Allowed
        Which parent sets are allowed.
    """

    table: NDArray[np.float64]
    node: int
    empty: float
    prior: NDArray[np.float64]
    allowed: Allowed


@njit(cache=True, nogil=True)
def _log_weight(weights, mask):
    """Return the logarithm of ``weight_i(J)``."""
    if not is_allowed(weights.allowed, mask):
        return -np.inf
    table = weights.table
    return table[mask + (1 << weights.node)] - table[mask] - weights.empty + weights.prior[_ones(mask)]


@njit(cache=True, nogil=True)
def weigh(weights, parts, levels, chunk_bits, first, last):
    """Fill the chunks ``first`` to ``last`` of a node's table with its weights, summed within each chunk."""
    length = 1 << chunk_bits
    for chunk in range(first, last):
        own = slice(chunk * length, (chunk + 1) * length)
        for x in range(chunk * length, (chunk + 1) * length):
            value = _log_weight(weights, _with_gap(x, weights.node))
            parts[x], levels[x] = _split(value)
        sum_low(parts[own], levels[own])


@njit(cache=True, nogil=True)
def logarithms(parts, levels, out, first, last):
    """Fill ``out`` with the logarithms of a table."""
    for x in range(first, last):
        out[x] = _log(parts[x], levels[x])


@njit(cache=True, nogil=True)
def _log_sum(terms, count):
    """Return the logarithm of the sum of the exponentials of the first ``count`` terms."""
    top = -np.inf
    for k in range(count):
        top = terms[k] if terms[k] > top else top
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(count):
        if terms[k] - top > FAR:
            total += math.exp(terms[k] - top)
    return top + math.log(total)


@njit(cache=True, nogil=True)
def sum_before(choice, before, chunk_bits, chunks):
    """Finish ``before`` for the given chunks of 2^chunk_bits sets; all chunks inside them must be finished."""
    n = choice.shape[0]
    terms = np.empty(n)
    for chunk in chunks:
        for whole in range(chunk << chunk_bits, (chunk + 1) << chunk_bits):
            count = 0
            for i in range(n):
                if (whole >> i) & 1:
                    rest = whole - (1 << i)
                    terms[count] = before[rest] + choice[i, _without(rest, i)]
                    count += 1
            before[whole] = _log_sum(terms, count) if count else 0.0


@njit(cache=True, nogil=True)
def sum_after(choice, after, chunk_bits, chunks):
    """Finish ``after`` for the given chunks; all chunks that contain them must be finished."""
    n = choice.shape[0]
    terms = np.empty(n)
    for chunk in chunks:
        for whole in range(((chunk + 1) << chunk_bits) - 1, (chunk << chunk_bits) - 1, -1):
            count = 0
            for i in range(n):
                if not (whole >> i) & 1:
                    terms[count] = after[whole + (1 << i)] + choice[i, _without(whole, i)]
                    count += 1
            after[whole] = _log_sum(terms, count) if count else 0.0


@njit(cache=True, nogil=True)
def around(before, after, node, parts, levels, chunk_bits, first, last):
    """Fill chunks of a table of complements with ``before[S] + after[S + i]``, summed within each chunk."""
    length = 1 << chunk_bits
    final = parts.shape[0] - 1
    for chunk in range(first, last):
        own = slice(chunk * length, (chunk + 1) * length)
        for x in range(chunk * length, (chunk + 1) * length):
            place = _with_gap(final - x, node)
            parts[x], levels[x] = _split(before[place] + after[place + (1 << node)])
        sum_low(parts[own], levels[own])


@njit(cache=True, nogil=True)
def parent_shares(weights, parts, levels, total, chunk_bits, first, last, out):
    """Add to ``out[x]`` the probability of each parent: the sum over the sets J of the chunks that contain it.

    ``parts`` and ``levels`` are the closed table of ``around``, so that J has the probability
    ``weight_i(J) * sum over S ⊇ J of before[S] after[S + i] / exp(total)``. Places leave the node's bit out.
    """
    length = 1 << chunk_bits
    final = parts.shape[0] - 1
    shares = np.empty(length)
    for chunk in range(first, last):
        for k in range(length):
            x = chunk * length + k
            value = _log_weight(weights, _with_gap(x, weights.node))
            value += _log(parts[final - x], levels[final - x]) - total
            shares[k] = math.exp(value) if value > FAR else 0.0
        half = length >> 1
        for b in range(chunk_bits - 1, -1, -1):  # fold the chunk over its highest bit, then the next, to one number
            upper = 0.0
            for k in range(half):
                upper += shares[half + k]
                shares[k] += shares[half + k]
            out[b] += upper
            half >>= 1
        b = chunk_bits
        while (chunk >> (b - chunk_bits)) > 0:
            if (chunk >> (b - chunk_bits)) & 1:
                out[b] += shares[0]
            b += 1
