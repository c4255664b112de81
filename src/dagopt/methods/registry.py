"""The methods by name: where each is, and what it does in a line.

A method is imported when it is called. To add one, write its module and give it an entry in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from dagopt.errors import unknown_name
from dagopt.result import Result

__all__ = ["FROM_SCORES", "METHODS", "Method", "method_name"]

GIVEN_TO_ALL = ("problem", "deadline", "progress")  # what every method's function takes, besides its options


@dataclass(frozen=True)
class Method:
    """A method by name: where its function is and what it does in a line.

    The function is called as ``solve(problem, deadline=, progress=, **options)`` and returns a ``Result``.
    """

    module: str
    function: str
    about: str
    max_parents: int | None = None
    """The limit on the number of parents where none is given."""

    def load(self) -> Callable[..., Result]:
        """Import the function."""
        found: Callable[..., Result] = getattr(import_module(f"dagopt.methods.{self.module}"), self.function)
        return found

    def options(self) -> dict[str, Any]:
        """Return the method's own options with their defaults."""
        taken = signature(self.load()).parameters.values()
        named = [one for one in taken if one.kind is not Parameter.VAR_KEYWORD and one.name not in GIVEN_TO_ALL]
        return {one.name: one.default for one in named}


METHODS = {
    "auto": Method("auto", "solve_auto", "exact while it fits memory and patience, else cg-dca"),
    "exact": Method("exact.solve", "solve_exact", "the proven best DAG, by dynamic programming over subsets"),
    "order": Method("orders.solve", "solve_order", "local search over orders of the columns, from many starts"),
    "cg-dca": Method(
        "column_generation.cg_dca",
        "solve_cg_dca",
        "row and column generation with DCA pricing, joined with order search",
    ),
    "cg-dca-paper": Method(
        "column_generation.cg_dca", "solve_cg_dca_paper", "CG-DCA with the paper's settings throughout"
    ),
    "cg-minlp": Method(
        "column_generation.cg_minlp",
        "solve_cg_minlp",
        "column generation with exact pricing, for few columns",
    ),
    "gobnilp": Method(
        "cutting_planes.gobnilp",
        "solve_gobnilp",
        "the integer program of GOBNILP, proven by cutting planes",
        3,
    ),
    "hc": Method("climbing.hill_climbing", "solve_hc", "hill climbing over additions, deletions and reversals"),
    "tabu": Method("climbing.tabu", "solve_tabu", "hill climbing that walks on past local optima, but never back"),
    "pc": Method("independence.stable_pc", "solve_pc", "stable PC: a PDAG from tests of independence"),
    "mmhc": Method("independence.mmhc", "solve_mmhc", "hill climbing among the neighbours that MMPC's tests leave"),
}


FROM_SCORES = {  # for files of local scores: the function, and the options that have a meaning then
    "auto": ("exact.solve", "solve_given_pool", ("memory_limit", "n_jobs")),
    "exact": ("exact.solve", "solve_given_pool", ("memory_limit", "n_jobs")),
    "gobnilp": (
        "cutting_planes.gobnilp",
        "solve_pool_by_cuts",
        ("local_size", "restarts", "random_state", "n_jobs"),
    ),
}


def method_name(name: str) -> str:
    """Return the method that a name stands for, or raise the error that lists the methods."""
    if name not in METHODS:
        raise unknown_name("method", name, list(METHODS))
    return name
