"""The essential graph of a DAG when knowledge fixes the direction of some edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.graph.cpdag import cpdag, meek_closure

__all__ = ["essential_given", "essential_told"]


def essential_given(adjacency: NDArray[np.int8], must: NDArray[np.bool_], may: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the essential graph of a DAG with the directions that the knowledge fixes.

    Parameters
    ----------
    adjacency : array of shape (n_nodes, n_nodes)
        A DAG that obeys the knowledge.
    must, may : bool arrays of the same shape
        The required edges, and the allowed edges.

    Returns
    -------
    ndarray of int8
        An edge is undirected (ones both ways) only if it has both directions among the equivalent DAGs that obey the
        knowledge (Meek's maximally oriented graph). Limits on the number of parents fix no direction.
    """
    essential = cpdag(adjacency)
    fixed = (adjacency != 0) & (must | ~may.T)
    essential[fixed.T] = 0
    return meek_closure(essential)


def essential_told(adjacency: NDArray[np.int8], told: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the essential graph of a DAG in which edges between some pairs of columns have their direction told."""
    if not told.any():
        return cpdag(adjacency)
    return essential_given(adjacency, (adjacency != 0) & told, np.ones_like(told))
