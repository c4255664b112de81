"""Parameters of a DAG over very many continuous columns: one regression per column, nothing for pairs."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from dagopt.arrays import Floats
from dagopt.data.continuous import ContinuousTable
from dagopt.data.table import as_table
from dagopt.errors import InputError
from dagopt.files import replacing
from dagopt.networks.checks import Parents
from dagopt.networks.fitted.fitted_gaussian import (
    Regression,
    dependent,
    inverse_of,
    parameters_of,
    regression,
    standard,
)

__all__ = ["FittedWide", "fit_wide"]


class FittedWide:
    """A Gaussian network over very many columns, with standard errors.

    Attributes
    ----------
    names : tuple of str
        The columns.
    parents : tuple of tuple of int
        The parents of each column, by position.
    regressions : tuple of Regression
        The equation of each column.
    n_samples : int
        The number of rows fitted.
    notes : tuple of str
        What the data could not determine.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        parents: Parents,
        regressions: Sequence[Regression],
        n_samples: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.names, self.parents, self.regressions = names, parents, tuple(regressions)
        self.n_samples, self.notes = n_samples, tuple(notes)

    def __repr__(self) -> str:
        return f"FittedWide({len(self.names)} nodes, {sum(map(len, self.parents))} edges, {self.n_samples} rows)"

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """One row per coefficient, as in ``FittedGaussian.parameters``."""
        return parameters_of(self.names, self.parents, self.regressions)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row per column: ``node``, ``n_parents``, ``variance`` of the noise, ``r_squared``."""
        return pd.DataFrame(
            {
                "node": list(self.names),
                "n_parents": [len(own) for own in self.parents],
                "variance": [one.variance for one in self.regressions],
                "r_squared": [one.r_squared for one in self.regressions],
            }
        )

    def log_likelihood(self, data: object) -> float:
        """Return the natural log of the likelihood of all rows of other data with these columns."""
        table = as_table(data, columns=self.names, kind="continuous")
        if not isinstance(table, ContinuousTable) or not table.is_complete:
            raise InputError("expected complete rows of numbers; fill missing cells in, or leave their rows out")
        total, values = 0.0, table.values
        for j, (own, found) in enumerate(zip(self.parents, self.regressions, strict=True)):
            left = values[:, j] - found.estimates[0] - values[:, list(own)] @ found.estimates[1:]
            total -= 0.5 * (len(left) * math.log(2 * math.pi * found.variance) + float(left @ left) / found.variance)
        return total

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table of parameters to a CSV file, completely or not at all."""
        if Path(path).suffix.lower() != ".csv":
            raise InputError(
                f"a network of {len(self.names):,} columns is written as a .csv file of its parameters but got "
                f"{Path(path).name!r}; change the ending"
            )
        with replacing(Path(path)) as draft:
            self.parameters.to_csv(draft, index=False)


def fit_wide(table: ContinuousTable, parents: Parents) -> FittedWide:
    """Return the least-squares regressions of each column on its parents; memory is that of the table."""
    rows = standard(table)
    if rows is None:
        raise InputError(f"expected complete rows of {len(parents):,} columns; fill missing cells in, or drop them")
    columns: Floats = np.ascontiguousarray(rows.T)
    notes, regressions = [], []
    for j, own in enumerate(parents):
        known = list(own)
        gathered = columns[known]
        inverse, rank = inverse_of(gathered @ gathered.T / table.mass)
        cross = gathered @ columns[j] / table.mass
        regressions.append(regression(table, rows, j, known, inverse, rank, cross))
        if rank < len(own):
            notes.append(dependent(table.names, j, own))
    return FittedWide(table.names, parents, regressions, table.n_samples, notes)
