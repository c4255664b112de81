"""Tests of the best parent sets inside large sets against trying all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dagopt.bits import mask_of, members
from dagopt.kernels.gaussian.best_subsets import best_subset, plant, walk_down
from dagopt.methods.branch_and_cut.suffix_search import _room, _with_more_room
from made_problems import gaussian_table

HALF = 150.0


def made(seed, n, is_wide):
    """Return the correlations of a random network, the columns of each node, and what parents cost."""
    sizes = 1 + np.arange(n) % 3 if is_wide else np.ones(n, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    matrix = np.corrcoef(gaussian_table(seed, int(starts[-1]), rows=300).values.T)
    return matrix, starts, 2.5 * np.outer(sizes, sizes).astype(np.float64)


def score_of(matrix, starts, i, parents, costs):
    """Return half the log-determinant of the node given its parents, less their costs, by determinants."""
    given = [c for j in parents for c in range(starts[j], starts[j + 1])]
    own = [*given, *range(starts[i], starts[i + 1])]
    both = [np.linalg.slogdet(matrix[np.ix_(k, k)])[1] for k in (given, own)]
    return -HALF * (both[1] - both[0]) - sum(costs[i, j] for j in parents)


def best_of_all(matrix, starts, i, candidates, costs):
    """Return the best score over all subsets."""
    sets = (one for k in range(len(candidates) + 1) for one in combinations(candidates, k))
    return max(score_of(matrix, starts, i, one, costs) for one in sets)


@pytest.mark.parametrize("is_wide", [False, True], ids=["columns", "blocks"])
@pytest.mark.parametrize("seed", range(12))
def test_the_best_subset_is_that_of_trying_all(seed, is_wide):
    """For every node, with all other nodes as candidates."""
    n = 3 + seed % 6
    matrix, starts, costs = made(seed, n, is_wide)
    inverse, width = np.linalg.inv(matrix), len(matrix)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        work = np.empty((n + 3, width, width))
        found, value = best_subset(inverse, starts, i, np.uint64(mask_of(others)), HALF, costs[i], work)
        assert value == pytest.approx(best_of_all(matrix, starts, i, others, costs), abs=1e-8)
        assert value == pytest.approx(score_of(matrix, starts, i, members(int(found)), costs), abs=1e-8)


@pytest.mark.parametrize("is_wide", [False, True], ids=["columns", "blocks"])
def test_walking_down_a_tree_finds_the_best_set_inside_any_set(is_wide):
    """In a tree that has to grow, a few vertices at a time; what is not wanted stays where it is."""
    n, i = 7, 2
    matrix, starts, costs = made(5, n, is_wide)
    terms = np.linalg.inv(matrix), starts, HALF, costs[i]
    trees = _room(n, 2)
    plant(trees, i, *terms)
    sets = np.array([k for k in range(1 << n) if k >> i & 1], dtype=np.uint64)[::-1].copy()
    places = np.zeros(len(sets), dtype=np.int32)
    wanted = np.ones(len(sets), dtype=np.bool_)
    wanted[3] = False
    done = 0
    while done < len(sets):
        done += walk_down(trees, i, sets[done:], wanted[done:], places[done:], trees.used[i] + 3, *terms)
        if trees.used[i] == trees.sets.shape[1]:
            trees = _with_more_room(trees)
    for key, place in zip(sets[wanted], places[wanted], strict=True):
        inside = [j for j in members(int(key)) if j != i]
        assert not int(trees.sets[i, place]) & ~int(key)
        assert trees.values[i, place] == pytest.approx(best_of_all(matrix, starts, i, inside, costs), abs=1e-8)
    assert places[3] == 0
