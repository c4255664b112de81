"""The parameters of the DAG in the form for the report: equations, or a table of probabilities, for each node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.graph.dag import as_graph
from dagopt.networks.fitted import FittedDiscrete, FittedGaussian, FittedMixed, FittedNetwork
from dagopt.networks.fitted.fitting import n_estimates
from dagopt.report.labels import label
from dagopt.results.result import Result

__all__ = ["coefficients", "estimates", "fitted_or_why"]

MOST_CELLS = 1_000_000  # of all tables together; beyond this, tables are fitted only on request
MOST_CONFIGURATIONS = 64  # the most rows of a table shown
MOST_LEVELS = 12  # the most levels of a column shown


def fitted_or_why(result: Result) -> tuple[FittedNetwork | None, str]:
    """Return the fitted network of a result, or None and the reason why there is none; it is fitted only once."""
    if "_fitted_or_why" not in vars(result):
        object.__setattr__(result, "_fitted_or_why", _fitted_or_why(result))
    known: tuple[FittedNetwork | None, str] = vars(result)["_fitted_or_why"]
    return known


def _fitted_or_why(result: Result) -> tuple[FittedNetwork | None, str]:
    if result.problem is None:
        return None, "there are no data to fit parameters to"
    if result.dag is None:
        return None, "the learned graph has no DAG to fit"
    cells = n_estimates(result.problem.table, as_graph(result.dag).adjacency)
    if cells > MOST_CELLS:
        return None, f"the tables of probabilities have {cells:,} cells; result.fit() makes them"
    try:
        return result.fit(), ""
    except InputError as error:
        return None, str(error)


def coefficients(fitted: FittedNetwork | None) -> dict[tuple[int, int], dict[str, float]]:
    """Return the numbers of each edge (parent, node) of a Gaussian network; none for other networks."""
    if not isinstance(fitted, FittedGaussian):
        return {}
    found = {}
    for node, (parents, one) in enumerate(zip(fitted.parents, fitted.regressions, strict=True)):
        for parent, slope, error in zip(parents, one.estimates[1:], one.standard_errors[1:], strict=True):
            named = {"coefficient": float(slope), "standard error": float(error)}
            found[parent, node] = {name: value for name, value in named.items() if math.isfinite(value)}
    return found


def estimates(fitted: FittedNetwork | None, n_nodes: int) -> list[dict[str, Any]]:
    """Return for each node the parameters that the page shows, as plain values; empty if there are none."""
    if isinstance(fitted, FittedGaussian):
        return [_equation(fitted, node) for node in range(n_nodes)]
    if isinstance(fitted, FittedDiscrete):
        return [_table(fitted, node) for node in range(n_nodes)]
    if isinstance(fitted, FittedMixed):
        return [_effects(fitted, node) for node in range(n_nodes)]
    return [{} for _ in range(n_nodes)]


def _equation(fitted: FittedGaussian, node: int) -> dict[str, Any]:
    """Return the regression of a node: its terms, the variance of the noise and the share explained."""
    one = fitted.regressions[node]
    terms = [(parent, None) for parent in (None, *fitted.parents[node])]
    return {
        "equations": [[None, _terms(terms, one.estimates, one.standard_errors, one.p_values)]],
        "against": None,
        "variance": _short(one.variance),
        "explained": _short(one.r_squared),
    }


def _effects(fitted: FittedMixed, node: int) -> dict[str, Any]:
    """Return the regression of a continuous node, or the log odds of the first levels of a discrete one."""
    one, levels = fitted.effects[node], fitted.network.levels
    terms: list[tuple[int | None, str | None]] = [(None, None)]
    for parent in fitted.parents[node]:
        terms += [(parent, label(level)) for level in levels[parent][1:]] if levels[parent] else [(parent, None)]
    own: list[str | None] = [label(level) for level in levels[node][1 : MOST_LEVELS + 1]]
    figures = zip(own or [None], one.estimates, one.standard_errors, one.p_values, strict=False)
    return {
        "equations": [[level, _terms(terms, *columns)] for level, *columns in figures],
        "against": label(levels[node][0]) if levels[node] else None,
        "variance": _short(one.variance),
        "explained": _short(one.explained),
        "allLevels": len(levels[node]),
    }


def _terms(terms: Sequence[tuple[int | None, str | None]], *columns: NDArray[np.float64]) -> list[list[Any]]:
    """Return for each term its parent (None for the intercept), the parent's level, and the figures."""
    return [[*term, *map(_short, values)] for term, *values in zip(terms, *columns, strict=True)]


def _table(fitted: FittedDiscrete, node: int) -> dict[str, Any]:
    """Return a table's rows: the parents' levels, the rows of data, and a probability and its error for each level.

    A long table keeps the configurations with most data, a wide one the most frequent levels.
    """
    table, counts = fitted.network.tables[node], fitted.counts[node]
    flat = table.reshape(-1, table.shape[-1])
    errors = fitted.standard_errors(node).reshape(flat.shape)
    totals = counts.sum(axis=-1).ravel()
    rows = _largest(totals, MOST_CONFIGURATIONS)
    kept = _largest(counts.reshape(flat.shape).sum(axis=0), MOST_LEVELS)
    places = np.array(np.unravel_index(rows, table.shape[:-1])).T if fitted.parents[node] else [()] * len(rows)
    levels = fitted.network.levels
    return {
        "given": list(fitted.parents[node]),
        "levels": [label(levels[node][k]) for k in kept],
        "rows": [
            [
                [label(levels[i][k]) for i, k in zip(fitted.parents[node], place, strict=True)],
                int(totals[row]),
                [_short(p) for p in flat[row, kept]],
                [_short(error) for error in errors[row, kept]],
            ]
            for row, place in zip(rows, places, strict=True)
        ],
        "configurations": len(flat),
        "unseen": int((totals == 0).sum()),
        "allLevels": len(levels[node]),
    }


def _largest(values: np.ndarray[Any, Any], most: int) -> np.ndarray[Any, Any]:
    """Return the positions of the largest values, in order of position."""
    return np.sort(np.argsort(-values, kind="stable")[:most])


def _short(value: float) -> float | None:
    """Return a number to five digits, None if it is not known."""
    return float(f"{value:.5g}") if math.isfinite(value) else None
