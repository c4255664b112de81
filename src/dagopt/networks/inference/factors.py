"""Factors of a discrete network: tables over nodes that are not known, for many rows of known cells at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.networks.discrete_network import DiscreteNetwork

__all__ = ["Factor", "product", "reduced", "summed_out"]


class Factor(NamedTuple):
    """A table for each row.

    Attributes
    ----------
    nodes : tuple of int
        The unknown nodes that the table is about, ascending.
    values : array of shape (rows or 1, levels of each node...)
        One table per row of known cells; a single one if they do not matter.
    """

    nodes: tuple[int, ...]
    values: NDArray[np.float64]


def reduced(network: DiscreteNetwork, node: int, known: Sequence[bool], codes: NDArray[np.intp]) -> Factor:
    """Return P(node | parents) with the known nodes at their levels in each row, ``codes[row, node]``."""
    family = (*network.parents[node], node)
    fixed = [axis for axis, i in enumerate(family) if known[i]]
    free = sorted((axis for axis, i in enumerate(family) if not known[i]), key=lambda axis: family[axis])
    table = network.tables[node].transpose(*fixed, *free)
    values = table[tuple(codes[:, family[axis]] for axis in fixed)] if fixed else table[None]
    return Factor(tuple(family[axis] for axis in free), values)


def product(factors: Iterable[Factor]) -> Factor:
    """Return the product of factors, over all of their nodes."""
    factors = list(factors)
    nodes = tuple(sorted({i for factor in factors for i in factor.nodes}))
    values: NDArray[np.float64] = np.ones((1,) * (len(nodes) + 1))
    for factor in factors:
        levels = dict(zip(factor.nodes, factor.values.shape[1:], strict=True))
        values = values * factor.values.reshape(len(factor.values), *(levels.get(i, 1) for i in nodes))
    return Factor(nodes, values)


def summed_out(factor: Factor, node: int) -> tuple[Factor, NDArray[np.float64]]:
    """Return the sum over the levels of a node, each row divided by its largest entry, and the logs of the divisors."""
    values = factor.values.sum(axis=1 + factor.nodes.index(node))
    largest = values.reshape(len(values), -1).max(axis=1)
    divisor = np.where(largest > 0, largest, 1.0).reshape(-1, *(1,) * (values.ndim - 1))
    with np.errstate(divide="ignore"):
        logs = np.log(largest)
    return Factor(tuple(i for i in factor.nodes if i != node), values / divisor), logs
