"""Edge probabilities by brute force: over all orders, and over all DAGs with the orders that agree with each."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import comb, lgamma

import numpy as np
from scipy.special import logsumexp

from every_dag import members, parent_sets


def log_prior(name, n):
    """Return the logarithm of the prior weight of each of the 2^n sets of nodes as parents."""
    sizes = np.array([mask.bit_count() for mask in range(1 << n)])
    fair = -np.log([comb(n - 1, min(size, n - 1)) for size in sizes])
    return np.zeros(1 << n) if name == "uniform" else fair


def inside(mask, n):
    """Return which of the 2^n sets are subsets of a set."""
    return (np.arange(1 << n) & ~mask) == 0


def over_orders(local, prior, earlier=None):
    """Return edge probabilities and log-evidence by looking at every order.

    ``local[i, J]`` are log-scores, -inf where J is not allowed. Given an order, the nodes choose their parents among
    those before them independently of each other. Orders with b before a do not count where ``earlier[a, b]``.
    """
    n = len(local)
    weight = local + log_prior(prior, n)
    before = np.where(local > -np.inf, log_prior(prior, n), -np.inf)

    @cache
    def choices(i, first):
        """Return the sums over the parent sets among ``first``: of weights, of prior weights, shares with each."""
        allowed = inside(first, n)
        whole = np.logaddexp.reduce(weight[i][allowed])
        own = np.exp(np.where(allowed, weight[i] - max(whole, -1e300), -np.inf))
        shares = [own[(np.arange(1 << n) >> j & 1) == 1].sum() for j in range(n)]
        return whole, np.logaddexp.reduce(before[i][allowed]), shares

    totals, edges, priors = [], [], []
    for order in permutations(range(n)):
        place_of = np.argsort(order)
        if earlier is not None and (earlier & (place_of[:, None] > place_of)).any():
            continue
        own, given, some = 0.0, 0.0, np.zeros((n, n))
        for place, i in enumerate(order):
            whole, prior_sum, some[:, i] = choices(i, sum(1 << j for j in order[:place]))
            own += whole
            given += prior_sum
        totals.append(own)
        priors.append(given)
        edges.append(some)
    shares = np.exp(np.array(totals) - logsumexp(totals))
    return np.tensordot(shares, np.array(edges), 1), logsumexp(totals) - logsumexp(priors)


def over_dags(totals, n, prior):
    """Return edge probabilities by looking at every DAG, ``totals`` being the scores of all of them."""
    parents = parent_sets(n)
    weight = totals + np.log(linear_extensions(n)) + sum(log_prior(prior, n)[parents[:, i]] for i in range(n))
    shares = np.exp(weight - logsumexp(weight))
    return np.array([[shares[(parents[:, i] >> j & 1) == 1].sum() for i in range(n)] for j in range(n)])


@cache
def linear_extensions(n):
    """Return how many orders agree with every DAG: the last node is one that is nobody's parent among the rest."""
    parents = parent_sets(n)
    count = np.zeros((1 << n, len(parents)))
    count[0] = 1.0
    for mask in range(1, 1 << n):
        for i in members(mask):
            rest = mask & ~(1 << i)
            count[mask] += count[rest] * ((parents[:, i] & ~rest) == 0)
    assert count[-1].max() == np.exp(lgamma(n + 1)).round()  # the empty DAG agrees with all of them
    return count[-1]
