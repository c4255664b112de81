"""A result in a few lines of plain text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dagopt.data.lags import Lags
from dagopt.results.directions import DIRECTED, counted_directions
from dagopt.results.figures import Figures
from dagopt.results.proof import bound_line, doubts_of
from dagopt.results.result import Result

__all__ = ["summary_of"]

MOST_MISFITS = 3  # shown in the summary

PLAIN_STATUS = {
    "optimal": "proven optimal",
    "converged": "the method finished",
    "time_limit": "stopped by the time limit",
    "interrupted": "stopped by the user",
}
LEAST_READING = 1.0  # seconds; a shorter time of reading is not given separately


def summary_of(result: Result) -> str:
    """Return what was found, what is proven, why the run ended, and notes."""
    lines = [_size(result)]
    if result.graph.n_edges:
        lines.append(f"arrows  {_arrows(result)}")
    if result.score is not None:
        lines.append(f"score   {result.score:.4f}  ({result.score_label})")
    if result.figures.start_score is not None:
        lines.append(f"start   {result.figures.start_score:.4f}  {_improvement(result.figures)}")
    lines.append(f"bound   {bound_line(result)}")
    if doubts := doubts_of(result):
        lines.append(f"doubt   {doubts}: the score's model may not fit the table, whatever is proven")
    lines.append(f"status  {result.status}: {PLAIN_STATUS[result.status]}, {result.method}, {_time(result)}")
    expected = result.figures.chance_edges
    if expected is not None:
        lines.append(f"chance  {expected:.2g} edges are expected by chance under this penalty")
    if result.misfits:
        lines.append(f"misfit  {_misfits(result.misfits)}; result.check() says more")
    lines += [f"note    {note}" for note in result.notes]
    lines += [f"warning {finding.message}" for finding in result.findings]
    return "\n".join(lines)


def _misfits(misfits: Mapping[str, str]) -> str:
    """Return the first residuals that do not fit the model."""
    said = [f"{place}: {words}" for place, words in misfits.items()]
    more = len(said) - MOST_MISFITS
    return "; ".join(said[:MOST_MISFITS]) + (f"; and {more} more" if more > 0 else "")


def _size(result: Result) -> str:
    """Return the number of columns, rows and edges."""
    edges = result.graph.n_edges
    if result.lags is not None:
        return _size_in_time(result, result.lags)
    return f"{len(result.names)} columns, {result.n_samples} rows; {edges} edge{'' if edges == 1 else 's'}"


def _size_in_time(result: Result, lags: Lags) -> str:
    """Return the number of series, lags, moments and units, and the edges by lag."""
    n, units = lags.n_series, len(lags.units)
    counts = [int((result.adjacency[k * n : (k + 1) * n] != 0).sum()) for k in range(lags.count + 1)]
    by_lag = ", ".join(f"{count} from {k} moment{'' if k == 1 else 's'} before" for k, count in enumerate(counts) if k)
    many = f" of {units} units" if units > 1 else ""
    present = result.graph.adjacency[:n, :n]
    inside = f", {int(np.triu(present | present.T).sum())} within a moment"
    return f"{n} series, {result.n_samples} moments{many}; edges: {by_lag}{inside if lags.within else ''}"


def _arrows(result: Result) -> str:
    """Return how many edges are directed, leaning and open, and what that means."""
    words = counted_directions(result.directions().values())
    if not result.figures.reversal_loss:
        return words
    how = "" if result.figures.reversal_proven else ", by search"
    given = "by time, or " if result.lags is not None else "by the constraints, or "
    given = given if result.figures.told_edges else ""
    lost = f"graphs with the edge reversed or left out lose more than {DIRECTED:g} points"
    return f"{words} (directed: {given}{lost}{how})"


def _time(result: Result) -> str:
    """Return the seconds of the run without those of reading and of compiling, which are given separately."""
    told = result.provenance
    reading = result.reading_seconds if result.reading_seconds >= LEAST_READING else 0.0
    compiled = 0.0 if told is None or told.compile_seconds < 0.05 else told.compile_seconds
    seconds = result.seconds if told is None or not compiled else told.seconds
    more = [f"{reading:.1f} s to read the table"] if reading else []
    more += [f"{compiled:.1f} s to compile kernels, once per machine"] if compiled else []
    return ", and ".join([f"{seconds - reading:.2f} s", *more])


def _improvement(figures: Figures) -> str:
    """Return in words how the result differs from the start."""
    gained = figures.improvement or 0.0
    if gained <= 1e-9 * abs(figures.start_score or 0.0):
        return "nothing better was found"
    added, dropped, turned = figures.edges_added, figures.edges_dropped, figures.edges_reversed
    changes = f"{added} edge{'' if added == 1 else 's'} added, {dropped} dropped, {turned} reversed"
    return f"improved by {gained:.4f}; {changes}"
