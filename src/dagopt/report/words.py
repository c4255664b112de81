"""What was found and what is proven, in plain words."""

from __future__ import annotations

from dagopt.report.view import View
from dagopt.results.proof import proof_sentences
from dagopt.results.result import Result

__all__ = ["counted", "found", "proven", "title_of"]

_ENDED = {
    "converged": "The run ended by itself, as its method could not improve the graph any more.",
    "time_limit": "The run was stopped by the time limit; this is the best graph found by then.",
    "interrupted": "The run was stopped by the user; this is the best graph found by then.",
}


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 edge``, ``2,000 rows``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def title_of(result: Result) -> str:
    """Return a title: how many columns and edges."""
    return f"{counted(result.graph.n_edges, 'edge')} among {counted(len(result.names), 'column')}"


def found(result: Result, view: View) -> str:
    """Return what was found."""
    undirected = sum(edge.undirected for edge in view.edges)
    directed = len(view.edges) - undirected
    rows = f" from {counted(result.n_samples, 'row')} of data" if result.n_samples else ""
    if not view.edges:
        return f"No edge was found{rows}: no column predicts another one well enough to justify an edge."
    text = f"The graph learned{rows} has {counted(len(view.edges), 'edge')}. "
    if undirected == 0:
        return text + "All of them point the same way in every graph that explains the data as well."
    if directed == 0:
        return text + "All of them are undirected: each could point either way, and the data cannot tell."
    return text + (
        f"{directed:,} {'points' if directed == 1 else 'point'} the same way in every graph that explains the data as "
        f"well. {undirected:,} {'is' if undirected == 1 else 'are'} undirected: the data cannot tell which way "
        f"{'it points' if undirected == 1 else 'they point'}, and the essential graph shows "
        f"{'it' if undirected == 1 else 'them'} without a head."
    )


def proven(result: Result) -> list[str]:
    """Return what is proven and what is not, one sentence each."""
    said = proof_sentences(result)
    if result.status in _ENDED:
        said.append(_ENDED[result.status])
    said.append(
        "A score says how well a graph explains these rows. It does not prove that an arrow is a cause: that would "
        "also need enough rows, and that nothing outside the table influences two of its columns."
    )
    return said
