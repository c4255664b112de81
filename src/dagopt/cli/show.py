"""What is printed: text and tables on standard output, errors on standard error."""

from __future__ import annotations

import json
import re
import shlex
import sys
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from dagopt.cli.flags import FLAGS

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table as RichTable

__all__ = [
    "BAD_INPUT",
    "FOUND_SOMETHING",
    "INTERRUPTED",
    "MOST_SHOWN",
    "complain",
    "in_flags",
    "print_json",
    "print_summary",
    "print_table",
]

WIDEST = 10_000  # the width of a table in a file or a pipe, where lines are not broken
MOST_SHOWN = 60  # rows of a table on a terminal; the rest is counted
SHORTEST_BAR, LONGEST_BAR = 6, 24  # characters
FOUND_SOMETHING = 1  # exit code: the doctor has findings, or graphs differ
BAD_INPUT = 2  # exit code
INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it

# Lines of a summary by their first word, and phrases in them, as a terminal shows them.
_SAID_OF = {"note": "dim", "warning": "yellow"}
_SPOKEN = {
    r"proven optimal|proven within [\d.,]+ points( \([^)]*\))? of the best": "bold green",
    r"none: nothing is proven.*|stopped by.*": "yellow",
}
# Options of the library, as messages name them, and as flags of the command.
_FLAGS = {
    **FLAGS,
    "mean_weight": FLAGS["equivalent_sample_size"],
    "max_parents": "--max-parents",
    "time_limit": "--time-limit",
    "prior": "--prior",
    "threshold": "--threshold",
    "fraction": "--fraction",
    "penalties": "--penalties",
    "n_nodes": "--nodes",
    "n_samples": "--samples",
}


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return what finds options: followed by = and perhaps a value; without = only names that are no English words."""
    return re.compile(
        rf"(?<![\w'-])(?:(?P<set>{'|'.join(names)})="
        rf"(?:'(?P<text>[\w.-]+)'|(?P<each>\{{[^{{}}]*\}})|(?=(?P<value>\w?)))"
        rf"|(?P<named>{'|'.join(name for name in names if '_' in name)})(?![\w']))"
    )


_OPTION = _pattern(_FLAGS)


def in_flags(message: str, more: Mapping[str, str] | None = None) -> str:
    """Return a message of the library with its options, and ``more`` of them, as they are on the command line.

    Examples
    --------
    >>> in_flags("use kind='discrete', or leave it out with columns=; max_parents=3 is usual")
    'use --kind discrete, or leave it out with --columns; --max-parents 3 is usual'
    >>> in_flags("use transform={'income': 'log', 'body mass': 'rank'}")
    "use --transform 'income=log,body mass=rank'"
    >>> in_flags("expected n_best to be >= 1")
    'expected --n-best to be >= 1'
    """

    def flag(found: re.Match[str]) -> str:
        text = found["text"] or _by_column(found["each"] or "")
        return flags[found["set"] or found["named"]] + (" " if text or found["value"] else "") + text

    flags = _FLAGS | dict(more or {})
    return (_pattern(flags) if more else _OPTION).sub(flag, message)


def _by_column(text: str) -> str:
    """Return a mapping of columns to values, as messages write it, as a flag takes it; anything else as it is."""
    try:
        values = literal_eval(text)
        return shlex.quote(",".join(f"{name}={value}" for name, value in values.items()))
    except (AttributeError, SyntaxError, ValueError):
        return text


def complain(message: str) -> int:
    """Print one line on standard error and return the exit code of bad input."""
    typer.echo(f"dagopt: {in_flags(' '.join(message.split()))}", err=True)
    return BAD_INPUT


def print_json(values: Any) -> None:
    """Print plain values for machines."""
    typer.echo(json.dumps(values, indent=2, ensure_ascii=False))


def print_summary(summary: str) -> None:
    """Print the lines of a summary; on a terminal, what is proven and what is not is highlighted.

    Parameters
    ----------
    summary : str
        A first line, then lines that begin with a keyword.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    first, *lines = summary.splitlines()
    lines = [in_flags(line) if line.startswith(("note", "warning")) else line for line in lines]
    if not sys.stdout.isatty():
        typer.echo("\n".join([first, *lines]))
        return
    about = RichTable.grid(padding=(0, 2, 0, 0))
    for line in lines:
        word, _, text = line.partition(" ")
        words = Text(text.strip(), style=_SAID_OF.get(word, ""))
        for pattern, style in _SPOKEN.items():
            words.highlight_regex(pattern, style)
        about.add_row(Text(word, style="yellow" if word == "warning" else "cyan"), words)
    console = Console(highlight=False)
    console.print()
    console.print(Text(first, style="bold"))
    console.print(about)


def print_table(frame: pd.DataFrame, title: str, right: Iterable[str] = (), bar: str | None = None) -> None:
    """Print a frame as a table, with numbers aligned to the right.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    title : str
        The title above them.
    right : iterable of str
        Columns of text that are aligned to the right like numbers.
    bar : str, optional
        A column of numbers that a terminal also shows as bars.
    """
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(soft_wrap=not terminal, highlight=False, width=None if terminal else WIDEST)
    table = _table(frame, title, right)
    room = min(console.width - console.measure(table).maximum - 2, LONGEST_BAR)
    if terminal and bar in frame and room >= SHORTEST_BAR and console.encoding.startswith("utf"):
        shares = frame[bar] / max(frame[bar].max(), 1e-300)
        table = _table(frame, title, right, ["━" * max(round(room * share), 1) for share in shares])
    console.print(table)


def _table(frame: pd.DataFrame, title: str, right: Iterable[str], bars: Sequence[str] = ()) -> RichTable:
    """Return a frame as a table, with a column of bars if there are any."""
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(
        title=Text(title, style="bold"), title_justify="left", header_style="cyan", box=None, pad_edge=False
    )
    for name in frame.columns:
        is_figure = frame[name].dtype.kind in "if" or name in right
        table.add_column(Text(str(name)), justify="right" if is_figure else "left", overflow="fold")
    for k, row in enumerate(frame.itertuples(index=False)):
        cells = [Text(f"{cell:.4f}" if isinstance(cell, float) else str(cell)) for cell in row]
        table.add_row(*cells, *(Text(bar, style="blue") for bar in bars[k : k + 1]))
    return table
