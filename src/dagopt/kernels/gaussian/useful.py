"""Which columns can be parent and child in an undominated family, for a Gaussian likelihood.

For a node i, a candidate j, a set J and other candidates R, j is useful given J + Z, Z ⊆ R - j, only if

    I(i; j | J + Z) = N/2 log (var(i | J + Z) / var(i | J + Z + j))

exceeds the cost of a parent. The ratio is at most var(i | J) / var(i | J + R) and at most
var(j | J) / var(j | J + R + i), each from one end of the pair.

A third bound uses both ends. Let c(Z) be the covariance of i and j given J + Z, v(Z) a variance given J + Z,
and Z ⊆ R - j. Given J, the parts of i and j that R - j explains are vectors a and b, and c(∅) - c(Z) is the product of
their projections on Z. A reflection keeps lengths, so that ⟨(2P - 1)a, b⟩ lies between -|a||b| and |a||b|, hence

    c(Z) - c(R - j) ≤ x = ½ (c(∅) - c(R - j) + |a| |b|),    |a|² = v_i(∅) - v_i(R - j),  |b|² = v_j(∅) - v_j(R - j),

and likewise with all signs of c turned. With s and t the lengths of what is left of a and b, q = c(Z) - c(R - j) ≤ st,
the partial correlation is (q + c(R - j)) / √((s² + v_i(R - j)) (t² + v_j(R - j))), which ``_one_way`` maximises. It is
small as soon as neither end has a strong relation left, however many weak ones remain.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.gaussian.subset_walk import inverse_of
from dagopt.kernels.store import njit

# Rows of a level of one end: the column of the variable eliminated last, the diagonal, and the rows of i and u.
COLUMN, DIAGONAL, ROW_I, ROW_U = range(4)
NEVER, USEFUL, OPEN = range(3)  # what is known of two variables
MOST_FAILURES = 25  # candidates in a row that stay, after which a round ends: each costs a search
NEXT, FAILURES, DROPPING, OVER = range(4)  # of ``state``: where the search for the candidates of a node is


@njit(cache=True, nogil=True)
def _one_way(x, c, wi, wj, a, b):
    """Return the largest (q + c) / √((s² + wi) (t² + wj)) with q ≤ x, q ≤ st, s² ≤ a, t² ≤ b."""
    ends = math.sqrt(wi * wj)
    if x * wi > a * ends:  # s² = a
        if c * x > wj * a:
            x = wj * a / c
        return (x + c) / math.sqrt((a + wi) * (x * x / a + wj))
    if x * wj > b * ends:
        if c * x > wi * b:
            x = wi * b / c
        return (x + c) / math.sqrt((x * x / b + wi) * (b + wj))
    return (x + c) / (x + ends)


@njit(cache=True, nogil=True)
def largest_ratio(vi, vj, c, inverse, i, j, error):
    """Return a bound on var(i | J + Z) / var(i | J + Z + j) for all Z ⊆ R - j.

    ``vi``, ``vj``, ``c`` are the variances and the covariance of i and j given J, ``inverse`` is that of the matrix of
    J + R + i, and ``error`` is a bound on the relative rounding error of a variance.
    """
    det = inverse[i, i] * inverse[j, j] - inverse[i, j] * inverse[i, j]
    return ratio_between(vi, vj, c, inverse[j, j] / det, inverse[i, i] / det, -inverse[i, j] / det, error)


@njit(cache=True, nogil=True)
def ratio_between(vi, vj, c, wi, wj, least, error):
    """Return the same, given the variances ``wi``, ``wj`` and the covariance ``least`` of i and j given J + R - j."""
    a = max(vi - wi, 0.0) + error * vi
    b = max(vj - wj, 0.0) + error * vj
    most = math.sqrt(a * b)
    along = min(max(c - least, -most), most)
    more = _one_way(0.5 * (most + along), least, wi, wj, a, b)
    less = _one_way(0.5 * (most - along), -least, wi, wj, a, b)
    largest = max(more, less) + 2.0 * error * math.sqrt(vi * vj / (wi * wj))
    return 1.0 / (1.0 - largest * largest) if largest < 1.0 else np.inf


@njit(cache=True, nogil=True)
def never_useful(inverse, matrix, i, u, threshold, most_steps, error):
    """Say whether var(i | Z) / var(i | Z + u) ≤ ``threshold`` for every set Z of the other variables.

    Branch and bound over the Z between the variables taken and those not left out, with bounds from both ends. Also
    False if ``most_steps`` are not enough.
    """
    own, other = (matrix[i, i], matrix[u, u], matrix[i, u]), (inverse[i, i], inverse[u, u], inverse[i, u])
    first = _verdict(*own, *other, threshold, error)
    if first != OPEN:
        return first == NEVER
    size = matrix.shape[0]
    levels = min(size, most_steps) + 2
    least, most = np.empty((levels, 4, size)), np.empty((levels, 4, size))
    _begin(matrix, least, i, u)
    _begin(inverse, most, i, u)
    free = np.ones(size, dtype=np.bool_)
    free[i] = False
    free[u] = False
    branch = np.empty(levels, dtype=np.int64)
    takes = np.empty(levels, dtype=np.bool_)  # whether the level below has the branch's variable in Z
    depth = steps = n_taken = n_left_out = 0
    forward = True
    while depth >= 0:
        if forward:
            steps += 1
            if steps > most_steps:
                return False
            low, high = least[n_taken], most[n_left_out]
            found = _verdict(
                low[DIAGONAL, i], low[DIAGONAL, u], low[ROW_I, u],
                high[DIAGONAL, i], high[DIAGONAL, u], high[ROW_I, u], threshold, error,
            )  # fmt: skip
            if found == USEFUL:
                return False
            branch[depth] = _strongest(high, low, i, u, free) if found == OPEN else -1
            takes[depth] = True
            if branch[depth] >= 0:
                free[branch[depth]] = False
                _eliminate(matrix, least, n_taken, branch[depth], i, u)
                n_taken += 1
                depth += 1
                continue
        # Back to the level above: after its variable was taken, it is left out; after that, the level is done.
        depth -= 1
        if depth >= 0:
            forward = takes[depth]
            takes[depth] = False
            if forward:
                n_taken -= 1
                _eliminate(inverse, most, n_left_out, branch[depth], i, u)
                n_left_out += 1
                depth += 1
            else:
                n_left_out -= 1
                free[branch[depth]] = True
    return True


@njit(cache=True, nogil=True)
def _verdict(vi, vu, c, pi, pu, p, threshold, error):
    """Say what is known of i and u for all Z of a range: ``NEVER`` useful, ``USEFUL`` for one of them, or ``OPEN``.

    Given are their variances and covariance for the smallest Z, and their entries of the inverse with the largest Z.
    """
    # The ratio for the smallest and for the largest Z: 1 / (1 - the squared partial correlation of i and u).
    if c * c * threshold > (threshold - 1.0) * vi * vu or p * p * threshold > (threshold - 1.0) * pi * pu:
        return USEFUL
    # Three bounds on the ratio for all Z in between.
    if pu * vu <= threshold or pi * vi <= threshold:
        return NEVER
    det = pi * pu - p * p
    return NEVER if ratio_between(vi, vu, c, pu / det, pi / det, -p / det, error) <= threshold else OPEN


@njit(cache=True, nogil=True)
def _begin(matrix, end, i, u):
    """Write the first level of one end: nothing is eliminated."""
    for x in range(matrix.shape[0]):
        end[0, DIAGONAL, x] = matrix[x, x]
        end[0, ROW_I, x] = matrix[i, x]
        end[0, ROW_U, x] = matrix[u, x]


@njit(cache=True, nogil=True)
def _eliminate(matrix, end, k, p, i, u):
    """Write the level after ``k`` of one end, with variable ``p`` eliminated too.

    Only the diagonal and two rows of the matrix are kept; the column of p comes from those of the k variables before.
    """
    size = matrix.shape[0]
    now, after = end[k], end[k + 1]
    for x in range(size):
        now[COLUMN, x] = matrix[p, x]
    for m in range(k):
        factor = end[m, COLUMN, p]
        for x in range(size):
            now[COLUMN, x] -= factor * end[m, COLUMN, x]
    scale = 1.0 / math.sqrt(now[DIAGONAL, p])
    for x in range(size):
        now[COLUMN, x] *= scale
    of_i, of_u = now[COLUMN, i], now[COLUMN, u]
    for x in range(size):
        after[DIAGONAL, x] = now[DIAGONAL, x] - now[COLUMN, x] * now[COLUMN, x]
        after[ROW_I, x] = now[ROW_I, x] - of_i * now[COLUMN, x]
        after[ROW_U, x] = now[ROW_U, x] - of_u * now[COLUMN, x]


@njit(cache=True, nogil=True)
def _pull(high, low, row, i, z, explained):
    """Return how much of what is explained of variable i changes if z is taken or left out."""
    taking = low[row, z] * low[row, z] / low[DIAGONAL, z]
    corr = high[row, z] * high[row, z] / (high[DIAGONAL, i] * high[DIAGONAL, z])
    leaving = corr / (1.0 - corr) / high[DIAGONAL, i]
    return min(taking, leaving) / explained + 0.2 * max(taking, leaving) / explained


@njit(cache=True, nogil=True)
def _strongest(high, low, i, u, free):
    """Return the candidate that changes most of what is explained of i or u; -1 if there is none."""
    explained_i = low[DIAGONAL, i] - 1.0 / high[DIAGONAL, i]
    explained_u = low[DIAGONAL, u] - 1.0 / high[DIAGONAL, u]
    best = -1.0
    chosen = -1
    for z in range(free.shape[0]):
        if free[z]:
            value = max(_pull(high, low, ROW_I, i, z, explained_i), _pull(high, low, ROW_U, u, z, explained_u))
            if value > best:
                best = value
                chosen = z
    return chosen


@njit(cache=True, nogil=True)
def useful_pairs(inverse, matrix, threshold, most_steps, error, pairs, useful):
    """Set ``useful[i, u]`` and ``useful[u, i]`` to False for those of the pairs that are in no undominated family."""
    for i, u in pairs:
        if never_useful(inverse, matrix, i, u, threshold, most_steps, error):
            useful[i, u] = False
            useful[u, i] = False


@njit(cache=True, nogil=True)
def useful_parents(matrix, threshold, most_steps, error, i, must, useful, state, tries):
    """Set ``useful[u]`` to False for candidates u that are in no undominated set of node i.

    Only sets of candidates that are still useful matter, so each one that goes may let others go. Nodes in ``must`` are
    in every set and stay. Gives up after ``MOST_FAILURES`` candidates in a row that stay. It stops after so many
    ``tries``, and goes on from ``state``, at first zeros.
    """
    n = matrix.shape[0]
    ids = np.empty(n + 1, dtype=np.int64)
    own = inverse = np.empty((0, 0))
    is_old = True
    while state[OVER] == 0:
        for u in range(state[NEXT], n):
            if not useful[u] or must[u] or state[FAILURES] >= MOST_FAILURES:
                continue
            if tries == 0:
                state[NEXT] = u
                return
            tries -= 1
            if is_old:
                own = _of_candidates(matrix, i, useful, ids)
                inverse = inverse_of(own)
                is_old = False
            state[FAILURES] += 1
            place = np.searchsorted(ids[: len(own) - 1], u)
            if never_useful(inverse, own, len(own) - 1, place, threshold, most_steps, error):
                useful[u] = False
                is_old = True
                state[DROPPING], state[FAILURES] = 1, 0
        state[OVER] = 1 - state[DROPPING]
        state[NEXT] = state[FAILURES] = state[DROPPING] = 0


@njit(cache=True, nogil=True)
def _of_candidates(matrix, i, useful, ids):
    """Return the matrix of the useful candidates and, last, of i; write which they are."""
    size = np.int64(0)
    for z in range(matrix.shape[0]):
        if useful[z] and z != i:
            ids[size] = z
            size += 1
    ids[size] = i
    own = np.empty((size + 1, size + 1))
    for a in range(size + 1):
        for b in range(size + 1):
            own[a, b] = matrix[ids[a], ids[b]]
    return own
