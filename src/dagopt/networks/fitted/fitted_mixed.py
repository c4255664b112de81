"""`FittedMixed`: regressions of continuous columns and log odds of discrete ones, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.mixed import MixedTable
from dagopt.errors import InputError, quoted
from dagopt.networks.checks import Parents
from dagopt.networks.fitted.fitted_network import FittedNetwork
from dagopt.networks.logit import fit_logit, log_probabilities
from dagopt.networks.mixed_network import MixedNetwork, design_matrix, terms_of

__all__ = ["Effects", "FittedMixed", "fit_mixed"]

FORMAT = "dagopt mixed network 1"


@dataclass(frozen=True)
class Effects:
    """The effects of its parents on one node, the intercept first.

    Attributes
    ----------
    estimates, standard_errors, p_values : arrays
        One row for a continuous node; for a discrete one, one row of log odds for each level except the first.
    variance : float
        The variance of the noise of a continuous node, dividing by the number of rows; NaN for a discrete one.
    log_likelihood : float
        The log-likelihood of the node given its parents.
    explained : float
        The share of the variance, or of the log-likelihood without parents, that the parents explain.
    rows : int
        The number of rows used.
    """

    estimates: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    p_values: NDArray[np.float64]
    variance: float
    log_likelihood: float
    explained: float
    rows: int


class FittedMixed(FittedNetwork):
    """A mixed network with standard errors.

    Attributes
    ----------
    effects : tuple of Effects
        The effects of the parents on each node.
    """

    network: MixedNetwork

    def __init__(
        self, network: MixedNetwork, effects: Sequence[Effects], n_samples: int, notes: Sequence[str] = ()
    ) -> None:
        self.network = network
        self.parents = network.parents
        self.effects = tuple(effects)
        self.n_samples = n_samples
        self.notes = tuple(notes)

    def terms(self, node: int) -> list[str]:
        """Return what each coefficient of a node belongs to: ``(intercept)``, ``age``, ``smoker=yes``."""
        return terms_of(self.names, self.network.levels, self.parents[node])

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """One row per coefficient: ``node``, ``level``, ``term``, ``estimate``, ``standard_error``, ``p_value``.

        ``level`` is empty for continuous nodes; for a discrete one the estimate is a change of the log odds of that
        level against the first.
        """
        frames = []
        for j, one in enumerate(self.effects):
            terms = self.terms(j)
            levels = self.network.levels[j][1:] or ("",)
            frames.append(
                pd.DataFrame(
                    {
                        "node": np.full(one.estimates.size, self.names[j], dtype=object),
                        "level": np.repeat(np.array(levels, dtype=object), len(terms)),
                        "term": terms * len(levels),
                        "estimate": one.estimates.ravel(),
                        "standard_error": one.standard_errors.ravel(),
                        "p_value": one.p_values.ravel(),
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row per node: kind, parents, levels, noise variance, share explained by parents, log-likelihood."""
        rows = [
            {
                "node": self.names[j],
                "kind": "discrete" if self.network.levels[j] else "continuous",
                "parents": ", ".join(self.names[i] for i in self.parents[j]),
                "levels": len(self.network.levels[j]),
                "variance": one.variance,
                "explained": one.explained,
                "log_likelihood": one.log_likelihood,
            }
            for j, one in enumerate(self.effects)
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        nodes = [
            {
                "name": self.names[j],
                "kind": "discrete" if self.network.levels[j] else "continuous",
                "levels": list(self.network.levels[j]),
                "parents": [self.names[i] for i in self.parents[j]],
                "terms": self.terms(j),
                "estimates": one.estimates.tolist(),
                "standard_errors": one.standard_errors.tolist(),
                "p_values": one.p_values.tolist(),
                "variance": one.variance,
                "explained": one.explained,
                "rows": one.rows,
            }
            for j, one in enumerate(self.effects)
        ]
        return {"format": FORMAT, "n_samples": self.n_samples, "notes": list(self.notes), "nodes": nodes}


def fit_mixed(table: MixedTable, parents: Parents) -> FittedMixed:
    """Return the network of regressions of continuous columns, and log odds of discrete ones, on their parents.

    A row with a missing cell is left out for the nodes that depend on the cell.
    """
    effects, notes = [], []
    for j, own in enumerate(parents):
        there = ~table.missing[:, [j, *own]].any(axis=1)
        design = design_matrix(
            [table.columns[i].values[there] for i in own], [len(table.columns[i].levels) for i in own], int(there.sum())
        )
        column = table.columns[j]
        fit = _odds if column.kind == "discrete" else _equation
        weights = np.ones(len(design)) if table.about.scaled is None else table.about.scaled[there]
        effects.append(fit(table, j, own, design, column.values[there], weights))
    if not table.is_complete:
        fewest = min(one.rows for one in effects)
        notes.append(
            f"parameters come from the rows with a node and all its parents: {fewest} to "
            f"{max(one.rows for one in effects)} of {table.n_rows}"
        )
    network = MixedNetwork(
        table.names,
        table.levels,
        parents,
        tuple(one.estimates for one in effects),
        np.array([one.variance for one in effects]),
    )
    rows = table.n_rows if table.about.weights is None else table.n_samples
    return FittedMixed(network, effects, rows, notes)


def _equation(
    table: MixedTable, node: int, parents: Sequence[int], design: Floats, values: Floats, weights: Floats
) -> Effects:
    """Return the least-squares regression of a continuous column."""
    from scipy.special import stdtr

    rows, width = round(float(weights.sum())), design.shape[1]
    scale = np.sqrt(np.maximum(np.average(design**2, axis=0, weights=weights), 1e-300))
    unit = design / scale
    inverse = np.linalg.pinv((weights * unit.T) @ unit, hermitian=True)
    slopes = (inverse @ (unit.T @ (weights * values))) / scale
    left = float(np.average((values - design @ slopes) ** 2, weights=weights))
    freedom = rows - width
    spread = float(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights))
    if left <= 1e-13 * spread or freedom <= 0:
        raise InputError(
            f"expected noise in column {table.names[node]!r} but in {rows} rows it is a linear function of its parents "
            f"{quoted(table.names[i] for i in parents)}; give more rows, or fewer parents"
        )
    errors = np.sqrt(left * rows / freedom * np.diagonal(inverse)) / scale
    p = 2 * stdtr(freedom, -np.abs(slopes / np.maximum(errors, 1e-300)))
    likelihood = -0.5 * rows * (1 + math.log(2 * math.pi * left))
    return Effects(slopes[None], errors[None], np.asarray(p)[None], left, likelihood, 1 - left / spread, rows)


def _odds(
    table: MixedTable, node: int, parents: Sequence[int], design: Floats, codes: Ints, weights: Floats
) -> Effects:
    """Return the log odds of a discrete column."""
    from scipy.special import ndtr

    n_levels = len(table.columns[node].levels)
    if n_levels < 2:
        raise InputError(
            f"expected at least two levels in column {table.names[node]!r} but got one; leave it out with exclude="
        )
    beta, errors = fit_logit(design, codes, n_levels, weights)
    logs = weights @ log_probabilities(design, beta)[np.arange(len(codes)), codes]
    share = np.bincount(codes, weights, minlength=n_levels) / weights.sum()
    alone = float(weights.sum() * (share[share > 0] * np.log(share[share > 0])).sum())
    p = 2 * ndtr(-np.abs(beta / errors))
    return Effects(
        beta,
        errors,
        np.asarray(p),
        math.nan,
        float(logs),
        1 - float(logs) / alone if alone else 0.0,
        round(float(weights.sum())),
    )
