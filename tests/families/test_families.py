"""Families: each once, sorted, and back to graphs and lists; joined with others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dagopt.bits import mask_of, members
from dagopt.families.families import Families, Family


@given(st.sets(st.integers(0, 200)))
def test_masks_and_sets_are_the_same_thing(parents):
    """A set survives the way to an integer and back, also past 64 nodes."""
    assert members(mask_of(parents)) == sorted(parents)


def test_each_family_is_there_once():
    """Of a set that is given twice the better score counts; another node's set is another family."""
    given = [Family(0, 0b110, -2.0), Family(0, 0b110, -1.0), Family(1, 0b100, -3.0), Family(0, 0, -4.0)]
    families = Families.from_list(3, given)
    assert list(families) == [given[1], given[3], given[2]]
    assert np.diff(families.offsets).tolist() == [2, 1, 0]
    assert families.place.tolist() == [1, 3, 2]


def test_a_graph_of_families():
    """The graph has an edge from every parent of each family to its node, and the families are found again."""
    families = Families.from_list(3, [Family(0, 0, 0.0), Family(1, 0b101, 0.0), Family(2, 0b001, 0.0)])
    graph = families.adjacency(np.arange(3))
    np.testing.assert_array_equal(graph, [[0, 1, 1], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(families.exactly(graph), np.arange(3))
    assert families.exactly(np.zeros((3, 3), dtype=np.int8)) is None


@given(st.integers(0, 2**16), st.integers(1, 80))
def test_joined_families_are_those_of_both(seed, n):
    """Every family of both is there once, and ``where`` says where those of the first are, also among some of them."""
    rng = np.random.default_rng(seed)

    def some(count):
        nodes = rng.integers(n, size=count)
        sets = [mask_of(np.flatnonzero((rng.random(n) < 0.5) & (np.arange(n) != i))) for i in nodes]
        return [Family(int(i), mask, float(mask % 97)) for i, mask in zip(nodes, sets, strict=True)]

    first, second = (Families.from_list(n, some(count)) for count in (12, 8))
    both = first.joined(second)
    assert set(both) == set(first) | set(second)
    assert len(both) == len(set(both))
    listed = list(both)
    assert [listed[k] for k in both.where(len(first))] == list(first)
    kept = both.only(rng.random(len(both)) < 0.5)
    listed = list(kept)
    for family, k in zip(first, kept.where(len(first)), strict=True):
        assert (k < 0) == (family not in listed)
        assert k < 0 or listed[k] == family
