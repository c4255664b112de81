"""A result in a few lines of plain text."""

from __future__ import annotations

import numpy as np

from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.results.figures import Figures
from dagopt.results.proof import bound_line
from dagopt.results.result import Result

__all__ = ["summary_of"]

PLAIN_STATUS = {
    "optimal": "proven optimal",
    "converged": "the method finished",
    "time_limit": "stopped by the time limit",
    "interrupted": "stopped by the user",
}


def summary_of(result: Result) -> str:
    """Return what was found, what is proven, why the run ended, and notes."""
    lines = [_size(result)]
    if result.score is not None:
        lines.append(f"score   {result.score:.4f}  ({result.score_label})")
    if result.figures.start_score is not None:
        lines.append(f"start   {result.figures.start_score:.4f}  {_improvement(result.figures)}")
    lines.append(f"bound   {bound_line(result)}")
    lines.append(f"status  {result.status}: {PLAIN_STATUS[result.status]}, {result.method}, {_time(result)}")
    expected = result.figures.chance_edges
    if expected is not None:
        lines.append(f"chance  {expected:.2g} edges are expected by chance under this penalty")
    lines += [f"note    {note}" for note in result.notes]
    lines += [f"warning {finding.message}" for finding in result.findings]
    return "\n".join(lines)


def _size(result: Result) -> str:
    """Return the number of columns, rows and edges."""
    essential = result.cpdag_adjacency
    undirected = int(np.triu(essential & essential.T).sum())
    edges = result.graph.n_edges
    known = is_acyclic(result.adjacency) and (cpdag(result.adjacency) != essential).any()
    return (
        f"{len(result.names)} columns, {result.n_samples} rows; {edges} edges, {edges - undirected} of them directed in"
        f" every equivalent DAG{' that the knowledge allows' if known else ''}"
    )


def _time(result: Result) -> str:
    """Return the seconds of the run, and separately those of the compilation, which happens once per machine."""
    told = result.provenance
    if told is None or told.compile_seconds < 0.05:
        return f"{result.seconds:.2f} s"
    return f"{told.seconds:.2f} s, and {told.compile_seconds:.1f} s to compile kernels, once per machine"


def _improvement(figures: Figures) -> str:
    """Return in words how the result differs from the start."""
    gained = figures.improvement or 0.0
    if gained <= 1e-9 * abs(figures.start_score or 0.0):
        return "nothing better was found"
    added, dropped, turned = figures.edges_added, figures.edges_dropped, figures.edges_reversed
    changes = f"{added} edge{'' if added == 1 else 's'} added, {dropped} dropped, {turned} reversed"
    return f"improved by {gained:.4f}; {changes}"
