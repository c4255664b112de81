"""Local scores of a node with one more or one fewer parent, for scores made of log-determinants of column groups.

``form`` is a ``BlockForm`` of ``kernels/gaussian/blocks.py``.
"""

from __future__ import annotations

import numpy as np

from dagopt.kernels.gaussian import blocks as gaussian
from dagopt.kernels.store import njit


@njit(cache=True, nogil=True)
def local_score(form, v, parents):
    """Return the score of v with these parents."""
    matrix, log_scale, starts, rates = form.matrix, form.log_scale, form.starts, form.rates
    _, logres, width = gaussian.logs(matrix, log_scale, starts, v, parents)
    return _value(rates, starts[v + 1] - starts[v], logres, width, parents.shape[0])


@njit(cache=True, nogil=True)
def removals(form, v, parents, values):
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""
    rest = parents[1:].copy()
    for k in range(parents.shape[0]):
        values[k] = local_score(form, v, rest)
        if k < rest.shape[0]:
            rest[k] = parents[k]


@njit(cache=True, nogil=True)
def additions(form, v, parents, candidates, enough, values):
    """Fill ``values[k]`` with the score of v with the extra parent ``candidates[k]``; return the score without it.

    A candidate that is a parent, or that does not raise the score by ``enough``, gets -inf.
    """
    matrix, log_scale, starts, rates = form.matrix, form.log_scale, form.starts, form.rates
    new = np.empty(candidates.shape[0], dtype=np.int64)
    count = 0
    for k in range(candidates.shape[0]):
        if not _has(parents, candidates[k]):
            new[count] = k
            count += 1
    tried = candidates[new[:count]]
    logres = np.empty(count)
    size = starts[v + 1] - starts[v]
    own_logres, width = gaussian.additions(matrix, log_scale, starts, v, parents, tried, logres)
    own = _value(rates, size, own_logres, width, parents.shape[0])
    values[:] = -np.inf
    for k in range(count):
        wider = width + starts[tried[k] + 1] - starts[tried[k]]
        value = _value(rates, size, logres[k], wider, parents.shape[0] + 1)
        if value > own + enough:
            values[new[k]] = value
    return own


@njit(cache=True, nogil=True)
def _has(parents, x):
    for y in parents:  # noqa: SIM110
        if y == x:
            return True
    return False


@njit(cache=True, nogil=True)
def _value(rates, size, logres, width, count):
    return -rates[1] * size - rates[0] * logres - rates[2] * size * width - rates[3] * count
