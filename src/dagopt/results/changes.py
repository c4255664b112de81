"""How the edges of one result differ from those of another, in words."""

from __future__ import annotations

from dagopt.errors import quoted
from dagopt.graph.order import edge_ends
from dagopt.results.result import Result

__all__ = ["differences"]


def differences(before: Result, after: Result) -> str:
    """Return how the edges of one graph differ from those of another, in words; empty if they do not."""
    place = {name: k for k, name in enumerate(after.names)}
    marks: list[dict[tuple[int, int], set[tuple[int, int]]]] = []
    for result in (before, after):
        own: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for ends in zip(*(end.tolist() for end in edge_ends(result.cpdag_adjacency)), strict=True):
            i, j = (place[result.names[end]] for end in ends)
            own.setdefault((min(i, j), max(i, j)), set()).add((i, j))
        marks.append(own)
    old, new = marks
    kinds = {
        "new": sorted(new.keys() - old.keys()),
        "gone": sorted(old.keys() - new.keys()),
        "directed differently": sorted(pair for pair in new.keys() & old.keys() if new[pair] != old[pair]),
    }
    said = [
        f"{what}: {quoted([f'{after.names[i]} - {after.names[j]}' for i, j in pairs])}"
        for what, pairs in kinds.items()
        if pairs
    ]
    return "; ".join(said)
