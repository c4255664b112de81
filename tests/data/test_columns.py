"""Columns: kind by dtype, levels in order, what is missing."""

import datetime
import re

import numpy as np
import pandas as pd
import pytest

from dagopt.data.columns import column_from_series, column_from_text
from dagopt.data.spellings import NUMERIC_MISSING
from dagopt.data.table import as_table
from dagopt.errors import InputError

MISSING = None


def _cells(column):
    """Return the cells as numbers or levels, None where missing."""
    if column.kind == "continuous":
        return [None if np.isnan(x) else float(x) for x in column.values]
    return [None if code < 0 else column.levels[code] for code in column.values]


@pytest.mark.parametrize(
    "values, kind, cells",
    [
        (pd.Series([1.5, np.nan, 2.0]), "continuous", [1.5, None, 2.0]),
        (pd.Series([1.5, 2.0], dtype="float32"), "continuous", [1.5, 2.0]),
        (pd.array([1.5, None, 2.0], dtype="Float64"), "continuous", [1.5, None, 2.0]),
        (pd.Series([3, 1, 3]), "discrete", ["3", "1", "3"]),
        (pd.Series([3, 1, 3], dtype="uint8"), "discrete", ["3", "1", "3"]),
        (pd.array([3, None, 1], dtype="Int64"), "discrete", ["3", None, "1"]),
        (pd.Series([True, False]), "discrete", ["True", "False"]),
        (pd.array([True, None, False], dtype="boolean"), "discrete", ["True", None, "False"]),
        (pd.Series(["b", "a", "b"]), "discrete", ["b", "a", "b"]),
        (pd.Series(["None", "NA", "nan", ""]), "discrete", ["None", "NA", "nan", ""]),
        (pd.Series(["x", None, np.nan], dtype=object), "discrete", ["x", None, None]),
        (pd.array(["x", None], dtype="string"), "discrete", ["x", None]),
        (pd.Categorical(["lo", "hi", None], categories=["lo", "mid", "hi"]), "discrete", ["lo", "hi", None]),
        (pd.Series([1, None, 2], dtype=object), "discrete", ["1", None, "2"]),
        (pd.Series([1.5, None, 2], dtype=object), "continuous", [1.5, None, 2.0]),
        (pd.Series([1, "1", "x"], dtype=object), "discrete", ["1", "1", "x"]),
        (pd.Series([None, None], dtype=object), "discrete", [None, None]),
    ],
)
def test_kinds_by_dtype(values, kind, cells):
    """Floats are continuous, everything else is levels; None and NaN are missing, the text 'None' is not."""
    column = column_from_series("c", pd.Series(values))
    assert column.kind == kind
    assert _cells(column) == cells
    assert column.missing.tolist() == [cell is None for cell in cells]


@pytest.mark.parametrize(
    "values, levels",
    [
        (pd.Series([10, 9, -1]), ("-1", "9", "10")),
        (pd.Series(["10", "9", "-1"]), ("-1", "9", "10")),
        (pd.Series(["10", "9", "x"]), ("10", "9", "x")),
        (pd.Series(["b", "B", "a"]), ("B", "a", "b")),
        (pd.Categorical(["b", "a"], categories=["b", "unused", "a"]), ("a", "b")),
        (pd.Series([True, False]), ("False", "True")),
    ],
)
def test_levels_are_those_that_occur_in_order(values, levels):
    """Numbers are in numeric and text in alphabetic order, and categories that do not occur do not count."""
    assert column_from_series("c", pd.Series(values)).levels == levels


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True)),
        pd.Series(pd.to_timedelta([1, 2], unit="D")),
        pd.Series([datetime.date(2020, 1, 1), None], dtype=object),
        pd.Series([datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)], dtype=object),
        pd.Series([datetime.time(1), datetime.time(2)], dtype=object),
    ],
)
def test_dates_are_refused(values):
    """Dates and times have no kind; the message names the column and what to do, unless the column is left out."""
    assert re.search(r"column 'when' holds dates or times.*exclude=", column_from_series("when", values).trouble)
    frame = pd.DataFrame({"a": [0, 1], "b": [0.5, 1.5], "c": [2.5, 1.5], "when": values})
    with pytest.raises(InputError, match="column 'when' holds dates"):
        as_table(frame)
    assert as_table(frame, columns=["b", "c"]).names == ("b", "c")


def test_complex_numbers_are_refused():
    """Complex numbers have no kind."""
    assert "'z' holds complex numbers" in column_from_series("z", pd.Series([1j, 2.0])).trouble


@pytest.mark.parametrize(
    "cells, kind, expected",
    [
        (["1.5", "2", ""], "continuous", [1.5, 2.0, None]),
        (["1e3", "-.5", "+2.0"], "continuous", [1000.0, -0.5, 2.0]),
        (["inf", "1.0"], "continuous", [np.inf, 1.0]),
        (["1", "2", ""], "discrete", ["1", "2", None]),
        (["1", "01", "+1", "", "2"], "discrete", ["1", "1", "1", None, "2"]),
        (["-0", "00", "-01", "-1"], "discrete", ["0", "0", "-1", "-1"]),
        (["7" * 5000, "0" + "7" * 5000, "1"], "discrete", ["7" * 5000, "7" * 5000, "1"]),
        ([" 1", "1 ", "2"], "discrete", ["1", "1", "2"]),
        (["yes", "no", "None", "NA", ""], "discrete", ["yes", "no", "None", "NA", None]),
        (["1", "2", "x"], "discrete", ["1", "2", "x"]),
        (["1_000", "5"], "discrete", ["1_000", "5"]),
        (["", ""], "discrete", [None, None]),
        (["True", "False"], "discrete", ["True", "False"]),
    ],
)
def test_kinds_by_text(cells, kind, expected):
    """Fractions are continuous, whole numbers and words are levels, and an empty cell is missing."""
    column = column_from_text("c", cells)
    assert column.kind == kind
    assert _cells(column) == expected


@pytest.mark.parametrize("spelling", NUMERIC_MISSING)
def test_spellings_of_missing(spelling):
    """A spelling of "missing" is missing beside numbers and a level beside words."""
    assert _cells(column_from_text("c", ["1.5", spelling, "2.5"])) == [1.5, None, 2.5]
    assert _cells(column_from_text("c", ["1", spelling, "2"])) == ["1", None, "2"]
    assert _cells(column_from_text("c", ["red", spelling, "blue"])) == ["red", spelling, "blue"]


def test_na_values_are_missing_everywhere():
    """A spelling that is declared missing is so beside words and beside numbers."""
    assert _cells(column_from_text("c", ["red", "None", "-9"], ["None", "-9"])) == ["red", None, None]
    assert _cells(column_from_text("c", ["1.5", "-9"], ["-9"])) == [1.5, None]
    assert _cells(column_from_text("c", ["1", "-9"], ["-9"])) == ["1", None]


@pytest.mark.parametrize("numbers", [["1.5", "2.5", "3.5", "4.25"], [str(k) for k in range(30)]])
def test_words_in_a_column_of_numbers(numbers):
    """A word among many numbers is taken for a typing error, with its row and the remedies."""
    cells = [*numbers[:2], "oops", *numbers[2:]]
    trouble = column_from_text("c", cells).trouble
    assert re.search(r"column 'c'.*'oops' in data row 3.*exclude=.*na_values=", trouble)
    assert _cells(column_from_text("c", cells, ["oops"]))[2] is None


def test_continuous_from_levels_and_back():
    """Integer levels become their numbers and floats their distinct values, missing cells staying missing."""
    column = column_from_series("c", pd.Series(pd.array([10, None, 9], dtype="Int64")))
    assert _cells(column.as_continuous()) == [10.0, None, 9.0]
    column = column_from_series("c", pd.Series([2.5, np.nan, -1.0, 2.5]))
    discrete = column.as_discrete()
    assert discrete.kind == "discrete"
    assert discrete.levels == ("-1.0", "2.5")
    assert _cells(discrete) == ["2.5", None, "-1.0", "2.5"]
    assert _cells(discrete.as_continuous()) == [2.5, None, -1.0, 2.5]
    assert column.as_continuous() is column
    assert discrete.as_discrete() is discrete


def test_words_cannot_be_continuous():
    """A column of words is refused as numbers, with a word."""
    with pytest.raises(InputError, match="column 'c' cannot be continuous: 'red' is not a number"):
        column_from_series("c", pd.Series(["1", "red"])).as_continuous()


def test_take_forgets_levels_that_no_longer_occur():
    """After rows are left out only the levels that still occur count."""
    column = column_from_series("c", pd.Series(["a", "b", "c", "a"])).take(np.array([True, False, True, False]))
    assert column.levels == ("a", "c")
    assert _cells(column) == ["a", "c"]


def test_ordered_categories_keep_their_order():
    """The order of an ordered categorical is that of its levels; categories that do not occur are left out."""
    values = pd.Categorical(["high", "low", None], categories=["low", "middle", "high"], ordered=True)
    column = column_from_series("c", pd.Series(values))
    assert column.levels == ("low", "high")
    assert _cells(column) == ["high", "low", None]


def test_whole_numbers_with_holes_are_whole_numbers():
    """What pandas turns into floats for the sake of a hole is read as the integers that it was."""
    column = column_from_series("c", pd.Series([1, None, 0]))
    assert (column.kind, column.whole, column.levels) == ("discrete", True, ("0", "1"))
    assert not column_from_series("c", pd.Series([1.0, 2.0])).whole


@pytest.mark.parametrize(
    "cells, way, expected",
    [
        (["1,5", "2,25", "3", "NA"], "decimal commas", [1.5, 2.25, 3.0, None]),
        (["0,125", "0,250"], "decimal commas", [0.125, 0.25]),
        (["1.234,5", "0,5"], "decimal commas", [1234.5, 0.5]),
        (["1,234.5", "12"], "thousands separators", [1234.5, 12.0]),
        (["1,234", "950"], "thousands separators", ["1234", "950"]),
        (["1,234,567", "950"], "thousands separators", ["1234567", "950"]),
    ],
)
def test_numbers_with_commas(cells, way, expected):
    """Decimal commas and thousands separators are read as what they mean, and it is kept that they were there."""
    column = column_from_text("c", cells)
    assert column.way == way
    assert _cells(column) == expected


def test_commas_in_words_are_words():
    """A level with a comma is a level."""
    assert column_from_text("c", ["a, b", "1,5"]).way == ""
