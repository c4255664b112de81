"""The design of a table: cells, seeds, methods with their options and limits, and the figures shown."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from dagopt.errors import InputError, unknown_name
from experiments.instances import SETS, Cell
from experiments.records import Run

__all__ = ["Design", "Entry", "Panel", "Quick", "chosen_designs", "designs"]

FOLDER = files("experiments") / "designs"
ORDER = ("headline", *(f"table{k}" for k in range(1, 11)), "section51", "peers")


@dataclass(frozen=True)
class Entry:
    """A column of a table: a method with options, and the paper's method that it is compared with.

    Attributes
    ----------
    name : str
        The method.
    label : str
        Heading of the column.
    paper : str or None
        The paper's name of its counterpart.
    options : dict
        Options that are not the method's defaults.
    limit : float
        Seconds.
    only : tuple of str
        The cells it is run on; all if empty. Entries with the same label share a column.
    optimum : str or None
        Label of the column that has the optimum over the same parent sets.
    skips : dict
        Why it is not run on other cells, by name of the cell; the table says it in the cell.
    """

    name: str
    label: str
    limit: float
    paper: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    optimum: str | None = None
    skips: dict[str, str] = field(default_factory=dict)

    def run(self, cell: Cell, seed: int | None) -> Run:
        """Return a run of the method."""
        return Run(cell.name, seed, self.name, self.options, self.limit)

    def takes(self, cell: Cell) -> bool:
        """Say whether it is run on a cell."""
        return not self.only or cell.name in self.only


@dataclass(frozen=True)
class Panel:
    """One part of a table: a figure, its mean, range or spread, on some cells (all if none are named)."""

    figure: str
    statistic: str = "mean"
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quick:
    """Runs of ``--quick``: some cells, a few seeds, columns by label."""

    cells: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int = 1


@dataclass(frozen=True)
class Design:
    """A table.

    Attributes
    ----------
    name, place, title : str
        ``"table1"``, where it is in the paper, what it is about.
    published : str or None
        Name of the paper's figures.
    cells : tuple of Cell
        Its rows.
    seeds : int
        How many simulated instances of each cell, seeds 0, 1, ...
    entries, panels, quick, notes
        Methods, parts, the runs of ``--quick``, and remarks.
    """

    name: str
    place: str
    title: str
    published: str | None
    cells: tuple[Cell, ...]
    seeds: int
    entries: tuple[Entry, ...]
    panels: tuple[Panel, ...]
    quick: tuple[Quick, ...] = ()
    notes: tuple[str, ...] = ()

    def runs(self) -> list[Run]:
        """Return all runs: one seed of every cell before the next seed."""
        return [
            entry.run(cell, seed)
            for turn in range(self.seeds)
            for cell in self.cells
            for seed in _seeds(cell, turn)
            for entry in self.entries
            if entry.takes(cell)
        ]

    def runs_of(self, entries: Sequence[Entry]) -> list[Run]:
        """Return the runs of some of the methods."""
        return replace(self, entries=tuple(entries)).runs()

    def quick_runs(self) -> list[Run]:
        """Return the few runs of ``--quick``."""
        wanted = {
            (cell, turn, method)
            for one in self.quick
            for cell in one.cells
            for turn in range(one.seeds)
            for method in one.methods
        }
        return [
            run
            for entry in self.entries
            for run in self.runs_of([entry])
            if (run.instance, run.seed or 0, entry.label) in wanted
        ]

    def with_limit(self, limit: float | None) -> Design:
        """Return the design with no limit longer than this."""
        if limit is None:
            return self
        return replace(self, entries=tuple(replace(one, limit=min(one.limit, limit)) for one in self.entries))


def _seeds(cell: Cell, turn: int) -> list[int | None]:
    """Return the seed of a simulated cell in this round; a data set has only one round."""
    if cell.degree is not None:
        return [turn]
    return [None] if turn == 0 else []


@cache
def designs() -> dict[str, Design]:
    """Return the designs of all tables by name, in the paper's order."""
    return {name: _parse(name, (FOLDER / f"{name}.toml").read_text("utf-8")) for name in ORDER}


def chosen_designs(name: str) -> list[Design]:
    """Return the design of a table, or of ``all``."""
    known = designs()
    if name == "all":
        return list(known.values())
    if name not in known:
        raise unknown_name("table", name, [*known, "all"])
    return [known[name]]


def _parse(name: str, text: str) -> Design:
    """Return a design from its TOML."""
    values = tomllib.loads(text)
    limit = float(values["limit"])
    entries = [
        Entry(
            one["name"],
            one.get("label", one["name"]),
            float(one.get("limit", limit)),
            one.get("paper"),
            one.get("options", {}),
            tuple(one.get("only", ())),
            one.get("optimum"),
            one.get("skips", {}),
        )
        for one in values["methods"]
    ]
    panels = [
        Panel(one["figure"], one.get("statistic", "mean"), tuple(one.get("cells", ()))) for one in values["panels"]
    ]
    quick = [Quick(tuple(one["cells"]), tuple(one["methods"]), one.get("seeds", 1)) for one in values.get("quick", ())]
    return Design(
        name,
        values["place"],
        values["title"],
        values.get("published"),
        tuple(_cells(values)),
        int(values.get("seeds", 1)),
        tuple(entries),
        tuple(panels),
        tuple(quick),
        tuple(values.get("notes", ())),
    )


def _cells(values: dict[str, Any]) -> Sequence[Cell]:
    named = [Cell.named(name) for name in values.get("cells", ())]
    simulated = [
        Cell.gaussian(n, samples, degree)
        for n in values.get("nodes", ())
        for samples in values.get("samples", ())
        for degree in values.get("degrees", ())
    ]
    cells = [*named, *simulated]
    if not cells:
        raise InputError(f"expected cells= (of {', '.join(SETS)}) or nodes=, samples= and degrees= in the design")
    return cells
