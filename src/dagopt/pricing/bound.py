"""A bound on DAG scores from any duals of the restricted master LP and exact prices.

For duals λ_i and λ_C >= 0 no DAG over the priced parent sets scores more than

    Σ_i λ_i + Σ_C λ_C (|C| - 1) - Σ_i min(0, min_J z_i(J; λ)),

the Lagrangian bound: weak duality, with what the best family of each node could still gain.
"""

from __future__ import annotations

import numpy as np

from dagopt.deadline import Deadline
from dagopt.master.pool import Family
from dagopt.master.relaxation import MasterSolution, RestrictedMaster
from dagopt.pricing.base import Pricer

__all__ = ["lagrangian_bound"]


def lagrangian_bound(
    pricer: Pricer, master: RestrictedMaster, lp: MasterSolution, deadline: Deadline
) -> tuple[float, list[Family]]:
    """Return the bound, and the families with negative reduced cost that came up.

    Parameters
    ----------
    pricer : Pricer
        One whose prices are exact; infinity is the bound otherwise.
    master : RestrictedMaster
        Where the clusters are.
    lp : MasterSolution
        The duals.
    deadline : Deadline
        The clock; pricing is not interrupted by it, as every node counts.
    """
    nothing = np.zeros(0)
    prices = [pricer.price(node, master, lp, nothing, deadline) for node in range(master.n_nodes)]
    if not all(priced.exact for priced in prices):
        return np.inf, []
    most = np.array([len(cluster) - 1.0 for cluster in master.clusters])
    value = float(lp.node_duals.sum() + lp.cluster_duals @ most)
    gains = sum(min(priced.reduced_cost, 0.0) for priced in prices)
    return value - gains, [family for priced in prices for family in priced.families]
