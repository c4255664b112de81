"""Cells of data or evidence in the form for networks: numbers, codes of levels, NaN where nothing is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dagopt.arrays import Bools, Floats
from dagopt.data.cells import unusable_numbers
from dagopt.data.columns import Column
from dagopt.errors import InputError, quoted, unknown_name
from dagopt.networks.rows import read_columns_of

if TYPE_CHECKING:
    from dagopt.networks.inference.engine import Event, Model

__all__ = ["cell_of", "cells_of", "event_of", "frame_of", "position_of", "row_of", "values_of"]


def position_of(model: Model, name: object, what: str = "column") -> int:
    """Return the position of a node, or raise with the nearest name."""
    if name not in model.names:
        raise unknown_name(what, name, model.names)
    return model.names.index(str(name))


def cell_of(model: Model, node: int, value: object) -> float:
    """Return a value as a cell: a finite number, or the code of a level."""
    name, levels = model.names[node], model.levels_of(node)
    if levels is not None:
        place = _place(value, levels)
        if place is None:
            raise unknown_name(f"level of column {name!r}:", value, levels)
        return float(place)
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(float(value)):
        raise InputError(f"expected a number for the continuous column {name!r} but got {value!r}; correct it")
    return float(value)


def row_of(model: Model, evidence: Mapping[str, object] | None, fixed: Mapping[int, float], what: str) -> Floats:
    """Return one row with what is known about each node; ``what`` names the mapping in errors."""
    row = np.full((1, len(model.names)), np.nan)
    for node, cell in fixed.items():
        row[0, node] = cell
    if evidence is not None and not isinstance(evidence, Mapping):
        raise InputError(f"expected the {what} as a mapping such as {{'X': 1}} but got {evidence!r}")
    for name, value in (evidence or {}).items():
        node = position_of(model, name, f"column in the {what}:")
        if node in fixed:
            raise InputError(f"column {name!r} is already set by do(); leave it out of the {what}")
        row[0, node] = cell_of(model, node, value)
    return row


def event_of(model: Model, event: Mapping[str, object]) -> Event:
    """Return the event by node: one or more levels of a discrete column, an interval of a continuous one."""
    if not isinstance(event, Mapping) or not event:
        raise InputError(f"expected an event as a mapping such as {{'Y': 'yes'}} but got {event!r}")
    found: dict[int, tuple[float, float] | Bools] = {}
    for name, value in event.items():
        node = position_of(model, name, "column in the event:")
        levels = model.levels_of(node)
        if levels is None:
            found[node] = _interval(name, value)
            continue
        several = value if isinstance(value, list | tuple | set | frozenset) else [value]
        chosen = np.zeros(len(levels), dtype=bool)
        chosen[[int(cell_of(model, node, one)) for one in several]] = True
        found[node] = chosen
    return found


def _interval(name: str, value: object) -> tuple[float, float]:
    """Return the ends of an interval, where None means no limit."""
    ends = list(value) if isinstance(value, list | tuple) else []
    if len(ends) != 2 or not all(end is None or (isinstance(end, Real) and not math.isnan(float(end))) for end in ends):
        raise InputError(
            f"expected an interval (low, high) for the continuous column {name!r}, None for no limit, but got {value!r}"
        )
    low, high = (
        infinite if end is None else float(end) for end, infinite in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if low >= high:
        raise InputError(f"expected low < high in the interval of {name!r} but got {value!r}; correct it")
    return low, high


def cells_of(model: Model, data: object) -> tuple[Floats, pd.Index[Any]]:
    """Return the rows of any source of data; missing columns and empty cells count as not known."""
    columns, index = read_columns_of(data, model.names)
    if not columns:
        raise InputError(f"expected at least one of the columns {quoted(model.names)} but got none; check the header")
    cells = np.full((len(index), len(model.names)), np.nan)
    for node, name in enumerate(model.names):
        if name in columns:
            cells[:, node] = _column_cells(columns[name], model.levels_of(node))
    return cells, index


def _column_cells(column: Column, levels: Sequence[str] | None) -> Floats:
    if column.trouble:
        raise InputError(column.trouble)
    if levels is None:
        numbers = column.as_continuous()
        if wrong := unusable_numbers([numbers]):
            raise InputError(wrong[0].line)
        return np.asarray(numbers.values, dtype=np.float64)
    column = column.as_discrete()
    places = [_place(level, levels) for level in column.levels]
    if unknown := [own for own, place in zip(column.levels, places, strict=True) if place is None]:
        raise InputError(
            f"expected one of {quoted(levels)} in column {column.name!r} but got {quoted(unknown)}; recode the column,"
            " or fit the network on data that have every level"
        )
    lookup = np.array([*(np.nan if place is None else place for place in places), np.nan], dtype=np.float64)
    return np.asarray(lookup[column.values])


def _place(value: object, levels: Sequence[str]) -> int | None:
    """Return the position of a level, by its text or by its number: 1.0 is the level '1'."""
    if str(value) in levels:
        return levels.index(str(value))
    try:
        number = float(str(value))
        return next((k for k, level in enumerate(levels) if float(level) == number), None)
    except ValueError:
        return None


def values_of(model: Model, node: int, cells: Floats, index: pd.Index[Any]) -> pd.Series[Any]:
    """Return cells of a node as a column: floats, or categories with the levels as text."""
    levels = model.levels_of(node)
    if levels is None:
        return pd.Series(cells, index=index, name=model.names[node])
    places = np.where(np.isnan(cells), -1, cells).astype(np.intp)
    chosen = pd.Categorical.from_codes(places, categories=pd.Index(list(levels), dtype=object))
    return pd.Series(chosen, index=index, name=model.names[node])


def frame_of(model: Model, cells: Floats, index: pd.Index[Any]) -> pd.DataFrame:
    """Return rows as a frame with all columns of the network."""
    return pd.DataFrame({name: values_of(model, j, cells[:, j], index) for j, name in enumerate(model.names)})
