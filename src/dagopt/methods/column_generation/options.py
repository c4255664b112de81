"""The options of CG-DCA, checked."""

from __future__ import annotations

from dataclasses import dataclass

from dagopt.errors import InputError, checked_number, checked_whole
from dagopt.master.integer import INTEGER_SOLVERS
from dagopt.pricing.start_points import START_POINTS, SWITCH_AT
from dagopt.submodular.dca import CONVEX_STEPS

__all__ = ["PRICING", "Options"]

PRICING = ("auto", "dca", "listed", "exhaustive")


@dataclass(frozen=True)
class Options:
    """The options of CG-DCA, checked. Those of the paper are the defaults here.

    Attributes
    ----------
    init : {"hybrid", "random", "warm"}
        Start points of pricing (section 4.1).
    switch_at : int
        Families of a node from which ``hybrid`` starts warm (section 4.1: 50).
    convex_step : {"kelley", "min-norm"}
        How DCA's convex programs are solved (section 2.3: Kelley).
    pricing : {"auto", "dca", "listed", "exhaustive"}
        ``dca`` is the paper's; ``listed`` looks at all parent sets up to a size that could matter; ``exhaustive`` at
        all, while they are few. ``auto`` lists for discrete data of up to 200 columns, and is ``dca`` else.
    integer_solver : {"auto", "dp", "scip", "gurobi"}
        How the restricted master IP is solved (section 4: branch and cut with lazy cluster constraints).
    integer_seconds : float, optional
        Limit on each integer phase; its best DAG is taken then.
    order_start : bool
        Whether an order search comes first: its DAG is the first incumbent, and the parent sets that it met are
        families.
    order_again : bool
        Whether the order of every new DAG of the integer phase is searched again.
    price_incumbent : bool
        Whether pricing that found nothing starts once more at the incumbent's parents.
    start_integer : bool
        Whether the integer phase begins at the best DAG known, and goes on from it when it finds none better.
    epsilon : float
        DCA's threshold ε (Algorithm 1).
    tolerance : float
        A reduced cost counts as negative below minus this.
    max_passes, max_families : int, optional
        Limits beside the time.
    random_state : int
        Seed of the random start points.
    """

    init: str = "hybrid"
    switch_at: int = SWITCH_AT
    convex_step: str = "kelley"
    pricing: str = "dca"
    integer_solver: str = "auto"
    integer_seconds: float | None = None
    order_start: bool = False
    order_again: bool = False
    price_incumbent: bool = False
    start_integer: bool = False
    epsilon: float = 1e-6
    tolerance: float = 1e-6
    max_passes: int | None = None
    max_families: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("init", START_POINTS),
            ("convex_step", tuple(CONVEX_STEPS)),
            ("pricing", PRICING),
            ("integer_solver", INTEGER_SOLVERS),
        ):
            if getattr(self, name) not in allowed:
                listed = ", ".join(repr(choice) for choice in allowed)
                raise InputError(f"expected {name}= one of {listed} but got {getattr(self, name)!r}")
        for name in ("epsilon", "tolerance", "integer_seconds"):
            if getattr(self, name) is not None:
                checked_number(name, getattr(self, name))
        for name, least in (("switch_at", 0), ("random_state", 0), ("max_passes", 1), ("max_families", 1)):
            if getattr(self, name) is not None:
                checked_whole(name, getattr(self, name), least)
