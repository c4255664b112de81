r"""Checks after the fit: whether the residuals of a learned graph are those of its model.

The model of a continuous column is a linear function of its parents plus Gaussian noise of one variance, independent
from row to row. Each check tests one part of it, and fails only if the deviation is both large enough to matter and not
by chance, at a level that is divided by the number of tests of its kind.

References
----------
Ramsey (1969). Tests for specification errors in classical linear least-squares regression analysis. JRSS B 31.
Koenker (1981). A note on studentizing a test for heteroscedasticity. Journal of Econometrics 17.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from dagopt.arrays import Floats, Ints
from dagopt.by_name import by_name
from dagopt.data.chance import chi_squared_tail
from dagopt.data.continuous import ContinuousTable, CovarianceTable
from dagopt.data.html_table import html_of
from dagopt.data.lags import Lags
from dagopt.data.mixed import MixedTable, embedded
from dagopt.data.polynomials import polynomials
from dagopt.data.row_checks import ALARM, lag_one, ranks_of, sorted_runs
from dagopt.data.shape_checks import shape_of
from dagopt.data.summarised import sample_of
from dagopt.data.table import DiscreteTable, Table
from dagopt.errors import InputError
from dagopt.networks.checks import Parents

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CHECKS", "ModelCheck", "Residuals", "check_model", "is_cheap"]

BENDS = 3  # functions of a parent that are added in the test of linearity
MATTERING_SHARE = 0.02  # of the residual variance that a bend, or of the squared residuals that a slope, explains
MATTERING_CORRELATION = 0.1  # of successive residuals
FEWEST_ROWS = 30
CHEAP = 5e7  # multiplications up to which ``learn`` checks its graph: about half a second
# What each check is called when it fails, and what to do then.
CHECKS = {
    "linear": ("curved", "use score='basis'"),
    "normal": ("not normal", "use transform={{{to!r}: 'rank'}}"),
    "variance": ("uneven variance", "use transform={{{to!r}: 'log'}} if it is positive, otherwise 'rank'"),
    "serial": (
        "successive residuals alike",
        "if rows follow each other in time, use lags=1, or one lag more than now; if they "
        "belong to units, name the units with groups=",
    ),
}


class Residuals(NamedTuple):
    """The residuals of one column given its parents, and the values of its continuous parents by name."""

    values: Floats
    parents: dict[str, Floats]


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """What the residuals of a graph say about its model.

    Attributes
    ----------
    table : DataFrame
        One row per test: ``check`` (linear, normal, variance or serial), ``from`` (a parent, for linear) and ``to``,
        ``effect`` (see below), ``p_value``, ``fails``, and the ``remedy`` if it does. The effect is the share of the
        residual variance that a bend explains (linear), the skewness or excess kurtosis, whichever is farther from
        chance (normal), the share of the squared residuals that the parents explain (variance), and the correlation of
        successive residuals (serial).
    residuals : dict of str to Residuals
        Those of each continuous column.
    where : str
        Which rows were looked at, if not all.
    """

    table: pd.DataFrame
    residuals: dict[str, Residuals]
    where: str = ""

    @property
    def failed(self) -> pd.DataFrame:
        """The tests that fail."""
        return self.table[self.table["fails"]].reset_index(drop=True)

    @property
    def misfits(self) -> dict[str, str]:
        """What fails, by edge (``"a -> b"``) or column."""
        found: dict[str, list[str]] = {}
        for check, parent, to in self.failed[["check", "from", "to"]].itertuples(index=False):
            found.setdefault(f"{parent} -> {to}" if parent else to, []).append(CHECKS[check][0])
        return {place: ", ".join(words) for place, words in found.items()}

    def plot(self, most: int = 4) -> Figure:
        """Draw residuals, those that fail first: against a parent, and their quantiles against those of a normal.

        Parameters
        ----------
        most : int
            The most pictures to draw.
        """
        drawn: Figure = by_name("report.residual_plots", "plot_residuals")(self, most)
        return drawn

    def __str__(self) -> str:
        failed = self.failed
        if not len(self.table):
            return "nothing to check: the graph has no continuous column"
        if failed.empty:
            return f"{self.where}all {len(self.table)} checks of the residuals pass"
        lines = [f"{self.where}{len(failed)} of {len(self.table)} checks of the residuals fail"]
        rows = failed[["from", "to", "check", "effect", "remedy"]].to_dict("records")
        for one in rows:
            place = f"{one['from']} -> {one['to']}" if one["from"] else str(one["to"])
            lines.append(f"  {place}: {CHECKS[str(one['check'])][0]} ({one['effect']:.2f}); {one['remedy']}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_of(str(self).partition("\n")[0], self.failed.drop(columns="fails"))


def is_cheap(table: Table, parents: Parents) -> bool:
    """Say whether all checks take less than about half a second."""
    if not isinstance(table, ContinuousTable | MixedTable) or isinstance(table, CovarianceTable) or not table.n_rows:
        return False
    return table.n_rows * sum((len(own) + BENDS + 1) ** 2 for own in parents) <= CHEAP


def check_model(table: Table, parents: Parents, degree: int = 1) -> ModelCheck:
    """Return the checks of the residuals of each continuous column given its parents.

    Parameters
    ----------
    table : Table
        The data. Rows with missing cells are left out.
    parents : Parents
        The parents of each column.
    degree : int
        The degree of the polynomials in the parents; 1 for linear effects.
    """
    sample = sample_of(table)
    if sample is not None:
        found = check_model(sample, parents, degree)
        return ModelCheck(found.table, found.residuals, f"in a sample of {sample.n_rows} of {table.n_samples} rows, ")
    if isinstance(table, CovarianceTable) or not table.n_rows:
        raise InputError("residuals need rows but the data have none, only statistics; give the rows instead")
    columns, kinds = _columns(table)
    rows = len(columns[0]) if columns else 0
    tests: list[tuple[str, str, str, float, float]] = []
    residuals: dict[str, Residuals] = {}
    lags = table.lags
    starts = np.zeros(1, dtype=np.int64)
    if rows >= FEWEST_ROWS:
        starts = _blocks(columns, kinds) if lags is None else _runs(table, lags)
    present = parents if lags is None else parents[: lags.n_series]
    for node, own in enumerate(present):
        if not columns or not kinds[node] or rows < FEWEST_ROWS + 4 * sum(columns[j].shape[1] for j in own):
            continue
        name = table.names[node]
        design = _design(
            [columns[j] if not kinds[j] else polynomials(columns[j][:, 0], degree).values for j in own], rows
        )
        left = _residuals(design, columns[node][:, 0])
        numbers = [j for j in own if kinds[j]]
        residuals[name] = Residuals(left, {table.names[j]: columns[j][:, 0] for j in numbers})
        tests += [("linear", table.names[j], name, *_bend(design, left, columns[j][:, 0], degree)) for j in numbers]
        tests.append(("normal", "", name, *_normal(left)))
        if own:
            tests.append(("variance", "", name, *_variance(design, left)))
        tests.append(("serial", "", name, *_serial(left, starts)))
    in_time = lags is not None and lags.count > 0
    return ModelCheck(_judged(tests, {"serial": "raise lags="} if in_time else {}), residuals)


def _columns(table: Table) -> tuple[list[Floats], list[bool]]:
    """Return each column as numbers, complete rows only, and whether it is continuous."""
    if isinstance(table, ContinuousTable):
        values = table.values[~np.isnan(table.values).any(axis=1)]
        return [values[:, [j]] for j in range(values.shape[1])], [True] * values.shape[1]
    if isinstance(table, MixedTable):
        whole = ~table.missing.any(axis=1)
        found = [embedded(column)[whole] for column in table.columns]
        return found, [column.kind == "continuous" for column in table.columns]
    return [], []


def _design(parts: Sequence[Floats], rows: int) -> Floats:
    """Return an orthonormal basis of the parents and the intercept."""
    standard = [part - part.mean(axis=0) for part in parts]
    scaled = [part / np.where(part.std(axis=0) > 0, part.std(axis=0), 1.0) for part in standard]
    return np.asarray(np.linalg.qr(np.column_stack([np.ones(rows), *scaled]))[0])


def _residuals(design: Floats, values: Floats) -> Floats:
    near = values - values.mean()
    near = near / max(float(near.std()), 1e-300)
    return np.asarray(near - design @ (design.T @ near))


def _bend(design: Floats, left: Floats, parent: Floats, degree: int) -> tuple[float, float]:
    """Return the share of the residual variance that smooth functions of a parent explain, and its p-value.

    The functions are Legendre polynomials of the parent's rank, of degree 2 to 4 (from one above the score's own degree
    on), so that no single row decides. The likelihood ratio has Bartlett's correction.
    """
    rows, width = design.shape
    place = 2 * (ranks_of(parent) - 0.5) / rows - 1
    bends = np.polynomial.legendre.legvander(place, degree + BENDS)[:, degree + 1 :]
    extra = np.linalg.qr(bends - design @ (design.T @ bends))[0]
    share = min(float(((extra.T @ left) ** 2).sum() / max(float(left @ left), 1e-300)), 1 - 1e-15)
    return share, chi_squared_tail(BENDS, -(rows - width - (BENDS + 1) / 2) * math.log1p(-share))


def _normal(left: Floats) -> tuple[float, float]:
    """Return the skewness or the excess kurtosis of residuals, whichever is farther from chance, and its p-value."""
    shape = shape_of(left)
    effect, distance = max((shape.skew, shape.skew_distance), (shape.tails, shape.tails_distance), key=_distance)
    return effect, min(2 * math.erfc(abs(distance) / math.sqrt(2)), 1.0)


def _distance(pair: tuple[float, float]) -> float:
    return abs(pair[1])


def _variance(design: Floats, left: Floats) -> tuple[float, float]:
    """Return the share of the squared residuals that the parents explain, and Koenker's p-value."""
    squares = left**2
    near = squares - squares.mean()
    share = float(((design[:, 1:].T @ near) ** 2).sum() / max(float(near @ near), 1e-300))
    return share, chi_squared_tail(design.shape[1] - 1, len(left) * share)


def _serial(left: Floats, starts: Ints) -> tuple[float, float]:
    """Return the correlation of successive residuals within blocks, and its p-value."""
    correlation, distance = lag_one(ranks_of(left), starts)
    return correlation, math.erfc(abs(distance) / math.sqrt(2))


def _blocks(columns: Sequence[Floats], kinds: Sequence[bool]) -> Ints:
    """Return where blocks of rows begin if the table is sorted by some of its columns."""
    firsts = [
        column[:, 0] if kind else column @ np.arange(1, column.shape[1] + 1)
        for column, kind in zip(columns, kinds, strict=True)
    ]
    return sorted_runs(firsts, np.zeros(len(firsts), dtype=bool))[0]


def _runs(table: Table, lags: Lags) -> Ints:
    """Return where runs of complete rows begin that follow each other in time."""
    run = lags.run if lags.run is not None else np.zeros(table.n_rows, dtype=np.int64)
    if not isinstance(table, DiscreteTable):
        run = run[~table.missing.any(axis=1)]
    return np.flatnonzero(np.diff(run, prepend=-1)).astype(np.int64)


def _judged(tests: Sequence[tuple[str, str, str, float, float]], remedies: Mapping[str, str]) -> pd.DataFrame:
    """Return the tests with what fails, by effect and by a level divided by the number of tests of a kind."""
    frame = pd.DataFrame(tests, columns=["check", "from", "to", "effect", "p_value"])
    counts = frame["check"].map(frame["check"].value_counts())
    sure = frame["p_value"] < ALARM / counts
    large = [_matters(check, effect) for check, effect in zip(frame["check"], frame["effect"], strict=True)]
    frame["fails"] = sure.to_numpy(dtype=bool) & np.array(large, dtype=bool)
    frame["remedy"] = [
        remedies.get(check, CHECKS[check][1].format(to=to)) if fails else ""
        for check, to, fails in zip(frame["check"], frame["to"], frame["fails"], strict=True)
    ]
    return frame


def _matters(check: str, effect: float) -> bool:
    if check == "normal":
        return abs(effect) > 1.0
    return abs(effect) > (MATTERING_CORRELATION if check == "serial" else MATTERING_SHARE)
