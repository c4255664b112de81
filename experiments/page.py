"""One Markdown page with every table, made from result files: what was run, on what, and what was not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from dagopt import __version__
from experiments.figures import Results
from experiments.layout import PaperTable, as_markdown

__all__ = ["make_page"]


def make_page(
    tables: Sequence[PaperTable],
    results: Results,
    command: str,
    pictures: Sequence[Path] = (),
    beside: Path | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    tables : sequence of PaperTable
        What to show.
    results : Results
        The results behind them.
    command : str
        The command that wrote the page.
    pictures : sequence of path
        To be shown.
    beside : path, optional
        The folder of the page, from which pictures are linked.
    """
    days = sorted({record.date for record in results.records if record.date})
    when = "no runs" if not days else f"runs of {days[0]}" if len(days) == 1 else f"runs from {days[0]} to {days[-1]}"
    parts = [
        "# The paper's tables beside our own",
        f"Written by `{command}` on {date.today().isoformat()}, from {len(results.records)} {when}. The paper is "
        "arXiv:2505.11089; its figures come from its own machine, and on simulated data from instances of its own. "
        "Ours: one thread per run, each run in a process of its own, with everything loaded before the clock starts.",
        _listed("Machines", Counter(record.machine for record in results.records)),
        _listed("Versions", Counter(record.versions for record in results.records)),
        _from_sources(results),
    ]
    for picture in pictures:
        parts.append(f"![{picture.stem.replace('_', ' ')}]({Path(os.path.relpath(picture, beside)).as_posix()})")
    return "\n\n".join(part for part in [*parts, *map(as_markdown, tables)] if part).rstrip() + "\n"


def _listed(title: str, counts: Counter[str]) -> str:
    """Return the versions or machines of the runs, by number of runs."""
    known = [f"- {name} ({count} run{'s' * (count > 1)})" for name, count in counts.most_common() if name]
    return "\n".join([f"{title}:", "", *known]) if known else ""


def _from_sources(results: Results) -> str:
    """Say what it means where a run names another version of dagopt than the present one, or none."""
    if all(f"dagopt {__version__}," in record.versions for record in results.records if record.versions):
        return ""
    return (
        "All runs were made from the source tree. Where dagopt has no version here, or a development version, the tree "
        f"was one on the way to {__version__}, not a release."
    )
