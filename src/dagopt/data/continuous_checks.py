"""Findings about continuous columns: constants, copies, columns that others determine, too few rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dagopt.data.cells import LARGEST_VALUE, SMALLEST_SPREAD
from dagopt.data.continuous import ContinuousTable, CovarianceTable
from dagopt.data.discrete_checks import identifier
from dagopt.data.findings import Finding
from dagopt.data.misreadings import FEWEST_FOR_ID
from dagopt.data.mixed import MixedTable
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import quoted

__all__ = [
    "EXACT_DEPENDENCE",
    "ROWS_PER_PARENT",
    "SAME_CORRELATION",
    "continuous_findings",
    "dependent_columns",
    "duplicate",
    "few_rows",
    "fewer_rows_than_columns",
]

SAME_CORRELATION = 1 - 1e-12  # above this, two columns are the same up to shift and scale
EXACT_DEPENDENCE = 1e-11  # residual share of variance given the others: below this, float64 cannot tell it from 0
NEAR_DEPENDENCE = 1e-6  # share of the variance that the other columns leave
FACTOR_SPEED = 1e10  # columns cubed per second, of a factorisation with pivoting on one core
LONG = 1.0  # seconds: what takes less is done in any case
ROWS_AT_ONCE = 64  # of the correlations, when copies are looked for
MATTERING_WEIGHT = 1e-3  # the least standardised coefficient, relative to the largest, that counts
SAME_STEP = 1e-9  # steps of a column that differ by no more than this share of the first are even
FEWEST_ROWS, ROWS_PER_PARENT = 20, 10  # for a limit on parents that is chosen where rows are fewer than columns
FEW_VALUES = 5  # distinct numbers up to which a continuous column looks discrete
FEW_CODES = 10  # the same for whole numbers


def continuous_findings(table: ContinuousTable, deadline: Deadline = FOREVER, *, alone: bool = False) -> list[Finding]:
    """Return the findings on continuous columns; on a covariance, only near-dependence of columns.

    With ``alone`` each column is looked at by itself.
    """
    if isinstance(table, CovarianceTable):
        return _dependence(table, deadline)
    if table.n_rows == 0:
        return []
    findings: list[Finding] = []
    fitting = np.flatnonzero(np.nanmax(np.abs(table.values), axis=0) <= LARGEST_VALUE)
    spread = np.nanmax(table.values[:, fitting], axis=0) - np.nanmin(table.values[:, fitting], axis=0)
    findings += [
        Finding(
            "error",
            "constant",
            (table.names[j],),
            f"column {table.names[j]!r} is constant ({np.nanmax(table.values[:, j]):.6g} in every row)",
            "its variance is zero and its score is not defined, so learning stops",
            "leave it out with exclude=",
        )
        for j in fitting[spread == 0]
    ]
    varying = fitting[spread >= SMALLEST_SPREAD]
    if len(varying) < len(table.names):
        table = ContinuousTable(tuple(table.names[j] for j in varying), table.values[:, varying])
    if len(varying) >= 2 and not alone:
        findings += _dependence(table, deadline)
    return findings + _odd_numbers(table)


def few_rows(table: ContinuousTable | MixedTable, max_parents: int | None) -> list[Finding]:
    """Find out whether there are too few rows for the allowed number of parents (discrete ones count by levels)."""
    most = len(table.names) - 1 if max_parents is None else min(max_parents, len(table.names) - 1)
    if isinstance(table, MixedTable):
        needed = int(np.sort(table.sizes)[::-1][: most + 1].sum()) + 1
    else:
        needed = most + 2
    if table.n_samples >= needed:
        return []
    if isinstance(table, MixedTable):
        widest = table.names[int(np.argmax(table.sizes))]
        finding = Finding(
            "error",
            "few-rows",
            table.names,
            f"{table.n_samples} rows are too few for {most} parents: with the levels of discrete columns (most in "
            f"{widest!r}) at least {needed} are needed",
            "some columns are fitted perfectly by others and the score is unbounded, so learning stops",
            "set a smaller max_parents=, merge levels, leave the column out with exclude=, or give more rows",
        )
        return [finding]
    finding = Finding(
        "error",
        "few-rows",
        table.names,
        f"{table.n_samples} rows are too few for {most} parents: at least {needed} are needed",
        f"{table.n_samples - 1} or more parents fit any column perfectly and the score is unbounded, so learning stops",
        f"set max_parents={max(table.n_samples - 2, 0)} or less (a tenth of the rows is sensible), or give more rows",
    )
    return [finding]


def fewer_rows_than_columns(table: object) -> tuple[int, Finding] | None:
    """Return a sensible limit on parents, and a finding that says so, if so many parents would fit a column perfectly.

    None if there are enough rows, or so few that nothing can be learned.
    """
    if not isinstance(table, ContinuousTable | MixedTable) or not few_rows(table, None):
        return None
    rows, columns = table.n_samples, len(table.names)
    limit = rows // ROWS_PER_PARENT
    if rows < FEWEST_ROWS or few_rows(table, limit):
        return None
    finding = Finding(
        "warning",
        "few-rows",
        table.names,
        f"{rows} rows are too few for {columns - 1} parents",
        f"at most {limit} parents of a column are searched, one for every {ROWS_PER_PARENT} rows, and what is proven "
        f"holds under this limit",
        "set max_parents= to choose the limit, or give more rows",
    )
    return limit, finding


def _dependence(table: ContinuousTable, deadline: Deadline) -> list[Finding]:
    """Find copies, then columns that others determine, by a Cholesky factorisation with pivoting."""
    table.measure(deadline)
    correlation = table.correlation
    findings = []
    copies: set[int] = set()
    for a, b in _same_columns(correlation):
        if a not in copies and b not in copies:
            copies.add(b)
            findings.append(duplicate(table, a, b))
    rest = np.array([j for j in range(len(table.names)) if j not in copies])
    if len(rest) >= table.n_samples:
        return findings  # too few rows to tell, which another finding reports
    seconds = len(rest) ** 3 / FACTOR_SPEED
    if seconds > max(LONG, deadline.remaining()):
        return [*findings, _unchecked(table.names, seconds)]
    names = [table.names[j] for j in rest]
    for j, left, others in dependent_columns(correlation[np.ix_(rest, rest)]):
        exact = left < EXACT_DEPENDENCE
        by = quoted([names[k] for k in others])
        findings.append(
            Finding(
                "error" if exact else "warning",
                "dependent" if exact else "nearly-dependent",
                (names[j], *(names[k] for k in others)),
                f"column {names[j]!r} is {'' if exact else 'nearly '}a linear combination of {by}"
                + ("" if exact else f" (only {left:.1e} of its variance is left given them)"),
                "these columns predict it perfectly and the score is unbounded, so learning stops"
                if exact
                else "scores of sets with all of them lose precision, and edges among them may be arbitrary",
                f"leave one of them out with exclude=, for instance {names[j]!r}",
            )
        )
    return findings


def duplicate(table: ContinuousTable, a: int, b: int) -> Finding:
    """Return the finding that two columns are the same, up to units."""
    rows = None if isinstance(table, CovarianceTable) else table.values
    same = rows is not None and bool(np.array_equal(rows[:, a], rows[:, b]))
    return Finding(
        "error",
        "duplicate",
        (table.names[a], table.names[b]),
        f"column {table.names[b]!r} is a copy of {table.names[a]!r}" + ("" if same else " up to units"),
        "each predicts the other perfectly and the score is unbounded, so learning stops",
        f"leave one out with exclude=, for instance {table.names[b]!r}",
    )


def _unchecked(names: tuple[str, ...], seconds: float) -> Finding:
    """Return the finding that there is no time to look for columns that others determine."""
    return Finding(
        "warning",
        "unchecked",
        names,
        f"whether some of the {len(names)} columns are linear combinations of others was not checked",
        f"that takes about {seconds:.0f} s, more than the time limit leaves; such columns would make scores unbounded",
        "set a longer time_limit=, or run dagopt doctor once",
    )


def _same_columns(correlation: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of columns whose correlation is 1 or -1, in order; some rows at a time, for they may be many."""
    for first in range(0, len(correlation), ROWS_AT_ONCE):
        after = correlation[first : first + ROWS_AT_ONCE, first:]
        for a, b in np.argwhere(np.abs(after) > SAME_CORRELATION):
            if a < b:
                yield first + int(a), first + int(b)


def dependent_columns(correlation: NDArray[np.float64]) -> list[tuple[int, float, list[int]]]:
    """Return (column, fraction of its variance left, columns it depends on) for each dependent column."""
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpstrf

    factor, pivots, rank, _ = dpstrf(correlation, tol=EXACT_DEPENDENCE, lower=1)
    order = np.asarray(pivots) - 1
    factor = np.tril(factor)
    found = []
    for k in range(1, len(order)):
        basis = min(k, int(rank))
        row = factor[k, :basis]
        left = float(max(1.0 - row @ row, 0.0)) if k >= rank else float(factor[k, k] ** 2)
        if left >= NEAR_DEPENDENCE:
            continue
        weights = solve_triangular(factor[:basis, :basis], row, lower=True, trans="T")
        matter = np.flatnonzero(np.abs(weights) > MATTERING_WEIGHT * np.abs(weights).max())
        found.append((int(order[k]), left, sorted(int(order[m]) for m in matter)))
    return found


def _odd_numbers(table: ContinuousTable) -> list[Finding]:
    """Find row numbers, and columns with so few values that they look discrete."""
    findings = []
    for j, name in enumerate(table.names):
        values = table.values[:, j]
        values = values[~np.isnan(values)]
        steps = np.diff(values)
        if table.n_samples >= FEWEST_FOR_ID and steps[0] != 0 and _are_even(steps):
            findings.append(identifier(name, "counts up or down evenly, as row numbers do"))
            continue
        few = np.unique(values[: 10 * FEWEST_FOR_ID])
        if name not in table.transforms and len(few) <= FEW_CODES and len(few) < table.n_samples / 4:
            distinct = np.unique(values)
            if len(distinct) <= (FEW_CODES if (distinct == np.round(distinct)).all() else FEW_VALUES):
                findings.append(
                    Finding(
                        "warning",
                        "few-values",
                        (name,),
                        f"column {name!r} is continuous by its type but has only {len(distinct)} distinct values",
                        "it is modelled as Gaussian",
                        f"use kind={{{name!r}: 'discrete'}} if these are codes, kind={{{name!r}: 'ordinal'}} if they "
                        "have an order",
                    )
                )
    return findings


def _are_even(steps: NDArray[np.float64]) -> bool:
    """Say whether all steps are the same, to rounding."""
    return bool((np.abs(steps - steps[0]) <= SAME_STEP * abs(steps[0])).all())
