"""Columns as they are read: named, continuous or discrete by dtype, with missing cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.spellings import NUMERIC_MISSING, is_number, is_whole, number_of, plain_whole, way_of_numbers
from dagopt.errors import InputError, quoted

if TYPE_CHECKING:
    from dagopt.data.transforms import Transform

__all__ = ["Column", "Kind", "column_from_dictionary", "column_from_series", "column_from_spellings",
           "column_from_text", "columns_from_frame"]  # fmt: skip

Kind = Literal["continuous", "discrete"]

CODE = re.compile(r"[+-]?0\d+")  # a number with a leading zero
MANY_NUMBERS = 20  # a column with this many distinct numbers and a few words is numeric, with typing errors


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Attributes
    ----------
    name : str
        The column's name.
    kind : {"continuous", "discrete"}
        By dtype: floats are continuous; integers, booleans, categories and text are discrete (see also ``kinds.py``).
    values : array
        Continuous: float64, NaN where missing. Discrete: the codes of the levels, -1 where missing.
    levels : tuple of str
        The levels that occur: numbers in numeric order, ordered categories in their own order, text in alphabetical
        order; empty when continuous.
    numbers : array or None
        The levels as numbers, if all of them are numbers.
    whole : bool
        Whether it came as whole numbers, which may be levels or counts.
    way : str
        How its numbers were written, if not in the plain form: "decimal commas" or "thousands separators"; "text" or
        "Decimal" if a frame stores them so.
    trouble : str
        Why it cannot be used, such as dates; empty if it can.
    transform : Transform or None
        The function that made the values from those that were read, if any.
    ordered : bool
        Whether it came as levels with an order of their own.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    levels: tuple[str, ...] = ()
    numbers: NDArray[np.float64] | None = None
    whole: bool = False
    way: str = ""
    trouble: str = ""
    transform: Transform | None = None
    ordered: bool = False

    @property
    def missing(self) -> NDArray[np.bool_]:
        """True where the cell is missing."""
        return np.isnan(self.values) if self.kind == "continuous" else self.values < 0

    def take(self, keep: NDArray[np.bool_]) -> Column:
        """Return the column with only the rows to keep and only the levels that still occur."""
        values = self.values[keep]
        if self.kind == "continuous":
            return replace(self, values=values)
        used = np.unique(values[values >= 0])
        places = np.full(len(self.levels) + 1, -1, dtype=np.int64)
        places[used] = np.arange(len(used))
        numbers = None if self.numbers is None else self.numbers[used]
        return replace(self, values=places[values], levels=tuple(self.levels[k] for k in used), numbers=numbers)

    def as_continuous(self) -> Column:
        """Return the column as numbers; the levels must be numbers."""
        if self.kind == "continuous":
            return self
        if self.numbers is None:
            words = [level for level in self.levels if not is_number(level)]
            raise InputError(
                f"column {self.name!r} cannot be continuous: {quoted(words, 3)} is not a number; "
                f"leave it out with exclude=, or list the spelling in na_values= if it means missing"
            )
        lookup = np.append(self.numbers, np.nan)
        return replace(self, kind="continuous", values=lookup[self.values], levels=(), numbers=None)

    def as_ordered(self) -> Column:
        """Return the column as numbers in the order of its levels."""
        if self.numbers is None and self.ordered:
            places = np.where(self.missing, np.nan, self.values.astype(np.float64))
            return replace(self, kind="continuous", values=places, levels=())
        if self.kind == "discrete" and self.numbers is None:
            raise InputError(
                f"column {self.name!r} has the levels {quoted(self.levels, 4)} without an order, which kind='ordinal' "
                f"needs; make it an ordered category, or numbers, or use kind={{{self.name!r}: 'discrete'}}"
            )
        return self.as_continuous()

    def as_discrete(self) -> Column:
        """Return the column with every distinct value as a level."""
        if self.kind == "discrete":
            return self
        codes, values = pd.factorize(self.values)
        spelled = [str(int(value)) if self.whole else str(value) for value in values]
        return replace(_discrete(self.name, codes, spelled, values), whole=self.whole, way=self.way)


def columns_from_frame(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a pandas frame."""
    return [column_from_series(str(name), series) for name, series in frame.items()]


def column_from_series(name: str, series: pd.Series[Any]) -> Column:
    """Return a column from values with a dtype; None and NaN are missing, the text 'None' is not.

    Whole numbers with missing cells, which pandas turns into floats, count as whole numbers.
    """
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _categories(name, series)
    if series.dtype == object:
        series = _with_dtype(series)
    stored = _stored_numbers(name, series)
    if stored is not None:
        return stored
    dtype = series.dtype
    if pd.api.types.is_complex_dtype(dtype):
        return _troubled(name, series, "holds complex numbers; give real ones, or leave it out with exclude=")
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype) or _holds_dates(series):
        return _troubled(
            name,
            series,
            "holds dates or times; turn it into a number (such as days since a date) or leave it out with exclude=",
        )
    if pd.api.types.is_float_dtype(dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        holes = np.isnan(values)
        if not holes.any() or holes.all() or not _all_whole(values[~holes]):
            return Column(name, "continuous", values)
        series = pd.Series(values).astype("Int64")
    try:
        codes, uniques = pd.factorize(series, use_na_sentinel=True)
    except TypeError:
        why = "holds lists or records; give each of their parts a column of its own, or leave it out with exclude="
        return _troubled(name, series, why)
    found = _discrete(name, codes, [str(level) for level in uniques], _numbers(list(uniques)))
    return replace(found, whole=pd.api.types.is_integer_dtype(series.dtype) or _is_integer_object(series))


def _stored_numbers(name: str, series: pd.Series[Any]) -> Column | None:
    """Return a column of numbers that are stored as text or as Decimal; None for other columns.

    Whole numbers as text are levels if they are few, or if some have leading zeros, as codes do.
    """
    if series.dtype != object and not isinstance(series.dtype, pd.StringDtype):
        return None
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    if inferred == "decimal":
        return Column(name, "continuous", series.astype(float).to_numpy(dtype=np.float64), way="Decimal")
    if inferred != "string":
        return None
    words = [str(word).strip() for word in pd.unique(series.dropna())]
    if len(words) <= 2 or not all(map(is_number, words)):
        return None
    if any(CODE.fullmatch(word) for word in words) or (all(map(is_whole, words)) and len(words) <= MANY_NUMBERS):
        return None
    found = column_from_text(name, series.where(series.notna(), "").astype(str))
    return None if found.trouble else replace(found, way=found.way or "text")


def _all_whole(values: NDArray[np.float64]) -> bool:
    return bool(np.isfinite(values).all() and (values == np.round(values)).all() and np.abs(values).max() < 2**53)


def _is_integer_object(series: pd.Series[Any]) -> bool:
    return series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) == "integer"


def _categories(name: str, series: pd.Series[Any]) -> Column:
    """Return a column of categories, which are levels even if they are numbers; an order of theirs is kept."""
    levels = [str(level) for level in series.cat.categories]
    codes = series.cat.codes.to_numpy().astype(np.int64)
    numbers = _numbers(list(series.cat.categories))
    if not series.cat.ordered:
        return _discrete(name, codes, levels, numbers)
    whole = Column(name, "discrete", codes, tuple(levels), numbers, ordered=True)
    return whole.take(np.ones(len(codes), dtype=bool))


def _with_dtype(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return Python objects with their common dtype; integers mixed with None stay integers."""
    return series if _is_integer_object(series) else series.infer_objects()


def _holds_dates(series: pd.Series[Any]) -> bool:
    return series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) in {"date", "time", "datetime"}


def _troubled(name: str, series: pd.Series[Any], why: str) -> Column:
    """Return a column that cannot be used, only left out."""
    codes, uniques = pd.factorize(series.astype(str))
    return Column(name, "discrete", codes, tuple(map(str, uniques)), trouble=f"column {name!r} {why}")


def column_from_dictionary(name: str, codes: NDArray[Any], words: Sequence[str]) -> Column:
    """Return a column of words, given as positions in a list without repetitions, -1 where a cell is missing.

    It is what ``column_from_series`` makes of these words one by one.
    """
    used = np.bincount(codes[codes >= 0] if len(codes) and codes.min() < 0 else codes, minlength=len(words)) > 0
    occurring = np.flatnonzero(used)
    made = column_from_series(name, pd.Series([words[int(k)] for k in occurring], dtype="str"))
    absent = np.nan if made.kind == "continuous" else -1
    values = np.full(len(words) + 1, absent, dtype=made.values.dtype)
    values[occurring] = made.values
    return replace(made, values=values[codes])


def column_from_text(name: str, cells: Sequence[str] | pd.Series[str], na_values: Iterable[str] = ()) -> Column:
    """Return a column from text: numbers if every cell that is not missing is a number, otherwise levels.

    An empty cell is missing. Spellings such as NA are missing in a column of numbers and levels in a column of words.
    Decimal commas and thousands separators are accepted if every number is written that way.
    """
    codes, spelled = pd.factorize(pd.Series(cells, dtype=object))
    return column_from_spellings(name, codes, list(spelled), na_values)


def column_from_spellings(
    name: str, first_codes: NDArray[Any], spelled: Sequence[str], na_values: Iterable[str] = ()
) -> Column:
    """Return a column from text, given as positions in a list of spellings; see ``column_from_text``."""
    merged, uniques = pd.factorize(np.array([str(level).strip() for level in spelled], dtype=object))
    codes = merged[first_codes] if len(spelled) else first_codes
    absent = {"", *na_values}
    words = [level for level in uniques if level not in absent]
    way = way_of_numbers([level for level in words if level not in NUMERIC_MISSING])
    if way is not None:
        absent |= set(NUMERIC_MISSING)
        return _numeric(name, codes, ["" if word in absent else number_of(word, way) for word in uniques], way)
    numbers = [level for level in words if is_number(level)]
    others = [level for level in words if not is_number(level) and level not in NUMERIC_MISSING]
    trouble = ""
    if _looks_numeric(numbers, others):
        first = int(np.flatnonzero(codes == list(uniques).index(others[0]))[0])
        trouble = (
            f"column {name!r} holds numbers but {len(others)} of its values are not, the first {others[0]!r} in "
            f"data row {first + 1}; correct it, leave the column out with exclude=, or list the spelling in "
            f"na_values= if it means missing"
        )
    return replace(_levels(name, codes, uniques, absent), trouble=trouble)


def _numeric(name: str, codes: NDArray[Any], words: Sequence[str], way: str) -> Column:
    """Return a column of numbers given as text, "" where missing: levels if all are whole, otherwise continuous."""
    if all(is_whole(word) for word in words if word):
        plain = np.array([plain_whole(word) if word else "" for word in words], dtype=object)
        return replace(_levels(name, codes, plain, {""}), whole=True, way=way)
    lookup = np.array([float(word) if word else np.nan for word in words])
    return Column(name, "continuous", lookup[codes], way=way)


def _levels(name: str, codes: NDArray[Any], uniques: NDArray[Any], absent: set[str]) -> Column:
    """Return a column of levels from codes of spellings, some of which mean missing."""
    levels = [level for level in uniques if level not in absent]
    relabel = np.full(len(uniques) + 1, -1)
    relabel[[k for k, level in enumerate(uniques) if level not in absent]] = np.arange(len(levels))
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
    """Return the levels as numbers, or None if one is not a number."""
    if not all(isinstance(level, (int, float, np.number)) or is_number(str(level)) for level in levels):
        return None
    return np.array([float(level) for level in levels], dtype=np.float64)


def _looks_numeric(numbers: Sequence[str], others: Sequence[str]) -> bool:
    """Say whether a column with numbers and words was meant to be numeric."""
    if not others or len(numbers) < len(others):
        return False
    fractional = sum(not is_whole(level) for level in numbers)
    return fractional > len(others) or len(numbers) > MANY_NUMBERS
