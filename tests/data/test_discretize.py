"""Cutting columns into levels, against pandas and first principles."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.data.columns import Column
from dagopt.data.discretize import discretized
from dagopt.data.table import as_table
from dagopt.errors import InputError

VALUES = st.lists(st.floats(-100, 100).map(lambda x: round(x, 1)), min_size=1, max_size=40)


def _cut(values, method, bins):
    return discretized(Column("c", "continuous", np.array(values, dtype=float)), method, bins)


@pytest.mark.parametrize("bins", [2, 3, 5, 10])
@pytest.mark.parametrize("n_samples", [60, 61])
def test_quantile_levels_hold_equally_many_rows(bins, n_samples, rng):
    """Without ties the sizes of the levels differ by at most one, and the levels follow the ranks."""
    values = rng.normal(size=n_samples)
    codes = _cut(values, "quantile", bins).values
    sizes = np.bincount(codes)
    assert len(sizes) == bins
    assert np.ptp(sizes) <= 1
    ranks = np.argsort(np.argsort(values)) + 1
    ends = [-(-n_samples * k // bins) for k in range(1, bins)]  # the last rank of each level but one, rounded up
    np.testing.assert_array_equal(codes, [sum(end < rank for end in ends) for rank in ranks])


@pytest.mark.parametrize("bins", [2, 3, 7])
def test_quantile_levels_are_those_of_pandas(bins, rng):
    """Where N is a multiple of the bins, pandas cuts between the same rows."""
    values = rng.normal(size=42 * bins)
    np.testing.assert_array_equal(_cut(values, "quantile", bins).values, pd.qcut(values, bins, labels=False))


@pytest.mark.parametrize("bins", [2, 3, 7])
def test_interval_levels_are_those_of_pandas(bins, rng):
    """Equal parts of the range are those of pandas, empty ones left out."""
    values = rng.normal(size=100)
    expected = np.unique(pd.cut(values, bins, labels=False), return_inverse=True)[1]
    np.testing.assert_array_equal(_cut(values, "interval", bins).values, expected)


@settings(deadline=None, max_examples=40)
@given(VALUES, st.sampled_from(["quantile", "interval"]), st.integers(2, 6))
def test_levels_follow_the_values(values, method, bins):
    """Equal values share a level, greater values never have a lower one, and every level occurs."""
    column = _cut(values, method, bins)
    assert column.kind == "discrete"
    assert len(column.levels) == len(set(column.levels)) <= bins
    assert set(column.values.tolist()) == set(range(len(column.levels)))
    for x, k in zip(values, column.values, strict=True):
        for y, m in zip(values, column.values, strict=True):
            assert k == m if x == y else (k <= m if x < y else k >= m)


@settings(deadline=None, max_examples=40)
@given(VALUES, st.sampled_from(["quantile", "interval"]), st.integers(2, 6))
def test_names_of_levels_are_true(values, method, bins):
    """A value lies in the interval that names its level."""
    column = _cut(values, method, bins)
    for x, code in zip(values, column.values, strict=True):
        level = column.levels[code]
        low, high = (float(end) for end in level[1:-1].split(", "))
        slack = 1e-4  # names have six digits
        assert low - slack <= x <= high + slack
        assert level[0] in "[(" and level[-1] == "]"  # noqa: PT018


def test_levels_that_agree_to_six_digits_have_longer_names():
    """Levels are told apart by name however close their edges are."""
    column = _cut([1.0, 1.0 + 1e-9, 1.0 + 2e-9], "quantile", 3)
    assert len(set(column.levels)) == len(column.levels) == 3


@pytest.mark.parametrize("method", ["quantile", "interval"])
def test_ties_give_fewer_levels(method):
    """A constant column has one level and a two-valued one at most two, whatever the bins."""
    assert _cut([5.0] * 8, method, 4).levels == ("[5, 5]",)
    assert _cut([0.0] * 9 + [1.0], method, 4).values.tolist()[-1] == len(_cut([0.0] * 9 + [1.0], method, 4).levels) - 1


def test_quantile_of_mostly_ties():
    """A level that nine tenths of the rows share is one level, and the rest another."""
    column = _cut([0.0] * 90 + [1.0] * 10, "quantile", 10)
    assert len(column.levels) <= 2
    column = _cut([0.0] * 50 + list(np.linspace(1, 2, 50)), "quantile", 4)
    assert np.bincount(column.values).tolist() == [50, 25, 25]


@pytest.mark.parametrize("bins", [1, 0, -3, 2.5, "3", True, None])
def test_bins_that_cannot_be(bins):
    """Fewer than two bins, or no whole number of them, are refused."""
    with pytest.raises(InputError, match="bins= to be a whole number >= 2"):
        _cut([1.0, 2.0], "quantile", bins)


def test_discrete_columns_are_left_alone():
    """Only continuous columns of a mixed table are cut."""
    frame = pd.DataFrame({"x": np.arange(10.0), "s": list("ababababab")})
    table = as_table(frame, discretize="interval", bins=2)
    assert table.levels == (("[0, 4.5]", "(4.5, 9]"), ("a", "b"))
