"""Joints of many sets of discrete variables at once.

The rows are split by a set's variables one after the other, in an order that is the same for all sets, and the splits
that the next set shares with the last are kept. The last variable is the one whose most frequent level has the largest
share. Only the rows with its other levels are counted; the count of that level is the rest of each cell. So most sets
take one pass over the few rows in which one variable is not at its most frequent level.
"""

from __future__ import annotations

import numpy as np

from dagopt.kernels.counts.counting import DENSE_CELLS, LARGEST_PRODUCT, renumber, term
from dagopt.kernels.store import njit


@njit(cache=True, nogil=True)
def rare_rows(codes, arity, weights):
    """Return the rows in which each variable is not at its most frequent level, concatenated, and their offsets."""
    n, rows = codes.shape
    offsets = np.zeros(n + 1, dtype=np.int64)
    listed = np.empty(n * rows, dtype=np.int32)
    at = 0
    for j in range(n):
        counts = np.zeros(arity[j], dtype=np.int64)
        for r in range(rows):
            counts[codes[j, r]] += weights[r]
        modal = 0
        for level in range(1, arity[j]):
            if counts[level] > counts[modal]:
                modal = level
        for r in range(rows):
            if codes[j, r] != modal:
                listed[at] = r
                at += 1
        offsets[j + 1] = at
    return listed[:at].copy(), offsets


@njit(cache=True, nogil=True)
def _sum_split(counts, last, cells, rare, whole, prior, finer):
    """Return the joint of cells split by one more variable, and how many of the finer cells occur.

    ``whole`` are the weights of the cells before the split; ``finer`` is a buffer for the weights after it.
    """
    code, arity, weights, span = counts.codes[last], counts.arity[last], counts.weights, whole.shape[0]
    finer[: span * arity] = 0
    for r in rare:
        finer[cells[r] * arity + code[r]] += weights[r]
    total = 0.0
    found = 0
    for c in range(span):
        rest = whole[c]
        for x in range(c * arity, (c + 1) * arity):
            if finer[x] > 0:
                rest -= finer[x]
                total += term(finer[x], counts.clogc, counts.ess, prior)
                found += 1
        if rest > 0:
            total += term(rest, counts.clogc, counts.ess, prior)
            found += 1
    return total, found


@njit(cache=True, nogil=True)
def _sum_sparse(counts, last, cells, span, prior):
    """Return the same as ``_sum_split``, where there could be many more cells than rows."""
    code, arity, weights = counts.codes[last], counts.arity[last], counts.weights
    split = np.empty(cells.shape[0], dtype=np.int64)
    for r in range(cells.shape[0]):
        split[r] = np.int64(cells[r]) * arity + code[r]
    found = renumber(split, span * arity)
    finer = np.zeros(found, dtype=np.int64)
    for r in range(cells.shape[0]):
        finer[split[r]] += weights[r]
    total = 0.0
    for c in range(found):
        total += term(finer[c], counts.clogc, counts.ess, prior)
    return total, found


@njit(cache=True, nogil=True)
def joints_of_sets(counts, listed, offsets, sets, joint, occurring):
    """Fill ``joint[k]`` and the number of configurations that occur for every set ``sets[k]``.

    Variables split the rows in the order given. Consecutive sets should share their first variables, and the last
    variable should have the fewest rows in ``listed``.
    """
    codes, arity, weights, clogc, ess = counts
    rows = codes.shape[1]
    size = sets.shape[1]
    cells = np.zeros((size + 1, rows), dtype=np.int32)  # cells[d]: split by the first d variables
    spans = np.ones(size + 1, dtype=np.int64)
    wholes = np.zeros((size + 1, max(rows, DENSE_CELLS)), dtype=np.int64)
    for r in range(rows):
        wholes[0, 0] += weights[r]
    finer = np.zeros(4 * rows + DENSE_CELLS, dtype=np.int64)
    path = np.full(size + 1, -1, dtype=np.int64)
    depth = 0  # how far the path is split
    for k in range(sets.shape[0]):
        # The prior count of one configuration is ess / (product of arities).
        members = sets[k]
        product = 1.0
        for j in members:
            product *= arity[j]
        prior = ess / min(product, LARGEST_PRODUCT)
        if size == 0:
            joint[k] = term(wholes[0, 0], clogc, ess, prior)
            occurring[k] = 1
            continue
        # Keep the split by the variables that this set shares with the one before; split further by the others but one.
        common = 0
        while common < depth and common < size - 1 and path[common] == members[common]:
            common += 1
        for d in range(common, size - 1):
            j = members[d]
            path[d] = j
            source, target = cells[d], cells[d + 1]
            for r in range(rows):
                target[r] = source[r] * arity[j] + codes[j, r]
            # Number the cells that occur if there could be too many for an array; then count them.
            spans[d + 1] = spans[d] * arity[j]
            if spans[d + 1] > DENSE_CELLS:
                spans[d + 1] = renumber(target, spans[d + 1])
            whole = wholes[d + 1]
            whole[: spans[d + 1]] = 0
            for r in range(rows):
                whole[target[r]] += weights[r]
        # The last variable: from its rare rows alone if the finer table fits, else by splitting all rows once more.
        depth = size - 1
        last = members[depth]
        if spans[depth] * arity[last] <= finer.shape[0]:
            rare = listed[offsets[last] : offsets[last + 1]]
            whole = wholes[depth, : spans[depth]]
            joint[k], occurring[k] = _sum_split(counts, last, cells[depth], rare, whole, prior, finer)
        else:
            joint[k], occurring[k] = _sum_sparse(counts, last, cells[depth], spans[depth], prior)
