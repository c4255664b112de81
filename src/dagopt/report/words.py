"""What was found and what is proven, in plain words."""

from __future__ import annotations

from dagopt.report.view import View
from dagopt.results.directions import DIRECTED, counted_directions
from dagopt.results.proof import not_checked, proof_sentences
from dagopt.results.result import Result

__all__ = ["counted", "found", "proven", "title_of"]

_ENDED = {
    "converged": "The run ended by itself, as its method could not improve the graph any more.",
    "time_limit": "The run was stopped by the time limit; this is the best graph found by then.",
    "interrupted": "The run was stopped by the user; this is the best graph found by then.",
}

MEANINGS = {
    "directed": f"Directed: every graph within {DIRECTED:g} points of the best one has the edge in this direction; "
    "others are over 20 times less probable.",
    "leaning": "Leaning: a graph with the edge reversed, or without it, is nearly as good, or loses only because it "
    "has more parameters.",
    "open": "Open: graphs that explain the data equally well have the edge in either direction.",
    "unchecked": "Unchecked: the graph with the edge reversed was not searched for, for lack of time or of a DAG.",
}


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 edge``, ``2,000 rows``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def title_of(result: Result) -> str:
    """Return a title: how many columns, or series, and edges."""
    lags = result.lags
    among = counted(len(result.names), "column") if lags is None else counted(lags.n_series, "series", "series")
    return f"{counted(result.graph.n_edges, 'edge')} among {among}"


def found(result: Result, view: View) -> str:
    """Return what was found."""
    what = "row" if result.lags is None else "moment"
    rows = f" from {counted(result.n_samples, what)} of data" if result.n_samples else ""
    if not view.edges:
        return f"No edge was found{rows}: no column predicts another one well enough to justify an edge."
    words = [edge.direction for edge in view.edges]
    text = f"The graph learned{rows} has {counted(len(view.edges), 'edge')}: {counted_directions(words)}."
    return " ".join([text, *(meaning for word, meaning in MEANINGS.items() if word in words)])


def proven(result: Result) -> list[str]:
    """Return what is proven and what is not, one sentence each."""
    said = proof_sentences(result)
    if result.status in _ENDED:
        said.append(_ENDED[result.status])
    return [*said, not_checked(result)]
