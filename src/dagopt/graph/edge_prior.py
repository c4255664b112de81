"""Probabilities of edges before the data are seen, in the forms that people have them, as log-odds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.errors import InputError

__all__ = ["Believed", "kept_prior", "log_odds_of", "named_prior"]

LARGEST = 700.0  # log-odds; beyond this an edge is required or forbidden


class Believed(NamedTuple):
    """An edge and its log-odds."""

    tail: str
    head: str
    log_odds: float


def kept_prior(given: Any) -> tuple[Believed, ...] | None:
    """Return what is believed about edges as rows (from, to, log-odds); None if there is nothing."""
    if given is None:
        return None
    if isinstance(given, str | Path):
        given = _read(given)
    if isinstance(given, pd.DataFrame):
        return _from_frame(given)
    if isinstance(given, np.ndarray):
        return _from_matrix(given)
    if isinstance(given, Mapping):
        given = [(*pair, probability) for pair, probability in given.items()]
    return tuple(dict.fromkeys(_from_row(row) for row in given)) or None


def log_odds_of(prior: Sequence[Believed] | None, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the log-odds of all edges, ``[j, i]`` of j → i, 0 where nothing is believed; None if nothing is."""
    if not prior:
        return None
    index = {name: k for k, name in enumerate(names)}
    found = np.zeros((len(names), len(names)))
    for one in prior:
        found[index[one.tail], index[one.head]] += one.log_odds
    return found


def _from_row(row: Any) -> Believed:
    if isinstance(row, Believed):
        return row
    if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 3:
        raise InputError(f"expected each row of edge_prior as (from, to, probability) but got {row!r}; correct it")
    tail, head, probability = row
    return _checked(str(tail), str(head), _log_odds(probability, f"{tail} -> {head}"))


def _log_odds(probability: Any, edge: str) -> float:
    try:
        value = float(probability)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < 1:
        raise InputError(
            f"expected a probability between 0 and 1, both excluded, for the edge {edge} in edge_prior but got "
            f"{probability!r}; an edge that is certain belongs in required or forbidden"
        )
    return math.log(value) - math.log1p(-value)


def _checked(tail: str, head: str, odds: float) -> Believed:
    if tail == head:
        raise InputError(f"edge_prior has the edge {tail} -> {head}, which joins a column with itself; remove it")
    if not abs(odds) <= LARGEST:
        raise InputError(
            f"expected log-odds of at most {LARGEST:g} for the edge {tail} -> {head} but got {odds!r}; an edge that is "
            "certain belongs in required or forbidden"
        )
    return Believed(tail, head, odds)


def _from_frame(frame: pd.DataFrame) -> tuple[Believed, ...] | None:
    columns = [str(name) for name in frame.columns]
    if {"from", "to"} <= set(columns):
        if "log_odds" in columns:
            rows = zip(frame["from"], frame["to"], frame["log_odds"], strict=True)
            return tuple(_checked(str(a), str(b), float(odds)) for a, b, odds in rows) or None
        if "probability" in columns:
            return kept_prior(list(zip(frame["from"], frame["to"], frame["probability"], strict=True)))
    rows_named = [str(name) for name in frame.index]
    if sorted(rows_named) == sorted(columns):
        values = frame.to_numpy(dtype=np.float64)
        known = [(i, j) for i, j in np.argwhere(~np.isnan(values)).tolist() if rows_named[i] != columns[j]]
        return kept_prior([(rows_named[i], columns[j], float(values[i, j])) for i, j in known])
    raise InputError(
        "expected edge_prior as a DataFrame with the columns from, to and probability or log_odds, or a square one "
        f"with the same names as rows and columns, but got the columns {columns[:5]}; rename them"
    )


def _from_matrix(values: NDArray[Any]) -> tuple[Believed, ...] | None:
    """Return the probabilities of a matrix ``[from, to]`` with columns by position; the diagonal is not looked at."""
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise InputError(
            f"expected edge_prior as a square matrix, one row per column of the data, but got {values.shape}"
        )
    known = [(i, j) for i, j in np.argwhere(~np.isnan(values.astype(np.float64))).tolist() if i != j]
    rows = [Believed(f"#{i}", f"#{j}", _log_odds(values[i, j], f"{i} -> {j}")) for i, j in known]
    return tuple(one for one in rows if one.log_odds) or None


def named_prior(prior: Sequence[Believed] | None, names: Sequence[str]) -> tuple[Believed, ...] | None:
    """Return what is believed with the names of columns instead of positions such as #3."""

    def name(end: str) -> str:
        if end in names or not end.startswith("#") or not end[1:].isdigit():
            return end
        if int(end[1:]) >= len(names):
            raise InputError(
                f"edge_prior is a matrix with more than {len(names)} columns, but the data have {len(names)}; give one "
                "row and one column for each, in the same order"
            )
        return names[int(end[1:])]

    return None if prior is None else tuple(Believed(name(a), name(b), odds) for a, b, odds in prior)


def _read(path: str | Path) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the edge prior {path}: {error}") from error
    if {"from", "to"} <= set(map(str, frame.columns)):
        return frame
    return frame.set_index(frame.columns[0])
