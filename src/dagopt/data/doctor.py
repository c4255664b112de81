"""The doctor: looks at a table before anything is learned from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from dagopt.data.cells import (
    LARGEST_VALUE,
    SMALLEST_SPREAD,
    missing_cells,
    mixed_kinds,
    troubles,
    unusable_numbers,
    without_incomplete_rows,
)
from dagopt.data.columns import Column
from dagopt.data.findings import Diagnosis, Finding
from dagopt.data.options import DataOptions
from dagopt.data.reading import read_columns
from dagopt.data.table import ContinuousTable, DiscreteTable, Table, of_kind, table_of
from dagopt.errors import quoted
from dagopt.options import with_options

__all__ = ["examine", "examine_table"]

SAME_CORRELATION = 1 - 1e-12  # beyond it two columns are one up to shift and scale
EXACT_DEPENDENCE = 1e-11  # fraction of variance that the other columns leave: below, no float64 can tell
NEAR_DEPENDENCE = 1e-6
MATTERING_WEIGHT = 1e-3  # standardised coefficient, relative to the largest, that counts as taking part
FEWEST_FOR_ID = 20  # rows from which all-different values look like an identifier
FEW_VALUES = 5  # distinct numbers up to which a continuous column looks discrete


@with_options(DataOptions)
def examine(data: object, *, max_parents: int | None = None, **options: Any) -> Diagnosis:
    """Return all findings on a source of data.

    Every check runs, so that one look shows everything: rows with missing or infinite cells are set aside
    for the later checks, and in a mixed table each kind is looked at by itself.

    Parameters
    ----------
    data : path, frame, array or Table
        As in ``as_table``.
    max_parents : int, optional
        The largest number of parents allowed, for the check that there are rows enough.
    {options}

    Returns
    -------
    Diagnosis
    """
    reading = DataOptions(**options)
    if isinstance(data, (ContinuousTable, DiscreteTable)):
        return examine_table(data, max_parents)
    given = found = read_columns(data, reading.columns, reading.na_values)
    size = len(given[0].values)
    findings = troubles(found)
    found = [column for column in found if not column.trouble] or found
    if reading.missing == "drop":
        found, holes = without_incomplete_rows(found)
    else:
        holes = missing_cells(found)
    findings += holes
    findings += unusable_numbers(found)
    found = _usable_rows(found)
    found = of_kind(found, reading)
    findings += mixed_kinds(found)
    for one in sorted({column.kind for column in found}):
        table = table_of([column for column in found if column.kind == one])
        findings += _table_findings(table, max_parents)
    kinds = {column.kind for column in found or given}
    overall = "mixed" if len(kinds) > 1 else kinds.pop()
    return Diagnosis(overall, size, len(given), _errors_first(findings))


def examine_table(table: Table, max_parents: int | None = None, before: Iterable[Finding] = ()) -> Diagnosis:
    """Return the findings on a table that is complete and of one kind, and those made ``before`` it was."""
    findings = [*before, *_table_findings(table, max_parents)]
    return Diagnosis(table.kind, table.n_samples, len(table.names), _errors_first(findings))


def _errors_first(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.severity != "error"))


def _usable_rows(columns: list[Column]) -> list[Column]:
    """Set rows with missing or infinite cells aside, and columns that have nothing else."""
    bad = [column.missing | (np.isinf(column.values) if column.kind == "continuous" else False) for column in columns]
    kept = [k for k, mask in enumerate(bad) if not mask.all()]
    if not kept:
        return []
    broken = np.logical_or.reduce([bad[k] for k in kept])
    if broken.all():
        return []
    return [columns[k].take(~broken) for k in kept]


def _table_findings(table: Table, max_parents: int | None) -> list[Finding]:
    if isinstance(table, ContinuousTable):
        return _continuous_findings(table, max_parents)
    return _discrete_findings(table, max_parents)


# --- continuous -----------------------------------------------------------------------------------------------


def _continuous_findings(table: ContinuousTable, max_parents: int | None) -> list[Finding]:
    findings = _few_rows(table, max_parents)
    if table.n_samples == 0:
        return findings
    fitting = np.flatnonzero(np.abs(table.values).max(axis=0) <= LARGEST_VALUE)
    spread = np.ptp(table.values[:, fitting], axis=0)
    findings += [
        Finding(
            "error",
            "constant",
            (table.names[j],),
            f"column {table.names[j]!r} is constant ({table.values[0, j]:.6g} in every row)",
            "its variance is zero and its score is not defined, so learning stops",
            "leave it out with columns=",
        )
        for j in fitting[spread == 0]
    ]
    varying = fitting[spread >= SMALLEST_SPREAD]
    if len(varying) < len(table.names):
        table = ContinuousTable(tuple(table.names[j] for j in varying), table.values[:, varying])
    if len(varying) >= 2:
        findings += _dependence(table)
    return findings + _odd_numbers(table)


def _few_rows(table: ContinuousTable, max_parents: int | None) -> list[Finding]:
    most = len(table.names) - 1 if max_parents is None else min(max_parents, len(table.names) - 1)
    needed = most + 2
    if table.n_samples >= needed:
        return []
    finding = Finding(
        "error",
        "few-rows",
        table.names,
        f"{table.n_samples} rows are too few for {most} parents: at least {needed} are needed",
        f"{table.n_samples - 1} parents or more fit any column perfectly and the score is unbounded, so learning stops",
        f"set max_parents={max(table.n_samples - 2, 0)} or less (a tenth of the rows is sensible), or give more rows",
    )
    return [finding]


def _dependence(table: ContinuousTable) -> list[Finding]:
    """Find copies, then columns that others determine, by a Cholesky factorisation with pivoting."""
    correlation = table.correlation
    findings = []
    copies: set[int] = set()
    for a, b in np.argwhere(np.triu(np.abs(correlation) > SAME_CORRELATION, 1)):
        if int(a) not in copies and int(b) not in copies:
            copies.add(int(b))
            same = bool(np.array_equal(table.values[:, a], table.values[:, b]))
            findings.append(
                Finding(
                    "error",
                    "duplicate",
                    (table.names[a], table.names[b]),
                    f"column {table.names[b]!r} is a copy of {table.names[a]!r}" + ("" if same else " up to units"),
                    "each predicts the other perfectly and the score is unbounded, so learning stops",
                    f"leave one out with columns=, for instance {table.names[b]!r}",
                )
            )
    rest = np.array([j for j in range(len(table.names)) if j not in copies])
    if len(rest) >= table.n_samples:
        return findings  # too few rows to tell; said elsewhere
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
                + ("" if exact else f" (they leave {left:.1e} of its variance)"),
                "these columns predict it perfectly and the score is unbounded, so learning stops"
                if exact
                else "scores of sets with all of them lose digits, and edges among them may be arbitrary",
                f"leave one of them out with columns=, for instance {names[j]!r}",
            )
        )
    return findings


def dependent_columns(correlation: NDArray[np.float64]) -> list[tuple[int, float, list[int]]]:
    """Return (column, fraction of its variance left, columns it depends on) for each dependent column."""
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
        steps = np.diff(values)
        if table.n_samples >= FEWEST_FOR_ID and steps[0] != 0 and np.allclose(steps, steps[0], rtol=1e-9, atol=0):
            findings.append(_id_finding(name, "counts up or down evenly, as row numbers do"))
            continue
        few = np.unique(values[: 10 * FEWEST_FOR_ID])
        if len(few) <= FEW_VALUES < table.n_samples / 4:
            distinct = np.unique(values)
            if len(distinct) <= FEW_VALUES:
                findings.append(
                    Finding(
                        "warning",
                        "few-values",
                        (name,),
                        f"column {name!r} is continuous by its type but has only {len(distinct)} distinct values",
                        "it is modelled as Gaussian",
                        "give it an integer or text type, or use kind='discrete' or discretize=, if it is discrete",
                    )
                )
    return findings


# --- discrete -------------------------------------------------------------------------------------------------


def _discrete_findings(table: DiscreteTable, max_parents: int | None) -> list[Finding]:
    findings = [
        Finding(
            "warning",
            "constant",
            (table.names[j],),
            f"column {table.names[j]!r} has the single level {table.levels[j][0]!r}",
            "it can have no edges",
            "leave it out with columns=",
        )
        for j in np.flatnonzero(table.arity == 1)
    ]
    findings += _copies(table)
    ids = _identifiers(table)
    findings += [_id_finding(table.names[j], f"has {table.arity[j]} levels in {table.n_samples} rows") for j in ids]
    findings += _useless_arity(table, set(ids))
    return findings + _few_rows_a_cell(table, max_parents)


def _copies(table: DiscreteTable) -> list[Finding]:
    """Find columns that are one another's relabelling."""
    findings, seen = [], dict[bytes, int]()
    for j, codes in enumerate(table.codes):
        if table.arity[j] == 1:
            continue
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        canonical = np.argsort(np.argsort(first))[inverse].astype(np.uint16).tobytes()
        if canonical in seen:
            original = table.names[seen[canonical]]
            findings.append(
                Finding(
                    "warning",
                    "duplicate",
                    (original, table.names[j]),
                    f"column {table.names[j]!r} is a copy of {original!r} (up to the names of the levels)",
                    "the two are joined by an edge and either one stands in for the other everywhere else",
                    f"leave one out with columns=, for instance {table.names[j]!r}",
                )
            )
        else:
            seen[canonical] = j
    return findings


def _identifiers(table: DiscreteTable) -> list[int]:
    if table.n_samples < FEWEST_FOR_ID:
        return []
    return [int(j) for j in np.flatnonzero(table.arity > 0.9 * table.n_samples)]


def _useless_arity(table: DiscreteTable, ids: set[int]) -> list[Finding]:
    """Find columns with so many levels that under BIC no edge from or to them can pay.

    An edge between i and j costs at least Λ (a_i - 1)(a_j - 1) and gains at most N min(H(i), H(j)).
    """
    gain = np.array([_entropy(table, j) for j in range(len(table.names))]) * table.n_samples
    free = table.arity - 1
    price = 0.5 * np.log(table.n_samples) * np.outer(free, free)
    pays = price < np.minimum.outer(gain, gain)
    np.fill_diagonal(pays, False)
    return [
        Finding(
            "warning",
            "arity",
            (table.names[j],),
            f"column {table.names[j]!r} has {table.arity[j]} levels, so many for {table.n_samples} rows that no edge "
            f"can pay for its parameters under BIC",
            "it stays without edges",
            "merge levels, use kind='continuous' or discretize= if it is a number, or leave it out with columns=",
        )
        for j in np.flatnonzero(~pays.any(axis=1) & (table.arity > 2))
        if int(j) not in ids
    ]


def _entropy(table: DiscreteTable, j: int) -> float:
    counts = np.bincount(table.codes[j], weights=table.weights)
    share = counts[counts > 0] / table.n_samples
    return float(-(share * np.log(share)).sum())


def _few_rows_a_cell(table: DiscreteTable, max_parents: int | None) -> list[Finding]:
    if max_parents is None or max_parents >= len(table.names):
        return []
    smallest = np.sort(table.arity[table.arity > 1])[: max_parents + 1]
    cells = float(np.prod(smallest, dtype=np.float64))
    if len(smallest) <= max_parents or cells <= table.n_samples:
        return []
    finding = Finding(
        "warning",
        "few-rows",
        table.names,
        f"{table.n_samples} rows are too few for {max_parents} parents: even the smallest such table has "
        f"{cells:.3g} cells",
        "parent sets of that size can hardly win, and the time to score them is spent in vain",
        "set a smaller max_parents",
    )
    return [finding]


def _id_finding(name: str, why: str) -> Finding:
    return Finding(
        "warning",
        "identifier",
        (name,),
        f"column {name!r} looks like an identifier: it {why}",
        "it is treated as data and may take part in edges that mean nothing",
        "leave it out with columns=",
    )
