"""`FittedGaussian`: each column regressed on its parents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.continuous import ContinuousTable, CovarianceTable
from dagopt.errors import InputError, quoted
from dagopt.networks.checks import Parents
from dagopt.networks.fitted.fitted_network import FittedNetwork
from dagopt.networks.gaussian_json import FORMAT
from dagopt.networks.gaussian_network import GaussianNetwork

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["FittedGaussian", "Regression", "dependent", "fit_gaussian", "inverse_of", "parameters_of", "regression",
           "standard"]  # fmt: skip

DEPENDENT = 1e-12  # smallest eigenvalue of the parents' correlations, relative to the largest
NOTHING_LEFT = 1e-13  # a residual share of the variance below this counts as zero


@dataclass(frozen=True)
class Regression:
    """The least-squares equation of one node, intercept first.

    Attributes
    ----------
    estimates, standard_errors : arrays
        Those of the intercept and of each parent's coefficient.
    variance : float
        The variance of the noise: the residual sum of squares over N, the maximum-likelihood estimate.
    freedom : int
        Rows minus coefficients, N - |pa| - 1, without counting linearly dependent parents.
    r_squared : float
        The share of the node's variance that its parents explain.
    """

    estimates: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    variance: float
    freedom: int
    r_squared: float

    @property
    def t_values(self) -> NDArray[np.float64]:
        """Estimates over standard errors."""
        return np.asarray(self.estimates / self.standard_errors)

    @property
    def p_values(self) -> NDArray[np.float64]:
        """Two-sided p-values of Student's t-test that a parameter is zero."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.freedom, -np.abs(self.t_values)))


class FittedGaussian(FittedNetwork):
    """A Gaussian network with standard errors.

    Attributes
    ----------
    regressions : tuple of Regression
        The equation of each node.
    """

    network: GaussianNetwork

    def __init__(
        self,
        network: GaussianNetwork,
        parents: Parents,
        regressions: Sequence[Regression],
        n_samples: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.network = network
        self.parents = parents
        self.regressions = tuple(regressions)
        self.n_samples = n_samples
        self.notes = tuple(notes)

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """One row per coefficient: ``node``, ``term``, ``estimate``, ``standard_error``, ``t_value``, ``p_value``.

        The term is the name of a parent, or ``(intercept)``. Standard errors use the residual sum of squares over
        N - |pa| - 1, and are missing if the data do not determine the coefficients.
        """
        return parameters_of(self.names, self.parents, self.regressions)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row per node.

        The columns are ``node``, ``parents``, ``variance`` (of the noise at the likelihood's maximum, dividing by
        N), ``residual_variance`` (dividing by N - |pa| - 1), ``r_squared`` and ``log_likelihood``.
        """
        rows = [
            {
                "node": self.names[j],
                "parents": ", ".join(self.names[i] for i in self.parents[j]),
                "variance": one.variance,
                "residual_variance": one.variance * self.n_samples / one.freedom,
                "r_squared": one.r_squared,
                "log_likelihood": -0.5 * self.n_samples * (1 + math.log(2 * math.pi * one.variance)),
            }
            for j, one in enumerate(self.regressions)
        ]
        return pd.DataFrame(rows)

    def to_networkx(self) -> nx.DiGraph:
        """Return the DAG; edges have ``weight``, ``standard_error`` and ``p_value``, nodes the columns of ``nodes``."""
        graph = self.dag
        for j, one in enumerate(self.regressions):
            name = self.names[j]
            graph.nodes[name].update(intercept=float(one.estimates[0]), variance=one.variance, r_squared=one.r_squared)
            for k, i in enumerate(self.parents[j], start=1):
                graph.edges[self.names[i], name].update(
                    weight=float(one.estimates[k]),
                    standard_error=float(one.standard_errors[k]),
                    p_value=float(one.p_values[k]),
                )
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; `dagopt.networks.gaussian_json` reads the network from them."""
        nodes = []
        for j, one in enumerate(self.regressions):
            parents = [self.names[i] for i in self.parents[j]]
            intercept, *slopes = one.estimates.tolist()
            own_error, *errors = _known(one.standard_errors)
            own_p, *p_values = _known(one.p_values)
            nodes.append(
                {
                    "name": self.names[j],
                    "intercept": intercept,
                    "variance": one.variance,
                    "parents": dict(zip(parents, slopes, strict=True)),
                    "standard_errors": dict(zip(parents, errors, strict=True)),
                    "p_values": dict(zip(parents, p_values, strict=True)),
                    "intercept_standard_error": own_error,
                    "intercept_p_value": own_p,
                    "r_squared": one.r_squared,
                }
            )
        return {
            "format": FORMAT,
            "description": f"fitted to {self.n_samples} rows by least squares",
            "n_samples": self.n_samples,
            "notes": list(self.notes),
            "nodes": nodes,
        }


def _known(values: NDArray[np.float64]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def parameters_of(names: Sequence[str], parents: Parents, regressions: Sequence[Regression]) -> pd.DataFrame:
    """Return the table of the coefficients of regressions."""
    sizes = [len(own) + 1 for own in parents]
    terms = [term for own in parents for term in ["(intercept)", *(names[i] for i in own)]]
    return pd.DataFrame(
        {
            "node": np.repeat(np.array(names, dtype=object), sizes),
            "term": terms,
            "estimate": np.concatenate([one.estimates for one in regressions]),
            "standard_error": np.concatenate([one.standard_errors for one in regressions]),
            "t_value": np.concatenate([one.t_values for one in regressions]),
            "p_value": np.concatenate([one.p_values for one in regressions]),
        }
    )


def dependent(names: Sequence[str], node: int, parents: Sequence[int]) -> str:
    """Return the note on parents that are linearly dependent."""
    return (
        f"the parents {quoted(names[i] for i in parents)} of {names[node]!r} are linearly dependent, so the data do "
        "not determine their coefficients; the smallest that fit are given without standard errors"
    )


def fit_gaussian(table: ContinuousTable, parents: Parents) -> FittedGaussian:
    """Return the network whose equations are the least-squares regressions of each column on its parents."""
    rows = standard(table)
    notes = []
    if rows is None:
        notes.append("estimates come from the covariance: " + _behind(table))
    regressions = []
    weights = np.zeros((len(parents), len(parents)))
    for j, own in enumerate(parents):
        known = list(own)
        inverse, rank = inverse_of(table.correlation[np.ix_(known, known)])
        regressions.append(regression(table, rows, j, known, inverse, rank, table.correlation[known, j]))
        weights[known, j] = regressions[-1].estimates[1:]
        if rank < len(own):
            notes.append(dependent(table.names, j, own))
    intercepts = np.array([one.estimates[0] for one in regressions])
    network = GaussianNetwork(table.names, weights, intercepts, np.array([one.variance for one in regressions]))
    return FittedGaussian(network, parents, regressions, table.n_samples, notes)


def standard(table: ContinuousTable) -> NDArray[np.float64] | None:
    """Return the rows in standard units, times the roots of weights; None without complete rows."""
    if isinstance(table, CovarianceTable) or not table.is_complete:
        return None
    if (constant := np.ptp(table.values, axis=0) == 0).any():
        first = int(np.argmax(constant))
        raise InputError(
            f"expected column {table.names[first]!r} to vary but its only value is {table.values[0, first]:g};"
            " give other rows, or leave the column out with exclude="
        )
    found = (table.values - table.mean) / table.scale
    weights = table.about.scaled
    found -= np.average(found, axis=0, weights=weights)  # far from zero the first mean has a rounding error
    return np.asarray(found if weights is None else found * np.sqrt(weights)[:, None])


def _behind(table: ContinuousTable) -> str:
    if isinstance(table, CovarianceTable):
        return f"there are no rows; means are those given, or 0, and standard errors are for {table.n_samples} rows"
    return f"cells are missing, and {table.n_samples} of {table.n_rows} rows count in the standard errors"


def inverse_of(correlation: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the inverse of a correlation matrix and its rank; if it is singular, the pseudo-inverse."""
    if not len(correlation):
        return correlation, 0
    sizes, directions = np.linalg.eigh(correlation)
    kept = sizes > DEPENDENT * sizes[-1]
    chosen = directions[:, kept]
    return np.asarray(chosen / sizes[kept] @ chosen.T), int(kept.sum())


def regression(
    table: ContinuousTable,
    rows: NDArray[np.float64] | None,
    node: int,
    parents: list[int],
    inverse: NDArray[np.float64],
    rank: int,
    cross: NDArray[np.float64],
) -> Regression:
    """Return the regression of a node on its parents, computed in standard units.

    ``inverse`` and ``rank`` are those of the correlations of the parents, ``cross`` are theirs with the node.
    """
    slopes = inverse @ cross
    if rows is None:
        left = float(1 - slopes @ cross)
    else:
        left = float(np.sum((rows[:, node] - rows[:, parents] @ slopes) ** 2)) / table.mass
    freedom = table.n_samples - rank - 1
    if left <= NOTHING_LEFT or freedom <= 0:
        raise InputError(
            f"expected noise in column {table.names[node]!r} but in all {table.n_samples} rows it is a linear function"
            f" of its parents {quoted(table.names[i] for i in parents)}; give more rows, or fewer parents"
        )
    error = math.sqrt(left / freedom) if rank == len(parents) else math.nan  # of a mean, in standard units
    centre = table.mean[parents] / table.scale[parents]
    units = table.scale[node] / table.scale[parents]
    coefficients = slopes * units
    return Regression(
        estimates=np.append(table.mean[node] - coefficients @ table.mean[parents], coefficients),
        standard_errors=np.append(
            error * table.scale[node] * math.sqrt(1 + centre @ inverse @ centre),
            error * units * np.sqrt(np.diagonal(inverse)),
        ),
        variance=left * float(table.scale[node]) ** 2,
        freedom=freedom,
        r_squared=max(1 - left, 0.0) if len(parents) else 0.0,  # rounding would leave -1e-16
    )
