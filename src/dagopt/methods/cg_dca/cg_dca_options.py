"""The options of CG-DCA: one definition, with two sets of defaults, ours and the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagopt.integer.restricted_ip import INTEGER_SOLVERS
from dagopt.lp.fractional_clusters import CLUSTERS_PER_ROUND
from dagopt.methods.cg_dca.algorithm1 import CONVEX_STEPS
from dagopt.methods.cg_dca.dca_pricing import TIE_ORDERS
from dagopt.methods.cg_dca.kelley import CUTS_PER_ROUND
from dagopt.methods.cg_dca.start_points import START_POINTS, SWITCH_AT
from dagopt.methods.method_options import checkpoint, n_jobs, random_state, resume, row_kinds, start
from dagopt.options import Options, number, one_of, option, preset, truth, whole

__all__ = ["PRICING", "CgDcaOptions", "PaperOptions"]

PRICING = ("auto", "dca", "listed", "exhaustive")


@dataclass(frozen=True)
class CgDcaOptions(Options):
    """Options of CG-DCA; sections are those of the paper."""

    init: str = option("hybrid", "Start points of pricing (section 4.1).", one_of(*START_POINTS))
    switch_at: int = option(SWITCH_AT, "Families per node after which hybrid starts warm (section 4.1: 50).", whole(0))
    convex_step: str = option(
        "min-norm",
        "How DCA's convex programs are solved (section 2.3: Kelley); both ways are exact.",
        one_of(*CONVEX_STEPS),
    )
    kelley_cuts: int = option(CUTS_PER_ROUND, "Cuts per round of Kelley's method (section 2.3: 1).", whole(1, 3))
    tie_orders: int = option(
        TIE_ORDERS,
        "Orders of equal coordinates of a start point that DCA tries before a node is priced out (the paper: 1 run).",
        whole(1),
    )
    clusters_per_round: int = option(
        CLUSTERS_PER_ROUND,
        "Most cluster rows added per LP. 1 is the paper's (appendix B): the most violated one, by an exact search.",
        whole(1),
    )
    pricing: str = option(
        "auto",
        "dca is the paper's, for penalised likelihoods; listed prices all parent sets up to a size that could "
        "matter; exhaustive prices all, if they are few. auto is listed for discrete data of up to 200 columns, dca "
        "else.",
        one_of(*PRICING),
    )
    rows: Any = row_kinds(("entropies", "matrices"), " For Gaussian likelihoods and pricing by DCA.")
    integer_solver: str = option(
        "auto",
        "How the best DAG over the families is found (section 4: branch and cut with lazy cluster constraints).",
        one_of(*INTEGER_SOLVERS),
    )
    integer_seconds: float | None = option(
        10.0, "Limit in seconds on each integer phase, which then returns its best DAG; None for no limit.", number()
    )
    order_start: bool = option(
        True,
        "Whether an order search comes first: its DAG is the first incumbent, and the parent sets that it visits are "
        "families.",
        truth(),
    )
    order_again: bool = option(True, "Whether an order search starts from every new DAG of the integer phase.", truth())
    price_incumbent: bool = option(
        True, "Whether pricing that finds nothing is repeated from the incumbent's parents.", truth()
    )
    start_integer: bool = option(
        True,
        "Whether the integer phase starts from the best DAG known, and keeps it if it finds none better.",
        truth(),
    )
    epsilon: float = option(1e-6, "DCA's threshold ε (Algorithm 1).", number())
    tolerance: float = option(1e-6, "A reduced cost below minus this counts as negative.", number())
    max_passes: int | None = option(None, "Limit on passes, in addition to the time limit.", whole(1))
    max_families: int | None = option(None, "Limit on families, in addition to the time limit.", whole(1))
    random_state: int = random_state()
    n_jobs: int | None = n_jobs()
    start: Any = start()
    checkpoint: str | Path | None = checkpoint("pool, clusters and incumbent are saved after every pass")
    resume: bool = resume()

    def identity(self) -> dict[str, Any]:
        """Return the options that change the course of a run, which must be the same as in a checkpoint."""
        free = ("max_passes", "max_families", "n_jobs", "start", "checkpoint", "resume")
        kept = {name: value for name, value in self.to_dict().items() if name not in free}
        return {**kept, "rows": list(self.rows)}


PaperOptions = preset(
    CgDcaOptions,
    "PaperOptions",
    "Options of the paper's method: hybrid start, switch at 50, Kelley, DCA pricing, clusters only, no order search. "
    "Three options have other values; kelley_cuts=1, tie_orders=1 and clusters_per_round=1 are those of the paper.",
    convex_step="kelley",
    pricing="dca",
    rows=(),
    integer_seconds=None,
    order_start=False,
    order_again=False,
    price_incumbent=False,
    start_integer=False,
)
