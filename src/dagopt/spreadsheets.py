"""Cells of CSV files that a spreadsheet would run as formulas.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, in quotes or not.
Names and levels come from data that may be a stranger's, so such a text, unless it is a number, is written with an
apostrophe before it, which spreadsheets take for text. Our readers remove it again.
"""

from __future__ import annotations

import re

__all__ = ["ESCAPED", "plain_cell", "safe_cell"]

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
ESCAPED = re.compile(r"'+[=+\-@\t\r]")


def safe_cell(text: str) -> str:
    """Return the text of a cell that no spreadsheet runs.

    Examples
    --------
    >>> [safe_cell(text) for text in ("=1+1", "a=b", "-5", "'=x")]
    ["'=1+1", 'a=b', '-5', "''=x"]
    """
    return f"'{text}" if _FORMULA.match(text) and not _is_number(text) else text


def plain_cell(text: str) -> str:
    """Return the text that :func:`safe_cell` wrote.

    Examples
    --------
    >>> [plain_cell(text) for text in ("'=1+1", "'quoted'", "''=x")]
    ['=1+1', "'quoted'", "'=x"]
    """
    return text[1:] if ESCAPED.match(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
