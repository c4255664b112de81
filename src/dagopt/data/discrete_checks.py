"""Findings about discrete columns: single levels, copies, identifiers, too many levels for any edge."""

from __future__ import annotations

import numpy as np

from dagopt.data.findings import Finding
from dagopt.data.misreadings import FEWEST_FOR_ID, IDENTIFIER
from dagopt.data.table import DiscreteTable

__all__ = ["discrete_findings", "identifier"]


def discrete_findings(table: DiscreteTable, max_parents: int | None, *, alone: bool = True) -> list[Finding]:
    """Return the findings on discrete columns; ``alone`` says that the table has no others."""
    findings = [
        Finding(
            "warning",
            "constant",
            (table.names[j],),
            f"column {table.names[j]!r} has the single level {table.levels[j][0]!r}",
            "it can have no edges",
            "leave it out with exclude=",
        )
        for j in np.flatnonzero(table.arity == 1)
    ]
    findings += _copies(table)
    ids = _identifiers(table)
    findings += [identifier(table.names[j], f"has {table.arity[j]} levels in {table.n_samples} rows") for j in ids]
    if alone and len(table.names) > 1:
        findings += _useless_arity(table, set(ids))
    return findings + _few_rows_a_cell(table, max_parents)


def _copies(table: DiscreteTable) -> list[Finding]:
    """Find columns that are relabelled copies of each other."""
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
                    "the two are joined by an edge, and either one can replace the other everywhere else",
                    f"leave one out with exclude=, for instance {table.names[j]!r}",
                )
            )
        else:
            seen[canonical] = j
    return findings


def _identifiers(table: DiscreteTable) -> list[int]:
    if table.n_samples < FEWEST_FOR_ID:
        return []
    return [int(j) for j in np.flatnonzero(table.arity > IDENTIFIER * table.n_samples)]


def _useless_arity(table: DiscreteTable, ids: set[int]) -> list[Finding]:
    """Find columns with so many levels that under BIC no edge from or to them can raise the score.

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
            f"can raise the score under BIC",
            "it stays without edges",
            "merge levels, use kind='continuous' or discretize= if it is a number, or leave it out with exclude=",
        )
        for j in np.flatnonzero(~pays.any(axis=1) & (table.arity > 2))
        if int(j) not in ids
    ]


def _entropy(table: DiscreteTable, j: int) -> float:
    counts = np.bincount(table.codes[j], weights=table.weights) / table.copies
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
        "parent sets of that size can hardly win, so the time to score them is wasted",
        "set a smaller max_parents",
    )
    return [finding]


def identifier(name: str, why: str) -> Finding:
    """Return the finding that a column looks like an identifier."""
    return Finding(
        "warning",
        "identifier",
        (name,),
        f"column {name!r} looks like an identifier: it {why}",
        "it is treated as data and may get meaningless edges",
        "leave it out with exclude=",
    )
