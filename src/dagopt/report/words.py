"""What was found and what is proven, in plain words."""

from __future__ import annotations

from dagopt.report.view import View
from dagopt.results.result import Result

__all__ = ["counted", "found", "headline", "proven", "title_of"]

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


def headline(result: Result) -> tuple[str, str]:
    """Return how good the answer is in a few words, and the kind of answer: proven, bounded or open."""
    if result.bound is None or result.score is None:
        return "Nothing is proven", "open"
    if result.status == "optimal":
        return "Proven optimal", "proven"
    return result.proof.capitalize(), "bounded"


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
    said = []
    if result.bound is None or result.score is None:
        said.append("Nothing is proven about other graphs: one with a higher score may exist.")
    elif result.status == "optimal":
        said.append(f"{_none(result)} has a higher score. This is proven.")
    else:
        more = max(result.bound - result.score, 0.0)
        said.append(
            f"{_none(result)} scores higher than {result.bound:,.4f}. This is proven. The bound is "
            f"{more:,.4f} ({result.gap:.3%}) above this graph; whether any graph reaches it is not known."
        )
    if result.status in _ENDED:
        said.append(_ENDED[result.status])
    if result.scope and result.scope != "all DAGs" and result.bound is not None:
        said.append(f"The proof covers {result.scope} only; a graph outside may score higher.")
    said.append(
        "A score says how well a graph explains these rows. It does not prove that an arrow is a cause: that would "
        "also need enough rows, and that nothing outside the table influences two of its columns."
    )
    return said


def _none(result: Result) -> str:
    """Return "No DAG" with what the proof covers."""
    return "No DAG" if result.scope in (None, "all DAGs") else f"No DAG over {result.scope}"
