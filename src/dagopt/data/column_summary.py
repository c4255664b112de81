"""What is kept of a column while its rows pass by: its levels as long as they are few, and how it was stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.columns import CODE, MANY_NUMBERS, Column, column_from_series
from dagopt.data.kinds import MOST_WHOLE_LEVELS
from dagopt.data.spellings import is_number, is_whole
from dagopt.errors import InputError, quoted

__all__ = ["ColumnSummary"]

MANY_WORDS = 80  # words that are all numbers are numbers from here on
MOST_WORDS = 65_535  # levels of a column of words
LOOKED_AT = 1_000  # numbers that are looked at first, to see that they are no levels


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """One column of a source of any length.

    A row of the table is an array of floats: the number of a column of numbers, the position of the level of a column
    of words, NaN where a cell is missing.

    Attributes
    ----------
    name : str
        The column's name.
    is_word : bool
        Whether its cells are words.
    levels : tuple or None
        The words, or the distinct whole numbers as long as they are few; None for numbers.
    whole : bool
        Whether all its numbers came as whole numbers, not as floats.
    ordered : bool
        Whether its words came in an order of their own.
    missing : int
        Number of missing cells.
    lowest, highest : float
        The range of its numbers.
    way : str
        How its numbers were written, if not in the plain form (see ``Column``).
    trouble : str
        Why it cannot be used, such as dates; empty if it can.
    last : str
        The level that comes after all others, because it stands for missing cells.
    """

    name: str
    is_word: bool
    levels: tuple[Any, ...] | None
    whole: bool = False
    ordered: bool = False
    missing: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    way: str = ""
    trouble: str = ""
    last: str = ""

    @property
    def n_slots(self) -> int:
        """The number of embedded columns: one for numbers, one per level otherwise."""
        return 1 if self.levels is None else len(self.levels)

    @classmethod
    def of_numbers(
        cls,
        name: str,
        values: NDArray[Any],
        whole: bool,
        most: int,
        way: str = "",
        known: tuple[float, ...] | None = None,
    ) -> ColumnSummary:
        """Return the summary of numbers; up to ``most`` distinct whole ones are also kept as levels.

        If they are integers among the ``known`` levels of rows before them, which have no gap, these are the levels.
        """
        low, high = (float(values.min()), float(values.max())) if len(values) else (np.inf, -np.inf)
        there = values
        if np.isnan(low):
            there = values[~np.isnan(values)]
            low, high = (float(there.min()), float(there.max())) if len(there) else (np.inf, -np.inf)
        if known and most and values.dtype.kind in "iu" and _has_no_gap(known) and known[0] <= low <= high <= known[-1]:
            return cls(name, False, known, whole, lowest=low, highest=high, way=way)
        levels: tuple[float, ...] | None = ()
        for some in (there[:LOOKED_AT], there):
            found = _distinct(some, low, high, whole) if most else some[:1]
            if len(found) > most or (found != np.round(found)).any() or np.isinf(found).any():
                levels = None
                break
            levels = tuple(sorted(found.tolist()))
        return cls(name, False, levels, whole, missing=len(values) - len(there), lowest=low, highest=high, way=way)

    @classmethod
    def of_column(cls, column: Column, most: int) -> tuple[ColumnSummary, NDArray[Any]]:
        """Return the summary of a column, and its cells."""
        if column.kind == "continuous":
            return cls.of_numbers(column.name, column.values, False, most, column.way), column.values
        missing = int(column.missing.sum())
        cells = np.where(column.missing, np.nan, column.values.astype(np.float64)) if missing else column.values
        if column.whole and column.numbers is not None:
            values = np.append(column.numbers, np.nan)[column.values]
            return cls.of_numbers(column.name, values, True, most, column.way), values
        summary = cls(
            column.name,
            True,
            column.levels,
            ordered=column.ordered,
            missing=missing,
            trouble=column.trouble,
        )
        return summary, cells

    def joined(self, other: ColumnSummary, most: int) -> ColumnSummary:
        """Return the summary of the rows of both."""
        if self._has_all_of(other):
            return self
        if self.is_word != other.is_word:
            if self.is_word and self.are_numbers:
                return self.as_numbers(most).joined(other, most)
            if other.is_word and other.are_numbers:
                return self.joined(other.as_numbers(most), most)
            return self.as_words(other).joined(other.as_words(self), most)
        levels: tuple[Any, ...] | None = None
        if self.levels is not None and other.levels is not None:
            levels = self.levels
            if levels != other.levels:
                levels = tuple(dict.fromkeys([*self.levels, *other.levels]))
                levels = levels if self.is_word else tuple(sorted(levels))
            if not self.is_word and len(levels) > most:
                levels = None
            elif len(levels) > MOST_WORDS:
                raise InputError(
                    f"column {self.name!r} has more than {MOST_WORDS} levels; it looks like an identifier: leave it "
                    f"out with exclude="
                )
        found = replace(
            self,
            levels=levels,
            whole=self.whole and other.whole,
            ordered=self.ordered and other.ordered and self.levels == other.levels,
            missing=self.missing + other.missing,
            lowest=min(self.lowest, other.lowest),
            highest=max(self.highest, other.highest),
            way=self.way or other.way,
            trouble=self.trouble or other.trouble,
            last=self.last or other.last,
        )
        many = found.is_word and len(levels or ()) > MANY_WORDS and not found.ordered and found.are_numbers
        return found.as_numbers(most) if many else found

    def _has_all_of(self, other: ColumnSummary) -> bool:
        """Say whether these numbers have nothing to learn from others."""
        return (
            not (self.is_word or other.is_word or other.missing)
            and (self.levels is None or self.levels == other.levels)
            and self.lowest <= other.lowest
            and other.highest <= self.highest
            and self.whole <= other.whole
            and not (self.ordered or other.way or other.trouble or other.last)
        )

    @property
    def are_numbers(self) -> bool:
        """Whether all its words are numbers, none with leading zeros as codes have them."""
        words = [str(level) for level in self.levels or ()]
        return all(map(is_number, words)) and not any(CODE.fullmatch(word) for word in words)

    def as_numbers(self, most: int) -> ColumnSummary:
        """Return the summary with words as the numbers that they are."""
        values = np.array([float(level) for level in self.levels or ()])
        whole = all(is_whole(str(level)) for level in self.levels or ())
        found = ColumnSummary.of_numbers(self.name, values, whole, most, "text")
        return replace(found, missing=self.missing)

    def as_words(self, other: ColumnSummary) -> ColumnSummary:
        """Return the summary with numbers as words; only a few whole numbers can be levels beside words."""
        if self.is_word:
            return self
        if self.levels is None:
            words = [word for word in other.levels or () if not is_number(str(word))] or other.levels or ()
            raise InputError(
                f"column {self.name!r} holds numbers in some rows and words in others, such as {quoted(words[:1])}; "
                f"correct them, leave the column out with exclude=, or list the spelling in na_values= if it means "
                f"missing"
            )
        return replace(self, is_word=True, levels=tuple(str(int(level)) for level in self.levels), whole=False)

    def recoded(self, cells: Floats, joined: ColumnSummary) -> Floats:
        """Return cells of this column as cells of a summary that it is a part of."""
        if not self.is_word and not joined.is_word:
            return cells
        if self.is_word and not joined.is_word:
            places = np.array([float(level) for level in self.levels or ()])
        elif self.is_word and self.levels == (joined.levels or ())[: self.n_slots]:
            return cells
        else:
            places = self.slots_in(joined).astype(np.float64)
        codes = self.codes(np.where(np.isnan(cells), self.lowest, cells)) if not self.is_word else cells
        return np.append(places, np.nan)[np.where(np.isnan(cells), -1, codes).astype(np.int64)]

    def slots_in(self, joined: ColumnSummary) -> Ints:
        """Return the position of each level among those of a summary that this is a part of."""
        assert self.levels is not None
        assert joined.levels is not None
        place = {level: k for k, level in enumerate(joined.levels)}
        levels: Sequence[Any] = self.levels
        if self.is_word and not joined.is_word:
            levels = [float(level) for level in self.levels]
        elif joined.is_word and not self.is_word:
            levels = [str(int(level)) for level in self.levels]
        return np.array([place[level] for level in levels], dtype=np.int64)

    def digits(self, cells: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Return whole numbers and the one that is to be subtracted from them to get the positions of the levels."""
        if not self.is_word and cells.dtype == np.int64 and self.levels and _has_no_gap(self.levels):
            return cells, int(self.levels[0])
        return self.codes(cells), 0

    def codes(self, cells: NDArray[Any]) -> Ints:
        """Return the positions of the levels of complete cells."""
        if self.is_word:
            return np.asarray(cells, dtype=np.int64)
        known = np.array(self.levels, dtype=np.float64)
        if not len(known) or _has_no_gap(self.levels or ()):
            return np.asarray(cells - cells.dtype.type(known[0] if len(known) else 0), dtype=np.int64)
        low, span = known.min(), known.max() - known.min()
        if span <= MOST_WORDS:  # a table of places is several times as fast as a search
            places = np.zeros(int(span) + 1, dtype=np.int64)
            places[(known - low).astype(np.int64)] = np.arange(len(known))
            return np.asarray(places[(cells - cells.dtype.type(low)).astype(np.int64, copy=False)])
        order = np.argsort(known)
        return np.asarray(order[np.searchsorted(known, cells, sorter=order)], dtype=np.int64)

    def series(self, cells: Floats) -> Column:
        """Return rows of the column as they were read."""
        if self.is_word:
            words = np.array([*(self.levels or ()), None], dtype=object)
            series = pd.Series(words[np.where(np.isnan(cells), -1, cells).astype(np.int64)], dtype=object)
            if self.ordered:
                series = pd.Series(pd.Categorical(series, categories=list(self.levels or ()), ordered=True))
            elif not self.is_stored_number:
                series = series.astype("category")
        else:
            series = pd.Series(cells)
            if self.whole:
                series = series.astype("Int64")
        column = column_from_series(self.name, series)
        return replace(column, way=self.way or column.way, trouble=self.trouble)

    @property
    def is_stored_number(self) -> bool:
        """Whether all its words are numbers that are more than a few levels (see ``column_from_series``)."""
        if not self.is_word or self.ordered or len(self.levels or ()) <= 2:
            return False
        words = [str(level) for level in self.levels or ()]
        return self.are_numbers and not (all(map(is_whole, words)) and len(words) <= MANY_NUMBERS)

    @property
    def is_whole_number(self) -> bool:
        """Whether its few whole numbers are levels; floats are, if cells are missing (see ``column_from_series``)."""
        return self.levels is not None and not self.is_word and (self.whole or self.missing > 0)

    def kind(self, told: str) -> str:
        """Return the kind of the column, given the one that the user asks for or ``auto``."""
        if told in ("continuous", "discrete"):
            return told
        if self.levels is None or self.is_stored_number or (not self.is_word and not self.is_whole_number):
            return "continuous"
        return "continuous" if self.is_whole_number and len(self.levels) > MOST_WHOLE_LEVELS else "discrete"

    def numbers(self) -> Floats | None:
        """Return the levels as numbers; None if one is not a number."""
        if self.levels is None or (self.is_word and not all(is_number(str(level)) for level in self.levels)):
            return None
        return np.array([float(level) for level in self.levels], dtype=np.float64)

    def sorted_levels(self) -> list[int]:
        """Return the positions of the levels in their order: that of numbers, their own, or that of the alphabet."""
        assert self.levels is not None
        if self.ordered:
            return list(range(len(self.levels)))
        words = [str(level) for level in self.levels]
        usual = [k for k, word in enumerate(words) if not (self.last and word == self.last)]
        key: Any = words.__getitem__
        if all(is_number(words[k]) for k in usual):
            key = [float(word) if is_number(word) else 0.0 for word in words].__getitem__
        return sorted(usual, key=key) + [k for k in range(len(words)) if self.last and words[k] == self.last]

    def spelled(self, places: Sequence[int]) -> tuple[str, ...]:
        """Return levels as text."""
        assert self.levels is not None
        if self.is_word:
            return tuple(str(self.levels[k]) for k in places)
        return tuple(str(int(self.levels[k])) if self.whole or self.missing else str(self.levels[k]) for k in places)


def _has_no_gap(levels: tuple[Any, ...]) -> bool:
    """Say whether whole numbers follow each other."""
    return bool(levels[-1] - levels[0] == len(levels) - 1) and list(levels) == sorted(levels)


def _distinct(values: NDArray[Any], low: float, high: float, whole: bool) -> Floats:
    """Return the distinct numbers; whole ones that are near each other are found by a table of places."""
    if not whole or not 0 <= high - low <= MOST_WORDS:
        return np.asarray(pd.unique(values), dtype=np.float64)
    occurs = np.zeros(int(high - low) + 1, dtype=np.bool_)
    occurs[(values - values.dtype.type(low)).astype(np.int64, copy=False)] = True
    return np.flatnonzero(occurs).astype(np.float64) + np.float64(low)
