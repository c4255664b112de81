"""`FittedNetwork`: what fitted Gaussian and discrete networks have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.files import write_text
from dagopt.networks.checks import Parents, RandomState, adjacency_of, checked_given, graph_of
from dagopt.networks.discrete import DiscreteNetwork
from dagopt.networks.fitted.json_text import json_text
from dagopt.networks.fitted.rows import rows_of
from dagopt.networks.gaussian import GaussianNetwork
from dagopt.networks.mixed import MixedNetwork

__all__ = ["FittedNetwork"]


class FittedNetwork(ABC):
    """A DAG with the parameters that fit a table, and how well each of them is known.

    Wherever data are taken, a path, a frame, an array or a Table will do.

    Attributes
    ----------
    network : GaussianNetwork, DiscreteNetwork or MixedNetwork
        The distribution: the bare numbers.
    parents : tuple of tuple of int
        The parents of each node, by position.
    n_samples : int
        Rows behind the fit.
    notes : tuple of str
        What the data could not tell.
    """

    network: GaussianNetwork | DiscreteNetwork | MixedNetwork
    parents: Parents
    n_samples: int
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        edges = sum(map(len, self.parents))
        return f"{type(self).__name__}({len(self.names)} nodes, {edges} edges, {self.n_samples} rows)"

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
        """One row a parameter, with its standard error."""

    @cached_property
    @abstractmethod
    def nodes(self) -> pd.DataFrame:
        """One row a node: its parents and how well they predict it, with its part of the log-likelihood."""

    def simulate(self, n_samples: int, random_state: RandomState = None) -> pd.DataFrame:
        """Draw rows from the network, columns and levels as in the data behind the fit.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, Generator or None
            Seed, generator, or fresh entropy.

        Returns
        -------
        DataFrame
            Floats, or categories with the levels as text.
        """
        return self.network.sample(n_samples, random_state)

    def log_likelihood(self, data: object) -> float:
        """Return the natural log of the likelihood of all rows; -inf where a row is impossible."""
        return self.network.log_likelihood(self._rows(data, self.names))

    def log_likelihoods(self, data: object) -> NDArray[np.float64]:
        """Return the natural log of the likelihood of each row."""
        return self.network.log_likelihoods(self._rows(data, self.names))

    def predict(self, data: object, column: str, *, given: str = "parents") -> pd.Series[Any]:
        """Return a column as the network expects it in each row: its mean, or its most probable level.

        Parameters
        ----------
        data : path, frame, array or Table
            Must have the columns that the prediction needs, and may have others.
        column : str
            What to predict.
        given : {"parents", "blanket"}
            Predict from the parents alone, or from the Markov blanket (parents, children and their other parents),
            which is as good as all other columns.
        """
        _, needed = checked_given(self.names, self.parents, column, given)
        return self.network.predict(self._rows(data, [self.names[i] for i in needed]), column, given)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all parameters as JSON, whole or not at all."""
        write_text(json_text(self.to_dict()), path)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all parameters as plain values, for JSON."""

    def _rows(self, data: object, names: tuple[str, ...] | list[str]) -> pd.DataFrame:
        if isinstance(self.network, GaussianNetwork):
            return rows_of(data, names, None)
        return rows_of(data, names, dict(zip(self.names, self.network.levels, strict=True)))
