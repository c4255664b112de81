"""Changes of the probabilities of an outcome's levels, standardised over the rows, by logistic regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats
from dagopt.networks.logit import fit_logit, log_probabilities

__all__ = ["probability_changes"]

STEP = 1e-5  # of a coefficient in standard units, for numerical derivatives
DEPENDENT = 1e-10  # smallest eigenvalue of the information relative to the largest


def probability_changes(
    cause: Floats, others: Floats, codes: NDArray[np.int64], n_levels: int, by_level: bool
) -> tuple[Floats, Floats] | None:
    """Return how the probability of each level changes with the cause, and standard errors; None if dependent.

    Parameters
    ----------
    cause : array of shape (rows, width)
        Indicators of all levels of a discrete cause but the first, or one column in standard units.
    others : array of shape (rows, columns)
        A column of ones, and the columns to adjust for.
    codes : int array
        The level of the outcome in each row.
    n_levels : int
        Levels of the outcome.
    by_level : bool
        Whether the cause is discrete. The change is then that from its first level to each other one; otherwise the
        average rate of change per unit.

    Notes
    -----
    An effect is the mean over the rows of g(row, beta). Its standard error is that of the mean of
    g - effect + G I^-1 s, with G the derivative of the mean by beta, I the information per row and s the row's score.
    """
    design = np.concatenate([others, cause], axis=1)
    width = cause.shape[1]
    beta = fit_logit(design, codes, n_levels).coefficients
    shares = np.exp(log_probabilities(design, beta))[:, 1:]
    residual = (codes[:, None] == np.arange(1, n_levels)) - shares
    scores = (residual[:, :, None] * design[:, None, :]).reshape(len(codes), -1)
    weights = shares[:, :, None] * (np.eye(n_levels - 1) - shares[:, None, :])
    size = beta.size
    information = np.einsum("rab,ri,rj->aibj", weights, design, design, optimize=True).reshape(size, size)
    sizes = np.linalg.eigvalsh(information)
    if sizes[0] <= DEPENDENT * sizes[-1]:
        return None
    steps = np.linalg.solve(information / len(codes), scores.T).T
    values = _changes(design, width, beta, by_level)
    effects = values.mean(axis=0)
    slopes = np.empty((size, *effects.shape))
    for k in range(size):
        moved = np.zeros(size)
        moved[k] = STEP
        up, down = (_changes(design, width, beta + sign * moved.reshape(beta.shape), by_level) for sign in (1, -1))
        slopes[k] = (up - down).mean(axis=0) / (2 * STEP)
    influence = values - effects + np.einsum("rk,kcy->rcy", steps, slopes)
    errors = np.sqrt((influence**2).sum(axis=0)) / len(codes)
    return effects, errors


def _changes(design: Floats, width: int, beta: Floats, by_level: bool) -> Floats:
    """Return the change of each level's probability in each row: ``[row, change of the cause, level]``."""
    if not by_level:
        shares = np.exp(log_probabilities(design, beta))
        slopes = np.concatenate([[0.0], beta[:, -1]])
        return np.asarray((shares * (slopes - shares @ slopes[:, None]))[:, None, :])
    probabilities = []
    for k in range(width + 1):
        changed = design.copy()
        changed[:, design.shape[1] - width :] = 0.0
        if k:
            changed[:, design.shape[1] - width + k - 1] = 1.0
        probabilities.append(np.exp(log_probabilities(changed, beta)))
    return np.stack([one - probabilities[0] for one in probabilities[1:]], axis=1)
