r"""Transformations of continuous columns before they are scored: logarithms, and normal scores of ranks.

``rank`` replaces a value by :math:`\Phi^{-1}(r / (N + 1))`, r its mid-rank. A table whose columns are unknown
increasing functions of jointly Gaussian ones, the *nonparanormal*, becomes Gaussian in this way, and its graph is that
of the hidden columns (Liu, Lafferty, Wasserman 2009; Harris and Drton 2013).

References
----------
Anscombe (1948). The transformation of Poisson, binomial and negative-binomial data. Biometrika 35.
Liu, Lafferty, Wasserman (2009). The nonparanormal: semiparametric estimation of high dimensional undirected graphs.
JMLR 10.
Harris, Drton (2013). PC algorithm for nonparanormal graphical models. JMLR 14.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from dagopt.arrays import Floats
from dagopt.data.columns import Column
from dagopt.data.row_checks import ALARM
from dagopt.data.shape_checks import shape_of
from dagopt.errors import InputError, quoted, unknown_name

__all__ = ["TRANSFORMS", "Transform", "fitted_transform", "transformed", "transforms_in_words"]

NAMES = {"log": "logarithm", "root": "root"}
TRANSFORMS = ("log", "root", "rank", "auto")


@dataclass(frozen=True, eq=False)
class Transform:
    """An increasing function of one column, as it was fitted to data.

    Attributes
    ----------
    how : {"log", "root", "rank"}
        The logarithm; Anscombe's root 2 √(x + 3/8) of counts, whose variance is about 1; or normal scores of ranks.
    values, scores : float arrays
        For ``rank``: the distinct values in order, and the score of each; other values are interpolated.
    """

    how: str
    values: Floats | None = None
    scores: Floats | None = None

    def __call__(self, name: str, values: Floats) -> Floats:
        """Return the transformed values of the column of that name; missing ones stay missing."""
        if self.values is not None and self.scores is not None:
            found = np.interp(values, self.values, self.scores)
            return np.where(np.isnan(values), np.nan, found)
        least = float(np.nanmin(values, initial=np.inf))
        if self.how == "root" and least >= 0:
            return np.asarray(2 * np.sqrt(values + 3 / 8))
        if self.how == "root" or least <= 0:
            raise InputError(
                f"column {name!r} has the value {least:g}, which has no {NAMES[self.how]}; use "
                f"transform={{{name!r}: 'rank'}}"
            )
        return np.asarray(np.log(values))


def fitted_transform(how: str, values: Floats, weights: Floats | None = None) -> Transform | None:
    """Return a transformation of the (weighted) values of a column; for ``auto`` None if their shape needs none."""
    known = values[~np.isnan(values)]
    if how == "auto":
        critical = -NormalDist().inv_cdf(ALARM / 2)
        shape = shape_of(known)
        if not (shape.is_skewed(critical) or shape.is_heavy(critical)):
            return None
        logs = shape_of(np.log(known)) if len(known) and known.min() > 0 else None
        fits = logs is not None and not (logs.is_skewed(critical) or logs.is_heavy(critical))
        how = "log" if fits else "rank"
    if how in ("log", "root"):
        return Transform(how)
    distinct, places = np.unique(known, return_inverse=True)
    counts = np.bincount(places, None if weights is None else weights[~np.isnan(values)])
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return Transform("rank", distinct, normal_scores(ranks / (counts.sum() + 1)))


def normal_scores(shares: Floats) -> Floats:
    """Return the standard normal quantiles of shares between 0 and 1."""
    from scipy.special import ndtri

    return np.asarray(ndtri(shares), dtype=np.float64)


def transformed(columns: Sequence[Column], asked: Mapping[str, Any], weights: Floats | None = None) -> list[Column]:
    """Return the columns with some of them transformed.

    Parameters
    ----------
    columns : sequence of Column
        With their kinds.
    asked : mapping of names to words or to Transform
        One of ``TRANSFORMS`` is fitted to the column; a Transform is applied as it was fitted.
    weights : array, optional
        How much each row counts; once unless given.
    """
    names = [column.name for column in columns]
    for name in asked:
        if name not in names:
            raise unknown_name("column", name, names)
    found = []
    for column in columns:
        how = asked.get(column.name)
        if how is None:
            found.append(column)
            continue
        column = column.as_continuous()
        own = how if isinstance(how, Transform) else fitted_transform(how, column.values, weights)
        found.append(column if own is None else replace(column, values=own(column.name, column.values), transform=own))
    return found


def transforms_in_words(transforms: Mapping[str, Transform]) -> str:
    """Return which columns were transformed; empty if none was."""
    said = []
    for how in TRANSFORMS:
        names = [name for name, own in transforms.items() if own.how == how]
        if names:
            said.append(f"{quoted(names)} by {how}")
    return f"transformed: {', '.join(said)}; parameters and effects are in these units" if said else ""
