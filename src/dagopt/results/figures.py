"""The figures of a run: what methods and checks measured, each a typed field with the words that a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["Figures"]


def figure(words: str, of: str = "the run") -> Any:
    """Return a field that is None unless it was measured."""
    return field(default=None, metadata={"words": words, "of": of})


@dataclass(frozen=True)
class Figures:
    """What is known about the graph and the run besides score and certificate; None for what was not measured."""

    # the graph
    node_scores: Any = figure("local score of each column", "the graph")
    edge_gain: Mapping[str, float] | None = figure("score lost if only this edge is dropped", "the graph")
    reversal_loss: Mapping[str, float] | None = figure("score lost if the edge is reversed, at best", "the graph")
    removal_loss: Mapping[str, float] | None = figure("score lost if the edge is left out, at best", "the graph")
    half_cost_loss: Mapping[str, float] | None = figure(
        "score lost if the edge is reversed and parameters cost half", "the graph"
    )
    reversal_proven: bool | None = figure("whether these losses are proven", "the graph")
    told_edges: Mapping[str, bool] | None = figure("edges whose direction the constraints give", "the graph")
    edge_figures: Mapping[str, Mapping[str, float]] | None = figure("further figures of edges, by name", "the graph")
    empty_score: float | None = figure("score of the graph without edges", "the graph")
    best_classes: list[dict[str, Any]] | None = figure("the best equivalence classes", "the graph")
    n_classes_tied: int | None = figure("classes that share the best score", "the graph")
    separating_sets: Any = figure("sets that separate columns without an edge", "the graph")
    # the table and the score
    chance_edges: float | None = figure("edges expected by chance alone", "the table")
    rounding: float | None = figure("rounding error of the score, at most", "the table")
    missing_cells: int | None = figure("missing cells", "the table")
    em_rounds: int | None = figure("rounds of structural EM", "the table")
    misfits: Mapping[str, str] | None = figure("checks of residuals that fail, by edge or column", "the graph")
    # the start
    start_score: float | None = figure("score of the start", "the start")
    improvement: float | None = figure("improvement on the start", "the start")
    edges_added: int | None = figure("edges added to the start", "the start")
    edges_dropped: int | None = figure("edges dropped from the start", "the start")
    edges_reversed: int | None = figure("edges of the start reversed", "the start")
    # searches
    moves: int | None = figure("moves")
    restarts: int | None = figure("restarts")
    searches_agree: bool | None = figure("whether all order searches ended at the best score")
    best_round: int | None = figure("round that found the best graph")
    # tests of independence
    tests: int | None = figure("tests of independence")
    v_structures: int | None = figure("v-structures")
    left_out: int | None = figure("v-structures left out because they contradict others")
    candidate_pairs: int | None = figure("pairs of columns that tests keep")
    one_sided_pairs: int | None = figure("pairs that tests keep from one side alone")
    # column generation
    passes: int | None = figure("passes of column generation")
    families: int | None = figure("parent sets in the master")
    rows: int | None = figure("rows in the master")
    row_rounds: int | None = figure("rounds of exact pricing")
    programs_solved: int | None = figure("pricing programs solved")
    programs_stopped: int | None = figure("pricing programs stopped")
    pricing_seconds: float | None = figure("seconds of pricing")
    separation_seconds: float | None = figure("seconds of separation")
    integer_seconds: float | None = figure("seconds of the integer master")
    order_seconds: float | None = figure("seconds of order searches")
    bound_seconds: float | None = figure("seconds of the bound")
    # branch and cut
    n_sets: int | None = figure("parent sets that can be part of a best graph")
    n_tree_nodes: int | None = figure("nodes of the search tree")
    n_open_nodes: int | None = figure("open nodes of the search tree")
    n_cuts: int | None = figure("cuts")
    n_lps: int | None = figure("LPs solved")
    n_families_left: int | None = figure("parent sets left")
    n_states: int | None = figure("sets of columns visited from the end of the order")
    n_pricing_rounds: int | None = figure("rounds of pricing")
    pair_bound: float | None = figure("bound by pairs of columns")
    root_bound: float | None = figure("bound at the root of the search tree")

    def known(self) -> dict[str, Any]:
        """Return the figures that were measured, by name."""
        found = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in found if value is not None}

    @classmethod
    def words(cls, name: str) -> str:
        """Return what a figure is called."""
        return next(str(one.metadata["words"]) for one in fields(cls) if one.name == name)
