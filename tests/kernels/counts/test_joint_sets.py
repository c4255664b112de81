"""Tests of joints of many sets against those of one set at a time."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from dagopt.data.table import DiscreteTable
from dagopt.scores.bdeu import BDeuScore
from dagopt.scores.multinomial import MultinomialScore


def drawn_table(arities, rows, seed):
    """Return a table with levels of uneven shares, each of which occurs."""
    rng = np.random.default_rng(seed)
    codes = np.array([np.minimum(rng.geometric(0.5, rows) - 1, size - 1) for size in arities])
    for j, size in enumerate(arities):
        codes[j, :size] = rng.permutation(size)
    levels = tuple(tuple(str(level) for level in range(size)) for size in arities)
    return DiscreteTable.from_codes(tuple(f"x{j}" for j in range(len(arities))), levels, codes)


@pytest.mark.parametrize("make", [lambda table: MultinomialScore(table, 2.0), lambda table: BDeuScore(table, 3.0)])
@pytest.mark.parametrize(("arities", "rows"), [((2, 3, 4, 2, 3), 70), ((2,) * 6, 300), ((90, 80, 70, 60, 2), 120)])
def test_joints_and_occurring_cells_are_those_of_single_sets(make, arities, rows):
    """In any order of the sets, also where there are many more cells than rows."""
    table = drawn_table(arities, rows, 1)
    score = make(table)
    codes = table.codes
    for size in range(len(arities) + 1):
        sets = np.array(list(combinations(range(len(arities)), size)), dtype=np.int64)
        sets = sets.reshape(comb(len(arities), size), size)
        order, arranged = score.counting_order(sets)
        np.testing.assert_array_equal(np.sort(arranged, axis=1), sets[order])
        for some in (arranged, np.random.default_rng(0).permutation(sets)):
            joint, occurring = score.joints_of_sets(some)
            for own, value, cells in zip(some.tolist(), joint, occurring, strict=True):
                assert value == pytest.approx(score.joint_chain(own)[-1], rel=1e-12, abs=1e-9)
                assert cells == (len({tuple(row) for row in codes[own].T}) if own else 1)


def test_local_scores_are_differences_of_joints():
    """With the penalties, joints of sets give the local scores."""
    score = MultinomialScore(drawn_table((2, 3, 4, 2), 90, 5), 1.5)
    rows = np.array([[0, 1], [0, 3], [1, 3]])
    without, _ = score.joints_of_sets(rows)
    together, _ = score.joints_of_sets(np.column_stack([rows, [2, 2, 2]]))
    found = together - without - score.costs_of_sets(2, rows)
    np.testing.assert_allclose(found, [score.local(2, row) for row in rows.tolist()], rtol=1e-12)
