"""Slow and obvious twins of the kernels and scores: one loop or one textbook formula each."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
from scipy.special import multigammaln
from scipy.stats import multivariate_t, norm

FLOOR = 1e-12  # fraction of a variable's scale below which a residual counts as zero


# --- Gaussian -------------------------------------------------------------------------------------------------


def residuals(X, i, J):
    """Return the residuals of an ordinary regression, with intercept, of column i on columns J."""
    design = np.column_stack([np.ones(len(X)), X[:, list(J)]])
    return X[:, i] - design @ np.linalg.lstsq(design, X[:, i], rcond=None)[0]


def logres(X, i, J):
    """Return the logarithm of the residual variance (dividing by N) of column i on columns J."""
    variance = X[:, i].var()
    return math.log(max(np.mean(residuals(X, i, J) ** 2), FLOOR * variance))


def logdet(X, J):
    """Return the log-determinant of the covariance of columns J, as the product of residual variances.

    A column that those before it determine counts with the floor and is no predictor of later ones.
    """
    total, basis = 0.0, []
    for j in J:
        left = np.mean(residuals(X, j, basis) ** 2)
        if left > FLOOR * X[:, j].var():
            basis.append(j)
        total += math.log(max(left, FLOOR * X[:, j].var()))
    return total


def gaussian_local(X, i, J, penalty, convention="paper"):
    """Return the penalised log-likelihood of column i given columns J, as a sum of normal log-densities."""
    left, n_samples, size = residuals(X, i, J), len(X), len(J)
    if convention == "paper":
        deviation, parameters = math.sqrt(np.mean(left**2)), size
    else:
        deviation, parameters = math.sqrt(np.sum(left**2) / (n_samples - size - 1)), size + 2
    return norm.logpdf(left, scale=deviation).sum() - penalty * parameters


def pair_excess(matrix, n_samples, weights, costs, most):
    """Return the largest w(T) - cost(|J|) - I(0; T - J | J) over all T and all J in T with at most ``most`` columns."""
    n = len(matrix)

    def information(J):
        J = list(J)
        variance = matrix[0, 0] - matrix[0, J] @ np.linalg.solve(matrix[np.ix_(J, J)], matrix[J, 0])
        return -0.5 * n_samples * np.log(variance)

    best = -np.inf
    for size in range(n):
        for T in itertools.combinations(range(1, n), size):
            for k in range(min(size, most) + 1):
                for J in itertools.combinations(T, k):
                    best = max(best, weights[list(T)].sum() - costs[k] - information(T) + information(J))
    return best


def block_pair_excess(matrix, starts, weights, own, most):
    """Return the same for blocks, the first of which is the node, with the costs of ``block_pair_weights``."""
    n = len(starts) - 1

    def logdet(blocks):
        columns = [k for j in blocks for k in range(starts[j], starts[j + 1])]
        return np.linalg.slogdet(matrix[np.ix_(columns, columns)])[1]

    def told(J):
        return logdet([0]) + logdet(J) - logdet([0, *J])

    def cost(J):
        grown = 0.5 * own.volume * (logdet(J) - len(J) * told(J))
        return grown + own.costs[len(J)] - own.costs[0] + own.edges[list(J)].sum()

    best = -np.inf
    for size in range(n):
        for T in itertools.combinations(range(1, n), size):
            for k in range(min(size, most) + 1):
                for J in itertools.combinations(T, k):
                    best = max(best, weights[list(T)].sum() - cost(J) - own.half * (told(T) - told(J)))
    return best


def bge_joint(X, S, mean_weight=1.0, degrees=None):
    """Return the log marginal likelihood of columns S as a product of one-step-ahead Student-t densities.

    The normal-Wishart prior over all n columns has mean x̄, mean weight α_μ, matrix T = t I and α_w degrees;
    restricted to S it has T_SS and α_w - n + |S| degrees. After rows 1..m the posterior has
    α_μ + m, α_w - n + |S| + m and T + scatter, and predicts the next row by a multivariate t.
    """
    n, S = X.shape[1], list(S)
    degrees = n + 2 if degrees is None else degrees
    t = mean_weight * (degrees - n - 1) / (mean_weight + 1)
    if not S:
        return 0.0
    size = len(S)
    mean, weight, freedom = X[:, S].mean(axis=0), mean_weight, degrees - n + size
    matrix = t * np.eye(size)
    total = 0.0
    for row in X[:, S]:
        of_t = freedom - size + 1
        shape = matrix * (weight + 1) / (weight * of_t)
        total += multivariate_t.logpdf(row, loc=mean, shape=shape, df=of_t)
        matrix = matrix + weight / (weight + 1) * np.outer(row - mean, row - mean)
        mean = (weight * mean + row) / (weight + 1)
        weight, freedom = weight + 1, freedom + 1
    return total


def bge_joint_closed(X, S, mean_weight=1.0):
    """Return the same by the closed formula of Kuipers, Moffa and Heckerman (2014), equation A.18."""
    n_samples, n = X.shape
    S, size, degrees = list(S), len(S), n + 2
    if not S:
        return 0.0
    t = mean_weight / (mean_weight + 1)
    before, after = degrees - n + size, n_samples + degrees - n + size
    scatter = np.atleast_2d(np.cov(X[:, S].T, bias=True)) * n_samples
    return (
        -0.5 * size * n_samples * math.log(math.pi)
        + 0.5 * size * math.log(mean_weight / (n_samples + mean_weight))
        + multigammaln(after / 2, size)
        - multigammaln(before / 2, size)
        + 0.5 * before * size * math.log(t)
        - 0.5 * after * np.linalg.slogdet(t * np.eye(size) + scatter)[1]
    )


# --- discrete -------------------------------------------------------------------------------------------------


def configurations(rows, S):
    """Return how often each configuration of columns S occurs in the rows."""
    return Counter(tuple(row[j] for j in S) for row in rows)


def joint(rows, S, ess=0.0, arity=None):
    """Return the sum over the cells of columns S: c log c, or with a prior the log-gamma differences.

    With a prior every cell is visited, also those that do not occur.
    """
    counts = configurations(rows, S)
    if ess == 0:
        return sum(c * math.log(c) for c in counts.values())
    prior = ess / math.prod(int(arity[j]) for j in S)
    cells = itertools.product(*(range(arity[j]) for j in S))
    return sum(math.lgamma(counts[cell] + prior) - math.lgamma(prior) for cell in cells)


def multinomial_local(rows, arity, i, J, penalty):
    """Return the penalised multinomial log-likelihood: each row adds the log of its count ratio."""
    families, parents = configurations(rows, [*J, i]), configurations(rows, J)
    fit = sum(math.log(families[(*(r[j] for j in J), r[i])] / parents[tuple(r[j] for j in J)]) for r in rows)
    return fit - penalty * (arity[i] - 1) * math.prod(int(arity[j]) for j in J)


def bdeu_local(rows, arity, i, J, ess):
    """Return the BDeu score by the formula of Heckerman, Geiger and Chickering, over all prior cells."""
    families, parents = configurations(rows, [*J, i]), configurations(rows, J)
    q, r = math.prod(int(arity[j]) for j in J), int(arity[i])
    total = 0.0
    for cell in itertools.product(*(range(arity[j]) for j in J)):
        total += math.lgamma(ess / q) - math.lgamma(ess / q + parents[cell])
        for x in range(r):
            total += math.lgamma(ess / (q * r) + families[(*cell, x)]) - math.lgamma(ess / (q * r))
    return total


def entropy(values):
    """Return the entropy of a list of levels in nats."""
    return -sum(c / len(values) * math.log(c / len(values)) for c in Counter(values).values())


# --- sets -----------------------------------------------------------------------------------------------------


def members(mask, variables):
    """Return the variables in the bits of ``mask``."""
    return [v for b, v in enumerate(variables) if mask >> b & 1]


def all_dags(n):
    """Yield the adjacency array of every DAG on n nodes."""
    pairs = list(itertools.combinations(range(n), 2))
    for states in itertools.product((0, 1, 2), repeat=len(pairs)):
        adjacency = np.zeros((n, n), dtype=int)
        for (a, b), state in zip(pairs, states, strict=True):
            if state == 1:
                adjacency[a, b] = 1
            elif state == 2:
                adjacency[b, a] = 1
        if not np.linalg.matrix_power(np.eye(n, dtype=int) + adjacency, n).trace() > n:
            yield adjacency


def v_structures(adjacency):
    """Return the skeleton and the colliders a -> c <- b without an edge between a and b."""
    n = len(adjacency)
    skeleton = frozenset(frozenset(pair) for pair in np.argwhere(adjacency).tolist())
    colliders = frozenset(
        (a, b, c)
        for c in range(n)
        for a, b in itertools.combinations(np.flatnonzero(adjacency[:, c]).tolist(), 2)
        if not adjacency[a, b] and not adjacency[b, a]
    )
    return skeleton, colliders


def every_escape(node, words, mass, n_nodes):
    """Return the least mass of families outside a cluster over all nonempty clusters, and the cluster as bits."""
    clusters = np.arange(1, 1 << n_nodes)
    total = np.zeros(len(clusters))
    for i, parents, own in zip(node, words[:, 0].astype(np.int64), mass, strict=True):
        total += own * ((clusters >> i & 1 == 1) & (clusters & parents == 0))
    return total.min(), int(clusters[total.argmin()])


# --- mixed ----------------------------------------------------------------------------------------------------


def embedded(frame):
    """Return the embedded columns of each column of a frame: itself, or the indicators of its levels but the last."""
    parts = []
    for name in frame:
        if frame[name].dtype == float:
            parts.append(frame[[name]].to_numpy())
        else:
            levels = sorted(set(frame[name]))[:-1]
            parts.append(np.column_stack([(frame[name] == level).to_numpy(float) for level in levels]))
    return parts


def degenerate_local(frame, i, J, penalty, edge_penalty=0.0):
    """Return the penalised log-likelihood of the embedded column i given the embedded columns J, by regressions."""
    parts = embedded(frame)
    design = np.column_stack([np.ones(len(frame)), *(parts[j] for j in J)])
    own = parts[i]
    left = own - design @ np.linalg.lstsq(design, own, rcond=None)[0]
    covariance = np.atleast_2d(left.T @ left / len(frame))
    size, width = own.shape[1], sum(parts[j].shape[1] for j in J)
    fit = -0.5 * len(frame) * (size * (1 + math.log(2 * math.pi)) + np.linalg.slogdet(covariance)[1])
    return fit - penalty * size * width - edge_penalty * len(J)


def conditional_potential(frame, S, penalty):
    """Return the conditional Gaussian log-likelihood of columns S, group by group, less its penalty."""
    numbers = [name for name in S if frame[name].dtype == float]
    words = [name for name in S if frame[name].dtype != float]
    groups = [group for _, group in frame.groupby(words, observed=True)] if words else [frame]
    total = 0.0
    for group in groups:
        total += len(group) * math.log(len(group) / len(frame))
        if numbers:
            covariance = np.cov(group[numbers].to_numpy(), rowvar=False, bias=True).reshape(len(numbers), -1)
            constant = len(numbers) * (1 + math.log(2 * math.pi))
            total -= 0.5 * len(group) * (constant + np.linalg.slogdet(covariance)[1])
    cells = math.prod(frame[name].nunique() for name in words)
    size = len(numbers)
    return total - penalty * (cells * (1 + size * (size + 3) / 2) - 1)
