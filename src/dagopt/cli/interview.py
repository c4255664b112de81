"""A short dialogue on the terminal about what is known before learning; nothing is used that was not confirmed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dagopt.cli.flags import listed

if TYPE_CHECKING:
    from dagopt.graph.constraints import Constraints

__all__ = ["interviewed", "proposed"]

# Words of names of columns that nothing else in a table causes, as a rule, and of names of rows.
FIRST = ("age", "birth", "born", "cohort", "ethnicity", "gender", "race", "sex", "year", "month", "date", "quarter")
ROWS = ("id", "identifier", "index", "key", "no", "nr", "number", "uuid")


def proposed(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns that are likely to come first, and those that are likely to name rows, by their names.

    Examples
    --------
    >>> proposed(["patient_id", "Age", "sexOfChild", "smoker", "weight"])
    (['Age', 'sexOfChild'], ['patient_id'])
    """
    words = {name: re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()) for name in names}
    rows = [name for name in names if words[name] and words[name][-1] in ROWS]
    return [name for name in names if name not in rows and set(words[name]) & set(FIRST)], rows


def interviewed(names: Sequence[str], known: Constraints) -> tuple[Constraints, list[str]]:
    """Ask what is known about these columns; return it with what is known already, and the columns to leave out."""
    first, rows = proposed(names)
    typer.echo("Before learning, a few questions. Enter takes what is in brackets, - means none.", err=True)
    left_out = _asked("Columns that only name or number the rows, to be left out", rows, names)
    others = [name for name in names if name not in left_out]
    groups = [_asked("Columns that nothing else in the table causes", [one for one in first if one in others], others)]
    while groups[-1]:
        others = [name for name in others if name not in groups[-1]]
        if len(others) < 2:
            break
        groups.append(_asked("Columns that come next in time; - if you cannot say", [], others))
    groups = [group for group in groups if group]
    groups += [others] if groups and others else []
    for number, group in enumerate(groups, start=1):
        typer.echo(f"  {number}. {', '.join(group)}", err=True)
    told = replace(known, tiers=groups) if len(groups) > 1 else known
    if left_out:
        typer.echo(f"  left out: {', '.join(left_out)}", err=True)
    if len(groups) > 1 and not typer.confirm("No edge goes back from a later line. Use this?", default=False, err=True):
        told = known
    if told is not known:
        path = typer.prompt("File to keep this in, such as known.toml; - for none", default="-", err=True)
        if path.strip() != "-":
            told.write(Path(path.strip()))
    return told, left_out


def _asked(question: str, likely: Sequence[str], names: Sequence[str]) -> list[str]:
    """Ask for columns until all of them exist."""
    while True:
        text = typer.prompt(question, default=",".join(likely) or "-", err=True)
        given = [] if text.strip() == "-" else listed(text)
        strange = [name for name in given if name not in names]
        if not strange:
            return given
        typer.echo(f"  there is no column {strange[0]!r}; there are {', '.join(names)}", err=True)
