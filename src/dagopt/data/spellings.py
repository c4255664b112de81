"""How cells of text are spelled: numbers, with points or commas; what means missing; dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

__all__ = [
    "LIKELY_MISSING",
    "NUMERIC_MISSING",
    "is_number",
    "is_whole",
    "looks_like_dates",
    "number_of",
    "plain_whole",
    "way_of_numbers",
]

#: Spellings that mean "missing" in a column that otherwise holds numbers. In a column of words they are
#: levels (`insurance.csv` has a level `None`) unless listed in ``na_values``.
NUMERIC_MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "#N/A", "?", "-", ".")

#: Those that are hardly ever a level of a column of words.
LIKELY_MISSING = frozenset(NUMERIC_MISSING) - {"None", "-", "."} | {"na", "#NA", "missing", "Missing", "unknown?"}

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*)(,\d+)?([eE][+-]?\d+)?")
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|"
    r"[A-Za-z]{3,9} \d{1,2}, \d{4})([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)


def is_number(text: str) -> bool:
    """Say whether the text is written as a number; 'nan' is not one, 'inf' is."""
    try:
        return not np.isnan(float(text)) and "_" not in text
    except ValueError:
        return False


def is_whole(text: str) -> bool:
    """Say whether the text is written as a whole number."""
    return text.lstrip("+-").isdigit()


def plain_whole(text: str) -> str:
    """Return a whole number of any length without + and leading zeros: 01 and 1 are one number."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    return f"-{digits}" if text.startswith("-") and digits != "0" else digits


def way_of_numbers(words: Sequence[str]) -> str | None:
    """Return how numbers are written: "" (plain), "decimal commas" or "thousands separators"; None if some are words.

    "1,234" among other such numbers is more than a thousand, unless one of them begins with 0 or does not have three
    digits after its comma.
    """
    if not words:
        return None
    others = [word for word in words if not is_number(word)]
    if not others:
        return ""
    if all(THOUSANDS.fullmatch(word) for word in others):
        return "thousands separators"
    if any("," in word for word in others) and all(
        DECIMAL_COMMA.fullmatch(word) and word.strip("+-") for word in words
    ):
        return "decimal commas"
    return None


def number_of(word: str, way: str) -> str:
    """Return a number written in that way in the form that Python reads."""
    if way == "thousands separators":
        return word.replace(",", "")
    return word.replace(".", "").replace(",", ".") if way == "decimal commas" and "," in word else word


def looks_like_dates(levels: Sequence[str]) -> bool:
    """Say whether nearly all levels are written as dates."""
    return bool(levels) and sum(DATE.fullmatch(level) is not None for level in levels) >= 0.9 * len(levels)
