"""The methods by name: where each one is, and one line on what it does.

A method is imported when it is called. To add one, write its module and give it an entry in ``METHODS`` and its name in
``MethodName``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, cast

from dagopt.errors import unknown_name
from dagopt.methods.method_options import Solver
from dagopt.options import Options

__all__ = ["FROM_SCORES", "METHODS", "Method", "MethodName", "method_name"]

MethodName = Literal[
    "auto",
    "exact",
    "order",
    "cg-dca",
    "cg-dca-paper",
    "cg-minlp",
    "gobnilp",
    "branch-and-cut",
    "hc",
    "tabu",
    "pc",
    "mmhc",
]


@dataclass(frozen=True)
class Method:
    """A method by name: where its function is, and one line on what it does.

    The function is made by ``methods.options.solver``: it is called as ``solve(problem, deadline=, progress=,
    **options)`` and returns a ``Answer``; its attribute ``options`` is the dataclass of its options.
    """

    module: str
    function: str
    about: str
    max_parents: int | None = None
    """The limit on the number of parents if none is given."""

    def load(self) -> Solver[Any]:
        """Import the function."""
        found: Solver[Any] = getattr(import_module(f"dagopt.methods.{self.module}"), self.function)
        return found

    def options_type(self) -> type[Options]:
        """Return the dataclass of the method's own options."""
        return self.load().options

    def options(self) -> dict[str, Any]:
        """Return the method's own options with their defaults."""
        return self.options_type().defaults()


METHODS: dict[str, Method] = {
    "auto": Method(
        "auto",
        "solve_auto",
        "exact if it fits, else gobnilp or branch-and-cut if parent sets can be listed, else cg-dca",
    ),
    "exact": Method("exact.exact", "solve_exact", "the proven best DAG, by dynamic programming over subsets"),
    "order": Method("orders.order", "solve_order", "local search over orders of the columns, from many starts"),
    "cg-dca": Method(
        "cg_dca.cg_dca",
        "solve_cg_dca",
        "row and column generation with DCA pricing, combined with order search",
    ),
    "cg-dca-paper": Method("cg_dca.cg_dca", "solve_cg_dca_paper", "CG-DCA as in the paper, without order search"),
    "cg-minlp": Method(
        "cg_dca.cg_minlp",
        "solve_cg_minlp",
        "column generation with exact pricing, for few columns",
    ),
    "gobnilp": Method(
        "branch_and_cut.gobnilp",
        "solve_gobnilp",
        "the integer program of GOBNILP, proven by cutting planes",
        max_parents=3,
    ),
    "branch-and-cut": Method(
        "branch_and_cut.branch_and_cut",
        "solve_branch_and_cut",
        "the proven best DAG of 25 to 100 continuous columns with a sparse graph, by submodular rows and branching",
    ),
    "hc": Method(
        "climbing.hill_climbing",
        "solve_hc",
        "hill climbing over additions, deletions and reversals",
    ),
    "tabu": Method(
        "climbing.tabu",
        "solve_tabu",
        "hill climbing that continues past local optima",
    ),
    "pc": Method("independence.stable_pc", "solve_pc", "stable PC: a PDAG from tests of independence"),
    "mmhc": Method("independence.mmhc", "solve_mmhc", "hill climbing over the neighbours that MMPC's tests keep"),
}

FROM_SCORES = {  # the methods for files of local scores
    "auto": Method("auto", "solve_auto_pool", "exact or gobnilp, by the number of nodes"),
    "exact": Method("exact.exact", "solve_given_pool", "the proven best DAG over given parent sets"),
    "gobnilp": Method("branch_and_cut.gobnilp", "solve_pool_by_cuts", "the proven best DAG by cutting planes"),
}


def method_name(name: str) -> MethodName:
    """Return the method that a name stands for, or raise an error that lists the methods."""
    if name not in METHODS:
        raise unknown_name("method", name, list(METHODS))
    return cast(MethodName, name)
