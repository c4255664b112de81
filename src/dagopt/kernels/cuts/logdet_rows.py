"""Rows of log-determinants: h(S) = log det M_SS is submodular for every positive definite matrix M.

For a family (i, J) and a set C that contains i, the row's coefficient is half of -log var(i | J ∩ C) under M, and its
right-hand side is half of -log det M_CC. Family k has the parents ``flat[starts[k] : starts[k + 1]]``. M has a unit
diagonal.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.store import njit

FLOOR = 1e-12  # of a variance given others, as a share of its own: a smaller one is rounding error
LEAST_GAIN = 1e-9  # of the violation by one flip; less is rounding error


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(a, b, count):
    """Return the inner product of the first entries of two vectors; the order of the sum is free."""
    total = 0.0
    for c in range(count):
        total += a[c] * b[c]
    return total


@njit(cache=True, nogil=True)
def _extend(matrix, j, chosen, size, factor):
    """Fill row ``size`` of the Cholesky factor of ``chosen[:size]`` for node j, except its pivot, which is returned."""
    pivot = matrix[j, j]
    for b in range(size):
        value = matrix[j, chosen[b]]
        for c in range(b):
            value -= factor[size, c] * factor[b, c]
        value /= factor[b, b]
        factor[size, b] = value
        pivot -= value * value
    return pivot


@njit(cache=True, nogil=True)
def last_pivot(matrix, chosen, size, factor):
    """Factorise the rows and columns ``chosen[: size + 1]`` (Cholesky) and return the variance left of the last."""
    pivot = 1.0
    for a in range(size + 1):
        pivot = max(_extend(matrix, chosen[a], chosen, a, factor), FLOOR)
        factor[a, a] = math.sqrt(pivot)
    return pivot


@njit(cache=True, nogil=True)
def _gain(matrix, i, flat, first, last, inside, chosen, factor):
    """Return half of -log var(i | J ∩ C), J the members from ``first`` to ``last``, by a Cholesky factorisation."""
    size = np.int64(0)
    for q in range(first, last):
        if inside[flat[q]]:
            chosen[size] = flat[q]
            size += 1
    if size == 0:
        return 0.0
    chosen[size] = i
    return -0.5 * math.log(last_pivot(matrix, chosen, size, factor))


@njit(cache=True, nogil=True)
def shared_parents(node, flat, starts, order, shared):
    """Fill ``shared[q]`` with how many first parents family ``order[q]`` shares with the one before it in ``order``."""
    for q in range(order.shape[0]):
        shared[q] = 0
        if q > 0 and node[order[q]] == node[order[q - 1]]:
            first, before = starts[order[q]], starts[order[q - 1]]
            most = min(starts[order[q] + 1] - first, starts[order[q - 1] + 1] - before)
            while shared[q] < most and flat[first + shared[q]] == flat[before + shared[q]]:
                shared[q] += 1


@njit(cache=True, nogil=True)
def expand(blocks, node, flat, starts, own, wider, ends):
    """Write every family as families of the columns of its node: each with the columns of J and those before it.

    Node j is the columns ``blocks[j]`` to ``blocks[j + 1]``, exclusive. ``own`` gets the column, ``wider`` the parents
    of all, and ``ends`` where those of each begin.
    """
    entry = 0
    place = 0
    for k in range(node.shape[0]):
        i = node[k]
        for column in range(blocks[i], blocks[i + 1]):
            own[entry] = column
            ends[entry] = place
            for q in range(starts[k], starts[k + 1]):
                for parent in range(blocks[flat[q]], blocks[flat[q] + 1]):
                    wider[place] = parent
                    place += 1
            for before in range(blocks[i], column):
                wider[place] = before
                place += 1
            entry += 1
    ends[entry] = place


@njit(cache=True, nogil=True)
def coefficients(matrix, node, flat, starts, order, shared, inside, out):
    """Fill ``out`` with the coefficients of all families in the row of M and C.

    Families are visited in ``order``. The Cholesky factor of the first ``shared`` parents is kept from one to the next.
    """
    n = matrix.shape[0]
    chosen = np.empty(n + 1, dtype=np.int64)
    factor = np.empty((n + 1, n + 1))
    depth = np.zeros(n + 1, dtype=np.int64)  # members of C among the first parents
    slope = np.empty(n + 1)  # the factor's row of the node
    left = np.empty(n + 1)  # the node's variance given the first members of C
    for q in range(order.shape[0]):
        k = order[q]
        i = node[k]
        out[k] = 0.0
        if not inside[i]:
            continue
        left[0] = matrix[i, i]
        first = starts[k]
        size = depth[shared[q]]
        for m in range(shared[q], starts[k + 1] - first):
            j = flat[first + m]
            if inside[j]:
                root = math.sqrt(max(_extend(matrix, j, chosen, size, factor), FLOOR))
                mean = matrix[i, j]
                for b in range(size):
                    mean -= slope[b] * factor[size, b]
                factor[size, size] = root
                chosen[size] = j
                slope[size] = mean / root
                left[size + 1] = left[size] - slope[size] * slope[size]
                size += 1
            depth[m + 1] = size
        if size > 0:
            out[k] = -0.5 * math.log(max(left[size], FLOOR))


@njit(cache=True, nogil=True)
def cholesky(matrix, shift, factor):
    """Fill ``factor`` with the Cholesky factor of M - shift times the identity; say whether there is one."""
    n = matrix.shape[0]
    for a in range(n):
        for b in range(a + 1, n):
            factor[a, b] = 0.0
        pivot = matrix[a, a] - shift
        for b in range(a):
            value = (matrix[a, b] - dot(factor[a], factor[b], b)) / factor[b, b]
            factor[a, b] = value
            pivot -= value * value
        if pivot <= 0.0:
            return False
        factor[a, a] = math.sqrt(pivot)
    return True


@njit(cache=True, nogil=True)
def eigenvalue_floor(matrix):
    """Return the largest power of two, at most a half, that all eigenvalues exceed; 0 if it is below 1e-9."""
    factor = np.empty_like(matrix)
    floor = 0.5
    while floor > 1e-9:
        if cholesky(matrix, floor, factor):
            return floor
        floor *= 0.5
    return 0.0


@njit(cache=True, nogil=True)
def logdet(matrix, inside):
    """Return log det M_CC."""
    n = matrix.shape[0]
    chosen = np.empty(n, dtype=np.int64)
    factor = np.empty((n, n))
    size = 0
    total = 0.0
    for i in range(n):
        if not inside[i]:
            continue
        chosen[size] = i
        pivot = max(_extend(matrix, i, chosen, size, factor), FLOOR)
        factor[size, size] = math.sqrt(pivot)
        total += math.log(pivot)
        size += 1
    return total


@njit(cache=True, nogil=True)
def _sweep(matrix, p):
    """Sweep a symmetric matrix by variable ``p`` in place, or undo it; return the pivot."""
    n = matrix.shape[0]
    pivot = matrix[p, p]
    inverse = 1.0 / pivot
    for a in range(n):
        if a != p:
            factor = matrix[a, p] * inverse
            for b in range(n):
                if b != p:
                    matrix[a, b] -= factor * matrix[p, b]
    for b in range(n):
        if b != p:
            matrix[p, b] *= abs(inverse)
            matrix[b, p] = matrix[p, b]
    matrix[p, p] = -inverse
    return pivot


@njit(cache=True, nogil=True)
def sweep_all(matrix):
    """Return the matrix swept by all nodes, minus its inverse."""
    swept = matrix.copy()
    for b in range(matrix.shape[0]):
        _sweep(swept, b)
    return swept


@njit(cache=True, nogil=True)
def flip(matrix, whole, node, flat, starts, mass, users, user_starts, inside, most_flips):
    """Change C node by node while the row's violation Σ x l_i(J ∩ C) - L(C) grows; return the violation.

    ``users[user_starts[b]:user_starts[b + 1]]`` are the families that have b as node or parent. C is ``inside``, which
    is changed in place. Each step flips the node that gains most. The matrix swept by C gives L of C with or without
    a node; it comes from the matrix itself or from ``whole``, the matrix swept by all nodes, whichever is nearer.
    """
    n = matrix.shape[0]
    count = node.shape[0]
    chosen = np.empty(n + 1, dtype=np.int64)
    factor = np.empty((n + 1, n + 1))
    # Sweep the matrix by C, from the nearer end.
    size = 0
    for b in range(n):
        if inside[b]:
            size += 1
    many = 2 * size > n
    swept = whole.copy() if many else matrix.copy()
    for b in range(n):
        if inside[b] != many:
            _sweep(swept, b)
    # The families' part of the violation: Σ x l_i(J ∩ C) over the families whose node is in C.
    value = np.zeros(count)
    total = 0.0
    for k in range(count):
        if inside[node[k]]:
            value[k] = _gain(matrix, node[k], flat, starts[k], starts[k + 1], inside, chosen, factor)
            total += mass[k] * value[k]
    change = np.empty(n)  # of the families, if a node is flipped
    changed = np.ones(n, dtype=np.bool_)  # whether it is to be computed
    for _ in range(most_flips):
        # Find the flip that gains most: the change of the families, where it is not known, plus that of ½ log det.
        gain = LEAST_GAIN
        best = -1
        for b in range(n):
            if inside[b] and size <= 2:
                continue
            if changed[b]:
                changed[b] = False
                change[b] = 0.0
                inside[b] = not inside[b]
                for q in range(user_starts[b], user_starts[b + 1]):
                    k = users[q]
                    if node[k] == b or inside[node[k]]:
                        new = 0.0
                        if inside[node[k]]:
                            new = _gain(matrix, node[k], flat, starts[k], starts[k + 1], inside, chosen, factor)
                        change[b] += mass[k] * (new - value[k])
                inside[b] = not inside[b]
            own = 0.5 * math.log(max(abs(swept[b, b]), FLOOR))  # of log det
            if change[b] + own > gain:
                gain = change[b] + own
                best = b
        # Flip it, and bring the families that use the node up to date; their nodes are to be looked at again.
        if best < 0:
            break
        _sweep(swept, np.int64(best))  # numba would compile another version for a literal -1
        size += -1 if inside[best] else 1
        inside[best] = not inside[best]
        for q in range(user_starts[best], user_starts[best + 1]):
            k = users[q]
            new = 0.0
            if inside[node[k]]:
                new = _gain(matrix, node[k], flat, starts[k], starts[k + 1], inside, chosen, factor)
            total += mass[k] * (new - value[k])
            value[k] = new
            changed[node[k]] = True
            for p in range(starts[k], starts[k + 1]):
                changed[flat[p]] = True
    return total + 0.5 * logdet(matrix, inside)
