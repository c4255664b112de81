"""What all networks with parameters share: the structure, the likelihood of all rows, and the inference engine."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from dagopt.arrays import Floats, Ints
from dagopt.networks.checks import Parents, adjacency_of, graph_of
from dagopt.networks.inference.engine import Engine
from dagopt.networks.questions import Questions

if TYPE_CHECKING:
    import networkx

__all__ = ["Network"]


class Network(Questions):
    """A DAG over named columns, with the distribution of each node given its parents.

    Attributes
    ----------
    names : tuple of str
        The nodes, in the order of the columns.
    parents : tuple of tuples of int
        The parents of each node, by position.
    """

    names: tuple[str, ...]
    parents: Parents

    def __repr__(self) -> str:
        edges = sum(map(len, self.parents))
        return f"{type(self).__name__}({len(self.names)} nodes, {edges} edges, {self.n_parameters} parameters)"

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free parameters."""

    @abstractmethod
    def log_likelihoods(self, data: pd.DataFrame) -> Floats:
        """Return the natural log of the probability, or the density, of each row."""

    @abstractmethod
    def levels_of(self, node: int) -> tuple[str, ...] | None:
        """Return the levels of a discrete node; None for a continuous one."""

    @abstractmethod
    def draw_node(self, node: int, cells: Floats, rng: np.random.Generator) -> Floats:
        """Draw a node in each row, given its parents there."""

    @abstractmethod
    def log_node(self, node: int, cells: Floats) -> Floats:
        """Return the log of the conditional density, or probability, of a node in each row."""

    @abstractmethod
    def without_parents(self, node: int) -> Network:
        """Return the network without the edges into a node, in which all its values are possible."""

    @abstractmethod
    def engine(self) -> Engine:
        """Return the engine that answers questions about the network."""

    @property
    def adjacency(self) -> Ints:
        """Array with ``[i, j] = 1`` where i -> j."""
        return adjacency_of(self.parents)

    @property
    def dag(self) -> networkx.DiGraph:
        """The structure, as a new graph over the names."""
        return graph_of(self.names, self.adjacency)

    def log_likelihood(self, data: pd.DataFrame) -> float:
        """Return the natural log of the probability, or the density, of all rows (-inf if one is impossible)."""
        return float(self.log_likelihoods(data).sum())

    @property
    def _model(self) -> Self:
        return self

    @cached_property
    def _engine(self) -> Engine:
        return self.engine()
