"""Distinct rows of a table of levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["distinct_rows"]

LARGEST_NUMBER = 1 << 62  # int64 with a bit to spare


def distinct_rows(codes: NDArray[np.uint16], arity: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct row occurs first, and for every row which of these it equals.

    Parameters
    ----------
    codes : array of shape (n, N)
        The levels of each column, below its ``arity``.
    """
    cells = np.zeros(codes.shape[1], dtype=np.int64)
    span = 1
    for code, levels in zip(codes, arity, strict=True):
        if span * levels >= LARGEST_NUMBER:  # what came so far is counted anew, so that numbers stay small
            cells = pd.factorize(cells)[0]
            span = codes.shape[1]
        cells = cells * levels + code
        span *= levels
    which, found = pd.factorize(cells)  # numbered in the order of their first rows
    first = np.empty(len(found), dtype=np.int64)
    first[which[::-1]] = np.arange(len(cells) - 1, -1, -1)
    return first, which.astype(np.int64, copy=False)
