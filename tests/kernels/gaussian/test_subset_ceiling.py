"""Tests of the bound on the choice of a parent set against all subsets."""

from itertools import combinations

import numpy as np
import pytest

from dagopt.families.node_search import _delta
from dagopt.kernels.gaussian.subset_ceiling import most_over
from dagopt.kernels.gaussian.subset_walk import sweep
from made_problems import gaussian_table

HALF, SIZE = 150.0, 8  # half the number of rows; the last variable is the node


@pytest.mark.parametrize("taken", [(), (2,), (0, 5)])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cost", [0.5, 3.0, 12.0])
def test_no_set_gains_more(seed, taken, cost):
    """The bound holds for all sets and, with the term of a candidate, for all sets that have it."""
    matrix = np.corrcoef(gaussian_table(seed, SIZE, rows=300).values, rowvar=False)
    least = matrix.copy()
    for j in taken:
        after = np.empty_like(least)
        sweep(least, after, j)
        least = after
    left = [j for j in range(SIZE - 1) if j not in taken]
    free = np.isin(np.arange(SIZE), left)
    whole = 1.0 / np.linalg.inv(matrix)[-1, -1]
    rng = np.random.default_rng(seed)
    for y in (np.zeros(SIZE), np.where(free, rng.normal(size=SIZE), 0.0)):
        terms = np.empty(SIZE)
        most = most_over(HALF, cost, least, whole, free, _delta(matrix[:-1, :-1]), -np.inf, y, np.empty(SIZE), terms)
        gains = {}
        for size in range(len(left) + 1):
            for more in combinations(left, size):
                own = np.array([*more], dtype=int)
                explained = least[-1, own] @ np.linalg.solve(least[np.ix_(own, own)], least[own, -1])
                gains[more] = -HALF * np.log1p(-explained / least[-1, -1]) - cost * size
        assert max(gains.values()) <= most + 1e-9
        for j in left:
            assert max(gain for own, gain in gains.items() if j in own) <= most + terms[j] + 1e-9
        if cost == 12.0 and not taken:
            assert most < 3 * max(max(gains.values()), cost)  # and it says something
