"""The origin of the result, for the report."""

from __future__ import annotations

from datetime import datetime
from html import escape
from pathlib import Path

from dagopt.report.view import View
from dagopt.results.provenance import Provenance
from dagopt.results.result import Result

__all__ = ["origin_line", "origin_section"]


def origin_line(result: Result) -> str:
    """Return one line: the data, the score, the method and the date; empty if they are not known."""
    told = result.provenance
    if told is None:
        return ""
    parts = [Path(told.data).name or told.data, told.score, told.method, _day(told)]
    return f'<p class="origin">{escape(" · ".join(filter(None, parts)))}</p>\n'


def origin_section(result: Result, view: View) -> str:
    """Return everything that is needed to reproduce the result."""
    told = result.provenance
    if told is None:
        return ""
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{cell}</td></tr>"
        for name, cell in _facts(told, result.score_label)
        if cell
    )
    return (
        '<section id="origin" aria-labelledby="origin-title">\n<h2 id="origin-title">Where this comes from</h2>\n'
        f'<table class="facts"><tbody>{rows}</tbody></table>\n</section>'
    )


def _facts(told: Provenance, formula: str) -> list[tuple[str, str]]:
    """Return the facts, each with its name, as HTML; the formula of the score stands behind its name."""
    size = f"{told.n_samples:,} rows, {told.n_columns:,} columns" if told.n_samples else f"{told.n_columns:,} columns"
    penalty = "" if told.penalty is None else f", {told.penalty:.6g} for each parameter"
    score = formula if formula.startswith(told.score) else f"{told.score}{penalty}"
    options = ", ".join(f"{name}={text}" for name, text in told.options.items())
    compiling = f", and {told.compile_seconds:,.2f} s to compile kernels" if told.compile_seconds >= 0.005 else ""
    return [
        ("Data", escape(f"{told.data}: {size}")),
        ("SHA-256", f"<code>{escape(told.sha256)}</code>" if told.sha256 else ""),
        ("Score", escape(score)),
        ("Method", escape(told.method + (f", chosen by {told.asked}" if told.asked != told.method else ""))),
        ("Options", f"<code>{escape(options)}</code>" if options else "defaults"),
        ("Seed", "" if told.seed is None else str(told.seed)),
        ("Program", escape(f"dagopt {told.version}")),
        ("Date", escape(f"{_day(told)}, {told.date[11:16]} {told.date[19:]}".rstrip())),
        ("Time", f"{told.seconds:,.2f} s{compiling}"),
        ("To repeat it", f"<code>{escape(told.command)}</code>"),
    ]


def _day(told: Provenance) -> str:
    """Return the day in words, such as 3 May 2026."""
    day = datetime.fromisoformat(told.date)
    return f"{day.day} {day:%B %Y}"
