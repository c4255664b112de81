r"""The expected number of edges that a penalty admits by chance.

Between two independent columns, twice the gain in log-likelihood of an edge is approximately chi-squared with f degrees
of freedom, the number of parameters of the edge. The edge is added if this is above twice the penalty, so that
without any true edge

.. math:: \sum_{i < j} P(\chi^2_{f_{ij}} > 2 (\Lambda f_{ij} + \epsilon))

pairs are joined by chance; with one parameter per edge, n (n - 1) / 2 times one probability. :math:`\Lambda` is the
cost of a parameter and :math:`\epsilon` the additional cost of an edge.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dagopt.data.findings import Finding
from dagopt.data.lags import Lags

__all__ = ["GAMMA", "chance_edges", "chance_finding", "ebic_edge_cost"]

GAMMA = 0.5  # the γ of EBIC


def ebic_edge_cost(n_columns: int, gamma: float = GAMMA) -> float:
    """Return 2 γ log n, the cost of an edge under EBIC in addition to its parameters (Foygel and Drton 2010)."""
    return 2 * gamma * math.log(n_columns)


def chance_edges(
    sizes: NDArray[np.int64], parameter_cost: float, edge_cost: float = 0.0, lags: Lags | None = None
) -> float:
    """Return the expected number of pairs that a penalty joins by chance.

    Parameters
    ----------
    sizes : int array of shape (n,)
        The numbers that represent each column: 1 for a continuous column, its levels minus one for a discrete one. The
        number of parameters of an edge is the product of two sizes.
    parameter_cost, edge_cost : float
        The cost of a parameter, and the additional cost of an edge.
    lags : Lags, optional
        How columns are laid out in time: columns of the past are not joined with each other.
    """
    if lags is not None:
        n = lags.n_series
        never = [sizes[n:]] if lags.within else [sizes[n:], sizes[:n]]
        everywhere = chance_edges(sizes, parameter_cost, edge_cost)
        return everywhere - sum(chance_edges(some, parameter_cost, edge_cost) for some in never)
    kinds, counts = np.unique(sizes, return_counts=True)
    total = 0.0
    for a, (size, count) in enumerate(zip(kinds, counts, strict=True)):
        for other, others in zip(kinds[a:], counts[a:], strict=True):
            pairs = count * (count - 1) / 2 if other == size else count * others
            freedom = int(size) * int(other)
            if freedom and pairs:
                total += float(pairs) * chi_squared_tail(freedom, 2 * (parameter_cost * freedom + edge_cost))
    return total


def chi_squared_tail(freedom: int, value: float) -> float:
    r"""Return the probability that a chi-squared variable with whole degrees of freedom exceeds a value.

    With h half the value and f the degrees of freedom it is :math:`\sum_j e^{-h} h^j / \Gamma(j + 1)` over
    j = f/2 - 1, f/2 - 2, ... down to 0 or 1/2, plus :math:`\operatorname{erfc} \sqrt h` for odd f. This module needs it
    before every search, and loading scipy for it would take longer than the search on a small table.
    """
    half = value / 2
    if half <= 0:
        return 1.0
    powers = np.arange(freedom % 2 / 2, freedom / 2, 1.0).tolist()
    terms = [math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers]
    return math.fsum(terms) + (math.erfc(math.sqrt(half)) if freedom % 2 else 0.0)


def chance_finding(
    names: tuple[str, ...],
    sizes: NDArray[np.int64],
    parameter_cost: float,
    edge_cost: float = 0.0,
    lags: Lags | None = None,
    *,
    is_ebic: bool = False,
) -> list[Finding]:
    """Find out whether more than one edge is expected by chance; the remedy is EBIC, unless that is the score."""
    expected = chance_edges(sizes, parameter_cost, edge_cost, lags)
    if expected <= 1:
        return []
    fewer = chance_edges(sizes, parameter_cost, edge_cost + ebic_edge_cost(len(names)), lags)
    finding = Finding(
        "warning",
        "chance-edges",
        (),
        f"about {expected:.0f} edges between {len(names)} columns are expected by chance under this penalty",
        "that many edges may join columns that are unrelated",
        "choose fewer columns=, or a penalty above that of EBIC as score="
        if is_ebic
        else f"use score='ebic', for which about {fewer:.2g} are expected",
    )
    return [finding]
