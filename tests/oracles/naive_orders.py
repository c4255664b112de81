"""Slow and obvious twins of the kernels that walk over orders."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from naive_kernels import subsets


def log_sums(logs):
    """Return the logarithm of the sum over the subsets of every set, sets as bits."""
    bits = range(len(logs).bit_length() - 1)
    return np.array(
        [
            logsumexp([logs[sum(1 << b for b in J)] for J in subsets({b for b in bits if U >> b & 1})])
            for U in range(len(logs))
        ]
    )


def order_weight(weights, candidates, order):
    """Return the logarithm of the weight of an order: for each node, the sum over the sets of candidates before it."""
    total = 0.0
    for p, u in enumerate(order):
        total += logsumexp([weights[u][J] for J in _inside(candidates[u], set(order[:p]))])
    return total


def edges_given(weights, candidates, order):
    """Return the probability of every edge given an order."""
    n = len(order)
    edges = np.zeros((n, n))
    for p, u in enumerate(order):
        sets = _inside(candidates[u], set(order[:p]))
        shares = np.exp(np.array([weights[u][J] for J in sets]) - logsumexp([weights[u][J] for J in sets]))
        for J, share in zip(sets, shares, strict=True):
            edges[[v for b, v in enumerate(candidates[u]) if J >> b & 1], u] += share
    return edges


def _inside(candidates, before):
    return [sum(1 << b for b in J) for J in subsets({b for b, v in enumerate(candidates) if v in before})]
