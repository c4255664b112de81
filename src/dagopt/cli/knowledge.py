"""Background knowledge from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagopt.cli.options import listed
from dagopt.errors import InputError

if TYPE_CHECKING:
    from dagopt.knowledge import Constraints

__all__ = ["constraints_from"]


def constraints_from(
    required: Sequence[str], forbidden: Sequence[str], tiers: str | None, knowledge: Path | None
) -> Constraints:
    """Return what a TOML file and the options say together.

    Parameters
    ----------
    required, forbidden : sequence of str
        Lists of edges such as ``"A->B,C->D"``; those of the file are added.
    tiers : str, optional
        Groups such as ``"A,B;C"``, in the order of time; in the file or here, not both.
    knowledge : path, optional
        The file.
    """
    from dagopt.knowledge import Constraints

    known = Constraints() if knowledge is None else Constraints.read(knowledge)
    groups = [] if tiers is None else [listed(group) for group in tiers.split(";") if group.strip()]
    if groups and known.tiers:
        raise InputError(f"tiers are given twice, by --tiers and in {str(knowledge)!r}; give them once")
    return Constraints(
        required=[*known.required, *_edges(required, "--required")],
        forbidden=[*known.forbidden, *_edges(forbidden, "--forbidden")],
        tiers=groups or known.tiers,
        max_parents=known.max_parents,
    )


def _edges(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    edges = []
    for part in (part for text in texts for part in listed(text)):
        ends = tuple(end.strip() for end in part.split("->"))
        if len(ends) != 2 or not all(ends):
            raise InputError(
                f"expected {option} 'A->B,C->D' but got {part!r}; write FROM->TO in quotes, or list edges of columns "
                f"with odd names in a --knowledge file"
            )
        edges.append((ends[0], ends[1]))
    return edges
