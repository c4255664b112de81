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

from dagopt.kernels.gaussian.subset_walk import SEEN, UNOPENED, descend, inverse_of, new_walk
from dagopt.kernels.store import njit

MOST_FAILURES = 25  # candidates in a row that stay, after which a round ends: each costs a search


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
def _pull(most, least, i, z, explained):
    """Return how much of what is explained of variable i changes if z is taken or left out."""
    taking = least[i, z] * least[i, z] / least[z, z]
    corr = most[i, z] * most[i, z] / (most[i, i] * most[z, z])
    leaving = corr / (1.0 - corr) / most[i, i]
    return min(taking, leaving) / explained + 0.2 * max(taking, leaving) / explained


@njit(cache=True, nogil=True)
def never_useful(inverse, matrix, i, u, threshold, most_steps, error):
    """Say whether var(i | Z) / var(i | Z + u) ≤ ``threshold`` for every set Z of the other variables.

    Branch and bound over the Z between the variables taken and those not left out, with bounds from both ends. Also
    False if ``most_steps`` are not enough.
    """
    walk = new_walk(inverse, matrix, np.arange(matrix.shape[0] + 1))
    walk.free[0, i] = False
    walk.free[0, u] = False
    depth = 0
    steps = 0
    while depth >= 0:
        if walk.fresh[depth] != SEEN:
            walk.fresh[depth] = SEEN
            steps += 1
            if steps > most_steps:
                return False
            most = walk.upper[walk.up[depth]]
            least = walk.lower[walk.taken[depth]]
            # The ratio for the smallest and for the largest Z: 1 / (1 - the squared partial correlation of i and u).
            with_least = 1.0 / (1.0 - least[i, u] * least[i, u] / (least[i, i] * least[u, u]))
            with_most = 1.0 / (1.0 - most[i, u] * most[i, u] / (most[i, i] * most[u, u]))
            if with_least > threshold or with_most > threshold:
                return False
            # Three bounds on the ratio for all Z in between; if one is small enough, there is nothing to branch on.
            by_u = most[u, u] * least[u, u]
            by_i = most[i, i] * least[i, i]
            by_both = largest_ratio(least[i, i], least[u, u], least[i, u], most, i, u, error)
            if min(by_u, by_i, by_both) <= threshold:
                depth -= 1
                continue
            walk.branch[depth] = _strongest(most, least, i, u, walk.free[depth])
            if walk.branch[depth] < 0:
                depth -= 1
                continue
            walk.stage[depth] = UNOPENED
        depth += 1 if descend(walk, depth) else -1
    return True


@njit(cache=True, nogil=True)
def _strongest(most, least, i, u, free):
    """Return the candidate that changes most of what is explained of i or u; -1 if there is none."""
    explained_i = least[i, i] - 1.0 / most[i, i]
    explained_u = least[u, u] - 1.0 / most[u, u]
    best = -1.0
    chosen = -1
    for z in range(free.shape[0]):
        if free[z]:
            value = max(_pull(most, least, i, z, explained_i), _pull(most, least, u, z, explained_u))
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
def useful_parents(matrix, threshold, most_steps, error, i, must, useful):
    """Set ``useful[u]`` to False for candidates u that are in no undominated set of node i.

    Only sets of candidates that are still useful matter, so each one that goes may let others go. Nodes in ``must`` are
    in every set and stay. Gives up after ``MOST_FAILURES`` candidates in a row that stay.
    """
    n = matrix.shape[0]
    ids = np.empty(n + 2, dtype=np.int64)
    dropping = True
    while dropping:
        dropping = False
        failures = 0
        for u in range(n):
            if not useful[u] or must[u] or failures >= MOST_FAILURES:
                continue
            failures += 1
            size = np.int64(0)
            for z in range(n):
                if useful[z] and z != u:
                    ids[size] = z
                    size += 1
            ids[size] = u
            ids[size + 1] = i
            own = np.empty((size + 2, size + 2))
            for a in range(size + 2):
                for b in range(size + 2):
                    own[a, b] = matrix[ids[a], ids[b]]
            if never_useful(inverse_of(own), own, size + 1, size, threshold, most_steps, error):
                useful[u] = False
                dropping = True
                failures = 0
