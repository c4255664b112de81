"""`FittedDiscrete`: a table of conditional probabilities for each column, with the counts behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.table import DiscreteTable
from dagopt.networks.bif import write_bif
from dagopt.networks.checks import Parents, position_of
from dagopt.networks.discrete_network import DiscreteNetwork, counted_cells, table_shape
from dagopt.networks.fitted.fitted_network import FittedNetwork

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["FittedDiscrete", "fit_discrete"]

MOST_NAMED = 4  # the most nodes named in a note


class FittedDiscrete(FittedNetwork):
    """A discrete network with the counts behind its tables.

    Attributes
    ----------
    counts : tuple of arrays
        ``counts[j][a, b, ..., k]`` is the number of rows with node j at level k and its parents at a, b, ...
    equivalent_sample_size : float
        Weight of the uniform Dirichlet prior; 0 is maximum likelihood.
    """

    network: DiscreteNetwork

    def __init__(
        self,
        network: DiscreteNetwork,
        counts: Sequence[NDArray[np.float64]],
        equivalent_sample_size: float,
        n_samples: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.network = network
        self.parents = network.parents
        self.counts = tuple(counts)
        self.equivalent_sample_size = equivalent_sample_size
        self.n_samples = n_samples
        self.notes = tuple(notes)

    def standard_errors(self, node: int | str) -> NDArray[np.float64]:
        """Return the standard errors of a node's table, in the same shape; the node is given by name or position.

        Under maximum likelihood they are sqrt(p (1 - p) / n) with n rows of the parent configuration, missing where
        n = 0. With an equivalent sample size they are standard deviations of the posterior,
        sqrt(p (1 - p) / (n + a + 1)), where a is the prior's weight on the configuration.
        """
        node = position_of(self.names, node)
        table = self.network.tables[node]
        totals = self.counts[node].sum(axis=-1, keepdims=True)
        if self.equivalent_sample_size > 0:
            totals = totals + self.equivalent_sample_size / prod(table.shape[:-1]) + 1
        return np.asarray(np.sqrt(table * (1 - table) / np.where(totals > 0, totals, np.nan)))

    def given(self, node: int | str) -> list[str]:
        """Return the parent configurations of a node, given by name or position, in the order of its table.

        An example is ``smoke=yes, sex=f``.
        """
        node = position_of(self.names, node)
        names = [self.names[i] for i in self.parents[node]]
        every = product(*(self.network.levels[i] for i in self.parents[node]))
        return [", ".join(f"{name}={level}" for name, level in zip(names, one, strict=True)) for one in every]

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """One row per probability.

        The columns are ``node``, ``given`` (a configuration of the parents), ``level``, ``probability``,
        ``standard_error``, ``count`` (rows with the configuration and the level) and ``total`` (rows with the
        configuration: 0 if it was never seen).
        """
        frames = []
        for j, table in enumerate(self.network.tables):
            configurations, arity = table.size // table.shape[-1], table.shape[-1]
            frames.append(
                pd.DataFrame(
                    {
                        "node": np.full(table.size, self.names[j], dtype=object),
                        "given": np.repeat(np.array(self.given(j), dtype=object), arity),
                        "level": np.tile(np.array(self.network.levels[j], dtype=object), configurations),
                        "probability": table.ravel(),
                        "standard_error": self.standard_errors(j).ravel(),
                        "count": self.counts[j].ravel().astype(np.int64),
                        "total": np.repeat(self.counts[j].sum(axis=-1).ravel(), arity).astype(np.int64),
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row per node: ``node``, ``parents``, ``levels``, ``configurations``, ``unseen``, ``log_likelihood``.

        ``configurations`` counts those of the parents, ``unseen`` those that never occur.
        """
        rows = []
        for j, (table, counts) in enumerate(zip(self.network.tables, self.counts, strict=True)):
            seen = counts > 0
            rows.append(
                {
                    "node": self.names[j],
                    "parents": ", ".join(self.names[i] for i in self.parents[j]),
                    "levels": table.shape[-1],
                    "configurations": prod(table.shape[:-1]),
                    "unseen": int((~seen.any(axis=-1)).sum()),
                    "log_likelihood": float(counts[seen] @ np.log(table[seen])),
                }
            )
        return pd.DataFrame(rows)

    def to_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network as BIF, completely or not at all; `dagopt.networks.bif.read_bif` reads the same network."""
        write_bif(self.network, path, comment=f"fitted to {self.n_samples} rows")

    def to_networkx(self) -> nx.DiGraph:
        """Return the DAG; nodes have ``levels``, separated by commas, and their part of the ``log_likelihood``."""
        graph = self.dag
        for row, levels in zip(self.nodes.to_dict("records"), self.network.levels, strict=True):
            graph.nodes[row["node"]].update(levels=",".join(levels), log_likelihood=row["log_likelihood"])
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: one row of probabilities per parent configuration, last parent fastest."""
        nodes = [
            {
                "name": self.names[j],
                "levels": list(self.network.levels[j]),
                "parents": [self.names[i] for i in self.parents[j]],
                "probabilities": table.reshape(-1, table.shape[-1]).tolist(),
                "rows": counts.sum(axis=-1).ravel().astype(int).tolist(),
            }
            for j, (table, counts) in enumerate(zip(self.network.tables, self.counts, strict=True))
        ]
        return {
            "format": "dagopt discrete network 1",
            "n_samples": self.n_samples,
            "equivalent_sample_size": self.equivalent_sample_size,
            "notes": list(self.notes),
            "nodes": nodes,
        }


def fit_discrete(table: DiscreteTable, parents: Parents, equivalent_sample_size: float) -> FittedDiscrete:
    """Return the network whose tables are relative frequencies, perhaps smoothed by a uniform Dirichlet prior.

    A parent configuration that never occurs gets the uniform distribution.
    """
    names, levels = table.names, table.levels
    counts, tables, unseen = [], [], []
    for j, own in enumerate(parents):
        shape = table_shape(names, levels, parents, j)
        counts.append(counted_cells(table.codes, own, j, shape, table.weights) / table.copies)
        smooth = counts[-1] + equivalent_sample_size / prod(shape)
        totals = smooth.sum(axis=-1, keepdims=True)
        tables.append(np.where(totals > 0, smooth / np.where(totals > 0, totals, 1), 1 / shape[-1]))
        if never := int((counts[-1].sum(axis=-1) == 0).sum()):
            unseen.append(f"{never} of {prod(shape[:-1])} of {names[j]!r}")
    notes = []
    if unseen:
        more = f" and of {len(unseen) - MOST_NAMED} more columns" if len(unseen) > MOST_NAMED else ""
        notes.append(
            f"parent configurations without a row of data have the uniform distribution: "
            f"{', '.join(unseen[:MOST_NAMED])}{more}"
        )
    network = DiscreteNetwork(names, levels, parents, tuple(tables))
    return FittedDiscrete(network, counts, equivalent_sample_size, table.n_samples, notes)
