"""One measured run: the method on one thread; we score its answer and compare it with the true graph."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.data.table import Table
from dagopt.graph.cpdag import extend_pdag
from dagopt.graph.metrics import compare
from dagopt.graph.order import is_acyclic
from dagopt.kernels.plain import repeated
from dagopt.learning.learning import learn
from dagopt.methods.registry import METHODS, method_name
from dagopt.results.result import Result
from dagopt.scores.base import Score
from dagopt.scores.build import make_score
from experiments.adapters import ADAPTERS
from experiments.instances import load, small_table
from experiments.machine import machine, peak_megabytes, versions
from experiments.records import Record, Run, graph_text

__all__ = ["measure", "not_available", "provenance"]

MANY = 1_000_000  # times that a run is announced to be repeated
SHORT = 5.0


class Answer(NamedTuple):
    """What a method returned."""

    adjacency: NDArray[np.int8]
    status: str
    bound: float | None = None
    first_pricing: float | None = None


def not_available(method: str) -> str | None:
    """Say why a method cannot be run here, or return None if it can."""
    if method in METHODS:
        return None
    if method in ADAPTERS:
        adapter = ADAPTERS[method]
        return None if adapter.installed else f"{adapter.package} is not installed"
    return "dagopt has no such method"


def measure(run: Run, data: Path | None = None) -> Record:
    """Run a method once on its instance; the caller handles errors.

    Parameters
    ----------
    run : Run
        What to run.
    data : path, optional
        The folder of the data sets.

    Notes
    -----
    Before the clock starts, the method runs on a small table, so that modules are loaded and kernels compiled. A run
    of less than ``SHORT`` seconds is made twice and the second is timed, since larger tables may need further kernels.
    """
    table, true = load(run.cell, run.seed, data)
    with repeated(MANY):  # so that kernels are compiled, even if plain Python would finish this run sooner
        _answer(run, small_table(run.cell))
        found, wall, cpu = _timed(run, table)
        if wall < SHORT:
            found, wall, cpu = _timed(run, replace(table))  # a copy without the cached properties of the table
    score = make_score(table, "bic")
    closeness = compare(found.adjacency, true)
    return Record.of(
        run,
        status=found.status,
        score=_score_of(score, found.adjacency),
        true_score=score.total(true),
        bound=found.bound,
        graph=graph_text(found.adjacency),
        precision=closeness.precision,
        recall=closeness.recall,
        shd=closeness.shd,
        seconds=wall,
        cpu_seconds=cpu,
        peak_mb=peak_megabytes(),
        first_pricing=found.first_pricing,
        **provenance(run),
    )


def provenance(run: Run) -> dict[str, str]:
    """Return the versions, the machine and the date of a run."""
    others = (ADAPTERS[run.method].package,) if run.method in ADAPTERS else ()
    return {"versions": versions(*others), "machine": machine(), "date": date.today().isoformat()}


def _timed(run: Run, table: Table) -> tuple[Answer, float, float]:
    """Return the answer of a method with its wall-clock seconds and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = _answer(run, table)
    return found, time.perf_counter() - wall, time.process_time() - cpu


def _answer(run: Run, table: Table) -> Answer:
    if run.method in ADAPTERS:
        return Answer(ADAPTERS[run.method](table), "converged")
    options: dict[str, Any] = {"score": "bic", **run.options}
    if "n_jobs" in METHODS[run.method].options():
        options["n_jobs"] = 1  # one thread, as in the paper
    result = learn(table, method_name(run.method), time_limit=run.limit, progress=False, **options)
    return Answer(result.adjacency, result.status, result.bound, _first_pricing(result))


def _first_pricing(result: Result) -> float | None:
    """Return the seconds per node of the first round of pricing, if another followed; if not, it may be incomplete."""
    if "pricing_seconds" not in result.trace or list(result.trace["phase"][:2]) != ["families", "families"]:
        return None
    return float(result.trace["pricing_seconds"].iloc[0]) / len(result.names)


def _score_of(score: Score, adjacency: NDArray[np.int8]) -> float | None:
    """Return the score of a DAG, or of a member of a class; None for a PDAG that has no member."""
    member = adjacency if is_acyclic(adjacency) else extend_pdag(adjacency)
    return None if member is None else score.total(member)
