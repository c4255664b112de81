"""What is printed: text and tables on standard output, complaints on standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BAD_INPUT", "FOUND_SOMETHING", "complain", "in_flags", "print_json", "print_table"]

WIDEST = 10_000  # of a table in a file or a pipe, where no line is broken
FOUND_SOMETHING = 1
BAD_INPUT = 2

# Options of the library, as messages name them, and as they are called here.
_FLAGS = {
    "columns": "--columns",
    "kind": "--kind",
    "discretize": "--discretize",
    "bins": "--bins",
    "missing": "--missing",
    "na_values": "--na",
    "score": "--score",
    "convention": "--convention",
    "equivalent_sample_size": "--ess",
    "mean_weight": "--ess",
    "max_parents": "--max-parents",
    "time_limit": "--time-limit",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "start": "--start",
    "device": "--device",
    "memory_limit": "--memory-limit",
    "n_best": "--n-best",
    "prior": "--prior",
    "threshold": "--threshold",
    "fraction": "--fraction",
    "penalties": "--penalties",
    "n_nodes": "--nodes",
    "n_samples": "--samples",
}
# Followed by = and perhaps a value; without = only names that are no words of English.
_OPTION = re.compile(
    rf"(?<![\w'-])(?:(?P<set>{'|'.join(_FLAGS)})=(?:'(?P<text>[\w.-]+)'|(?=(?P<value>\w?)))"
    rf"|(?P<named>{'|'.join(name for name in _FLAGS if '_' in name)})(?![\w']))"
)


def in_flags(message: str) -> str:
    """Return a message of the library with its options as they are written on the command line.

    Examples
    --------
    >>> in_flags("use kind='discrete', or leave it out with columns=; max_parents=3 is usual")
    'use --kind discrete, or leave it out with --columns; --max-parents 3 is usual'
    >>> in_flags("expected n_best to be >= 1")
    'expected --n-best to be >= 1'
    """

    def flag(found: re.Match[str]) -> str:
        text = found["text"] or ""
        return _FLAGS[found["set"] or found["named"]] + (" " if text or found["value"] else "") + text

    return _OPTION.sub(flag, message)


def complain(message: str) -> int:
    """Print one line on standard error and return the exit code of bad input."""
    typer.echo(f"dagopt: {in_flags(' '.join(message.split()))}", err=True)
    return BAD_INPUT


def print_json(values: Any) -> None:
    """Print plain values for machines."""
    typer.echo(json.dumps(values, indent=2, ensure_ascii=False))


def print_table(frame: pd.DataFrame, title: str, right: Iterable[str] = ()) -> None:
    """Print a frame as a table on the terminal, numbers and the columns ``right`` to the right."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=Text(title), title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name in frame.columns:
        is_figure = frame[name].dtype.kind in "if" or name in right
        table.add_column(Text(str(name)), justify="right" if is_figure else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(Text(f"{cell:.4f}" if isinstance(cell, float) else str(cell)) for cell in row))
    width = None if sys.stdout.isatty() else WIDEST
    Console(soft_wrap=not sys.stdout.isatty(), highlight=False, width=width).print(table)
