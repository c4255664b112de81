"""Background knowledge from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagopt.cli.flags import PANELS, listed
from dagopt.errors import InputError
from dagopt.options import Options, anything, option

if TYPE_CHECKING:
    from dagopt.graph.constraints import Constraints

__all__ = ["KnowledgeOptions"]


@dataclass(frozen=True)
class KnowledgeOptions(Options):
    """What is known about the graph, from a TOML file and flags together."""

    max_parents: int | None = option(
        None, "The most parents of a column.", anything("int"), metavar="K", unset="any", least=0
    )
    required: list[str] | None = option(
        None, "Required edges: 'A->B,C->D'; those of the file are added.", anything("edges"), metavar="EDGES"
    )
    forbidden: list[str] | None = option(
        None, "Forbidden edges: 'B->A'; those of the file are added.", anything("edges"), metavar="EDGES"
    )
    tiers: str | None = option(
        None, "Groups in order of time; no edge goes back: 'A,B;C'.", anything("groups"), metavar="GROUPS"
    )
    superstructure: Path | None = option(
        None,
        "Graph file with the only pairs that may be joined, in either direction.",
        anything("path"),
        metavar="FILE",
    )
    before: list[str] | None = option(
        None, "Columns in order: 'A->B' means A before B, no path back.", anything("pairs"), metavar="PAIRS"
    )
    ancestors: list[str] | None = option(
        None, "Paths: 'A->B' means that a path leads from A to B.", anything("pairs"), metavar="PAIRS"
    )
    edge_prior: Path | None = option(
        None,
        "CSV file with from, to and probability or log_odds: how much edges are believed before the data.",
        anything("path"),
        metavar="FILE",
    )
    knowledge: Path | None = option(
        None,
        "TOML or JSON file with required, forbidden, tiers, max_parents, superstructure, before, ancestors, "
        "edge_prior, or a knowledge file of Tetrad.",
        anything("path"),
        metavar="FILE",
    )

    def known(self) -> dict[str, Any]:
        """Return what is known as ``constraints`` and ``max_parents`` of ``learn``."""
        return {"constraints": self.constraints(), "max_parents": self.max_parents}

    def constraints(self) -> Constraints:
        """Return the constraints of the file and the flags together; only one of them may give tiers."""
        from dagopt.graph.constraints import Constraints

        known = Constraints() if self.knowledge is None else Constraints.read(self.knowledge)
        groups = [] if self.tiers is None else [listed(group) for group in self.tiers.split(";") if group.strip()]
        if groups and known.tiers:
            raise InputError(f"tiers are given twice, by --tiers and in {str(self.knowledge)!r}; give them once")
        return Constraints(
            required=[*known.required, *_edges(self.required or [], "--required")],
            forbidden=[*known.forbidden, *_edges(self.forbidden or [], "--forbidden")],
            tiers=groups or known.tiers,
            max_parents=known.max_parents,
            superstructure=self.superstructure or known.superstructure,
            before=[*known.before, *_edges(self.before or [], "--before")],
            ancestors=[*known.ancestors, *_edges(self.ancestors or [], "--ancestors")],
            edge_prior=self.edge_prior or known.edge_prior,
        )


PANELS[KnowledgeOptions] = "Knowledge"


def _edges(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    edges = []
    for part in (part for text in texts for part in listed(text)):
        ends = tuple(end.strip() for end in part.split("->"))
        if len(ends) != 2 or not all(ends):
            raise InputError(
                f"expected {option} as 'A->B,C->D' but got {part!r}; write FROM->TO in quotes, or list edges of "
                f"columns with unusual names in a --knowledge file"
            )
        edges.append((ends[0], ends[1]))
    return edges
