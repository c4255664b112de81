"""Types of the arrays that go through the package, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Dag", "Floats", "Ints", "Pdag", "Words"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]  # sets of columns, one bit per column
Dag = NDArray[np.int8]  # adjacency of a DAG: entry (i, j) is 1 for the edge i -> j
Pdag = NDArray[np.int8]  # adjacency of a partially directed graph: both (i, j) and (j, i) for an undirected edge
