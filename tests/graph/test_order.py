"""Tests of adjacency arrays; topological orders and cycles are in test_dag.py."""

import numpy as np
import pytest

from dagopt.graph.order import parent_lists


@pytest.mark.parametrize("n", [0, 1, 7])
def test_parents_of_every_node(n):
    """One list per node, in increasing order, also for nodes without parents."""
    adjacency = np.triu(np.random.default_rng(n).integers(0, 2, size=(n, n)), 1)
    expected = [np.flatnonzero(adjacency[:, i]).tolist() for i in range(n)]
    assert [parents.tolist() for parents in parent_lists(adjacency)] == expected
