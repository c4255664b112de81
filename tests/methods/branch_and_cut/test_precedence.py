"""Tests of branching on the order of two nodes, with scripted bounds."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.methods.branch_and_cut.precedence import Part, Probe, probe_pairs

N_FAMILIES = 6


def whole(n_nodes=4):
    """Return a problem of some families, in which nothing is known."""
    return Part(np.ones(N_FAMILIES, dtype=np.bool_), np.zeros((n_nodes, 1), dtype=np.uint64))


def comes_before(part, first, second):
    """Say whether one node is known to come before another."""
    return bool(int(part.later[first, 0]) >> second & 1)


def scripted(bounds, gone=None):
    """Return what tries parts: the bound of the one order in each, and the families that this order excludes."""

    def attempt(part):
        order = next((i, j) for i, j in bounds if comes_before(part, i, j))
        part.alive[(gone or {}).get(order, [])] = False
        return Probe(part, bounds[order], None)

    return lambda groups: [[attempt(part) for part in group] for group in groups]


@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_the_pair_with_the_largest_product_is_chosen(at_once):
    """Both children count: 5 times 5 is more than 9 times 1; however many pairs are tried at once."""
    bounds = {(0, 1): 91.0, (1, 0): 99.0, (2, 3): 95.0, (3, 2): 95.0}
    children = probe_pairs([(0, 1), (2, 3)], whole(), 100.0, 0.0, scripted(bounds), at_once)
    assert [one.bound for one in children] == [95.0, 95.0]
    assert comes_before(children[0].part, 2, 3)
    assert comes_before(children[1].part, 3, 2)


def test_an_order_that_is_closed_implies_the_other():
    """If 0 before 1 leaves nothing, 1 comes before 0 in both children of the other pair, whose bounds it lowers."""
    bounds = {(0, 1): 10.0, (1, 0): 80.0, (2, 3): 95.0, (3, 2): 70.0}
    children = probe_pairs([(0, 1), (2, 3)], whole(), 100.0, 10.0, scripted(bounds))
    assert [one.bound for one in children] == [80.0, 70.0]
    assert all(comes_before(one.part, 1, 0) for one in children)


def test_if_all_pairs_are_decided_there_is_one_child():
    """No pair is left to branch on."""
    bounds = {(0, 1): 10.0, (1, 0): 80.0, (2, 3): -np.inf, (3, 2): 90.0}
    (child,) = probe_pairs([(0, 1), (2, 3)], whole(), 100.0, 10.0, scripted(bounds))
    assert child.bound == 80.0
    assert comes_before(child.part, 1, 0)
    assert comes_before(child.part, 3, 2)


def test_a_pair_with_both_orders_closed_closes_the_node():
    """Then there are no children."""
    bounds = {(0, 1): 10.0, (1, 0): 9.0, (2, 3): 95.0, (3, 2): 95.0}
    assert probe_pairs([(2, 3), (0, 1)], whole(), 100.0, 10.0, scripted(bounds)) == []


def test_what_neither_order_allows_is_excluded():
    """Family 2 is excluded by both orders of the first pair, so also from the children of the second."""
    bounds = {(0, 1): 99.0, (1, 0): 99.0, (2, 3): 95.0, (3, 2): 95.0}
    gone = {(0, 1): [1, 2], (1, 0): [2, 3], (2, 3): [5]}
    children = probe_pairs([(0, 1), (2, 3)], whole(), 100.0, 0.0, scripted(bounds, gone))
    assert np.flatnonzero(~children[0].part.alive).tolist() == [2, 5]
    assert np.flatnonzero(~children[1].part.alive).tolist() == [2]
