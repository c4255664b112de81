"""The pool of families: each once, in the order in which they came, and back to graphs and pools."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dagopt.bits import mask_of, members
from dagopt.families.family_pool import Family, FamilyPool


@given(st.sets(st.integers(0, 200)))
def test_masks_and_sets_are_the_same_thing(parents):
    """A set survives the way to an integer and back, also past 64 nodes."""
    assert members(mask_of(parents)) == sorted(parents)


def test_each_column_is_there_once():
    """A set that is already there is not added again, whatever its score; another node's is."""
    pool = FamilyPool(3)
    assert pool.add(Family(0, 0b110, -1.0))
    assert not pool.add(Family(0, 0b110, -2.0))
    assert pool.add(Family(1, 0b100, -3.0))
    assert pool.add(Family(0, 0, -4.0))
    assert len(pool) == 3
    assert [pool.count(i) for i in range(3)] == [2, 1, 0]
    assert pool.places(0) == [0, 2]
    assert (pool.index(0, 0), pool.index(0, 0b110), pool.index(2, 0)) == (2, 0, None)
    assert [family.score for family in pool] == [-1.0, -3.0, -4.0]


def test_a_graph_of_columns():
    """The graph has an edge from every parent of each family to its node."""
    pool = FamilyPool(3)
    for family in (Family(0, 0, 0.0), Family(1, 0b101, 0.0), Family(2, 0b001, 0.0)):
        pool.add(family)
    np.testing.assert_array_equal(pool.adjacency([0, 1, 2]), [[0, 1, 1], [0, 0, 0], [0, 1, 0]])


def test_the_pool_of_the_subset_recursion_holds_the_same():
    """Every family is in the other pool, with its score."""
    rng = np.random.default_rng(0)
    pool = FamilyPool(4)
    for _ in range(30):
        node = int(rng.integers(4))
        pool.add(Family(node, int(rng.integers(16)) & ~(1 << node), float(rng.normal())))
    other = pool.to_pool()
    found = {
        (node, int(mask), float(score))
        for node in range(4)
        for mask, score in zip(other.masks[node], other.scores[node], strict=True)
    }
    assert found == set(pool)
