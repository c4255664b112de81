"""Counts of the configurations of sets of discrete variables, over distinct rows with weights.

A set of variables splits the rows into cells, one per configuration. Adding a variable refines the cells:
``cell * arity + code``. The labels are renumbered only when the range of possible labels would outgrow the
rows, so a set costs one pass over the distinct rows per variable, whatever the product of the arities.

From the counts every score needs one sum over the cells, ``joint``:

* ``ess == 0``: sum of c log c, so that differences of joints are maximised log-likelihoods;
* ``ess > 0``: sum of lgamma(c + ess / q) - lgamma(ess / q), q the product of the arities, so that differences
  of joints are the logarithms of BDeu's Dirichlet-multinomial likelihoods. The two are never subtracted: both are of
  size ess log ess, and their difference of size c log ess would lose its digits (``log_rising``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.plain import plain
from dagopt.kernels.store import njit

DENSE_CELLS = 1 << 14  # labels are renumbered only beyond this range or twice the rows
FEW_CELLS = 1 << 10  # so few that neighbouring rows often fall in one cell
STEPS_PER_SET = 200  # of ``joints_arrays``, in steps of plain Python
LARGEST_PRODUCT = 1e290  # of arities, so that ess / q stays a number
LEAST_STIRLING = 10.0  # from here on six terms of Stirling's series have an error below 7e-16


class Counts(NamedTuple):
    """Distinct rows with weights, and the kind of joint that is computed from their counts.

    ``codes[j, r]`` is the level of column j in distinct row r, ``weights[r]`` how often the row occurs, ``clogc[c]`` is
    c log c (not used if ``ess > 0``).
    """

    codes: NDArray[np.uint16]
    arity: NDArray[np.int64]
    weights: NDArray[np.int64]
    clogc: NDArray[np.float64]
    ess: float


class CountForm(NamedTuple):
    """A score made of counts, and the costs of one parameter and of one edge."""

    counts: Counts
    rate: float
    edge: float


@njit(cache=True, nogil=True)
def renumber(cells, span):
    """Renumber the labels in ``range(span)`` as 0, 1, ... in place; return how many there are."""
    rows = cells.shape[0]
    found = 0
    if span <= 16 * rows + DENSE_CELLS:
        label = np.full(span, -1, dtype=np.int32)
        for r in range(rows):
            if label[cells[r]] < 0:
                label[cells[r]] = found
                found += 1
            cells[r] = label[cells[r]]
        return found
    size = 16  # a hash table with open addressing
    while size < 2 * rows:
        size *= 2
    place = np.full(size, -1, dtype=np.int64)
    label = np.empty(size, dtype=np.int32)
    for r in range(rows):
        at = ((cells[r] * np.int64(-7046029254386353131)) >> np.int64(20)) & (size - 1)
        while place[at] >= 0 and place[at] != cells[r]:
            at = (at + 1) & (size - 1)
        if place[at] < 0:
            place[at] = cells[r]
            label[at] = found
            found += 1
        cells[r] = label[at]
    return found


@njit(cache=True, nogil=True)
def refine(cells, span, code, arity):
    """Split the cells by one more variable in place; return the new range of labels."""
    rows = cells.shape[0]
    if span * arity > max(DENSE_CELLS, 2 * rows):
        span = renumber(cells, span)
    for r in range(rows):
        cells[r] = cells[r] * arity + code[r]
    return span * arity


@njit(cache=True, nogil=True)
def _stirling(x):
    """Return lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 for x of at least ``LEAST_STIRLING``."""
    y = 1.0 / x
    z = y * y
    return y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360))))))


@njit(cache=True, nogil=True)
def log_rising(count, prior):
    """Return lgamma(count + prior) - lgamma(prior), the logarithm of prior (prior + 1) ... (prior + count - 1).

    The first factors are multiplied. From ``LEAST_STIRLING`` on, the difference of Stirling's series at both ends is
    taken term by term, so that no two large numbers are subtracted.
    """
    product = 1.0
    while count > 0 and prior < LEAST_STIRLING:
        product *= prior
        prior += 1.0
        count -= 1
    total = math.log(product) if product != 1.0 else 0.0
    if count > 0:
        end = prior + count
        total += count * math.log(end) + ((prior - 0.5) * math.log1p(count / prior) - count)
        total += _stirling(end) - _stirling(prior)
    return total


@njit(cache=True, nogil=True)
def term(count, clogc, ess, prior):
    """Return what one cell adds to ``joint``."""
    if ess == 0.0:
        return clogc[count]
    return log_rising(count, prior) if count > 0 else 0.0


@njit(cache=True, nogil=True)
def _counts(cells, span, weights):
    """Return the weight of every label; few labels use four tables, so that no addition waits for the last one."""
    rows = cells.shape[0]
    if span > FEW_CELLS:
        spread = np.zeros(span, dtype=np.int64)
        for r in range(rows):
            spread[cells[r]] += weights[r]
        return spread
    counts = np.zeros((4, span), dtype=np.int64)
    for r in range(0, rows - 3, 4):
        counts[0, cells[r]] += weights[r]
        counts[1, cells[r + 1]] += weights[r + 1]
        counts[2, cells[r + 2]] += weights[r + 2]
        counts[3, cells[r + 3]] += weights[r + 3]
    for r in range(rows - rows % 4, rows):
        counts[0, cells[r]] += weights[r]
    for k in range(span):
        counts[0, k] += counts[1, k] + counts[2, k] + counts[3, k]
    return counts[0]


@njit(cache=True, nogil=True)
def cell_sum(cells, span, weights, clogc, ess, product):
    """Return the sum over the cells that makes up ``joint`` (see the module docstring)."""
    if span > 4 * cells.shape[0] + DENSE_CELLS:
        span = renumber(cells, span)
    counts = _counts(cells, span, weights)
    prior = ess / min(product, LARGEST_PRODUCT)
    total = 0.0
    for k in range(span):
        total += term(counts[k], clogc, ess, prior)
    return total


@njit(cache=True, nogil=True)
def two_sums(cells, span, arity, weights, clogc, ess, product):
    """Return the joints of a set and of the set before its last refinement, by a variable of this arity.

    Labels are ``coarse * arity + code``, so the coarse counts are sums of ``arity`` neighbours.
    """
    product = min(product, LARGEST_PRODUCT)
    if span > 4 * cells.shape[0] + DENSE_CELLS:
        other = np.empty(cells.shape[0], dtype=np.int64)
        for r in range(cells.shape[0]):
            other[r] = cells[r]
        fine = cell_sum(other, span, weights, clogc, ess, product)
        for r in range(cells.shape[0]):
            other[r] = cells[r] // arity
        return cell_sum(other, span // arity, weights, clogc, ess, product / arity), fine
    prior = ess / product
    coarse_prior = prior * arity
    counts = _counts(cells, span, weights)
    coarse = 0.0
    fine = 0.0
    for k in range(0, span, arity):
        together = np.int64(0)
        for x in range(k, k + arity):
            together += counts[x]
            fine += term(counts[x], clogc, ess, prior)
        coarse += term(together, clogc, ess, coarse_prior)
    return coarse, fine


@njit(cache=True, nogil=True)
def joint_chain(counts, order, out):
    """Fill ``out[k]`` with the joint of the first ``k`` variables of ``order``, k = 0 .. len(order)."""
    codes, arity, weights, clogc, ess = counts
    cells = np.zeros(codes.shape[1], dtype=np.int64)
    span = np.int64(1)  # a number of one type: a literal would be compiled apart
    product = 1.0
    out[0] = cell_sum(cells, span, weights, clogc, ess, product)
    for k in range(order.shape[0]):
        span = refine(cells, span, codes[order[k]], arity[order[k]])
        product *= arity[order[k]]
        out[k + 1] = cell_sum(cells, span, weights, clogc, ess, product)


@njit(cache=True, nogil=True)
def _cells(codes, arity, parents, cells):
    """Label the rows by the configuration of ``parents``; return the range of labels and the product."""
    cells[:] = 0
    span = np.int64(1)
    product = 1.0
    for j in parents:
        span = refine(cells, span, codes[j], arity[j])
        product *= arity[j]
    return span, product


@njit(cache=True, nogil=True)
def joints(counts, node, parents, cells):
    """Return the joints of ``J`` and ``J + i`` and the product of the arities; ``cells`` is a buffer for the labels."""
    codes, arity, weights, clogc, ess = counts
    span, product = _cells(codes, arity, parents, cells)
    span = refine(cells, span, codes[node], arity[node])
    without, together = two_sums(cells, span, arity[node], weights, clogc, ess, product * arity[node])
    return without, together, product


@njit(cache=True, nogil=True)
def joints_many(counts, nodes, flat, offsets, without, together, product):
    """Fill the joints of many sets; set ``k`` is ``flat[offsets[k]:offsets[k + 1]]``."""
    cells = np.empty(counts.codes.shape[1], dtype=np.int64)
    for k in range(nodes.shape[0]):
        parents = flat[offsets[k] : offsets[k + 1]]
        without[k], together[k], product[k] = joints(counts, nodes[k], parents, cells)


def joints_arrays(
    counts: Counts, node: int, parents: NDArray[np.int64], cells: NDArray[np.int64]
) -> tuple[float, float, float]:
    """Do what ``joints`` does without a prior, with whole arrays: the same sums in the same order."""
    codes, arity, weights, clogc, _ = counts
    product = 1.0
    span = own = int(arity[node])
    cells[:] = 0
    for j in parents.tolist():
        cells *= arity[j]
        cells += codes[j]
        product *= float(arity[j])
        span *= int(arity[j])
        if span > DENSE_CELLS:  # where the kernel may give the cells other numbers
            slow: tuple[float, float, float] = plain(joints)(counts, node, parents, cells)
            return slow
    cells *= own
    cells += codes[node]
    fine = np.bincount(cells, weights, minlength=span).astype(np.int64)
    coarse = fine.reshape(-1, own).sum(axis=1)
    return float(np.cumsum(clogc[coarse])[-1]), float(np.cumsum(clogc[fine])[-1]), product


def joints_many_arrays(
    counts: Counts,
    nodes: NDArray[np.int64],
    flat: NDArray[np.int64],
    offsets: NDArray[np.int64],
    without: NDArray[np.float64],
    together: NDArray[np.float64],
    product: NDArray[np.float64],
) -> None:
    """Do what ``joints_many`` does, set by set with ``joints_arrays``."""
    cells = np.empty(counts.codes.shape[1], dtype=np.int64)
    for k, node in enumerate(nodes.tolist()):
        parents = flat[offsets[k] : offsets[k + 1]]
        without[k], together[k], product[k] = joints_arrays(counts, node, parents, cells)


@njit(cache=True, nogil=True)
def occurring_many(codes, arity, flat, offsets, out):
    """Fill ``out[k]`` with the number of configurations of set ``k`` that occur in the rows."""
    cells = np.empty(codes.shape[1], dtype=np.int64)
    for k in range(out.shape[0]):
        span, _ = _cells(codes, arity, flat[offsets[k] : offsets[k + 1]], cells)
        out[k] = renumber(cells, span)


@njit(cache=True, nogil=True)
def chain(counts, node, order, without, together):
    """Fill entry ``k`` with the joints of the first ``k`` variables of ``order``, without and with ``i``."""
    codes, arity, weights, clogc, ess = counts
    cells = np.zeros(codes.shape[1], dtype=np.int64)
    split = np.empty(codes.shape[1], dtype=np.int64)
    span = np.int64(1)
    product = 1.0
    for k in range(order.shape[0] + 1):
        if k > 0:
            span = refine(cells, span, codes[order[k - 1]], arity[order[k - 1]])
            product *= arity[order[k - 1]]
        for r in range(cells.shape[0]):  # a loop, since assigning arrays whole takes seconds to compile
            split[r] = cells[r]
        finer = refine(split, span, codes[node], arity[node])
        larger = product * arity[node]
        without[k], together[k] = two_sums(split, finer, arity[node], weights, clogc, ess, larger)


@njit(cache=True, nogil=True)
def additions(counts, node, parents, without, together):
    """Fill entry ``j`` with the joints of ``J + j`` for every variable outside ``J + i``, else NaN."""
    codes, arity, weights, clogc, ess = counts
    n = codes.shape[0]
    base = np.empty(codes.shape[1], dtype=np.int64)
    split = np.empty(codes.shape[1], dtype=np.int64)
    span, product = _cells(codes, arity, parents, base)
    span = renumber(base, span)
    outside = np.ones(n, dtype=np.bool_)
    outside[node] = False
    for k in range(parents.shape[0]):
        outside[parents[k]] = False
    for j in range(n):
        if not outside[j]:
            without[j] = np.nan
            together[j] = np.nan
            continue
        for r in range(base.shape[0]):
            split[r] = base[r]
        finer = refine(split, span, codes[j], arity[j])
        finer = refine(split, finer, codes[node], arity[node])
        larger = product * arity[j] * arity[node]
        without[j], together[j] = two_sums(split, finer, arity[node], weights, clogc, ess, larger)


@njit(cache=True, nogil=True)
def _joint_tree(counts, variables, base, first_span, first_product, out):
    """Fill ``out[mask]`` with the joint of the cells ``base`` split by the variables in the bits of ``mask``.

    Counting ``mask`` upwards walks a tree of refinements from the highest bit down, so that each set needs
    only one refinement of a set that is already stored.
    """
    codes, arity, weights, clogc, ess = counts
    m = variables.shape[0]
    cells = np.zeros((m + 1, codes.shape[1]), dtype=np.int64)
    for r in range(base.shape[0]):
        cells[m, r] = base[r]
    source = np.full(m + 1, m, dtype=np.int64)  # which cells[] holds the split of each level
    span = np.full(m + 1, first_span)
    product = np.full(m + 1, first_product)
    out[0] = cell_sum(cells[m], first_span, weights, clogc, ess, first_product)
    for mask in range(1, 1 << m):
        b = 0
        while not (mask >> b) & 1:
            b += 1
        j = variables[b]
        for r in range(base.shape[0]):
            cells[b, r] = cells[source[b + 1], r]
        finer = refine(cells[b], span[b + 1], codes[j], arity[j])
        larger = product[b + 1] * arity[j]
        for level in range(b + 1):
            source[level] = b
            span[level] = finer
            product[level] = larger
        out[mask] = cell_sum(cells[b], finer, weights, clogc, ess, larger)


@njit(cache=True, nogil=True)
def all_joints(counts, variables, out):
    """Fill ``out[mask]`` with the joint of the variables in the bits of ``mask``, for all 2^m masks."""
    cells = np.zeros(counts.codes.shape[1], dtype=np.int64)
    _joint_tree(counts, variables, cells, np.int64(1), 1.0, out)


@njit(cache=True, nogil=True)
def plain_joint_slice(counts, high, low_bits, out):
    """Do what ``slices.joint_slice`` does, for rows that are too wide to be one number each."""
    codes, arity = counts.codes, counts.arity
    cells = np.zeros(codes.shape[1], dtype=np.int64)
    chosen = np.array([b for b in range(low_bits, arity.shape[0]) if (high >> (b - low_bits)) & 1], dtype=np.int64)
    span, product = _cells(codes, arity, chosen, cells)
    _joint_tree(counts, np.arange(low_bits), cells, np.int64(span), product, out)
