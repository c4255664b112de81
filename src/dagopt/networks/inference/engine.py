"""`Engine`: answers questions about a network, row by row, whatever cells are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.networks.checks import Parents

__all__ = ["Engine", "Event", "Model", "Posterior", "patterns"]

"""Rows by nodes: numbers of continuous nodes, codes of the levels of discrete ones, NaN where not known."""

Event = Mapping[int, tuple[float, float] | Bools]
"""By node: the interval in which a continuous one lies, or which levels a discrete one has."""


class Model(Protocol):
    """A network with a conditional distribution for each node, as weighted draws need."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes."""

    @property
    def parents(self) -> Parents:
        """The parents of each node, by position."""

    def levels_of(self, node: int) -> tuple[str, ...] | None:
        """Return the levels of a discrete node; None for a continuous one."""

    def draw_node(self, node: int, cells: Floats, rng: np.random.Generator) -> Floats:
        """Draw a node in each row, given its parents there."""

    def log_node(self, node: int, cells: Floats) -> Floats:
        """Return the log of the conditional density, or probability, of a node in each row."""

    def without_parents(self, node: int) -> Model:
        """Return the network without the edges into a node, in which all its values are possible."""

    def engine(self) -> Engine:
        """Return the engine that answers questions about the network."""


class Posterior(NamedTuple):
    """The distribution of one node in each row.

    Attributes
    ----------
    figures : array of shape (rows, k)
        The probability of each level, or mean and standard deviation; NaN where the known cells are impossible.
    errors : array of shape (rows, k) or None
        The standard errors due to the draws; None if the figures are exact.
    """

    figures: Floats
    errors: Floats | None = None


class Engine(ABC):
    """Answers questions about one network."""

    @abstractmethod
    def posterior(self, node: int, cells: Floats) -> Posterior:
        """Return the distribution of a node in each row, given the other known cells."""

    @abstractmethod
    def log_evidence(self, cells: Floats) -> Floats:
        """Return the log of the density, or probability, of the known cells of each row."""

    @abstractmethod
    def probability(self, event: Event, cells: Floats) -> tuple[float, float]:
        """Return the probability of an event given the known cells of one row, and its standard error."""

    @abstractmethod
    def complete(self, cells: Floats, rng: np.random.Generator) -> Floats:
        """Return the rows with the unknown cells drawn from their joint distribution given the known ones."""


def patterns(cells: Floats) -> Iterator[tuple[Bools, Ints]]:
    """Yield each set of known nodes that occurs, and the rows that have it."""
    if len(cells) == 0:
        return
    known = ~np.isnan(cells)
    masks, which = np.unique(known, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(masks)))
    yield from zip(masks, np.split(order, ends[:-1]), strict=True)


def codes(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return cells of discrete nodes as positions of levels."""
    return np.asarray(values, dtype=np.intp)
