"""Joints of many sets of discrete variables at once, from tables of counts that share their first variables.

Variables have a fixed order, and the most frequent level of each is its last one. A *rare* row of a variable is one in
which it is at another level. Let P be the first variables of a set, p and a the last two, and T(·) tables of counts:

* T(P + p + a) is counted where p and a are both rare, from the rows that are rare in both, which are few;
* where p is rare and a is not, it is T(P + p) minus these; where a is rare and p is not, T(P + a) minus these;
* where neither is rare, it is what is left of T(P + p).

So T(P + a) is kept for the variables a that sets with the first variables P need, and made in the same way from the
tables of P without its last variable. Only cells of P that occur are looked at. A set takes a pass over the rows that
are rare in its last two variables and one over its cells, whatever the number of rows.

This is the idea of ADtrees (Moore and Lee 1998, JAIR 8), which leave out the most frequent level of each variable, for
sets that come in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Ints
from dagopt.kernels.counts.counting import term
from dagopt.kernels.store import njit

__all__ = ["MOST_CELLS", "PairRows", "joints_from_pairs", "ranked"]

MOST_CELLS = 1 << 14  # possible cells of a set: with more, most of them are empty and the tables leave the cache
STREAMS = 4  # neighbouring rows share a cell: taken from four places, an addition need not wait for the last one
MOST_ENTRIES = 1 << 23  # of the lists of rows that are rare in two variables: 100 MB


class PairRows(NamedTuple):
    """Rows by variables in order, the most frequent level last, and the rows that are rare in two variables.

    Attributes
    ----------
    codes, arity : int arrays
        The level of each variable in each row, and how many levels there are.
    alone : int array of shape (variables, levels)
        The weight of each level.
    rows, within, weights : int arrays
        Rows that are rare in two variables p < a, pair by pair: the row, its levels as
        ``codes[p] * (arity[a] - 1) + codes[a]``, and its weight.
    offsets : int array
        Those of p and a begin at ``offsets[p * n + a]``.
    later, starts : int arrays
        For each variable the rows that are rare in two later ones, and where they begin.
    """

    codes: NDArray[np.uint16]
    arity: Ints
    alone: NDArray[np.int32]
    rows: NDArray[np.int32]
    within: NDArray[np.int32]
    weights: NDArray[np.int32]
    offsets: Ints
    later: NDArray[np.int32]
    starts: Ints


def ranked(codes: NDArray[np.uint16], arity: Ints, weights: Ints, order: Ints) -> PairRows | None:
    """Return rows with the variables in this order; None if the lists would be too long or weights too large."""
    alone = np.zeros((len(order), int(arity.max(initial=1))), dtype=np.int32)
    if float(weights.sum()) >= 2.0**31:
        return None
    moved = np.empty_like(codes)
    for k, j in enumerate(order.tolist()):
        counts = np.bincount(codes[j], weights, minlength=arity[j]).astype(np.int64)
        levels = np.arange(arity[j])
        modal = int(counts.argmax())
        levels[[modal, -1]] = levels[[-1, modal]]  # its own inverse
        moved[k] = levels[codes[j]]
        alone[k, : arity[j]] = counts[levels]
    sizes = arity[order]
    rare = (moved != (sizes - 1)[:, np.newaxis]).astype(np.float32)
    if max(rare.size, np.triu(rare @ rare.T, 1).sum()) > MOST_ENTRIES:
        return None
    later = [np.flatnonzero(rare[k + 1 :].sum(axis=0) > 1).astype(np.int32) for k in range(len(order))]
    starts = np.cumsum([0, *map(len, later)])
    rows, within, kept, offsets = pair_rows(moved, sizes, weights)
    return PairRows(moved, sizes, alone, rows, within, kept, offsets, np.concatenate(later), starts)


@njit(cache=True, nogil=True)
def pair_rows(codes, arity, weights):
    """Return the rows that are rare in two variables: see ``PairRows``."""
    n, n_rows = codes.shape
    offsets = np.zeros(n * n + 1, dtype=np.int64)
    for fill in range(2):
        if fill == 0:
            rows = np.empty(0, dtype=np.int32)
            within, kept = rows.copy(), rows.copy()
        else:
            rows = np.empty(offsets[n * n], dtype=np.int32)
            within, kept = np.empty_like(rows), np.empty_like(rows)
        at = 0
        for p in range(n):
            for a in range(n):
                for r in range(n_rows if p < a else 0):
                    if codes[p, r] < arity[p] - 1 and codes[a, r] < arity[a] - 1:
                        if fill:
                            rows[at] = r
                            within[at] = np.int64(codes[p, r]) * (arity[a] - 1) + codes[a, r]
                            kept[at] = weights[r]
                        at += 1
                offsets[p * n + a + 1] = at
    return rows, within, kept, offsets


@njit(cache=True, nogil=True)
def _count(data, p, a, labels, n_cells, rare):
    """Add up the weights of the rows that are rare in two variables, in each cell of the variables before."""
    pair = p * data.codes.shape[0] + a
    first, last = data.offsets[pair], data.offsets[pair + 1]
    rows, within, weights = data.rows, data.within, data.weights
    part = (last - first) // STREAMS
    for k in range(first, first + part):
        k1, k2, k3 = k + part, k + 2 * part, k + 3 * part
        rare[within[k] * n_cells + labels[rows[k]]] += weights[k]
        rare[within[k1] * n_cells + labels[rows[k1]]] += weights[k1]
        rare[within[k2] * n_cells + labels[rows[k2]]] += weights[k2]
        rare[within[k3] * n_cells + labels[rows[k3]]] += weights[k3]
    for k in range(first + STREAMS * part, last):
        rare[within[k] * n_cells + labels[rows[k]]] += weights[k]


@njit(cache=True, nogil=True)
def _count_below(data, p, a, labels, code, before, number, n_cells, rare):
    """Do the same one variable below the labels: ``number[code * before + label]`` is the cell of a row."""
    pair = p * data.codes.shape[0] + a
    first, last = data.offsets[pair], data.offsets[pair + 1]
    rows, within, weights = data.rows, data.within, data.weights
    part = (last - first) // STREAMS
    for k in range(first, first + part):
        for q in range(k, k + STREAMS * part, part):
            r = rows[q]
            rare[within[q] * n_cells + number[code[r] * before + labels[r]]] += weights[q]
    for q in range(first + STREAMS * part, last):
        r = rows[q]
        rare[within[q] * n_cells + number[code[r] * before + labels[r]]] += weights[q]


@njit(cache=True, nogil=True)
def _fill(mp, ma, n_cells, by_p, by_a, rare, out):
    """Fill in T(P + p + a), with cells of P side by side, from T(P + p), T(P + a) and the rare rows; clear these."""
    for x in range(mp):
        here = x * (ma + 1) * n_cells
        for c in range(n_cells):
            out[here + ma * n_cells + c] = by_p[x * n_cells + c]
        for y in range(ma):
            for c in range(n_cells):
                count = rare[(x * ma + y) * n_cells + c]
                out[here + y * n_cells + c] = count
                out[here + ma * n_cells + c] -= count
    here = mp * (ma + 1) * n_cells
    for y in range(ma + 1):
        for c in range(n_cells):
            out[here + y * n_cells + c] = by_a[y * n_cells + c]
        for x in range(mp):
            for c in range(n_cells):
                out[here + y * n_cells + c] -= out[(x * (ma + 1) + y) * n_cells + c]
    for k in range(mp * ma * n_cells):
        rare[k] = 0


@njit(cache=True, nogil=True)
def _add_up(counts, number, clogc, ess, prior):
    """Return the joint that counts give, and how many are positive."""
    sums = np.zeros(4)  # an addition need not wait for the one before
    found = np.int64(0)
    whole = number - number % 4
    for k in range(0, whole, 4):
        sums[0] += term(counts[k], clogc, ess, prior)
        sums[1] += term(counts[k + 1], clogc, ess, prior)
        sums[2] += term(counts[k + 2], clogc, ess, prior)
        sums[3] += term(counts[k + 3], clogc, ess, prior)
    for k in range(whole, number):
        sums[0] += term(counts[k], clogc, ess, prior)
    for k in range(number):
        found += np.int64(counts[k] > 0)
    return sums[0] + sums[1] + (sums[2] + sums[3]), found


@njit(cache=True, nogil=True)
def joints_from_pairs(data, clogc, ess, sets, products, joint, occurring):
    """Fill ``joint[k]`` and the number of configurations that occur for every set ``sets[k]``.

    The sets are rows of at least two variables in increasing order, with ``products`` of arities of at most
    ``MOST_CELLS``. Neighbours should share their first variables.
    """
    codes, arity = data.codes, data.arity
    n, n_rows = codes.shape
    size = sets.shape[1]
    depth = size - 2
    room = np.int64(products.max())
    labels = np.zeros((depth + 1, n_rows), dtype=np.int32)  # labels[d]: the cell of each row by the first d variables
    tables = np.empty((depth + 1, n, room), dtype=np.int32)  # tables[d, a]: counts by the first d variables and a
    made = np.zeros((depth + 1, n), dtype=np.int64)  # for which first d variables, by their number
    latest = np.ones(depth + 1, dtype=np.int64)
    places = np.zeros((depth + 1, room), dtype=np.int32)  # of the cells that occur, among those of d - 1 variables
    n_cells = np.ones(depth + 1, dtype=np.int64)
    rare = np.zeros(room, dtype=np.int32)
    fine = np.empty(room, dtype=np.int32)
    number = np.empty(room, dtype=np.int32)
    path = np.full(size, -1, dtype=np.int64)
    for k in range(sets.shape[0]):
        members = sets[k]
        common = 0
        while common < depth and path[common] == members[common]:
            common += 1
        for d in range(common, size):
            # the tables of the first variables (at the end all but two) and the next one
            a = members[d]
            for above in range(min(d, depth) + 1):
                if made[above, a] == latest[above]:
                    continue
                made[above, a] = latest[above]
                own = tables[above, a]
                if above == 0:
                    for x in range(arity[a]):
                        own[x] = data.alone[a, x]
                    continue
                p, before, count = path[above - 1], n_cells[above - 1], n_cells[above]
                _count(data, p, a, labels[above - 1], before, rare)
                _fill(arity[p] - 1, arity[a] - 1, before, tables[above - 1, p], tables[above - 1, a], rare, fine)
                for y in range(arity[a]):
                    for t in range(count):
                        x, c = places[above, t] // before, places[above, t] % before
                        own[y * count + t] = fine[(x * arity[a] + y) * before + c]
            if d >= depth:
                continue
            # the cells of one more variable
            path[d] = a
            latest[d + 1] += 1
            whole, code, before = tables[d, a], codes[a], np.int32(n_cells[d])
            found = np.int64(0)
            for place in range(before * arity[a]):
                places[d + 1, found] = place
                number[place] = found
                found += np.int64(whole[place] > 0)
            n_cells[d + 1] = found
            if d == depth - 1:  # only the last two variables are counted below
                continue
            source, target = labels[d], labels[d + 1]
            for r in data.later[data.starts[a] : data.starts[a + 1]]:
                target[r] = number[code[r] * before + source[r]]
        p, a = members[depth], members[depth + 1]
        count = n_cells[depth]
        if depth:
            last = path[depth - 1]
            _count_below(data, p, a, labels[depth - 1], codes[last], n_cells[depth - 1], number, count, rare)
        else:
            _count(data, p, a, labels[0], count, rare)
        _fill(arity[p] - 1, arity[a] - 1, count, tables[depth, p], tables[depth, a], rare, fine)
        joint[k], occurring[k] = _add_up(fine, count * arity[p] * arity[a], clogc, ess, ess / products[k])
