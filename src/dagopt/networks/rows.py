"""New data for a fitted network: its columns in order, and only its levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.columns import Column, columns_from_frame
from dagopt.data.reading import read_columns
from dagopt.data.table import ContinuousTable, DiscreteTable, MixedTable, Table
from dagopt.errors import InputError, quoted
from dagopt.networks.checks import checked_names

__all__ = ["matched", "read_columns_of"]

ALIKE = 0.8  # share of letters that a misspelt name has in common with the right one


def matched(table: Table, names: Sequence[str], like: Table | None = None) -> Table:
    """Return the columns ``names`` of a table in this order, of the kind and with the levels of ``like``."""
    if like is not None and table.kind != like.kind:
        raise InputError(f"expected a {like.kind} table, as in learning, but got a {table.kind} one; see kind=")
    places = [table.names.index(name) for name in _all_there(names, table.names)]
    if isinstance(table, ContinuousTable):
        return table.select(places)
    if isinstance(table, MixedTable):
        return _matched_mixed(table.select(places), like)
    own = tuple(table.levels[i] for i in places)
    levels = like.levels if isinstance(like, DiscreteTable) else own
    codes = [recoded(name, table.codes[i], *pair) for name, i, *pair in zip(names, places, own, levels, strict=True)]
    return DiscreteTable(
        tuple(names), levels, np.stack(codes).astype(np.uint16), table.weights, table.copies, survey=table.survey
    )


def _matched_mixed(table: MixedTable, like: Table | None) -> MixedTable:
    """Return the columns with the levels of a known table."""
    if not isinstance(like, MixedTable):
        return table
    found = []
    for column, known in zip(table.columns, like.columns, strict=True):
        if column.kind != known.kind:
            raise InputError(f"expected column {column.name!r} to be {known.kind} but it is {column.kind}; see kind=")
        if column.kind == "discrete":
            there = ~column.missing
            codes = np.full(len(there), -1, dtype=np.int64)
            codes[there] = recoded(column.name, column.values[there], column.levels, known.levels)
            column = replace(column, values=codes, levels=known.levels, numbers=known.numbers)
        found.append(column)
    return MixedTable(tuple(found), about=table.about)


def recoded(name: str, codes: NDArray[np.integer[Any]], own: Sequence[str], levels: Sequence[str]) -> NDArray[np.int64]:
    """Return codes of a column's levels as codes of the network's levels, or raise an error with the unknown values."""
    place = {level: k for k, level in enumerate(levels)}
    if unknown := [own[k] for k in np.unique(codes) if own[k] not in place]:
        raise InputError(
            f"expected one of {quoted(levels)} in column {name!r} but got {quoted(unknown)}; recode the column, or fit"
            " the network on data that have every level"
        )
    places = np.array([place.get(level, -1) for level in own], dtype=np.int64)
    return np.asarray(places[codes])


def read_columns_of(data: object, names: Sequence[str]) -> tuple[dict[str, Column], pd.Index[Any]]:
    """Return those of the named columns that exist, by name, and the index of the rows."""
    if isinstance(data, pd.DataFrame):
        _refuse_misspelt([str(label) for label in data.columns], names)
        wanted = data.loc[:, [str(label) in names for label in data.columns]]
        found = columns_from_frame(wanted)
        if found:
            checked_names([column.name for column in found])
        return {column.name: column for column in found}, data.index
    if isinstance(data, ContinuousTable):
        found = [Column(name, "continuous", data.values[:, j]) for j, name in enumerate(data.names)]
    elif isinstance(data, DiscreteTable):
        rows = np.repeat(data.codes, data.weights, axis=1)
        found = [Column(name, "discrete", rows[j], data.levels[j]) for j, name in enumerate(data.names)]
    elif isinstance(data, MixedTable):
        found = list(data.columns)
    else:
        found = read_columns(data)
    _refuse_misspelt([column.name for column in found], names)
    index = pd.RangeIndex(len(found[0].values))
    return {column.name: column for column in found if column.name in names}, index


def _refuse_misspelt(given: Sequence[str], names: Sequence[str]) -> None:
    """Raise for a column that is none of the network's but spelt much like one that the data lack.

    Columns that the network does not know are passed over, and those that the data lack count as unknown: a misspelt
    name would be both, without a word.
    """
    lacking = [name for name in names if name not in given]
    for strange in (name for name in given if name not in names) if lacking else ():
        near = get_close_matches(strange.strip().lower(), [name.lower() for name in lacking], n=1, cutoff=ALIKE)
        meant = next((name for name in lacking if near and name.lower() == near[0]), None)
        if meant is not None and _digits(strange) == _digits(meant):  # X1 is not X10 misspelt
            raise InputError(
                f"unknown column {strange!r}; did you mean {meant!r}, which the data lack? "
                f"rename the column, or leave it out where it is another one"
            )


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _all_there(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    if missing := [name for name in names if name not in known]:
        raise InputError(f"expected the columns {quoted(names)} but {quoted(missing)} is not in the data; add it")
    return names
