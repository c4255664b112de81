"""Rows of log-determinants of random matrices, and their coefficients by definition."""

import numpy as np

from dagopt.lp.rows.matrices import LogDets


def random_correlation(rng, n):
    """Return a random positive definite matrix with unit diagonal."""
    factor = rng.normal(size=(n, n + 2))
    matrix = factor @ factor.T
    size = np.sqrt(np.diag(matrix))
    return matrix / np.outer(size, size)


def made_rows(families, score, seed, count=4):
    """Return rows over families: that of the data over all nodes, and some of other matrices."""
    rng = np.random.default_rng([seed, 5])
    n = families.n_nodes
    logdets = LogDets(score.n_samples)
    sets = [(score.correlation, np.ones(n, dtype=bool)), (score.correlation, rng.random(n) < 0.7)]
    sets += [(random_correlation(rng, n), rng.random(n) < 0.8) for _ in range(count)]
    return [logdets.row(families, matrix, inside, "made") for matrix, inside in sets]


def h(matrix, members):
    """Return half the log-determinant of a principal sub-matrix."""
    members = sorted(members)
    return 0.5 * np.linalg.slogdet(matrix[np.ix_(members, members)])[1] if members else 0.0


def coefficient(row, node, parents):
    """Return h(J ∩ C) - h((J + i) ∩ C), scaled, or 1 where a family meets a cluster: its coefficient, by definition."""
    inside = set(np.flatnonzero(row.origin.inside).tolist())
    own = set(parents) & inside
    if row.origin.matrix is None:
        return float(node in inside and bool(own))
    return row.origin.scale * (h(row.origin.matrix, own) - h(row.origin.matrix, own | ({node} & inside)))
