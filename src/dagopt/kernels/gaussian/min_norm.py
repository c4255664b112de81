"""The minimum-norm point for g of a Gaussian reduced cost, fully compiled.

The algorithm is that of ``submodular/min_norm.py``, which also serves as its twin in the tests.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.gaussian.logdet import _append_row
from dagopt.kernels.store import njit

TINY_WEIGHT = 1e-12  # of the point, whose weights sum to 1: a vertex with less is dropped
LEAST_PIVOT = 1e-14  # of the scaled products of the vertices, whose rounding error is about that
NO_DESCENT = 1e-12  # of the squared norm: a vertex that promises less is no step down
MOST_VERTICES = 2000  # steps at most, as a safeguard: the tolerance ends the method before


class GaussianForm(NamedTuple):
    """The g of a Gaussian reduced cost.

    ``half`` is N/2, ``first`` the node and its required parents, ``steps[k]`` the cost of the k-th candidate of any
    order apart from its log-determinant; ``clusters[c, j]`` says that candidate j meets cluster c, with dual
    ``duals[c]``.
    """

    matrix: NDArray[np.floating[Any]]
    log_scale: NDArray[np.floating[Any]]
    half: float
    first: NDArray[np.int64]
    candidates: NDArray[np.int64]
    steps: NDArray[np.float64]
    clusters: NDArray[np.bool_]
    duals: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _greedy(form, linear, order, factor, vertex):
    """Fill ``vertex`` with the greedy base of an order; return the least prefix sum and its length.

    ``factor`` is a buffer for a Cholesky factor whose first rows are those of the node and its required parents.
    """
    matrix, log_scale, half, first, candidates, steps, clusters, duals = form
    fixed = first.shape[0]
    size = order.shape[0]
    whole = np.empty(fixed + size, dtype=np.int64)
    whole[:fixed] = first
    met = np.zeros(duals.shape[0], dtype=np.bool_)
    total = 0.0
    least = 0.0
    length = 0
    for k in range(size):
        j = order[k]
        whole[fixed + k] = candidates[j]
        pivot = _append_row(matrix, factor, whole, fixed + k, candidates[j])
        step = half * (math.log(pivot) + log_scale[candidates[j]]) + steps[k] - linear[j]
        for c in range(duals.shape[0]):
            if not met[c] and clusters[c, j]:
                met[c] = True
                step += duals[c]
        vertex[j] = step
        total += step
        if total < least:
            least = total
            length = k + 1
    return least, length


@njit(cache=True, nogil=True)
def _begun(form, size):
    """Return a buffer for a Cholesky factor, with the rows of the node and its required parents filled in."""
    first = form.first
    factor = np.empty((first.shape[0] + size, first.shape[0] + size))
    for k in range(first.shape[0]):
        _append_row(form.matrix, factor, first, k, first[k])
    return factor


@njit(cache=True, nogil=True)
def greedy_base(form, linear, order):
    """Return the greedy base of an order for g - linear, its least prefix sum and the length of that prefix."""
    factor = _begun(form, order.shape[0])
    vertex = np.empty(order.shape[0])
    least, length = _greedy(form, linear, order, factor, vertex)
    return vertex, least, length


@njit(cache=True, nogil=True)
def _affine_minimiser(gram, count, target):
    """Fill ``target`` with the weights, summing to 1, of the affine combination of least norm."""
    scale = 0.0
    for a in range(count):
        scale = max(scale, gram[a, a])
    scale = max(scale, 1e-300)
    factor = np.empty((count, count))
    for a in range(count):
        for b in range(a + 1):
            value = gram[a, b] / scale + 1.0
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = math.sqrt(max(value, LEAST_PIVOT))
            else:
                factor[a, b] = value / factor[b, b]
    for a in range(count):
        value = 1.0
        for b in range(a):
            value -= factor[a, b] * target[b]
        target[a] = value / factor[a, a]
    total = 0.0
    for a in range(count - 1, -1, -1):
        value = target[a]
        for b in range(a + 1, count):
            value -= factor[b, a] * target[b]
        target[a] = value / factor[a, a]
        total += target[a]
    for a in range(count):
        target[a] /= total


@njit(cache=True, nogil=True)
def min_norm_gaussian(form, linear, order, tolerance):
    """Return a set that minimises g - linear, as positions in the candidates."""
    size = order.shape[0]
    room = size + 2
    factor = _begun(form, size)
    vertices = np.empty((room, size))
    gram = np.empty((room, room))
    weights = np.zeros(room)
    target = np.zeros(room)
    vertex = np.empty(size)
    # Begin with the vertex of the given order.
    best, length = _greedy(form, linear, order, factor, vertex)
    chosen = order[:length].copy()
    vertices[0] = vertex
    gram[0, 0] = vertex @ vertex
    weights[0] = 1.0
    count = 1
    point = vertex.copy()
    for _ in range(MOST_VERTICES):
        # The sum of the negative coordinates of the point is a lower bound on the minimum: stop when it is reached.
        below = 0.0
        for j in range(size):
            if point[j] < 0:
                below += point[j]
        if best - below <= tolerance:
            break
        # The vertex that is lowest along the point, by the greedy algorithm; its prefixes are candidates for the set.
        order = np.argsort(point, kind="mergesort")
        value, length = _greedy(form, linear, order, factor, vertex)
        if value < best:
            best = value
            chosen = order[:length].copy()
        # Wolfe's criterion: no vertex lies below the hyperplane through the point.
        norm = point @ point
        if norm - point @ vertex <= NO_DESCENT * (norm + 1.0) or count == room:
            break
        # Add the vertex, with its products with the others.
        vertices[count] = vertex
        for a in range(count + 1):
            gram[count, a] = vertices[a] @ vertex
            gram[a, count] = gram[count, a]
        weights[count] = 0.0
        count += 1
        while True:
            # The point of least norm in the affine hull; if it lies outside the simplex, go only to the boundary.
            _affine_minimiser(gram, count, target)
            step = 1.0
            inside = True
            for a in range(count):
                if target[a] <= TINY_WEIGHT:
                    inside = False
                    if weights[a] > target[a]:
                        step = min(step, weights[a] / (weights[a] - target[a]))
            if inside:
                weights[:count] = target[:count]
                break
            # Move along, and drop the vertices whose weight became zero.
            smallest = 0
            for a in range(count):
                weights[a] += step * (target[a] - weights[a])
                if weights[a] < weights[smallest]:
                    smallest = a
            weights[smallest] = 0.0
            kept = 0
            for a in range(count):
                if weights[a] > TINY_WEIGHT:
                    if kept != a:
                        vertices[kept] = vertices[a]
                        weights[kept] = weights[a]
                        for b in range(count):
                            gram[kept, b] = gram[a, b]
                        for b in range(count):
                            gram[b, kept] = gram[b, a]
                    kept += 1
            count = max(kept, 1)
            weights[:count] /= weights[:count].sum()
            if count == 1:
                weights[0] = 1.0
                break
        for j in range(size):
            point[j] = 0.0
            for a in range(count):
                point[j] += weights[a] * vertices[a, j]
    return chosen
