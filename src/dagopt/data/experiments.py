"""Experiments whose targets are not known: a column of 0 and 1 per experiment, which may only be a parent.

The children of such a column are what the experiment changed (Eaton and Murphy 2007; Mooij, Magliacane and Claassen
2020). They are found with all other edges, by the same score and with the same proof.

References
----------
Eaton, Murphy (2007). Exact Bayesian structure learning from uncertain interventions. AISTATS.
Mooij, Magliacane, Claassen (2020). Joint causal inference from multiple contexts. JMLR 21.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dagopt.data.reading import read_columns
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError

__all__ = ["Experiments", "frame_of_file", "indicator_name", "with_indicators"]

NONE = ("", "0", "none", "control", "observed")  # what rows without an experiment are called, besides missing cells


@dataclass(frozen=True, eq=False)
class Experiments:
    """A table with a column for each experiment.

    Attributes
    ----------
    data : DataFrame
        The other columns, and one of levels "no" and "yes" for each experiment.
    column : str
        What named the experiment of each row.
    names : tuple of str
        The experiments.
    reference : str
        The rows with which they are compared: those without an experiment, or those of the most frequent one.
    """

    data: pd.DataFrame
    column: str
    names: tuple[str, ...]
    reference: str

    @property
    def indicators(self) -> tuple[str, ...]:
        """The columns of the experiments."""
        return tuple(indicator_name(self.column, name) for name in self.names)

    def forbidden(self) -> list[tuple[str, str]]:
        """Return the edges that cannot be: all that lead to the column of an experiment."""
        return [(str(a), b) for b in self.indicators for a in self.data.columns if a != b]


def indicator_name(column: str, experiment: str) -> str:
    """Return the name of the column of an experiment."""
    return f"{column}={experiment}"


def with_indicators(data: object, column: str, na_values: Iterable[str] = ()) -> Experiments:
    """Return the data with a column for each experiment in place of the one that names them.

    Parameters
    ----------
    data : path or DataFrame
        The data.
    column : str
        The column that names the experiment of each row. Rows without one are those in which it is missing, empty, 0,
        "none", "control" or "observed". If there are none, the most frequent experiment is what others are compared
        with.
    na_values : iterable of str
        Further texts that mean a missing cell of a file.
    """
    if isinstance(data, str | Path):
        data = frame_of_file(data, na_values)
    if not isinstance(data, pd.DataFrame):
        raise InputError("experiments= needs a file or a DataFrame, one of whose columns it names; give one")
    if column not in data.columns:
        raise InputError(f"expected experiments= to be a column of the data but got {column!r}; check the name")
    told = [_experiment(cell) for cell in data[column]]
    counts = pd.Series([name for name in told if name]).value_counts(sort=False)
    reference = "rows without an experiment"
    if all(told):
        reference = str(counts.index[int(np.argmax(counts.to_numpy()))])
    names = tuple(sorted(name for name in counts.index if name != reference))
    if not names:
        raise InputError(f"column {column!r} names no experiment to compare; it needs at least two different entries")
    made = data.drop(columns=column)
    for name in names:
        if indicator_name(column, name) in made:
            raise InputError(f"the data have a column {indicator_name(column, name)!r} already; rename it")
        cells = ["yes" if own == name else "no" for own in told]
        made[indicator_name(column, name)] = pd.Categorical(cells, categories=["no", "yes"])
    return Experiments(made, column, names, reference)


def frame_of_file(path: str | Path, na_values: Iterable[str] = (), deadline: Deadline = FOREVER) -> pd.DataFrame:
    """Return all columns of a file: floats, or levels as text, None where a level is missing."""
    found = {}
    for column in read_columns(path, na_values=na_values, deadline=deadline):
        levels = np.array([*column.levels, None], dtype=object)  # the last one is that of code -1
        found[column.name] = column.values if column.kind == "continuous" else levels[column.values]
    return pd.DataFrame(found)


def _experiment(cell: object) -> str:
    """Return the experiment of a row, empty for none."""
    if cell is None or (isinstance(cell, float) and not np.isfinite(cell)):
        return ""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)
    name = str(cell).strip()
    return "" if name.lower() in NONE or name == "nan" else name
