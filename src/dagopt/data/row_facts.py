r"""Facts about rows besides their cells: how much each row counts, and which unit it belongs to.

*Frequency weights* are whole numbers: a row with the weight 3 stands for three equal rows. *Survey weights* are any
positive numbers: a row with twice the weight stands for twice as many units of the population. Rows with unequal
survey weights say less than their number, as much as Kish's effective sample size

.. math:: n_e = \Big(\sum_i w_i\Big)^2 \Big/ \sum_i w_i^2,

so survey weights are scaled to this sum, and the score counts that many rows.

References
----------
Kish (1965). Survey sampling. Wiley. Section 11.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.data.columns import Column, column_from_series
from dagopt.data.data_options import DataOptions
from dagopt.data.reading import read_apart
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError

__all__ = ["PLAIN", "RowFacts", "group_means_removed", "kish", "named_columns", "read_with_facts"]

MOST_NAMED = 5  # columns that tell units apart together: a longer list has one entry per row
MOST_ROWS = 1 << 52  # the largest sum of frequency weights, so that sums are exact


@dataclass(frozen=True, eq=False)
class RowFacts:
    """How much each row counts, and which unit it belongs to.

    Attributes
    ----------
    weights : array or None
        One number above 0 per row; None if every row counts once.
    survey : bool
        Whether these are survey weights, and not numbers of repetitions.
    groups : int array or None
        The number of each row's group, from 0 on; None if every row is a unit of its own.
    centred : bool
        Whether the means of the groups were removed from the columns.
    """

    weights: Floats | None = None
    survey: bool = False
    groups: Ints | None = None
    centred: bool = False

    @cached_property
    def n_groups(self) -> int:
        """Number of groups."""
        return 0 if self.groups is None else int(self.groups.max(initial=-1)) + 1

    @cached_property
    def scaled(self) -> Floats | None:
        """The weights that scores use: as given, or survey weights scaled to the effective number of rows."""
        if self.weights is None or not self.survey:
            return self.weights
        return np.asarray(self.weights * (kish(self.weights) / self.weights.sum()))

    @property
    def lost(self) -> int:
        """How many rows the removal of the groups' means costs."""
        return max(self.n_groups - 1, 0) if self.centred else 0

    def mass(self, n_rows: int) -> float:
        """Return what sums over this many rows are divided by: the sum of their weights, less what is lost."""
        return (float(n_rows) if self.scaled is None else float(self.scaled.sum())) - self.lost

    def take(self, rows: Ints | Bools) -> RowFacts:
        """Return the facts about some rows, by position or mask, with groups numbered anew."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1].ravel()
        return replace(self, weights=weights, groups=groups)


PLAIN = RowFacts()  # every row counts once and is a unit of its own


def kish(weights: Floats) -> float:
    """Return the effective number of rows with these weights."""
    near = weights / weights.max()
    return float(near.sum() ** 2 / (near**2).sum())


def read_with_facts(data: object, options: DataOptions, deadline: Deadline = FOREVER) -> tuple[list[Column], RowFacts]:
    """Return the columns of a source of data and the facts about its rows; rows with the weight 0 are left out."""
    beside = {name: given for name in ("weights", "groups") if (given := getattr(options, name)) is not None}
    named = {name: own for name, given in beside.items() if (own := named_columns(given)) is not None}
    apart = list(named.values())
    columns, others = read_apart(data, options.columns, options.na_values, options.exclude, apart, deadline)
    if options.centre_groups and "groups" not in beside:
        raise InputError("centre_groups= removes the means of groups, but no groups= are given; name their column")
    if not beside:
        return columns, PLAIN
    n_rows = len(columns[0].values)
    found = dict(zip(named, others, strict=True))
    found |= {name: [_given(name, given, n_rows)] for name, given in beside.items() if name not in named}
    weights = _weights(found["weights"][0]) if "weights" in found else None
    survey = weights is not None and _is_survey(weights, options.weighting)
    groups = _groups(found["groups"]) if "groups" in found else None
    facts = RowFacts(weights, survey, groups)
    if weights is not None and not weights.all():
        kept = weights > 0
        return [column.take(kept) for column in columns], facts.take(kept)
    return columns, facts


def named_columns(given: Any) -> list[str | int] | None:
    """Return the columns that ``weights=``, ``groups=`` or ``time=`` name; None for one entry per row, or nothing."""
    if isinstance(given, str | int) and not isinstance(given, bool):
        return [given]
    if isinstance(given, list | tuple) and len(given) <= MOST_NAMED and all(isinstance(one, str) for one in given):
        return list(given)
    return None


def _given(name: str, given: object, n_rows: int) -> Column:
    """Return what was given for each row as a column."""
    if not isinstance(given, Iterable) and not hasattr(given, "__array__"):
        raise InputError(f"expected {name}= to be a column of the data or one entry per row but got {given!r}")
    entries: Any = given.to_list() if hasattr(given, "to_list") else np.asarray(given).tolist()
    if len(entries) != n_rows:
        raise InputError(f"expected {name}= with one entry per row, {n_rows}, but got {len(entries)}")
    return column_from_series(f"{name}=", pd.Series(entries))


def _weights(column: Column) -> Floats:
    """Return weights, or raise an error that names the first one that is none."""
    values = np.asarray(column.as_continuous().values, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise InputError(
            f"expected weights >= 0 but {column.name!r} has {values[bad[0]]:g} in data row {bad[0] + 1}; correct it, "
            "or leave the row out"
        )
    if not values.any():
        raise InputError(f"all weights in {column.name!r} are zero, so no row counts; give weights above 0")
    return values


def _is_survey(weights: Floats, weighting: str) -> bool:
    """Say whether weights are survey weights: as told, or because some are not whole."""
    whole = bool((weights == np.round(weights)).all())
    if weighting == "frequency" and not whole:
        first = int(np.flatnonzero(weights != np.round(weights))[0])
        raise InputError(
            f"expected whole numbers as frequency weights but got {weights[first]:g} in data row {first + 1}; use "
            "weighting='survey'"
        )
    survey = weighting == "survey" or not whole
    if not survey and weights.sum() > MOST_ROWS:
        raise InputError(
            f"frequency weights add up to {weights.sum():.3g} rows, more than {MOST_ROWS:.3g}; if they are no numbers "
            "of rows, use weighting='survey'"
        )
    return survey


def _groups(columns: Sequence[Column]) -> Ints:
    """Return the numbers of the groups, in the order in which they occur; several columns tell them apart together."""
    found = np.zeros(len(columns[0].values), dtype=np.int64)
    for column in columns:
        if column.missing.any():
            first = int(np.argmax(column.missing))
            raise InputError(
                f"the group of data row {first + 1} is missing in {column.name!r}; fill it in, or leave the row out"
            )
        codes = pd.factorize(column.values)[0]
        found = pd.factorize(found * (int(codes.max(initial=0)) + 1) + codes)[0].astype(np.int64)
    return np.asarray(found)


def group_means_removed(columns: Sequence[Column], facts: RowFacts) -> tuple[list[Column], RowFacts]:
    """Return continuous columns less the mean of each group, plus that of all rows; weights count in the means."""
    assert facts.groups is not None
    for column in columns:
        if column.kind == "discrete":
            raise InputError(
                f"column {column.name!r} is discrete and has no means of groups to remove; leave it out with exclude=, "
                "read it as numbers with kind=, or set centre_groups=False"
            )
    found = [replace(column, values=_within(column.values, facts.groups, facts.scaled)) for column in columns]
    flat = [column.name for column in found if not np.nanmax(np.abs(column.values - np.nanmean(column.values))) > 0]
    if flat:
        raise InputError(
            f"column {flat[0]!r} is constant within every group, so nothing is left without the groups' means; leave "
            f"it out with exclude=, or set centre_groups=False"
        )
    return found, replace(facts, centred=True)


def _within(values: Floats, groups: Ints, weights: Floats | None) -> Floats:
    """Return values less the means of their groups, plus the mean of all; means are taken twice, to lose no digits."""
    there = ~np.isnan(values)
    count: NDArray[np.float64] = np.ones(len(values)) if weights is None else weights
    count = np.where(there, count, 0.0)
    total = np.bincount(groups, count)
    middle = float(np.average(values[there], weights=count[there])) if there.any() else 0.0
    near = values - middle
    for _ in range(2):
        sums = np.bincount(groups, np.where(there, near * count, 0.0))
        near = near - (sums / np.where(total > 0, total, 1.0))[groups]
    spread = float(np.nanmax(np.abs(values - middle), initial=0.0))
    near[np.abs(near) < 1e-14 * spread] = 0.0  # what is constant within a group stays so
    return np.asarray(near + middle)
