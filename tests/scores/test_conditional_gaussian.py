"""Tests of the tables of the conditional Gaussian score."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.learning.posing import pose
from dagopt.scores.base import Score
from made_tables import mixed_frame

N = 6


def posed(close):
    """Return the score of a mixed table, in which two columns may be nearly the same."""
    data = mixed_frame(2, N, 150)
    numbers = [name for name in data if data[name].dtype == float]
    if close:
        data[numbers[1]] = data[numbers[0]] + 1e-4 * np.random.default_rng(0).normal(size=len(data))
    return pose(data, score="cg")[0].score


def filled(score, fill, low_bits):
    """Return the tables of all nodes."""
    tables = np.empty((N, 1 << N - low_bits, 1 << low_bits))
    for node in range(N):
        for high in range(1 << N - low_bits):
            fill(score, high, low_bits, tables[node, high], node)
    return tables.reshape(N, -1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("low_bits", [N, 2])
@pytest.mark.parametrize("close", [False, True])
def test_tables_are_the_local_scores(close, low_bits):
    """Slice by slice, each entry is the score of one set, and the rounding covers the difference."""
    score, slow = posed(close), posed(close)
    found, expected = filled(score, type(score).fill_potentials, low_bits), filled(slow, Score.fill_potentials, N)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    finite = np.isfinite(expected)
    assert 0.1 < finite.mean() < 1.0
    assert np.abs(found[finite] - expected[finite]).max() <= score.rounding + slow.rounding
    assert score.rounding == pytest.approx(slow.rounding, rel=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_tables_for_the_best_dag_are_right_where_it_matters():
    """What is not precise is below the score without parents, and below that with each member alone."""
    score, slow = posed(True), posed(True)
    found, expected = filled(score.for_best(), type(score).fill_potentials, 3), filled(slow, Score.fill_potentials, N)
    for node in range(N):
        for mask in np.flatnonzero(np.isfinite(expected[node])):
            others = [j for j in range(N) if mask >> j & 1 and j != node]
            if mask >> node & 1 and abs(found[node, mask] - expected[node, mask]) > score.rounding + slow.rounding:
                least = min(slow.local(node, own) for own in [[], *([j] for j in others)])
                assert max(found[node, mask], expected[node, mask]) < least


@pytest.mark.filterwarnings("ignore")
def test_the_proof_is_that_of_listed_sets():
    """Tables and lists of parent sets give one optimum."""
    data = mixed_frame(5, 7, 200)
    results = [dagopt.learn(data, method, score="cg", progress=False) for method in ("exact", "gobnilp")]
    assert [one.status for one in results] == ["optimal", "optimal"]
    assert results[0].score == pytest.approx(results[1].score, rel=1e-9)
