"""The options of data: one definition for ``as_table``, ``learn``, the estimators and every command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dagopt.options import Options, anything, one_of, option, whole

__all__ = ["DataOptions"]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass(frozen=True)
class DataOptions(Options):
    """How a table is made of a source of data."""

    columns: Sequence[str | int] | None = option(
        None,
        "The columns to use, by name or position, in this order.",
        anything("sequence of str or int"),
        metavar="A,B,C",
        unset="all",
        parse=_listed,
        of_source=True,
    )
    kind: str = option(
        "auto",
        "How columns are read: auto goes by type (floats are continuous; integers, booleans, categories and text are "
        "discrete), continuous reads integers as numbers, discrete takes each distinct number as a level.",
        one_of("auto", "continuous", "discrete"),
        metavar="KIND",
    )
    discretize: str | None = option(
        None,
        "Cut continuous columns into levels of equally many rows (quantile) or of equal width (interval).",
        one_of(None, "quantile", "interval"),
        metavar="HOW",
        unset="no",
    )
    bins: int = option(3, "The number of levels of a column that is cut.", whole(2), metavar="N")
    missing: str = option(
        "error",
        "What to do with rows that have missing cells: error stops, drop leaves these rows out.",
        one_of("error", "drop"),
        metavar="HOW",
    )
    na_values: Iterable[str] = option(
        (),
        "Further spellings of 'missing' in text files.",
        anything("iterable of str"),
        flag="--na",
        metavar="X,Y",
        unset="none",
        parse=lambda text: tuple(text.split(",")),
        of_source=True,
    )
