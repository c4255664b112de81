"""What each piece of ``branch-and-cut`` adds: which pieces can be left out, on which draws, and the table of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.growth import FIRST_UNSEEN, N_UNSEEN
from dagopt.methods.branch_and_cut import branch_and_cut as method

Cell = tuple[int, float]

LISTED: tuple[Cell, ...] = ((25, 0.5), (25, 1), (40, 0.5), (50, 0.5), (60, 0.5))  # whose undominated sets are listed
DENSE: tuple[Cell, ...] = ((25, 2), (30, 1), (50, 1))  # that have too many
TREE_PIECES = ("entropies", "matrices", "local", "last-node", "symmetry", "strong branching", "fixing")
DENSE_PIECES = ("search from the end", "pairs", "pricing")
PIECES = (*TREE_PIECES, *DENSE_PIECES)
HEADS = (
    "left out", "draws", "proven with it", "without", "median gap with it", "without", "proven both ways",
    "median CPU s with it", "without",
)  # fmt: skip


@contextmanager
def without_pieces(without: Sequence[str]) -> Iterator[None]:
    """Let the method work without some of its pieces; rows are left out by its option."""
    run = method._Run
    begin = run.__init__

    def begin_unpriced(self: Any, *told: Any) -> None:
        begin(self, *told)
        self._columns = None

    rules = method.RULES
    if "strong branching" in without:
        rules = replace(rules, pairs=1)
    if "fixing" in without:
        rules = replace(rules, fixing=False)
    with ExitStack() as changes:
        changes.enter_context(patch.object(method, "RULES", rules))
        if "search from the end" in without:
            changes.enter_context(patch.object(method, "suited", lambda *told: None))
        if "pairs" in without:
            changes.enter_context(patch.object(run, "_pair_bound", lambda *told: None))
        if "pricing" in without:
            changes.enter_context(patch.object(run, "__init__", begin_unpriced))
        yield


def seed_draws(quick: bool) -> Iterator[tuple[tuple[int, float, int], str]]:
    """Yield seed 0 of each cell with each piece of the tree that is left out, first with none."""
    for cell in LISTED[: 1 if quick else None]:
        for piece in ("", *TREE_PIECES):
            yield (*cell, 0), piece


def unseen_draws() -> Iterator[tuple[tuple[int, float, int], str]]:
    """Yield draws that no setting was chosen on, each with the pieces that matter there.

    All runs of a draw follow each other, and the cells take turns: every beginning is a fair part.
    """
    for seed in range(FIRST_UNSEEN, FIRST_UNSEEN + N_UNSEEN):
        for at in range(max(len(LISTED), len(DENSE))):
            for cells, pieces in ((LISTED, TREE_PIECES), (DENSE, DENSE_PIECES)):
                if at < len(cells):
                    yield from (((*cells[at], seed), piece) for piece in ("", *pieces))


def draw_of(line: dict[str, Any]) -> tuple[Any, ...]:
    """Return on what a run was, and how it was limited."""
    return tuple(line[key] for key in ("name", "kind", "limit", "threads", "clock"))


def piece_table(lines: Sequence[dict[str, Any]]) -> str:
    """Return one line per piece: what is proven with it and without, on the draws that were run both ways.

    The median gap is that of draws which are open with the piece or without, a proof counting as 0; the median CPU
    seconds those of draws which are proven both ways.
    """
    runs = {(draw_of(one), tuple(one["without"])): one for one in lines}
    rows = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    for piece in PIECES:
        pairs = [(runs[draw, ()], one) for (draw, out), one in runs.items() if out == (piece,) and (draw, ()) in runs]
        if not pairs:
            continue
        shares = [sum(one["status"] == "optimal" for one in side) / len(pairs) for side in zip(*pairs, strict=True)]
        open_pairs = [pair for pair in pairs if any(one["status"] != "optimal" for one in pair)]
        proven = [pair for pair in pairs if pair not in open_pairs]
        gaps = [_shown([_gap(pair[side]) for pair in open_pairs]) for side in range(2)]
        seconds = [_shown([pair[side]["cpu"] for pair in proven]) for side in range(2)]
        cells = [piece, str(len(pairs)), *(f"{share:.0%}" for share in shares), *gaps, str(len(proven)), *seconds]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _gap(line: dict[str, Any]) -> float:
    """Return what a run left open; infinity if it has no bound."""
    if line["status"] == "optimal":
        return 0.0
    return np.inf if line["gap"] is None else float(line["gap"])


def _shown(values: list[float]) -> str:
    """Return the median of some values."""
    if not values:
        return "-"
    return "no bound" if np.isinf(middle := median(values)) else f"{middle:,.2f}"
