"""A quick DAG from the pool: acyclic, made of families, with the parents that must be there."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.bits import mask_of
from dagopt.families.family_pool import Family, FamilyPool
from dagopt.families.greedy_dag import greedy_dag
from dagopt.graph.order import is_acyclic


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**16), st.integers(1, 8), st.booleans())
def test_it_is_a_dag_of_columns(seed, n, required):
    """Every node takes one of its families and no cycle closes, also where the least sets are not empty."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    pool = FamilyPool(n)
    must = [0] * n
    for place, i in enumerate(order):
        if required and place:
            must[i] = mask_of(rng.permutation(order[:place])[: rng.integers(0, 2)].tolist())
        pool.add(Family(int(i), must[i], float(rng.normal())))
    for _ in range(3 * n):
        i = int(rng.integers(n))
        pool.add(Family(i, (int(rng.integers(1 << n)) & ~(1 << i)) | must[i], float(rng.normal() + 3)))
    dag = greedy_dag(pool)
    assert is_acyclic(dag)
    for i in range(n):
        assert pool.index(i, mask_of(np.flatnonzero(dag[:, i]).tolist())) is not None


def test_it_takes_the_best_that_fits():
    """Without a conflict every node has its best family; in one, the node that loses less gives way."""
    pool = FamilyPool(3)
    for family in (
        Family(0, 0b000, 0.0),
        Family(1, 0b000, 0.0),
        Family(2, 0b000, 0.0),
        Family(0, 0b010, 5.0),
        Family(1, 0b001, 3.0),
        Family(2, 0b011, 7.0),
    ):
        pool.add(family)
    np.testing.assert_array_equal(greedy_dag(pool), [[0, 0, 1], [1, 0, 1], [0, 0, 0]])
