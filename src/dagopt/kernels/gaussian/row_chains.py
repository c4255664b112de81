"""Log-determinants of many matrices along one order: what rows add to both parts of a reduced cost.

The row of a matrix M and a set C with multiplier w ≥ 0 adds w (h(J) - h(J + i)) to the reduced cost of node i, with
h(S) = ½ log det M on S ∩ C. Both h(J) and h(J + i) are submodular in J. With M replaced by the identity outside C,
h(S) = ½ log det M_SS, so one Cholesky factorisation gives h along an order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.store import njit

FLOOR = 1e-12  # of a variance given others, as a share of its own: a smaller one is rounding error


class RowTerms(NamedTuple):
    """Rows of log-determinants with multipliers.

    Attributes
    ----------
    matrices : array of shape (rows, n_nodes, n_nodes)
        M_r with unit diagonal, zero between C_r and other nodes.
    weights : array
        w_r.
    """

    matrices: NDArray[np.floating[Any]]
    weights: NDArray[np.floating[Any]]


def no_terms(n_nodes: int) -> RowTerms:
    """Return no rows."""
    return RowTerms(np.empty((0, n_nodes, n_nodes)), np.empty(0))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def append_to_rows(terms, factor, chosen, k):
    """Add ``chosen[k]`` to the Cholesky factors of all rows; return the weighted sum of h by which they grow.

    The diagonals of the factors hold inverses.
    """
    matrices, weights = terms
    total = 0.0
    for r in range(weights.shape[0]):
        own = factor[r, k]
        line = matrices[r, chosen[k]]
        left = 1.0
        for c in range(k):
            other = factor[r, c]
            value = line[chosen[c]]
            for e in range(c):
                value -= own[e] * other[e]
            value *= other[c]
            own[c] = value
            left -= value * value
        left = max(left, FLOOR)
        own[k] = 1.0 / math.sqrt(left)
        total += 0.5 * weights[r] * math.log(left)
    return total


@njit(cache=True, nogil=True)
def row_chain(terms, order):
    """Return Σ w_r h_r of the empty set, the first of ``order``, the first two, and so on."""
    size = order.shape[0]
    factor = np.empty((terms.weights.shape[0], size, size))
    out = np.zeros(size + 1)
    for k in range(size):
        out[k + 1] = out[k] + append_to_rows(terms, factor, order, k)
    return out
