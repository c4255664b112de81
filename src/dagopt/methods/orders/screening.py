"""Candidate parents: for each column the few others most associated with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.problem import Problem

__all__ = ["screened", "screened_counts", "screened_matrix"]


def screened(problem: Problem, count: int | None) -> NDArray[np.bool_]:
    """Return ``may[j, i]``: j is a candidate parent of i, within the knowledge.

    Parameters
    ----------
    problem : Problem
        Score and knowledge; required parents are always candidates.
    count : int or None
        About how many others to keep per column; all for None.
    """
    known = problem.knowledge
    if count is None or count >= problem.n_nodes - 1:
        return known.may
    if count < 1:
        raise InputError(f"expected candidates= to be a whole number >= 1 but got {count}; change the option")
    logdets = problem.score.logdets
    if logdets is not None:
        keep = screened_matrix(logdets.matrix, count)
    else:
        keep = screened_counts(problem, count)
    return (known.may & keep) | known.must


def screened_matrix(matrix: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return for each column the ``count`` others nearest by correlation and by partial correlation given all others.

    The relation is made symmetric, so that an edge can be found in either direction.
    """
    n = len(matrix)
    strength = matrix**2
    try:
        precision = np.linalg.inv(matrix + 1e-8 * np.eye(n))
        scale = np.sqrt(np.diag(precision))
        partial = (precision / np.outer(scale, scale)) ** 2
    except np.linalg.LinAlgError:
        partial = strength
    return _nearest(strength, count) | _nearest(partial, count)


def screened_counts(problem: Problem, count: int) -> NDArray[np.bool_]:
    """Return for each column the ``count`` others that raise its score most as its only parent, made symmetric."""
    gains = np.empty((problem.n_nodes, problem.n_nodes))
    for v in range(problem.n_nodes):
        gains[v] = problem.score.additions(v, ()) - problem.score.local(v, ())
    return _nearest(gains, count)


def _nearest(measure: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return the pairs in which one is among the other's ``count`` largest entries, without the diagonal."""
    measure = np.array(measure, dtype=np.float64)
    np.fill_diagonal(measure, -np.inf)
    nearest = np.argsort(-measure, axis=1, kind="stable")[:, :count]
    keep = np.zeros(measure.shape, dtype=bool)
    np.put_along_axis(keep, nearest, True, axis=1)
    np.fill_diagonal(keep, False)
    return np.asarray(keep | keep.T)
