"""`FittedNetwork`: what all fitted networks have in common."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.html_table import html_of
from dagopt.data.table import ContinuousTable, DiscreteTable, MixedTable
from dagopt.data.writing import write_frame
from dagopt.errors import InputError
from dagopt.files import write_text
from dagopt.networks.checks import Parents, RandomState, adjacency_of, graph_of
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.exchange import write_network
from dagopt.networks.fitted.json_text import json_text
from dagopt.networks.gaussian_network import GaussianNetwork
from dagopt.networks.inference.engine import Engine, Model
from dagopt.networks.mixed_network import MixedNetwork
from dagopt.networks.questions import Questions

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["FittedNetwork"]


class FittedNetwork(Questions):
    """A DAG with parameters fitted to a table, and their standard errors.

    Data can be a path, a frame, an array or a Table, with any columns or cells missing.

    Attributes
    ----------
    network : GaussianNetwork, DiscreteNetwork or MixedNetwork
        The distribution, without standard errors.
    parents : tuple of tuple of int
        The parents of each node, by position.
    n_samples : int
        The number of rows fitted.
    notes : tuple of str
        What the data could not determine.
    """

    network: GaussianNetwork | DiscreteNetwork | MixedNetwork
    parents: Parents
    n_samples: int
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        edges = sum(map(len, self.parents))
        return f"{type(self).__name__}({len(self.names)} nodes, {edges} edges, {self.n_samples} rows)"

    def _repr_html_(self) -> str:
        return html_of("\n".join([repr(self), *self.notes]), self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return self.network.names

    @property
    def dag(self) -> nx.DiGraph:
        """The DAG, as a new networkx graph over the names."""
        return graph_of(self.names, adjacency_of(self.parents))

    @cached_property
    @abstractmethod
    def parameters(self) -> pd.DataFrame:
        """One row per parameter, with its standard error."""

    @cached_property
    @abstractmethod
    def nodes(self) -> pd.DataFrame:
        """One row per node: its parents, how well they predict it, and its part of the log-likelihood."""

    def sample(
        self, n_samples: int, random_state: RandomState = None, *, evidence: Mapping[str, object] | None = None
    ) -> pd.DataFrame:
        """Draw rows with the columns and levels of the fitted data, given the values of some columns, if any."""
        return self.network.sample(n_samples, random_state, evidence=evidence)

    @property
    def _model(self) -> Model:
        return self.network

    @property
    def _engine(self) -> Engine:
        return self.network._engine

    def log_likelihood(self, data: object) -> float:
        """Return the natural log of the likelihood of all rows, by their weights; -inf if a row is impossible."""
        logs = self.log_likelihoods(data)
        if isinstance(data, DiscreteTable):
            return float(logs.sum() / data.copies)
        weights = data.about.scaled if isinstance(data, ContinuousTable | MixedTable) else None
        return float(logs.sum() if weights is None else logs @ weights)

    def log_likelihoods(self, data: object) -> NDArray[np.float64]:
        """Return the natural log of the likelihood of the known cells of each row; low values are anomalies."""
        return self._engine.log_evidence(self._cells(data)[0])

    def to_networkx(self) -> nx.DiGraph:
        """Return the DAG with the parameters on its edges and nodes, ready for GraphML."""
        return self.dag

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the network by the suffix of the file, completely or not at all.

        ``.json`` has all parameters, ``.csv`` their table. Discrete networks are also written as ``.bif`` and, by
        pyAgrum, as ``.net``, ``.xdsl``, ``.dsl``, ``.bifxml`` and ``.uai``.
        """
        suffix = Path(path).suffix.lower()
        if suffix == ".json":
            self.to_json(path)
        elif suffix == ".csv":
            write_frame(self.parameters, path)
        elif isinstance(self.network, DiscreteNetwork):
            write_network(self.network, path, comment=f"fitted to {self.n_samples} rows")
        else:
            raise InputError(
                f"expected a file ending in .json or .csv but got {str(path)!r}; {suffix or 'that'} holds only discrete"
                " columns, and this network has others"
            )

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all parameters as JSON, completely or not at all."""
        write_text(json_text(self.to_dict()), path)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all parameters as plain values, for JSON."""
