"""`Dynamics`: a fitted dynamic network that answers questions about later moments."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from dagopt.arrays import Floats
from dagopt.data.continuous import ContinuousTable
from dagopt.data.html_table import html_of
from dagopt.data.lags import Lags
from dagopt.data.mixed import MixedTable
from dagopt.data.table import DiscreteTable, Table
from dagopt.errors import InputError, checked_share, checked_whole, unknown_name
from dagopt.networks.checks import RandomState, as_generator, topological_order
from dagopt.networks.fitted.fitted_gaussian import FittedGaussian
from dagopt.networks.fitted.fitted_network import FittedNetwork
from dagopt.networks.series.responses import Coefficients, response_errors, responses
from dagopt.networks.series.simulated import largest_root

__all__ = ["Dynamics", "dynamics_of"]

DRAWS = 4000  # futures that are drawn where there is no formula
BURN_IN = 200  # moments that are simulated and dropped, so that the start does not matter
UNSTABLE = (
    "the series do not return to their means (the largest root is {root:.3f}, not below 1), so that effects and "
    "forecasts grow without limit; learn from the changes, data.diff().dropna()"
)


class Dynamics:
    """A dynamic network with fitted parameters, the same at every moment.

    Attributes
    ----------
    fitted : FittedNetwork
        The equations or tables of the present given the past; queries about the next moment go to it, with the past as
        evidence, such as ``{"x(t-1)": 2.0}``.
    lags : Lags
        The layout of its columns in time.
    """

    def __init__(self, fitted: FittedNetwork, lags: Lags, table: Table) -> None:
        self.fitted = fitted
        self.lags = lags
        self._table = table

    def __repr__(self) -> str:
        return f"Dynamics({self.lags.n_series} series, {self.lags.count} lags, {self.fitted.n_samples} moments)"

    def _repr_html_(self) -> str:
        return html_of(repr(self), self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The series."""
        return self.lags.series

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """The parameters of the present given the past, with standard errors."""
        found = self.fitted.parameters
        return found[found["node"].isin(self.names)].reset_index(drop=True)

    @cached_property
    def weights(self) -> Floats:
        """The coefficients ``[m, i, j]`` of series i at lag m in the equation of series j; for continuous series."""
        n, own = self.lags.n_series, self._gaussian().network.weights
        return np.stack([own[m * n : (m + 1) * n, :n] for m in range(self.lags.count + 1)])

    @cached_property
    def largest_root(self) -> float:
        """The largest root of the dynamics in absolute value; below 1 if the series return to their means."""
        return largest_root(self.weights)

    def effects(self, cause: str, outcome: str | None = None, *, steps: int = 10, level: float = 0.95) -> pd.DataFrame:
        """Return the effect of changing a series by one unit from outside, once, after 0, 1, ... moments.

        This is the impulse response: the total effect, over all paths. The graph and its directions are taken as they
        were learned.

        Parameters
        ----------
        cause : str
            The series that is changed.
        outcome : str, optional
            The series that may change; all series unless given.
        steps : int
            The largest number of moments.
        level : float
            The level of the intervals.

        Returns
        -------
        DataFrame
            ``outcome``, ``step``, ``effect``, ``standard_error``, ``low``, ``high``.
        """
        steps = checked_whole("steps", steps, 0)
        half = NormalDist().inv_cdf((1 + checked_share("level", level)) / 2)
        i = self._place(cause)
        outcomes = [self._place(outcome)] if outcome is not None else list(range(self.lags.n_series))
        theta, parts = responses(self.weights, steps), []
        for j in outcomes:
            errors = response_errors(theta, self._equations, i, j)
            effect = theta[:, i, j]
            facts = {"outcome": self.names[j], "step": np.arange(steps + 1), "effect": effect, "standard_error": errors}
            parts.append(pd.DataFrame({**facts, "low": effect - half * errors, "high": effect + half * errors}))
        return pd.concat(parts, ignore_index=True)

    def predict(
        self,
        steps: int = 1,
        *,
        data: object = None,
        level: float = 0.95,
        random_state: RandomState = 0,
        n_draws: int = DRAWS,
    ) -> pd.DataFrame:
        """Forecast the moments after the last row of each unit.

        Parameters
        ----------
        steps : int
            The number of moments.
        data : DataFrame, optional
            The last moments of one unit, in order, instead of the rows learned from; at least as many as there are
            lags, with the columns of the series.
        level : float
            The level of the intervals, which allow for noise, not for the uncertainty of the parameters.
        random_state, n_draws
            Seed and number of simulated futures, for series that are not all continuous.

        Returns
        -------
        DataFrame
            One row per unit, step and series: ``mean``, ``low``, ``high`` for continuous series, the most likely
            ``level`` and its ``probability`` for discrete ones.
        """
        steps, level = checked_whole("steps", steps, 1), checked_share("level", level)
        starts = {"": self._given_past(data)} if data is not None else self._last_past()
        forecast = self._gaussian_forecast if isinstance(self.fitted, FittedGaussian) else self._drawn_forecast
        parts = []
        for unit, past in starts.items():
            found = forecast(past, steps, level, as_generator(random_state), n_draws)
            parts.append(found.assign(unit=unit) if len(starts) > 1 else found)
        return pd.concat(parts, ignore_index=True)

    def simulate(
        self, n_moments: int, random_state: RandomState = None, *, do: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Draw a new series of moments from the network.

        Parameters
        ----------
        n_moments : int
            The number of moments.
        random_state : int, Generator or None
            Seed, generator, or fresh entropy.
        do : mapping of str to value, optional
            Series that are held at a value from outside, at every moment.
        """
        n_moments = checked_whole("n_moments", n_moments, 1)
        if isinstance(self.fitted, FittedGaussian) and self.largest_root >= 1:
            raise InputError(UNSTABLE.format(root=self.largest_root))
        rng, past = as_generator(random_state), self._last_past()
        begin = next(iter(past.values()))[None, :, :]
        held = {self._place(name): self._code(self._place(name), value) for name, value in (do or {}).items()}
        cells = self._futures(begin, BURN_IN + n_moments, rng, held)[0, BURN_IN:]
        return pd.DataFrame({name: self._spelled(j, cells[:, j]) for j, name in enumerate(self.names)})

    def log_likelihood(self) -> float:
        """Return the log-likelihood of the present given the past, over all complete rows of the table."""
        cells = _cells(self._table)
        cells = cells[~np.isnan(cells).any(axis=1)]
        network = self.fitted.network
        return float(sum(network.log_node(j, cells).sum() for j in range(self.lags.n_series)))

    # --- the past ---

    def _last_past(self) -> dict[str, Floats]:
        """Return the last moments of each unit, the latest first: one row per lag from 1 on."""
        cells, n, p = _cells(self._table), self.lags.n_series, self.lags.count
        if self.lags.unit is None:
            raise InputError("these rows were drawn at random and have no last moment; give the last moments as data=")
        found = {}
        for unit in np.unique(self.lags.unit).tolist():
            row = cells[np.flatnonzero(self.lags.unit == unit)[-1]].reshape(p + 1, n)
            if np.isnan(row[:p]).any():
                raise InputError(
                    f"the last moments of {self.lags.units[unit] or 'the series'!r} have missing cells; give them as "
                    "data="
                )
            found[self.lags.units[unit]] = row[:p]
        return found

    def _given_past(self, data: object) -> Floats:
        """Return the last moments of a frame, the latest first."""
        frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame(np.asarray(data), columns=list(self.names))
        lacking = [name for name in self.names if name not in frame.columns]
        if lacking:
            raise unknown_name("column", lacking[0], [str(name) for name in frame.columns])
        if len(frame) < self.lags.count:
            raise InputError(
                f"expected at least {self.lags.count} rows, the last moments, but got {len(frame)}; give more rows"
            )
        rows = frame[list(self.names)].iloc[-self.lags.count :][::-1]
        return np.array([[self._code(j, cell) for j, cell in enumerate(row)] for row in rows.to_numpy(dtype=object)])

    def _code(self, series: int, value: Any) -> float:
        """Return a value of a series as the network has it: a number, or the code of a level."""
        levels = self.fitted.network.levels_of(series)
        if levels is None:
            return float(value)
        if str(value) not in levels:
            raise unknown_name(f"level of {self.names[series]!r}:", str(value), list(levels))
        return float(list(levels).index(str(value)))

    def _spelled(self, series: int, cells: Floats) -> Any:
        levels = self.fitted.network.levels_of(series)
        return cells if levels is None else np.array(levels, dtype=object)[cells.astype(np.int64)]

    # --- the future ---

    def _futures(self, past: Floats, steps: int, rng: np.random.Generator, held: Mapping[int, float]) -> Floats:
        """Return drawn moments ``[draw, step, series]`` after pasts ``[draw, lag - 1, series]``."""
        n, p, network = self.lags.n_series, self.lags.count, self.fitted.network
        order = [j for j in topological_order(network.names, network.parents) if j < n]
        cells = np.zeros((len(past), n * (p + 1)))
        cells[:, n:] = past.reshape(len(past), n * p)
        found = np.empty((len(past), steps, n))
        for step in range(steps):
            for j in order:
                cells[:, j] = held[j] if j in held else network.draw_node(j, cells, rng)
            found[:, step] = cells[:, :n]
            cells[:, n:] = cells[:, : n * p].copy()
        return found

    def _gaussian_forecast(
        self, past: Floats, steps: int, level: float, rng: np.random.Generator, n_draws: int
    ) -> pd.DataFrame:
        """Return means and intervals by the formula."""
        n, p, network = self.lags.n_series, self.lags.count, self._gaussian().network
        theta, rows = responses(self.weights, steps), []
        half = NormalDist().inv_cdf((1 + level) / 2)
        before = list(past)
        variance = np.zeros(n)
        for step in range(1, steps + 1):
            mean = network.intercepts[:n] + sum(before[m] @ self.weights[m + 1] for m in range(p))
            mean = mean @ theta[0]
            variance = variance + network.variances[:n] @ theta[step - 1] ** 2
            spread = half * np.sqrt(variance)
            rows += [
                {"step": step, "series": name, "mean": mean[j], "low": mean[j] - spread[j], "high": mean[j] + spread[j]}
                for j, name in enumerate(self.names)
            ]
            before = [mean, *before[: p - 1]]
        return pd.DataFrame(rows)

    def _drawn_forecast(
        self, past: Floats, steps: int, level: float, rng: np.random.Generator, n_draws: int
    ) -> pd.DataFrame:
        """Return what many drawn futures have in common."""
        drawn = self._futures(np.repeat(past[None], n_draws, axis=0), steps, rng, {})
        rows: list[dict[str, Any]] = []
        tails = [(1 - level) / 2, (1 + level) / 2]
        for step in range(steps):
            for j, name in enumerate(self.names):
                own, levels = drawn[:, step, j], self.fitted.network.levels_of(j)
                row: dict[str, Any] = {"step": step + 1, "series": name}
                if levels is None:
                    row["mean"], (row["low"], row["high"]) = own.mean(), np.quantile(own, tails)
                else:
                    counts = np.bincount(own.astype(np.int64), minlength=len(levels))
                    row["level"], row["probability"] = levels[int(counts.argmax())], counts.max() / n_draws
                rows.append(row)
        return pd.DataFrame(rows)

    # --- continuous series ---

    def _gaussian(self) -> FittedGaussian:
        if not isinstance(self.fitted, FittedGaussian):
            raise InputError(
                "effects after some moments are computed for continuous series, but some are discrete; compare "
                "simulate(do={...}) with simulate(), or read the levels as numbers with kind='continuous'"
            )
        return self.fitted

    @cached_property
    def _equations(self) -> list[Coefficients]:
        fitted, n = self._gaussian(), self.lags.n_series
        assert isinstance(self._table, ContinuousTable)
        covariance, found = self._table.covariance, []
        for j in range(n):
            own, one = list(fitted.parents[j]), fitted.regressions[j]
            noise = one.variance / one.freedom  # the residual sum over N, over the freedom
            found.append(
                Coefficients(
                    [k // n for k in own],
                    [k % n for k in own],
                    np.asarray(noise * np.linalg.pinv(covariance[np.ix_(own, own)]), dtype=np.float64),
                )
            )
        return found

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name("series", name, list(self.names))
        return self.names.index(name)


def _cells(table: Table) -> Floats:
    """Return the rows as the network has them, in order of time: numbers, or codes of levels."""
    if isinstance(table, DiscreteTable):
        which = np.repeat(np.arange(len(table.weights)), table.weights) if table.which is None else table.which
        return table.codes[:, which].T.astype(np.float64)
    if isinstance(table, MixedTable):
        return np.column_stack([np.where(c.missing, np.nan, c.values.astype(np.float64)) for c in table.columns])
    return table.values


def dynamics_of(fitted: FittedNetwork, table: Table) -> Dynamics:
    """Return the dynamics of a network fitted to a table of lagged columns."""
    if table.lags is None or not table.lags.count:
        raise InputError("expected a result learned with lags= but its rows are not moments; learn with lags=1")
    return Dynamics(fitted, table.lags, table)
