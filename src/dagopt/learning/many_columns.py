"""Learning from a table with so many columns that a number for every pair of them does not fit into memory.

The search is ``methods/orders/wide.py``. Its memory grows with the cells of the table and with the pairs of columns
that can be joined. The result has a sparse graph and no ``problem``, so that what needs all pairs, such as effects, is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dagopt.arrays import Ints
from dagopt.data.chance import chance_edges, chance_finding
from dagopt.data.continuous import ContinuousTable
from dagopt.data.continuous_checks import (
    EXACT_DEPENDENCE,
    ROWS_PER_PARENT,
    continuous_findings,
    duplicate,
    few_rows,
)
from dagopt.data.findings import Diagnosis, Finding
from dagopt.data.table import Table
from dagopt.deadline import Deadline
from dagopt.errors import InputError, quoted
from dagopt.graph.constraints import Constraints
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.order import MOST_DENSE, adjacency_of, parent_lists
from dagopt.memory import require_memory
from dagopt.options import Options
from dagopt.progress import Progress, begin_part
from dagopt.results.answer import Answer
from dagopt.results.figures import Figures
from dagopt.results.result import Result, result_of
from dagopt.scores.build import gaussian_penalty
from dagopt.scores.gaussian import gaussian_costs
from dagopt.scores.score_options import ScoreOptions

if TYPE_CHECKING:
    from dagopt.methods.orders.wide import WideScore, WideSearch

__all__ = ["WideQuestion", "solve_wide", "wide_question"]

METHODS = ("auto", "order")
BYTES_PER_CELL = 28  # unit columns in double and single precision, and a copy while they are made


@dataclass(frozen=True)
class WideQuestion:
    """A table with very many columns, its score, the largest number of parents, and options of the method."""

    table: ContinuousTable
    penalty: float
    label: str
    reason: str
    convention: str
    limit: int
    options: Options


def wide_question(
    table: Table,
    scoring: ScoreOptions,
    method: str,
    options: Options,
    constraints: Constraints,
    max_parents: int | None,
) -> WideQuestion | None:
    """Return the question if it is one for the search over very many columns, None if it is for the other methods.

    It takes more than ``MOST_DENSE`` continuous columns without missing cells, weights or lags, a penalised likelihood,
    and no knowledge except a limit on the number of parents.
    """
    if not isinstance(table, ContinuousTable) or len(table.names) <= MOST_DENSE:
        return None
    known = replace(constraints, max_parents=None)
    given = options.to_dict()
    if (
        method not in METHODS
        or known != Constraints()
        or not isinstance(constraints.max_parents, int | None)
        or given.get("n_best", 1) > 1
        or given.get("candidates") is not None
        or not table.is_plain
    ):
        return None
    found = gaussian_penalty(table, scoring)
    if found is None:
        return None
    limits = [most for most in (constraints.max_parents, max_parents) if most is not None]
    limit = min(limits) if limits else max(table.n_samples // ROWS_PER_PARENT, 1)
    return WideQuestion(table, *found, scoring.convention, limit, options)


def solve_wide(
    question: WideQuestion, findings: Iterable[Finding], deadline: Deadline, progress: Progress, reading: float
) -> Result:
    """Return the best DAG found for a table with very many columns.

    Parameters
    ----------
    question : WideQuestion
        What is asked.
    findings : iterable of Finding
        What was found while the table was read.
    deadline, progress
        The clock, and where the run is shown.
    reading : float
        How long it took to read the table.
    """
    from dagopt.methods.orders.wide import WideScore, search_wide  # only now: it loads numba

    table, n = question.table, len(question.table.names)
    rows = table.n_rows
    begin_part(progress, "checking")
    require_memory(BYTES_PER_CELL * rows * n, f"a search over {n:,} columns with {rows:,} rows")
    diagnosis = _diagnosis(question, findings)
    diagnosis.raise_for_errors()
    costs = gaussian_costs(np.arange(question.limit + 1), question.penalty, table.n_samples, question.convention)
    score = WideScore(table.n_samples, costs)
    given = question.options.to_dict()
    start = given.get("start")
    with deadline:
        try:
            progress.posed(table.kind, diagnosis.warnings)
            begin_part(progress, "order")
            found = search_wide(
                table.values,
                table.names,
                score,
                deadline,
                progress,
                random_state=given.get("random_state", 0),
                kicks=given.get("kicks"),
                device=given.get("device", "auto"),
                start=None if start is None else _start(start, table.names, question.limit),
            )
        finally:
            progress.close()
        _refuse_determined(question, found, score)
        answer = _answer(question, found, score, deadline)
        return result_of(
            answer,
            table.names,
            question.label,
            findings=diagnosis.warnings,
            seconds=deadline.elapsed(),
            reading_seconds=reading,
            n_samples=table.n_samples,
        )


def _diagnosis(question: WideQuestion, findings: Iterable[Finding]) -> Diagnosis:
    """Return what the doctor finds in the columns, each by itself; copies are found by the search."""
    table, n = question.table, len(question.table.names)
    sizes = np.ones(n, dtype=np.int64)
    is_ebic = question.label.startswith("EBIC")
    found = [
        *findings,
        *few_rows(table, question.limit),
        *continuous_findings(table, alone=True),
        *chance_finding(table.names, sizes, question.penalty, is_ebic=is_ebic),
    ]
    return Diagnosis(table.kind, table.n_samples, n, tuple(sorted(found, key=lambda one: one.severity != "error")))


def _start(start: object, names: tuple[str, ...], limit: int) -> list[Ints]:
    """Return the parents of every column in the start DAG."""
    graph = as_graph(start, names)
    require_dag(graph)
    parents = parent_lists(graph.adjacency)
    if max(map(len, parents)) > limit:
        raise InputError(f"the start DAG has columns with more than {limit} parents; raise max_parents=")
    return parents


def _refuse_determined(question: WideQuestion, found: WideSearch, score: WideScore) -> None:
    """Raise an error if a column is a copy of another, or its parents determine it."""
    names = question.table.names
    if len(found.copies):
        a, b = (int(k) for k in found.copies[0])
        Diagnosis("continuous", 0, len(names), (duplicate(question.table, a, b),)).raise_for_errors()
    sizes = np.array([len(own) for own in found.parents])
    left = np.exp(-2 * (found.scores + score.costs[sizes]) / score.n_samples)
    for v in np.flatnonzero((left < EXACT_DEPENDENCE) & (sizes > 0)).tolist():
        raise InputError(
            f"column {names[v]!r} is a linear combination of {quoted([names[k] for k in found.parents[v]])}, to "
            f"rounding: with these as parents it is predicted perfectly and the score is unbounded; leave one of them "
            f"out with exclude=, for instance {names[v]!r}, or give more rows"
        )


def _answer(question: WideQuestion, found: WideSearch, score: WideScore, deadline: Deadline) -> Answer:
    """Return the answer, with the score in the units of the table."""
    table, n = question.table, len(question.table.names)
    constant = -0.5 * score.n_samples * n * (1 + math.log(2 * math.pi)) - score.n_samples * float(
        np.log(found.scale).sum()
    )
    heads = np.repeat(np.arange(n), [len(own) for own in found.parents])
    tails = np.concatenate([*found.parents, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    gains = {
        f"{table.names[a]} -> {table.names[b]}": float(gain)
        for a, b, gain in zip(tails.tolist(), heads.tolist(), found.edge_gains, strict=True)
    }
    figures = Figures(
        edge_gain=gains,
        empty_score=constant - n * float(score.costs[0]),
        chance_edges=chance_edges(np.ones(n, dtype=np.int64), question.penalty),
    )
    return Answer(
        "order",
        adjacency_of(n, tails, heads),
        constant + found.score,
        deadline.reason or "converged",
        trace=pd.DataFrame(found.rows, columns=["seconds", "phase", "score"]),
        notes=(*_notes(question, found, score), *([question.reason] if question.reason else [])),
        figures=figures,
    )


def _notes(question: WideQuestion, found: WideSearch, score: WideScore) -> list[str]:
    """Return how the pairs were chosen, and whether all were looked at again."""
    n = len(question.table.names)
    notes = [
        f"{n:,} columns: candidates are the {found.n_first:,} pairs with a correlation above {score.least:.3f}, below "
        f"which an edge alone lowers the score; none is left out (computed in blocks {found.where})",
        f"at most {question.limit} parents of a column; max_parents= changes it",
    ]
    if found.is_checked:
        notes.append(
            f"residuals compared with all columns: {found.n_hidden:,} further pairs became candidates, and in the end "
            "no edge to a column that had parents was found that would raise the score"
        )
    else:
        notes.append("the run ended before all residuals were compared with all columns, so parents may be missing")
    return notes
