"""Reading tables: CSV, TSV and Parquet files, pandas and polars frames, arrays."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagopt.data.columns import Column, column_from_text, columns_from_frame
from dagopt.errors import InputError, quoted, unknown_name

__all__ = ["read_columns"]

SEPARATORS = (",", "\t", ";", "|")
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def read_columns(
    data: object,
    columns: Sequence[str | int] | None = None,
    na_values: Iterable[str] = (),
) -> list[Column]:
    """Return the columns of anything that holds a table.

    Parameters
    ----------
    data : path, pandas or polars frame, array
        A ``.csv``, ``.tsv`` or ``.parquet`` file (text may be compressed: ``.gz``, ``.bz2``, ``.xz``;
        ``-`` is standard input), a frame, or a two-dimensional array.
    columns : sequence of str or int, optional
        The columns to keep, by name or position, in this order.
    na_values : iterable of str
        Further spellings that mean "missing" in text files.

    Returns
    -------
    list of Column
    """
    found = _all_columns(data, tuple(na_values))
    names = [column.name for column in found]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"column name {quoted(twice)} occurs more than once; rename the columns so that each is unique"
        )
    if columns is not None:
        found = [found[_position(choice, names)] for choice in _unique(columns)]
    if len(found) < 2:
        what = "no column" if not found else f"only one column, {found[0].name!r}"
        raise InputError(f"expected at least two columns but got {what}; is the separator a comma, tab or semicolon?")
    if len(found[0].values) == 0:
        raise InputError(f"the table has {len(found)} columns but no rows; give at least one row of data")
    return found


def _all_columns(data: object, na_values: tuple[str, ...]) -> list[Column]:
    if isinstance(data, (str, Path)):
        return _read_file(Path(data), na_values)
    if isinstance(data, pd.DataFrame):
        return columns_from_frame(data)
    if type(data).__module__.partition(".")[0] == "polars":
        return columns_from_frame(_from_polars(data))
    if isinstance(data, dict):
        return columns_from_frame(pd.DataFrame(data))
    array = np.asarray(data)
    if array.ndim != 2:
        raise InputError(
            f"expected a table (a path, a frame or a two-dimensional array) but got {type(data).__name__} "
            f"with {array.ndim} dimensions"
        )
    frame = pd.DataFrame(array, columns=[f"X{j}" for j in range(array.shape[1])])
    return columns_from_frame(frame)


def _from_polars(data: Any) -> pd.DataFrame:
    """Return a polars frame (lazy or not) as a pandas frame, without needing pyarrow."""
    if hasattr(data, "collect"):
        data = data.collect()
    if not hasattr(data, "get_columns"):
        raise InputError(f"expected a polars DataFrame but got {type(data).__name__}; use .to_frame()")
    return pd.DataFrame(
        {
            series.name: series.to_numpy() if series.dtype.is_float() else pd.Series(series.to_list(), dtype=object)
            for series in data.get_columns()
        }
    )


def _read_file(path: Path, na_values: tuple[str, ...]) -> list[Column]:
    if str(path) == "-":
        return _read_text(sys.stdin.buffer.read(), "standard input", None, na_values)
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a CSV, TSV or Parquet file inside it")
    if not path.exists():
        raise InputError(f"there is no file {path}; check the path (the current folder is where it starts)")
    if path.suffix.lower() in {".parquet", ".pq"}:
        return columns_from_frame(_read_parquet(path))
    kind = [suffix.lower() for suffix in path.suffixes]
    if any(suffix in {".xlsx", ".xls", ".ods", ".rds", ".rda", ".sav", ".dta", ".feather"} for suffix in kind):
        raise InputError(f"{path} is a {path.suffix} file, which is not read; save it as CSV or Parquet")
    try:
        opener = COMPRESSED.get(kind[-1] if kind else "", open)
        with opener(path, "rb") as opened:
            content = opened.read()
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    separator = "\t" if ".tsv" in kind or ".tab" in kind else None
    return _read_text(content, str(path), separator, na_values)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise InputError(f"reading {path} needs pyarrow; install it with: pip install 'dagopt[parquet]'") from error
    except Exception as error:
        raise InputError(f"cannot read {path} as Parquet: {str(error).splitlines()[0]}") from error


def _read_text(content: bytes, source: str, separator: str | None, na_values: tuple[str, ...]) -> list[Column]:
    """Return the columns of delimited text with a header row."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source} is not UTF-8 text (byte 0x{content[error.start]:02x} at position {error.start}); "
            f"save it with UTF-8 encoding"
        ) from error
    if "\x00" in text:
        raise InputError(f"{source} holds binary data, not text; give a CSV, TSV or Parquet file")
    if not text.strip():
        raise InputError(f"{source} is empty; give a header row and rows of data")
    if separator is None:
        header_line = text.lstrip().splitlines()[0]
        separator = max(SEPARATORS, key=header_line.count)
    names, skip = _header(text, separator)
    typed = _parse(text, source, separator, len(names), skip)
    return _columns(text, source, separator, names, skip, typed, na_values)


def _header(text: str, separator: str) -> tuple[list[str], int]:
    """Return the names of the first row that is not blank, and the number of lines up to its end."""
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    row: list[str] = next(cells for cells in reader if any(cell.strip() for cell in cells))
    names = [cell.strip() for cell in row]
    return [name or f"column {k + 1}" for k, name in enumerate(names)], reader.line_num


def _parse(text: str, source: str, separator: str, width: int, skip: int, **options: Any) -> pd.DataFrame:
    """Parse the rows below the header, and say which line has too many fields."""
    try:
        frame: pd.DataFrame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=None,
            skiprows=skip,
            low_memory=False,
            index_col=False,
            **options,
        )
    except pd.errors.EmptyDataError:
        raise InputError(f"{source} has a header but no rows; give at least one row of data") from None
    except (pd.errors.ParserError, csv.Error, ValueError) as error:
        _check_widths(text, source, separator, width)
        raise InputError(f"cannot read {source}: {str(error).splitlines()[0].strip()}") from error
    if frame.shape[1] != width and "usecols" not in options:
        _check_widths(text, source, separator, width)
    return frame


def _check_widths(text: str, source: str, separator: str, width: int) -> None:
    """Raise for the first row that has not as many fields as the header."""
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    for cells in reader:
        if cells and len(cells) != width and any(cell.strip() for cell in cells):
            raise InputError(
                f"{source}, line {reader.line_num}: expected {width} fields as in the header but got {len(cells)}; "
                f"correct the line, or quote values that contain {separator!r}"
            )


def _columns(
    text: str,
    source: str,
    separator: str,
    names: list[str],
    skip: int,
    typed: pd.DataFrame,
    na_values: tuple[str, ...],
) -> list[Column]:
    """Keep the columns that were read as complete numbers; interpret all others cell by cell."""
    plain = {
        k
        for k in range(len(names))
        if pd.api.types.is_numeric_dtype(typed[k]) and typed[k].dtype != bool and typed[k].notna().all()
    }
    others = [k for k in range(len(names)) if k not in plain]
    last_is_open = len(names) - 1 in others
    cells = pd.DataFrame()
    if others:
        cells = _parse(text, source, separator, len(names), skip, usecols=others, dtype=str, keep_default_na=False)
        cells.columns = pd.Index(others)
        if last_is_open and (cells[len(names) - 1] == "").any():
            _check_widths(text, source, separator, len(names))
    found = []
    for k, name in enumerate(names):
        if k in plain and not na_values:
            found += columns_from_frame(typed[[k]].rename(columns={k: name}))
        else:
            raw = typed[k].astype(str) if k in plain else cells[k]
            found.append(column_from_text(name, raw, na_values))
    return found


def _position(choice: str | int, names: list[str]) -> int:
    if str(choice) in names:
        return names.index(str(choice))
    if isinstance(choice, (int, np.integer)) and 0 <= choice < len(names):
        return int(choice)
    raise unknown_name("column", choice, names)


def _unique(columns: Sequence[str | int]) -> list[str | int]:
    if isinstance(columns, str):
        columns = [name for name in re.split(r"\s*,\s*", columns.strip()) if name]
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise InputError(f"columns= lists {quoted(twice)} more than once; list each column once")
    return list(columns)
