"""Tests of the best parent sets inside large sets against trying all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dagopt.bits import mask_of, members
from dagopt.kernels.gaussian.best_subsets import best_subset, plant, walk_down
from dagopt.methods.branch_and_cut.suffix_search import _room, _with_more_room
from made_problems import gaussian_table

HALF, COST = 150.0, 2.5


def correlation(seed, n):
    """Return the correlations of a random network."""
    return np.corrcoef(gaussian_table(seed, n, rows=300).values.T)


def score_of(matrix, i, parents):
    """Return -N/2 log var(i | parents) minus the cost of the parents, by determinants."""
    both = [np.linalg.slogdet(matrix[np.ix_(k, k)])[1] for k in (list(parents), [*parents, i])]
    return -HALF * (both[1] - both[0]) - COST * len(parents)


def best_of_all(matrix, i, candidates):
    """Return the best score over all subsets."""
    return max(score_of(matrix, i, one) for k in range(len(candidates) + 1) for one in combinations(candidates, k))


@pytest.mark.parametrize("seed", range(12))
def test_the_best_subset_is_that_of_trying_all(seed):
    """For every node, with all other nodes as candidates."""
    n = 3 + seed % 6
    matrix = correlation(seed, n)
    inverse = np.linalg.inv(matrix)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        found, value = best_subset(inverse, i, np.uint64(mask_of(others)), HALF, COST, np.empty((n + 2, n, n)))
        assert value == pytest.approx(best_of_all(matrix, i, others), abs=1e-8)
        assert value == pytest.approx(score_of(matrix, i, members(int(found))), abs=1e-8)


def test_walking_down_a_tree_finds_the_best_set_inside_any_set():
    """In a tree that has to grow; what is not wanted stays where it is."""
    n, i = 7, 2
    matrix = correlation(5, n)
    whole = np.linalg.inv(matrix)
    trees = _room(n, 2)
    plant(trees, i, whole, HALF, COST)
    sets = np.array([k for k in range(1 << n) if k >> i & 1], dtype=np.uint64)[::-1].copy()
    places = np.zeros(len(sets), dtype=np.int32)
    wanted = np.ones(len(sets), dtype=np.bool_)
    wanted[3] = False
    done = 0
    while done < len(sets):
        done += walk_down(trees, i, sets[done:], wanted[done:], places[done:], whole, HALF, COST)
        if done < len(sets):
            trees = _with_more_room(trees)
    for key, place in zip(sets[wanted], places[wanted], strict=True):
        inside = [j for j in members(int(key)) if j != i]
        assert not int(trees.sets[i, place]) & ~int(key)
        assert trees.values[i, place] == pytest.approx(best_of_all(matrix, i, inside), abs=1e-8)
    assert places[3] == 0
