"""Effects after some moments over block resamples: intervals that allow for the graph's being uncertain too.

Each resample has its own graph, learned from blocks of successive moments. Its parameters are fitted to the same rows,
and the effects follow by the formula (`networks/series/responses.py`). An interval goes from one percentile of the
resamples to the other; an effect that a graph excludes, because no path leads from the cause to the outcome in that
many moments, is exactly zero there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dagopt.arrays import Floats
from dagopt.data.continuous import ContinuousTable
from dagopt.data.resampling import resampled
from dagopt.errors import InputError, checked_share, checked_whole, unknown_name
from dagopt.graph.cpdag import extend_pdag
from dagopt.networks.fitted.fitted_gaussian import FittedGaussian
from dagopt.networks.fitted.fitting import fit_table
from dagopt.networks.series.responses import responses

if TYPE_CHECKING:
    from dagopt.confidence.agreement import Bootstrap

__all__ = ["effects_over_resamples"]


def effects_over_resamples(
    bootstrap: Bootstrap, cause: str, outcome: str | None, *, steps: int, level: float
) -> pd.DataFrame:
    """Return the effects of all rows, with intervals over the resamples; see ``Bootstrap.effects``."""
    steps, level = checked_whole("steps", steps, 0), checked_share("level", level)
    problem, lags = bootstrap.result.problem, bootstrap.result.lags
    if lags is None or problem is None or not isinstance(problem.table, ContinuousTable):
        raise InputError(
            "effects over resamples are about continuous series; give lags= to bootstrap, or see result.effect()"
        )
    if bootstrap.n_done < bootstrap.n_asked:
        raise InputError(
            f"{bootstrap.n_done} of {bootstrap.n_asked} resamples were done, so that their rows are not known; raise "
            "time_limit="
        )
    for name in (cause, *([] if outcome is None else [outcome])):
        if name not in lags.series:
            raise unknown_name("series", name, list(lags.series))
    i = lags.series.index(cause)
    drawn = np.stack([_responses(bootstrap, problem.table, k, steps)[:, i] for k in range(bootstrap.n_done)])
    whole = _of_graph(problem.table, bootstrap.result.adjacency, lags.n_series, steps)[:, i]
    tails = (1 - level) / 2, (1 + level) / 2
    parts = []
    for j, name in enumerate(lags.series):
        if outcome is not None and name != outcome:
            continue
        low, high = np.quantile(drawn[:, :, j], tails, axis=0)
        facts = {"outcome": name, "step": np.arange(steps + 1), "effect": whole[:, j]}
        spread = {"standard_error": drawn[:, :, j].std(axis=0), "low": low, "high": high}
        parts.append(pd.DataFrame({**facts, **spread, "not_zero": (drawn[:, :, j] != 0).mean(axis=0)}))
    return pd.concat(parts, ignore_index=True)


def _responses(bootstrap: Bootstrap, table: ContinuousTable, number: int, steps: int) -> Floats:
    """Return the effects in the graph of one resample, fitted to its rows."""
    seed = np.random.SeedSequence(bootstrap.random_state, spawn_key=(number,))
    rows = resampled(table, np.random.default_rng(seed), bootstrap.n_rows, replace=bootstrap.replace)
    essential = bootstrap.essential[number]
    dag = extend_pdag(essential)
    assert isinstance(rows, ContinuousTable)
    assert bootstrap.result.lags is not None
    return _of_graph(rows, essential if dag is None else dag, bootstrap.result.lags.n_series, steps)


def _of_graph(table: ContinuousTable, adjacency: np.ndarray, n: int, steps: int) -> Floats:
    fitted = fit_table(table, adjacency)
    assert isinstance(fitted, FittedGaussian)
    weights = fitted.network.weights
    return responses(np.stack([weights[k : k + n, :n] for k in range(0, len(weights), n)]), steps)
