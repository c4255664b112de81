"""Columns as they come: named, continuous or discrete by dtype, with what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.errors import InputError, quoted

__all__ = ["NUMERIC_MISSING", "Column", "column_from_series", "column_from_text", "columns_from_frame"]

Kind = Literal["continuous", "discrete"]

#: Spellings that mean "missing" in a column that otherwise holds numbers. In a column of words they are
#: levels (`insurance.csv` has a level `None`) unless listed in ``na_values``.
NUMERIC_MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "#N/A", "?", "-", ".")

MANY_NUMBERS = 20  # distinct numbers beside a few words: a numeric column with typing errors


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Attributes
    ----------
    name : str
        The column's name.
    kind : {"continuous", "discrete"}
        By dtype: floats are continuous; integers, booleans, categories and text are discrete.
    values : array
        Continuous: float64, NaN where missing. Discrete: the codes of the levels, -1 where missing.
    levels : tuple of str
        The levels that occur, numbers in numeric and text in alphabetic order; empty when continuous.
    numbers : array or None
        The levels as numbers where all of them are.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    levels: tuple[str, ...] = ()
    numbers: NDArray[np.float64] | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """True where the cell is missing."""
        return np.isnan(self.values) if self.kind == "continuous" else self.values < 0

    def take(self, keep: NDArray[np.bool_]) -> Column:
        """Return the column with only the rows to keep and only the levels that still occur."""
        if self.kind == "continuous":
            return Column(self.name, self.kind, self.values[keep])
        return _discrete(self.name, self.values[keep], self.levels, self.numbers)

    def as_continuous(self) -> Column:
        """Return the column as numbers; the levels must be numbers."""
        if self.kind == "continuous":
            return self
        if self.numbers is None:
            words = [level for level in self.levels if not _is_number(level)]
            raise InputError(
                f"column {self.name!r} cannot be continuous: {quoted(words, 3)} is not a number; "
                f"leave it out with columns=, or treat the table as discrete"
            )
        lookup = np.append(self.numbers, np.nan)
        return Column(self.name, "continuous", lookup[self.values])

    def as_discrete(self) -> Column:
        """Return the column with every distinct value as a level."""
        if self.kind == "discrete":
            return self
        codes, values = pd.factorize(self.values)
        return _discrete(self.name, codes, [str(value) for value in values], values)


def columns_from_frame(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a pandas frame."""
    return [column_from_series(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]


def column_from_series(name: str, series: pd.Series[Any]) -> Column:
    """Return a column from values with a dtype; None and NaN are missing, the text 'None' is not."""
    if not isinstance(series.dtype, pd.CategoricalDtype) and series.dtype == object:
        series = _with_dtype(name, series)
    if pd.api.types.is_complex_dtype(series.dtype):
        raise InputError(f"column {name!r} holds complex numbers; give real ones, or leave it out with columns=")
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or pd.api.types.is_timedelta64_dtype(series.dtype):
        raise _dates(name)
    if pd.api.types.is_float_dtype(series.dtype):
        return Column(name, "continuous", series.to_numpy(dtype=np.float64, na_value=np.nan))
    codes, uniques = pd.factorize(series, use_na_sentinel=True)
    return _discrete(name, codes, [str(level) for level in uniques], _numbers(list(uniques)))


def _with_dtype(name: str, series: pd.Series[Any]) -> pd.Series[Any]:
    """Return Python objects with the dtype that they share; integers beside None stay integers."""
    shared = pd.api.types.infer_dtype(series, skipna=True)
    if shared in {"date", "time"}:
        raise _dates(name)
    return series if shared == "integer" else series.infer_objects()


def _dates(name: str) -> InputError:
    return InputError(
        f"column {name!r} holds dates or times; turn it into a number (such as days since a date) "
        f"or leave it out with columns="
    )


def column_from_text(name: str, cells: Sequence[str] | pd.Series[str], na_values: Iterable[str] = ()) -> Column:
    """Return a column from text: numbers if all that is not missing is a number, else levels.

    An empty cell is missing. Spellings such as NA are missing beside numbers and levels beside words.
    """
    first_codes, spelled = pd.factorize(pd.Series(cells, dtype=object))
    merged, uniques = pd.factorize(np.array([str(level).strip() for level in spelled], dtype=object))
    codes = merged[first_codes] if len(spelled) else first_codes
    absent = {"", *na_values}
    words = [level for level in uniques if level not in absent]
    numbers = [level for level in words if _is_number(level)]
    others = [level for level in words if not _is_number(level) and level not in NUMERIC_MISSING]
    if numbers and not others:
        absent |= set(NUMERIC_MISSING)
        whole = all(_is_integer(level) for level in numbers)
        value = {level: float(level) for level in numbers}
        lookup = np.array([np.nan if level in absent else value[level] for level in uniques] or [np.nan])
        if not whole:
            return Column(name, "continuous", lookup[codes])
    elif _looks_numeric(numbers, others):
        first = int(np.flatnonzero(codes == list(uniques).index(others[0]))[0])
        raise InputError(
            f"column {name!r} holds numbers but {len(others)} of its values are not, the first {others[0]!r} in "
            f"data row {first + 1}; correct it, leave the column out with columns=, or list the spelling in "
            f"na_values= if it means missing"
        )
    levels = [level for level in uniques if level not in absent]
    relabel = np.full(len(uniques) + 1, -1)
    relabel[[k for k, level in enumerate(uniques) if level not in absent]] = np.arange(len(levels))
    if numbers and not others:
        levels = [str(int(level)) for level in levels]  # 01 and 1 are one number
    return _discrete(name, relabel[codes], levels, _numbers(levels))


def _discrete(
    name: str,
    codes: NDArray[Any],
    levels: Sequence[str],
    numbers: NDArray[np.float64] | None,
) -> Column:
    """Return a discrete column with the levels that occur, in order, equal spellings merged."""
    used = np.unique(codes[codes >= 0])
    if numbers is not None:
        order = used[np.argsort(numbers[used], kind="stable")]
    else:
        order = np.array(sorted(used, key=lambda k: levels[k]), dtype=np.int64)
    kept: list[str] = []
    relabel = np.full(len(levels) + 1, -1, dtype=np.int64)
    for k in order:
        if not kept or kept[-1] != levels[k]:
            kept.append(levels[k])
        relabel[k] = len(kept) - 1
    return Column(name, "discrete", relabel[codes], tuple(kept), None if numbers is None else _numbers(kept))


def _numbers(levels: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the levels as numbers, or None where one is not."""
    if not all(isinstance(level, (int, float, np.number)) or _is_number(str(level)) for level in levels):
        return None
    return np.array([float(level) for level in levels], dtype=np.float64)


def _is_number(text: str) -> bool:
    """Say whether the text is written as a number; 'nan' is not one, 'inf' is."""
    try:
        return not np.isnan(float(text)) and "_" not in text
    except ValueError:
        return False


def _is_integer(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def _looks_numeric(numbers: Sequence[str], others: Sequence[str]) -> bool:
    """Say whether a column with numbers and words was meant to be numeric."""
    if not others or len(numbers) < len(others):
        return False
    fractional = sum(not _is_integer(level) for level in numbers)
    return fractional > len(others) or len(numbers) > MANY_NUMBERS
