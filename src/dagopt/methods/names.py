"""The order in which a method works through the columns: by name, or as in the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["name_order", "working_order"]

_NUMBER = re.compile(r"(\d+)")


def name_order(names: Sequence[str]) -> NDArray[np.int64]:
    """Return the positions of the columns, sorted by name, with X2 before X10.

    A method that works in this order and breaks ties by it gives the same answer for any order of the
    columns.

    Parameters
    ----------
    names : sequence of str
        The columns, in the order of the table; all different.

    Examples
    --------
    >>> name_order(["X10", "X2", "A"]).tolist()
    [2, 1, 0]
    """

    def key(position: int) -> tuple[list[tuple[int, str]], str]:
        parts = _NUMBER.split(names[position])
        runs = [(int(part), "") if k % 2 else (-1, part) for k, part in enumerate(parts)]
        return runs, names[position]

    return np.array(sorted(range(len(names)), key=key), dtype=np.int64)


def working_order(names: Sequence[str], ties: str) -> NDArray[np.int64]:
    """Return the positions of the columns in the order that breaks ties: ``"names"`` or ``"columns"``."""
    return name_order(names) if ties == "names" else np.arange(len(names))
