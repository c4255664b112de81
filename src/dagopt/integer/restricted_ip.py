"""The restricted master IP: the best DAG over the families of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.errors import unknown_name
from dagopt.families.families import Families
from dagopt.integer.recursion import pool_bytes, solve_pool
from dagopt.memory import available_bytes
from dagopt.progress import NoProgress
from dagopt.workers import Stopped, Workers

__all__ = ["INTEGER_SOLVERS", "IntegerSolution", "IntegerSolver", "SubsetRecursion", "make_integer_solver"]

Cluster = frozenset[int]

MOST_RECURSION_NODES = 25  # up to this many nodes the subset recursion is the default: a second or two, 270 MB
SHARE_OF_FREE_MEMORY = 0.5  # the rest is for the LP and its rows


@dataclass(frozen=True, eq=False)
class IntegerSolution:
    """What an integer solver found.

    Attributes
    ----------
    adjacency : int8 array or None
        The best DAG found over the pool; None if there is none yet.
    score : float
        Its score by the pool's families; minus infinity if there is none.
    bound : float
        No DAG over the pool scores higher.
    clusters : tuple of frozenset of int
        Cluster constraints that were violated during the solve: rows for the LP.
    status : {"optimal", "limit", "time_limit", "interrupted"}
        ``optimal`` only if proven over the pool; ``limit`` if the phase's own limit came first.
    """

    adjacency: NDArray[np.int8] | None
    score: float
    bound: float
    clusters: tuple[Cluster, ...]
    status: Literal["optimal", "limit", "time_limit", "interrupted"]


class IntegerSolver(Protocol):
    """Solves the restricted master IP."""

    name: str

    def solve(
        self, families: Families, clusters: list[Cluster], incumbent: NDArray[np.int8] | None, deadline: Deadline
    ) -> IntegerSolution:
        """Return the best DAG over families, given clusters known to cut and a DAG to start from."""


class SubsetRecursion:
    """The subset recursion over the pool: no branching, no LP, 8 * 2^n bytes."""

    name = "dp"

    def solve(
        self, families: Families, clusters: list[Cluster], incumbent: NDArray[np.int8] | None, deadline: Deadline
    ) -> IntegerSolution:
        """Return the best DAG over families; clusters and incumbent are not needed."""
        try:
            with Workers(deadline, NoProgress()) as workers:
                adjacency, score = solve_pool(families.without_dominated(), workers)
        except Stopped:
            assert deadline.reason is not None
            score = -np.inf if incumbent is None else families.total(families.exactly(incumbent))
            return IntegerSolution(incumbent, score, np.inf, (), deadline.reason)
        return IntegerSolution(adjacency, score, score, (), "optimal")


INTEGER_SOLVERS = ("auto", "dp", "scip", "gurobi")


def make_integer_solver(name: str, n_nodes: int) -> IntegerSolver:
    """Return an integer solver by name; ``auto`` takes the subset recursion while it fits, otherwise SCIP."""
    if name == "auto":
        fits = pool_bytes(n_nodes) <= SHARE_OF_FREE_MEMORY * available_bytes()
        name = "dp" if n_nodes <= MOST_RECURSION_NODES and fits else "scip"
    if name == "dp":
        return SubsetRecursion()
    if name == "scip":
        from dagopt.integer.scip import ScipBranchAndCut

        return ScipBranchAndCut()
    if name == "gurobi":
        from dagopt.integer.gurobi import GurobiBranchAndCut

        return GurobiBranchAndCut()
    raise unknown_name("integer solver", name, INTEGER_SOLVERS)
