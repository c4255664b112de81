"""How many lags: chosen by score, on the same rows for every number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dagopt.data.data_options import DataOptions
from dagopt.data.table import read_table
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.methods.registry import METHODS
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import score_of
from dagopt.scores.score_options import ScoreOptions

__all__ = ["chosen_lags"]

MOST_LAGS = 6  # that are tried
ROWS_PER_COLUMN = 5  # moments per lagged column, at least


def chosen_lags(data: object, reading: DataOptions, scoring: ScoreOptions, deadline: Deadline) -> tuple[int, str]:
    """Return the number of lags with the best score by order search, and a note.

    The rows of all numbers are those of the largest, so that scores are compared on the same moments; columns further
    back than a number allows may not be parents.
    """
    first, _ = read_table(data, replace(reading, lags=1), doctor=False, deadline=deadline)
    assert first.lags is not None
    most = max(1, min(MOST_LAGS, first.n_rows // (ROWS_PER_COLUMN * first.lags.n_series) - 1))
    table, _ = read_table(data, replace(reading, lags=most), doctor=False, deadline=deadline)
    lags = table.lags
    assert lags is not None
    score = score_of(table, scoring, deadline)
    known = Constraints().resolve(table.names, lags)
    options: dict[str, Any] = {"restarts": 1, "n_jobs": 1}
    found: list[float] = []
    for count in range(1, most + 1):
        may = known.may.copy()
        may[lags.lag > count] = False
        problem = Problem(table, score, replace(known, may=may))
        answer = METHODS["order"].load()(problem, deadline=deadline, progress=NoProgress(), **options)
        found.append((answer.score or -np.inf) - problem.past_score)
    best = int(np.argmax(found)) + 1
    scores = ", ".join(f"{count}: {value:.1f}" for count, value in enumerate(found, start=1))
    return best, f"lags: {best}, by the score on the same {table.n_samples} moments ({scores})"
