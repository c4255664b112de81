"""Row and column generation for Bayesian network structure learning (Algorithm 2 of the paper), and nothing else.

References
----------
.. [1] Yang, Chen (2025). Inexact column generation for Bayesian network structure learning via
   difference-of-submodular optimization. NeurIPS. arXiv:2505.11089
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dagopt.arrays import Bools, Dag, Floats
from dagopt.bits import mask_of
from dagopt.families.families import Family
from dagopt.integer.restricted_ip import IntegerSolution
from dagopt.lp.restricted_master import RestrictedMaster
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.pricer import Priced

__all__ = ["ColumnGeneration", "Observer"]

Cluster = frozenset[int]


class Observer(Protocol):
    """What the loop reports while it runs, in no particular format."""

    def families(self, lp: Point, reduced_costs: Floats) -> None:
        """Report the end of a round of pricing."""

    def rows(self, lp: Point) -> None:
        """Report the end of a round of separation."""

    def integers(self, solution: IntegerSolution, dag: Dag | None) -> None:
        """Report the end of an integer phase, and so of a pass."""


class ColumnGeneration:
    """The loop; its parts are passed to the constructor.

    Parameters
    ----------
    master : RestrictedMaster
        Families, clusters and the LP over them; every node has a family at the start.
    price : callable
        ``price(node, lp)`` returns families with negative reduced cost and the least reduced cost found.
    separate : callable
        ``separate(lp)`` returns violated clusters, if any are left.
    solve_ip : callable
        ``solve_ip(incumbent)`` returns the best DAG over the pool.
    stop : callable
        ``stop()`` is true when the clock, the user or a limit says so.
    observer : Observer
        Told after every step.
    tolerance : float
        A reduced cost below minus this counts as negative: the paper's "until rc >= 0" never ends in floating point.
    after_pass : callable, optional
        Called at the end of every pass except the last, for checkpoints: a run resumed from the last checkpoint
        reaches the end again.
    """

    def __init__(
        self,
        master: RestrictedMaster,
        price: Callable[[int, Point], Priced],
        separate: Callable[[Point], list[Cluster]],
        solve_ip: Callable[[Dag | None], IntegerSolution],
        stop: Callable[[], bool],
        observer: Observer,
        tolerance: float,
        after_pass: Callable[[Dag | None], None] = lambda dag: None,
    ) -> None:
        self.master = master
        self.price = price
        self.separate = separate
        self.solve_ip = solve_ip
        self.stop = stop
        self.observer = observer
        self.tolerance = tolerance
        self.after_pass = after_pass

    def run(self, dag: Dag | None = None) -> tuple[Dag | None, bool]:
        """Run Algorithm 2 of [1]_; margin numbers are its lines.

        Returns
        -------
        dag : int8 array or None
            The last DAG; None if stopped before there was one.
        converged : bool
            Whether the DAG repeated, rather than ``stop`` having ended the loop.
        """
        while not self.stop():  # 3
            previous = dag
            reduced_costs = np.full(self.master.n_nodes, -np.inf)  # 4
            while (reduced_costs < -self.tolerance).any() and not self.stop():  # 5-14: families
                lp = self.master.solve()  # 6
                for i in np.flatnonzero(reduced_costs < -self.tolerance):  # 7-8
                    families, reduced_costs[i], _ = self.price(int(i), lp)  # 9-10
                    if not self.master.add_families(families):  # 11
                        reduced_costs[i] = 0.0  # nothing new: the node is priced out
                    if self.stop():
                        break
                self.observer.families(lp, reduced_costs)
            while not self.stop():  # 15-21: rows
                lp = self.master.solve()  # 16
                if not self.master.add_clusters(self.separate(lp)):  # 17-20
                    break
                self.observer.rows(lp)
            whole = not self.stop()
            solution = self.solve_ip(dag)  # 22: integers
            self.master.add_clusters(list(solution.clusters))
            dag = dag if solution.adjacency is None else solution.adjacency
            self.observer.integers(solution, dag)
            whole = whole and solution.status in (
                "optimal",
                "limit",
            )  # otherwise the DAG may repeat only because the run was cut short
            if whole and previous is not None and dag is not None and np.array_equal(dag, previous):  # 23
                return dag, True
            self.after_pass(dag)
        return dag, False


def first_families(score_of: Callable[[int, list[int]], float], must: Bools) -> list[Family]:
    """Return the families of line 2: the empty set of each node, or its required parents."""
    families = []
    for node in range(len(must)):
        parents = [int(j) for j in np.flatnonzero(must[:, node])]
        families.append(Family(node, mask_of(parents), score_of(node, parents)))
    return families
