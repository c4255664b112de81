"""What the integer masters on SCIP and Gurobi share: how a solve begins, and how its result is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Ints
from dagopt.deadline import Deadline
from dagopt.errors import DagoptError, InputError
from dagopt.families.families import NO_DAG, Families
from dagopt.integer.restricted_ip import IntegerSolution

__all__ = ["CLUSTERS_PER_ROUND", "Cluster", "LazyClusters", "conclude", "refuse"]

Cluster = frozenset[int]

CLUSTERS_PER_ROUND = 20  # 50 were not faster in tests


class LazyClusters(ABC):
    """Branch and cut with lazy cluster constraints: any number of nodes, one thread, deterministic."""

    name: str

    def solve(
        self, families: Families, clusters: list[Cluster], incumbent: NDArray[np.int8] | None, deadline: Deadline
    ) -> IntegerSolution:
        """Return the best DAG over families, given clusters known to cut and a DAG to start from.

        Parent sets of the incumbent that are not among them are replaced by the best family inside them.
        """
        families = families.without_dominated()
        start = families.start(incumbent)
        if deadline.reason is not None and start is not None:
            score, ceiling = families.total(start), families.ceiling()
            return IntegerSolution(families.adjacency(start), score, ceiling, (), deadline.reason)
        return self.run(families, clusters, start, deadline)

    @abstractmethod
    def run(
        self, families: Families, clusters: list[Cluster], start: Ints | None, deadline: Deadline
    ) -> IntegerSolution:
        """Solve, starting from the families of a DAG if they are given."""


def conclude(
    families: Families,
    best: Ints | None,
    status: Literal["optimal", "time_limit", "interrupted"],
    dual_bound: float,
    clusters: tuple[Cluster, ...],
) -> IntegerSolution:
    """Return the solution; ``dual_bound`` is the solver's, measured from the sum of the best scores of all nodes."""
    adjacency = None if best is None else families.adjacency(best)
    score = bound = families.total(best)
    if status != "optimal":
        ceiling = families.ceiling()
        bound = max(min(ceiling, ceiling + dual_bound), score)
    return IntegerSolution(adjacency, score, bound, clusters, status)


def refuse(solver: str, status: object, infeasible: bool) -> Exception:
    """Return the error for a status that is neither an optimum nor a limit."""
    if infeasible:
        return InputError(NO_DAG)
    return DagoptError(f"expected {solver} to stop at an optimum or a limit but its status is {status!r}")
