"""How sure the direction of an edge is, in three words: directed, leaning, open.

An edge is *open* if graphs that explain the data equally well have it in both directions. It is *directed* if all
graphs within ``DIRECTED`` points of the best one have it, in this direction: the best graph with the edge reversed
scores lower by more than that, and so does the best graph without it. Otherwise it is *leaning*.

One more condition is for edges with several parameters, those of discrete columns. A reversed graph often fits better
and loses only because it has more parameters. Such a loss is as uncertain as the cost of a parameter, so that the
direction must also score higher if parameters cost half. docs/benchmarks.md has the figures behind both conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from dagopt.graph.order import edge_ends
from dagopt.results.explanation import arrow

if TYPE_CHECKING:
    from dagopt.results.result import Result

__all__ = ["DIRECTED", "Direction", "counted_directions", "direction_of", "directions_of"]

Direction = Literal["directed", "leaning", "open", "unchecked"]

DIRECTED = 3.0  # points; a graph that is 3 points better is about 20 times as probable


def direction_of(
    is_open: bool,
    reversal: float | None,
    removal: float | None = None,
    at_half_cost: float | None = None,
    threshold: float = DIRECTED,
) -> Direction:
    """Return the word for an edge.

    Parameters
    ----------
    is_open : bool
        Whether the class has the edge in both directions.
    reversal, removal : float or None
        What the best graph with the edge reversed loses, and the best without it; None if it is not known.
    at_half_cost : float or None
        What the best graph with the edge reversed loses if parameters cost half; None if that was not computed.
    threshold : float
        The points that a directed edge must be worth.
    """
    if is_open:
        return "open"
    if reversal is None:
        return "unchecked"
    lost = [reversal] if removal is None else [reversal, removal]
    return "directed" if min(lost) > threshold and (at_half_cost is None or at_half_cost > 0) else "leaning"


def directions_of(result: Result, threshold: float = DIRECTED) -> dict[tuple[str, str], Direction]:
    """Return the word for each edge of a result; ``unchecked`` where the reversal was not tried."""
    figures = result.figures
    losses = [known or {} for known in (figures.reversal_loss, figures.removal_loss, figures.half_cost_loss)]
    told = figures.told_edges or {}
    tails, heads = edge_ends(result.cpdag_adjacency)
    joined = {(result.names[i], result.names[j]) for i, j in zip(tails.tolist(), heads.tolist(), strict=True)}
    found: dict[tuple[str, str], Direction] = {}
    for a, b in result.graph.directed_edges:
        is_open = (b, a) in joined
        reversal, removal, at_half_cost = (known.get(arrow(a, b)) for known in losses)
        word = direction_of(is_open, reversal, removal, at_half_cost, threshold)
        found[a, b] = "directed" if arrow(a, b) in told else word
    return found | dict.fromkeys(result.graph.undirected_edges, "open")


def counted_directions(words: Iterable[Direction]) -> str:
    """Return how many edges are directed, leaning and open."""
    counts = Counter(words)
    said = [f"{counts[word]} {word}" for word in ("directed", "leaning", "open")]
    return ", ".join([*said, f"{counts['unchecked']} unchecked"] if counts["unchecked"] else said)
