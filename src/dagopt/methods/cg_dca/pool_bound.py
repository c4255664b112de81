"""A bound on DAG scores from any duals of the restricted master LP and lower bounds on the reduced costs.

For duals λ_i and λ_C >= 0, and lower bounds r_i on the reduced costs of node i, no DAG over the priced parent sets
scores more than

    Σ_i λ_i + Σ_C λ_C (|C| - 1) - Σ_i r_i,

the Lagrangian bound: weak duality, plus what the best family of each node could still gain.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dagopt.deadline import Deadline
from dagopt.families.families import Family
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.pricer import Pricer

__all__ = ["lagrangian_bound", "priced_bound"]


def lagrangian_bound(lp: Point, least: Iterable[float]) -> float:
    """Return the bound from the duals of an LP solution and one lower bound on the reduced costs per node."""
    return float(lp.node_duals.sum()) + lp.duals.constant - sum(least)


def priced_bound(pricer: Pricer, lp: Point, deadline: Deadline) -> tuple[float, list[Family]]:
    """Price all nodes; return the bound, and the families with negative reduced cost that were found.

    Parameters
    ----------
    pricer : Pricer
        Its prices must be exact; otherwise the bound is infinity.
    lp : Point
        The duals.
    deadline : Deadline
        The clock; it does not interrupt pricing, because every node counts.
    """
    nothing = np.zeros(0)
    prices = [pricer.price(node, lp, nothing, deadline) for node in range(lp.families.n_nodes)]
    if not all(priced.exact for priced in prices):
        return np.inf, []
    bound = lagrangian_bound(lp, (min(priced.reduced_cost, 0.0) for priced in prices))
    return bound, [family for priced in prices for family in priced.families]
