r"""Multinomial logistic regression: the log odds of each level against the first, linear in the parents.

.. math:: \log \frac{P(x = l)}{P(x = 0)} = \beta_l^\top z, \qquad l = 1, ..., k - 1

found by Newton's method with halved steps. A weak Gaussian prior on the coefficients of standardised columns keeps
them finite if levels are perfectly separated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats

__all__ = ["Logit", "fit_logit", "log_probabilities"]


PRIOR_PRECISION = 1e-3  # of a coefficient in standard units, except intercepts
MOST_STEPS = 100  # Newton's method usually takes about ten
ENOUGH = 1e-10  # iteration stops when the log-likelihood per row rises by less


class Logit(NamedTuple):
    """Coefficients of shape (levels - 1, columns), and their standard errors."""

    coefficients: Floats
    standard_errors: Floats


def log_probabilities(design: Floats, coefficients: Floats) -> Floats:
    """Return the log of the probability of every level in every row; the first level has the log odds 0."""
    odds = np.concatenate([np.zeros((len(design), 1)), design @ coefficients.T], axis=1)
    from scipy.special import logsumexp

    return np.asarray(odds - logsumexp(odds, axis=1, keepdims=True))


def fit_logit(design: Floats, codes: NDArray[np.integer], n_levels: int, weights: Floats | None = None) -> Logit:
    """Return the most likely coefficients.

    Parameters
    ----------
    design : array of shape (rows, columns)
        The first column is constant 1.
    codes : int array
        The level of each row.
    n_levels : int
        Number of levels; those that do not occur have log odds of about minus the log of the rows.
    weights : array, optional
        How much each row counts; once unless given.
    """
    weights = np.ones(len(codes)) if weights is None else weights
    scale = np.ones(design.shape[1])
    centre = np.zeros(design.shape[1])
    centre[1:] = np.average(design[:, 1:], axis=0, weights=weights)
    spread = np.sqrt(np.average((design[:, 1:] - centre[1:]) ** 2, axis=0, weights=weights))
    scale[1:] = np.where(spread > 0, spread, 1.0)
    standard = (design - centre) / scale
    prior = np.concatenate([[1e-9], np.full(design.shape[1] - 1, PRIOR_PRECISION)])
    share = (np.bincount(codes, weights, minlength=n_levels) + 0.5) / (weights.sum() + 0.5 * n_levels)
    beta = np.zeros((n_levels - 1, design.shape[1]))
    beta[:, 0] = np.log(share[1:] / share[0])
    chosen = (codes[:, None] == np.arange(1, n_levels)).astype(np.float64)
    value = _value(standard, codes, beta, prior, weights)
    for _ in range(MOST_STEPS):
        p = np.exp(log_probabilities(standard, beta))[:, 1:]
        slope = (weights[:, None] * (chosen - p)).T @ standard - prior * beta
        step = np.linalg.solve(_information(standard, p, prior, weights), slope.ravel()).reshape(beta.shape)
        size = 1.0
        while (new := _value(standard, codes, beta + size * step, prior, weights)) < value and size > 1e-6:
            size /= 2
        beta, rise, value = beta + size * step, new - value, new
        if rise < ENOUGH * weights.sum():
            break
    p = np.exp(log_probabilities(standard, beta))[:, 1:]
    covariance = np.linalg.inv(_information(standard, p, prior, weights))
    back = np.diag(1 / scale)
    back[0, 1:] = -centre[1:] / scale[1:]  # the intercept for the columns as given
    full = np.kron(np.eye(n_levels - 1), back)
    errors = np.sqrt(np.einsum("ab,bc,ac->a", full, covariance, full)).reshape(beta.shape)
    return Logit(beta @ back.T, errors)


def _value(design: Floats, codes: NDArray[np.integer], beta: Floats, prior: Floats, weights: Floats) -> float:
    logs = log_probabilities(design, beta)
    return float(weights @ logs[np.arange(len(codes)), codes] - 0.5 * (prior * beta**2).sum())


def _information(design: Floats, p: Floats, prior: Floats, weights: Floats) -> Floats:
    """Return minus the matrix of second derivatives, level by level."""
    k, width = p.shape[1], design.shape[1]
    matrix = np.empty((k * width, k * width))
    for a in range(k):
        for b in range(k):
            weight = weights * p[:, a] * ((a == b) - p[:, b])
            block = design.T @ (weight[:, None] * design)
            matrix[a * width : (a + 1) * width, b * width : (b + 1) * width] = block
    return matrix + np.diag(np.tile(prior, k))
