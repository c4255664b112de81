"""A result in a few lines of plain text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.results.result import Result

__all__ = ["proof_of", "summary_of"]

NEGLIGIBLE = 1e-3  # a smaller difference of scores is not mentioned
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
    if "start_score" in result.details:
        lines.append(f"start   {result.details['start_score']:.4f}  {_improvement(result.details)}")
    lines.append(f"bound   {_bound(result)}")
    lines.append(f"status  {result.status}: {PLAIN_STATUS[result.status]}, {result.method}, {_time(result)}")
    expected = result.details.get("chance_edges")
    if expected is not None:
        lines.append(f"chance  {expected:.2g} edges are expected by chance under this penalty")
    lines += [f"note    {note}" for note in result.notes]
    lines += [f"warning {finding.message}" for finding in result.findings]
    return "\n".join(lines)


def proof_of(result: Result) -> str:
    """Return how good the answer is proven to be; percentages are rounded up."""
    if result.gap is None:
        return "nothing is proven about better DAGs"
    if result.status == "optimal":
        return "proven optimal"
    return f"proven within {_per_cent(result.gap)} of the best"


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


def _bound(result: Result) -> str:
    """Return the bound and what it says."""
    if result.bound is None:
        return f"none: {proof_of(result)}"
    if result.status != "optimal":
        return f"{result.bound:.4f}  {proof_of(result)} (over {result.scope})"
    left = 0.0 if result.score is None else result.bound - result.score
    rounding = f" to within {left:.2g}, the possible rounding error," if left > NEGLIGIBLE else ""
    return f"{result.bound:.4f}  proven optimal{rounding} over {result.scope}"


def _time(result: Result) -> str:
    """Return the seconds of the run, and separately those of the compilation, which happens once per machine."""
    told = result.provenance
    if told is None or told.compile_seconds < 0.05:
        return f"{result.seconds:.2f} s"
    return f"{told.seconds:.2f} s, and {told.compile_seconds:.1f} s to compile kernels, once per machine"


def _per_cent(share: float) -> str:
    """Return a share in per cent with two significant digits, rounded up."""
    if share <= 0.0:
        return "0 %"
    digits = max(1 - math.floor(math.log10(100.0 * share)), 0)
    return f"{math.ceil(100.0 * share * 10**digits * (1 - 1e-12)) / 10**digits:.{digits}f} %"


def _improvement(details: dict[str, Any]) -> str:
    """Return in words how the result differs from the start."""
    if details["improvement"] <= 1e-9 * abs(details["start_score"]):
        return "nothing better was found"
    added, dropped, turned = (details[f"edges_{what}"] for what in ("added", "dropped", "reversed"))
    changes = f"{added} edge{'' if added == 1 else 's'} added, {dropped} dropped, {turned} reversed"
    return f"improved by {details['improvement']:.4f}; {changes}"
