"""What a node costs after others in an order: the score as the search from the end of the order needs it.

Node i is a block of columns (``scores/block_likelihood.py``), and its local score is, up to a constant,

    s_i(T) = h_i l_i(T) - Σ over T of a_ij,      l_i(T) = -log det var(i | T) by the matrix of node i.

With h l°_i(P) the likelihood by one matrix that all nodes share, Σ h l°_i(P_i) over the nodes and their predecessors is
the same number L in every order. So a DAG with parents J_i inside the predecessors P_i scores L - Σ [h l°_i(P_i) -
s_i(J_i)], up to a constant, and node i after the nodes P costs

    c_i(P) = h l°_i(P) - best_i(P),      best_i(P) = max over T ⊆ P of s_i(T).

If all nodes have one matrix and one h, that matrix is the shared one, and no cost is negative. With one matrix per node
(interventions) the shared one is that of all rows. Costs may then be negative, which the search allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dagopt.arrays import Dag, Floats, Ints
from dagopt.scores.base import Score
from dagopt.scores.block_likelihood import NodeLikelihood, rounding_margin

__all__ = ["OrderCosts", "order_costs"]

LINEAR = 1e-12  # share of the cost by which steps may differ


@dataclass(frozen=True, eq=False)
class OrderCosts:
    """The parts of the costs.

    Attributes
    ----------
    nodes : tuple of NodeLikelihood
        The likelihood of each node.
    parents : array of shape (n, n)
        ``parents[i, j]``: what the parent j costs node i; the diagonal is 0.
    matrix, starts, half : array, int array, float
        The shared matrix, the columns of each node in it, and h.
    """

    nodes: tuple[NodeLikelihood, ...]
    parents: Floats
    matrix: Floats
    starts: Ints
    half: float

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return len(self.nodes)

    @cached_property
    def is_lack(self) -> bool:
        """Whether all nodes have the shared matrix, so that a cost is what parents lack, and not negative."""
        return all(node.matrix is self.matrix and node.half == self.half for node in self.nodes)

    @cached_property
    def inverses(self) -> tuple[Floats, ...]:
        """The inverse of the matrix of each node."""
        made: dict[int, Floats] = {}
        for node in self.nodes:
            if id(node.matrix) not in made:
                made[id(node.matrix)] = np.ascontiguousarray(np.linalg.inv(node.matrix))
        return tuple(made[id(node.matrix)] for node in self.nodes)

    @cached_property
    def unit(self) -> float:
        """What a parent usually costs; 1 if that is nothing."""
        others = ~np.eye(self.n_nodes, dtype=bool)
        return float(np.median(self.parents[others])) or 1.0

    @cached_property
    def rounding(self) -> float:
        """A bound on the rounding of the cost of an order and of its bound."""
        margin = max(node.margin for node in self.nodes)
        if not self.is_lack:
            margin = max(margin, rounding_margin(self.matrix, 2 * self.half))
        return 4 * self.n_nodes * margin

    def of_dag(self, dag: Dag) -> float:
        """Return what an order of a DAG costs, at least: L less its score."""
        total = -self.half * float(np.linalg.slogdet(self.matrix)[1])
        for i, node in enumerate(self.nodes):
            chosen = np.flatnonzero(dag[:, i])
            own = np.arange(node.starts[i], node.starts[i + 1])
            given = np.concatenate([own[:0], *(np.arange(node.starts[j], node.starts[j + 1]) for j in chosen)])
            both = [
                float(np.linalg.slogdet(node.matrix[np.ix_(k, k)])[1]) for k in (given, np.concatenate([given, own]))
            ]
            total += node.half * (both[1] - both[0]) + float(self.parents[i, chosen].sum())
        return total


def order_costs(score: Score) -> OrderCosts | None:
    """Return the costs of a score; None if it is not a likelihood of blocks less a cost for each parent."""
    form = score.block_likelihood
    if form is None or not all(_is_linear(node) for node in form.nodes):
        return None
    steps = np.array([node.costs[1] - node.costs[0] for node in form.nodes])
    parents = steps[:, None] + np.array([node.edges for node in form.nodes])
    np.fill_diagonal(parents, 0.0)
    if (parents < 0.0).any():
        return None
    first = form.nodes[0]
    if form.has_one_matrix and all(node.half == first.half for node in form.nodes):
        matrix, starts, half = first.matrix, first.starts, first.half
    else:
        matrix, starts, half = form.matrix, form.starts, 0.5 * form.n_samples
    return OrderCosts(form.nodes, parents, matrix, starts, half)


def _is_linear(node: NodeLikelihood) -> bool:
    """Say whether a node's score is a likelihood less a cost for each parent, and every node has columns."""
    if node.volume != 0.0 or len(node.costs) < 2 or not np.isfinite(node.costs).all():
        return False
    steps = np.diff(node.costs)
    return bool(np.ptp(steps) <= LINEAR * abs(node.costs[-1]) and (np.diff(node.starts) > 0).all())
