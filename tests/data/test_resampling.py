"""Tests of resampled tables: how many rows, which rows, and how often each on average."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.data.resampling import resampled
from dagopt.data.table import ContinuousTable, DiscreteTable
from dagopt.errors import InputError

NAMES = ("a", "b")


def discrete():
    """Return a table with three distinct rows that occur 5, 3 and 2 times."""
    codes = np.array([[0] * 5 + [1] * 5, [0] * 8 + [1] * 2])
    return DiscreteTable.from_codes(NAMES, (("x", "y"), ("u", "v")), codes)


def continuous(rows=10):
    """Return a table whose rows tell their number."""
    return ContinuousTable(NAMES, np.column_stack([np.arange(rows), -np.arange(rows)]).astype(float))


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("table", [discrete(), continuous()])
def test_the_number_of_rows_is_that_asked_for(table, replace):
    """Weights add up to the rows drawn; names and levels stay."""
    for seed in range(20):
        drawn = resampled(table, np.random.default_rng(seed), 7, replace=replace)
        assert drawn.n_samples == 7
        assert drawn.names == NAMES
        if isinstance(table, DiscreteTable):
            assert drawn.levels == table.levels
            assert (drawn.weights > 0).all()
            assert drawn.weights.sum() == 7


def test_discrete_rows_are_rows_of_the_table():
    """Every distinct row drawn is one of the table, and without replacement none occurs more often than there."""
    table = discrete()
    known = {tuple(row): weight for row, weight in zip(table.codes.T, table.weights, strict=True)}
    for seed in range(50):
        for replace in (True, False):
            drawn = resampled(table, np.random.default_rng(seed), 8, replace=replace)
            for row, weight in zip(drawn.codes.T, drawn.weights, strict=True):
                assert tuple(row) in known
                assert replace or weight <= known[tuple(row)]


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_every_row_is_drawn_as_often_as_any_other(kind, replace):
    """Over many resamples the mean weight of a row is its share, within five standard errors."""
    table, rows, draws = (discrete() if kind == "discrete" else continuous()), 6, 4000
    rng = np.random.default_rng(1)
    counts = np.zeros(10)
    for _ in range(draws):
        drawn = resampled(table, rng, rows, replace=replace)
        if isinstance(drawn, DiscreteTable):
            place = drawn.codes[0] + drawn.codes[1]  # 0, 1, 2 for the three rows
            counts[place] += drawn.weights
        else:
            counts += np.bincount(drawn.values[:, 0].astype(int), minlength=10)
    share = np.array([0.5, 0.3, 0.2]) if kind == "discrete" else np.full(10, 0.1)
    error = 5 * np.sqrt(rows * share * (1 - share) / draws)
    assert (np.abs(counts[: len(share)] / draws - rows * share) < error).all()


def test_continuous_rows_are_rows_of_the_table():
    """Rows are drawn whole; without replacement each at most once."""
    table = continuous()
    drawn = resampled(table, np.random.default_rng(0), 10)
    assert (drawn.values[:, 0] == -drawn.values[:, 1]).all()
    assert set(drawn.values[:, 0]) < set(range(10))
    once = resampled(table, np.random.default_rng(0), 9, replace=False)
    assert len(set(once.values[:, 0])) == 9


def test_too_few_different_rows():
    """A continuous resample with fewer different rows than needed is refused with both numbers."""
    with pytest.raises(InputError, match=r"has \d distinct rows of 10 but 7 parents are allowed.*max_parents="):
        resampled(continuous(), np.random.default_rng(0), 10, least_distinct=9)
