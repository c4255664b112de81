"""`Dynamics`: a fitted dynamic network that answers questions about later moments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from dagopt.arrays import Floats
from dagopt.data.continuous import ContinuousTable
from dagopt.data.html_table import html_of
from dagopt.data.lags import Lags, lagged_name
from dagopt.data.mixed import MixedTable
from dagopt.data.table import DiscreteTable, Table
from dagopt.errors import InputError, checked_number, checked_share, checked_whole, unknown_name
from dagopt.networks.checks import RandomState, as_generator
from dagopt.networks.fitted.fitted_gaussian import FittedGaussian
from dagopt.networks.fitted.fitted_network import FittedNetwork
from dagopt.networks.questions import Expectation
from dagopt.networks.series.futures import futures
from dagopt.networks.series.level_effects import level_effects
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

    def effects(
        self,
        cause: str,
        outcome: str | None = None,
        *,
        steps: int = 10,
        level: float = 0.95,
        change: tuple[Any, Any] | None = None,
        random_state: RandomState = 0,
        n_draws: int = DRAWS,
    ) -> pd.DataFrame:
        """Return the effect of changing a series from outside, once, after 0, 1, ... moments.

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
        change : (value, value), optional
            What the series is set to instead of what: by default one unit more, for a series with levels each level
            instead of the first. Unless all series are continuous, effects need not be proportional to the change, and
            one unit more is from the mean on.
        random_state, n_draws
            Seed and number of drawn futures, if there are too many levels for exact sums, or series of both kinds.

        Returns
        -------
        DataFrame
            ``outcome``, ``step``, ``effect``, ``standard_error``, ``low``, ``high``. If some series have levels, also
            ``level``, whose probability changes (empty for a continuous outcome), ``from`` and ``to``, and
            ``simulation_error``, the part of the standard error that more draws would remove; effects are then averaged
            over the pasts of the table.

        Examples
        --------
        >>> import dagopt
        >>> made = dagopt.simulate_series(3, 300, random_state=0)
        >>> dynamics = dagopt.learn(made.data, lags=1).dynamics()
        >>> dynamics.effects("x0", "x1", steps=2).columns.tolist()
        ['outcome', 'step', 'effect', 'standard_error', 'low', 'high']
        >>> levels = (made.data > 0).astype(str)
        >>> dynamics = dagopt.learn(levels, lags=1).dynamics()
        >>> dynamics.effects("x0", "x0", steps=1, change=("False", "True"))["level"].tolist()
        ['False', 'True', 'False', 'True']
        """
        steps = checked_whole("steps", steps, 0)
        half = NormalDist().inv_cdf((1 + checked_share("level", level)) / 2)
        i = self._place(cause)
        outcomes = [self._place(outcome)] if outcome is not None else list(range(self.lags.n_series))
        if change is not None and (not isinstance(change, Sequence) or isinstance(change, str) or len(change) != 2):
            raise InputError(f"expected change= to be two values, from and to, but got {change!r}; give two")
        if isinstance(self.fitted, FittedGaussian):
            found = self._linear_effects(i, outcomes, steps, 1.0 if change is None else _difference(change))
        else:
            draws = checked_whole("n_draws", n_draws, 2)
            found = self._level_effects(i, outcomes, steps, change, as_generator(random_state), draws)
        reach = half * found["standard_error"]
        place = list(found.columns).index("standard_error") + 1
        found.insert(place, "low", found["effect"] - reach)
        found.insert(place + 1, "high", found["effect"] + reach)
        return found

    def _linear_effects(self, cause: int, outcomes: Sequence[int], steps: int, by: float) -> pd.DataFrame:
        """Return the effects in linear dynamics, by the formula."""
        theta, parts = responses(self.weights, steps), []
        for j in outcomes:
            errors = abs(by) * response_errors(theta, self._equations, cause, j)
            facts = {"outcome": self.names[j], "step": np.arange(steps + 1), "effect": by * theta[:, cause, j]}
            parts.append(pd.DataFrame({**facts, "standard_error": errors}))
        return pd.concat(parts, ignore_index=True)

    def _level_effects(
        self,
        cause: int,
        outcomes: Sequence[int],
        steps: int,
        change: tuple[Any, Any] | None,
        rng: np.random.Generator,
        n_draws: int,
    ) -> pd.DataFrame:
        """Return the effects where some series have levels."""
        n, cells = self.lags.n_series, _cells(self._table)
        pasts = cells[~np.isnan(cells[:, n:]).any(axis=1), n:]
        levels, parts = self.fitted.network.levels_of(cause), []
        if change is not None:
            changes = [(change[0], change[1])]
        elif levels is None:
            mean = float(np.nanmean(cells[:, cause]))
            changes = [(mean, mean + 1)]
        else:
            changes = [(levels[0], one) for one in levels[1:]]
        for low, high in changes:
            both = self._code(cause, low), self._code(cause, high)
            found = level_effects(self.fitted, self.lags, self._table, pasts, cause, both, steps, rng, n_draws)
            for k, (j, own) in enumerate(found.figures):
                if j not in outcomes:
                    continue
                spelled = self.fitted.network.levels_of(j)
                parts.append(
                    pd.DataFrame(
                        {
                            "outcome": self.names[j],
                            "level": "" if own is None or spelled is None else spelled[own],
                            "from": low,
                            "to": high,
                            "step": np.arange(steps + 1),
                            "effect": found.effect[:, k],
                            "standard_error": found.standard_error[:, k],
                            "simulation_error": found.simulation_error[:, k],
                        }
                    )
                )
        every = pd.concat(parts, ignore_index=True)
        return every.sort_values(["outcome", "to", "step"], kind="stable", key=_in_order).reset_index(drop=True)

    def query(
        self,
        target: str,
        evidence: Mapping[str, Any] | None = None,
        *,
        data: object = None,
        unit: str | None = None,
    ) -> pd.Series[float] | Expectation:
        """Return the distribution of a series at the next moment, given the last ones.

        Parameters
        ----------
        target : str
            The series.
        evidence : mapping of str to value, optional
            What else is known about the next moment.
        data : DataFrame, optional
            The last moments of one unit, in order, instead of the rows learned from.
        unit : str, optional
            Whose last moments are meant, if the table has several units.

        Returns
        -------
        Series or Expectation
            As ``fitted.query``, which also answers if only part of the past is known.

        Examples
        --------
        >>> import dagopt
        >>> made = dagopt.simulate_series(3, 300, random_state=0)
        >>> dynamics = dagopt.learn(made.data, lags=1).dynamics()
        >>> bool(abs(dynamics.query("x0").mean - dynamics.predict(1)["mean"][0]) < 1e-9)
        True
        >>> dynamics.query("x0", {"x1": 2.0}).name
        'x0'
        """
        starts = {"": self._given_past(data)} if data is not None else self._last_past()
        if unit is None and len(starts) > 1:
            raise InputError(
                f"the table has {len(starts)} units; say which one with unit=, such as {next(iter(starts))!r}"
            )
        if unit is not None and unit not in starts:
            raise unknown_name("unit", unit, list(starts))
        past = starts[unit] if unit is not None else next(iter(starts.values()))
        known: dict[str, Any] = {}
        for lag in range(1, self.lags.count + 1):
            for j, name in enumerate(self.names):
                value = past[lag - 1, j]
                levels = self.fitted.network.levels_of(j)
                known[lagged_name(name, lag)] = value if levels is None else levels[int(value)]
        return self.fitted.query(target, known | dict(evidence or {}))

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
        cells = futures(self.fitted.network, self.lags, begin, BURN_IN + n_moments, rng, held)[0, BURN_IN:]
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
        begin = np.repeat(past[None], n_draws, axis=0)
        drawn = futures(self.fitted.network, self.lags, begin, steps, rng, {})
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
                "coefficients and roots belong to continuous series, but some have levels; ask for effects(), or read "
                "the levels as numbers with kind='continuous'"
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


def _difference(change: Sequence[Any]) -> float:
    """Return how far a continuous series is moved."""
    low, high = (checked_number("change", value, least=-math.inf) for value in change)
    return high - low


def _in_order(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the places of values by their first occurrence."""
    return pd.Series(pd.factorize(column)[0], index=column.index)


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
