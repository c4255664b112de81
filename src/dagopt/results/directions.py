"""How sure the direction of an edge is, in three words: directed, leaning, open.

An edge is *open* if graphs that explain the data equally well have it in both directions. It is *directed* if the best
graph with the edge reversed scores lower by more than ``DIRECTED`` points, and *leaning* if it scores lower by less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from dagopt.results.explanation import arrow

if TYPE_CHECKING:
    from dagopt.results.result import Result

__all__ = ["DIRECTED", "Direction", "counted_directions", "direction_of", "directions_of"]

Direction = Literal["directed", "leaning", "open", "unchecked"]

DIRECTED = 3.0  # points; a graph that is 3 points better is about 20 times as probable


def direction_of(is_open: bool, loss: float | None, threshold: float = DIRECTED) -> Direction:
    """Return the word for an edge, from whether the class leaves it open and what its reversal loses, if known."""
    if is_open:
        return "open"
    if loss is None:
        return "unchecked"
    return "directed" if loss > threshold else "leaning"


def directions_of(result: Result, threshold: float = DIRECTED) -> dict[tuple[str, str], Direction]:
    """Return the word for each edge of a result; ``unchecked`` where the reversal was not tried."""
    losses, told = result.figures.reversal_loss or {}, result.figures.told_edges or {}
    essential = result.cpdag_adjacency
    place = {name: k for k, name in enumerate(result.names)}
    found: dict[tuple[str, str], Direction] = {}
    for a, b in result.graph.directed_edges:
        is_open = bool(essential[place[b], place[a]])
        word = direction_of(is_open, losses.get(arrow(a, b)), threshold)
        found[a, b] = "directed" if arrow(a, b) in told else word
    return found | dict.fromkeys(result.graph.undirected_edges, "open")


def counted_directions(words: Iterable[Direction]) -> str:
    """Return how many edges are directed, leaning and open."""
    counts = Counter(words)
    said = [f"{counts[word]} {word}" for word in ("directed", "leaning", "open")]
    return ", ".join([*said, f"{counts['unchecked']} unchecked"] if counts["unchecked"] else said)
