"""Reading tables as a whole: text, Parquet and Excel files, frames, arrays, lists of dicts."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dagopt.data.columns import Column, column_from_series, column_from_text, columns_from_frame
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted, unknown_name
from dagopt.files import read_up_to
from dagopt.memory import available_bytes, readable
from dagopt.spreadsheets import ESCAPED, plain_cell

__all__ = [
    "header_of",
    "opened_unpacked",
    "positions_of",
    "read_again",
    "read_apart",
    "read_columns",
    "refuse_widths",
    "separator_of",
]

BYTES_PER_BYTE = 6  # approximate bytes of memory per byte of text while it is read
SEPARATORS = (",", "\t", ";", "|")
LINES, SAMPLE = 10, 1 << 16  # lines, and characters, by which spaces are told from words
SHEETS = {".xlsx", ".xls", ".xlsm", ".ods"}
IN_ONE_PASS = {".jsonl", ".ndjson", ".feather", ".arrow", ".ipc"}  # formats that have no other reader
URL = re.compile(r"(https?|ftp|s3|gs|abfs|hdfs):/")
URL_CUT = re.compile(r"(?<=:)/+")  # a path has one slash where an address has two
UNREADABLE = {".rds", ".rda", ".rdata", ".sav", ".dta", ".mat", ".h5", ".nc", ".json", ".sas7bdat", ".pkl", ".pickle"}
NOT_TEXT = {".parquet", ".pq", ".feather", ".arrow", ".ipc", ".xlsx", ".xls", ".ods", ".pdf"}
SOURCES = "a path, a frame, a two-dimensional array, a list of dicts, an Arrow stream or an iterator of frames"
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def read_apart(
    data: object,
    columns: Sequence[str | int] | None,
    na_values: Iterable[str],
    exclude: Sequence[str | int] | None,
    apart: Sequence[Sequence[str | int]],
    deadline: Deadline = FOREVER,
    fewest: int = 2,
) -> tuple[list[Column], list[list[Column]]]:
    """Return the columns of a table as ``read_columns`` does, without those that are wanted apart, and these.

    With ``fewest=1`` one column is enough, such as one series with its own past.
    """
    found = _unique(_all_columns(data, tuple(na_values), deadline))
    names = [column.name for column in found]
    places = [[_position(choice, names) for choice in choices] for choices in apart]
    taken = {place for own in places for place in own}
    left = [column for place, column in enumerate(found) if place not in taken]
    if columns is not None:  # positions count all columns
        columns = [names[place] for place in _positions(columns, names) if place not in taken]
    if exclude is not None:
        without = _positions([exclude] if isinstance(exclude, int) else exclude, names, "exclude")
        exclude = [names[place] for place in without if place not in taken]
    return _chosen(left, columns, exclude, fewest), [[found[place] for place in own] for own in places]


def read_columns(
    data: object,
    columns: Sequence[str | int] | None = None,
    na_values: Iterable[str] = (),
    exclude: Sequence[str | int] | None = None,
    deadline: Deadline = FOREVER,
) -> list[Column]:
    """Return the columns of anything that holds a table.

    Parameters
    ----------
    data : path, pandas or polars frame, array, dict or list of dicts, xarray, Arrow stream, iterator of frames
        A ``.csv``, ``.tsv``, ``.parquet``, Arrow, JSON lines or Excel file (text may be compressed: ``.gz``, ``.bz2``,
        ``.xz``, ``.zip``; ``-`` is standard input), a folder or a glob of such files, a frame, a two-dimensional array,
        a dict of columns, a list of dicts, or a source of frames, of which all rows must fit.
    columns : sequence of str or int, optional
        The columns to keep, by name or position, in this order.
    na_values : iterable of str
        Further spellings that mean "missing" in text files.
    exclude : sequence of str or int, optional
        The columns to leave out, by name or position.
    deadline : Deadline
        The clock, which is looked at while a text file is read.

    Returns
    -------
    list of Column
    """
    return _chosen(_unique(_all_columns(data, tuple(na_values), deadline)), columns, exclude)


def _unique(found: list[Column]) -> list[Column]:
    """Return the columns, or raise an error if two have the same name."""
    _refuse_twice([column.name for column in found])
    return found


def _refuse_twice(names: Sequence[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"column name {quoted(twice)} occurs more than once; rename the columns so that each is unique"
        )


def _chosen(
    found: list[Column], columns: Sequence[str | int] | None, exclude: Sequence[str | int] | None, fewest: int = 2
) -> list[Column]:
    """Return the columns to keep, at least two unless fewer are enough, without those to leave out."""
    found = [found[k] for k in positions_of([column.name for column in found], columns, exclude, fewest)]
    if len(found[0].values) == 0:
        raise InputError(f"the table has {len(found)} columns but no rows; give at least one row of data")
    return found


def positions_of(
    names: list[str], columns: Sequence[str | int] | None, exclude: Sequence[str | int] | None, fewest: int = 2
) -> list[int]:
    """Return the positions of the columns to use, at least two unless fewer are enough, each name once."""
    _refuse_twice(names)
    kept = list(range(len(names))) if columns is None else _positions(columns, names)
    if exclude is not None:
        without = set(_positions([exclude] if isinstance(exclude, int) else exclude, names, "exclude"))
        kept = [position for position in kept if position not in without]
    if len(kept) < fewest:
        what = "no column" if not kept else f"only one column, {names[kept[0]]!r}"
        raise InputError(f"expected at least two columns but got {what}; is the separator a comma, tab or semicolon?")
    return kept


def _all_columns(data: object, na_values: tuple[str, ...], deadline: Deadline) -> list[Column]:
    package = type(data).__module__.partition(".")[0]
    if isinstance(data, (str, Path)) and not _is_in_parts(data):
        return _read_file(Path(data), na_values, deadline)
    if isinstance(data, Gathered):
        return list(data.columns)
    if isinstance(data, pd.DataFrame):
        return columns_from_frame(data)
    if package == "pyarrow" and hasattr(data, "to_pandas"):
        return columns_from_frame(data.to_pandas())
    if package == "polars" and type(data).__name__ != "LazyFrame":
        return columns_from_frame(_from_polars(data))
    if package == "xarray":
        return columns_from_frame(_from_xarray(data))
    if isinstance(data, dict):
        return columns_from_frame(_framed(data, "the dict", "give lists of equal length"))
    if isinstance(data, list | tuple) and data and all(isinstance(row, dict) for row in data):
        return columns_from_frame(_framed(data, "the list of dicts", "give dicts of names and values"))
    if _is_in_parts(data):
        return _gathered(data, na_values)
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise InputError("expected a table but the rows have different lengths; give rows of equal length") from error
    except Exception as error:
        raise InputError(f"expected a table but got {type(data).__name__}; give {SOURCES}") from error
    if array.ndim != 2:
        raise InputError(
            f"expected a table (a path, a frame or a two-dimensional array) but got {type(data).__name__} "
            f"with {array.ndim} dimensions; give one of these"
        )
    frame = pd.DataFrame(array, columns=[f"X{j}" for j in range(array.shape[1])])
    return columns_from_frame(frame)


def _framed(data: Any, what: str, remedy: str) -> pd.DataFrame:
    try:
        return pd.DataFrame(data)
    except (ValueError, TypeError) as error:
        raise InputError(f"cannot make a table from {what}: {error}; {remedy}") from error


class Gathered(NamedTuple):
    """The columns of a source that can be read only once."""

    columns: tuple[Column, ...]


def read_again(data: object, na_values: Iterable[str]) -> object:
    """Return data that can be read more than once: an iterator or a stream is gathered, all else is as it was."""
    if isinstance(data, str | Path | list | tuple) or not _is_in_parts(data):
        return data
    return Gathered(tuple(_gathered(data, tuple(na_values))))


def _is_in_parts(data: object) -> bool:
    from dagopt.data.batches import is_streamed, is_tabular_file

    return is_streamed(data) and not (is_tabular_file(data) and Path(str(data)).suffix.lower() not in IN_ONE_PASS)


def _gathered(data: object, na_values: tuple[str, ...]) -> list[Column]:
    """Return the columns of a folder, a stream or an iterator, if its rows are few enough to be kept."""
    from dagopt.data.data_options import DataOptions
    from dagopt.data.summarise import summarised_source

    found = summarised_source(data, DataOptions(na_values=na_values))
    if not found.has_all_rows:
        raise InputError(f"this needs all {found.n_read} rows in memory, which are too many; give a sample of them")
    return found.given_columns()


def _from_xarray(data: Any) -> pd.DataFrame:
    """Return a Dataset of variables along one dimension, or a two-dimensional DataArray, as a frame."""
    if hasattr(data, "data_vars") and len(data.dims) == 1:
        frame: pd.DataFrame = data.to_dataframe()[[str(name) for name in data.data_vars]]
        return frame.reset_index(drop=True)
    if not hasattr(data, "data_vars") and data.ndim == 2:
        last = data.dims[1]
        names = data.coords[last].values if last in data.coords else [f"X{j}" for j in range(data.shape[1])]
        return pd.DataFrame(data.values, columns=[str(name) for name in names])
    raise InputError(
        f"expected an xarray Dataset along one dimension or a DataArray with two but got {tuple(data.dims)}; choose "
        f"the rows with .stack() or .isel()"
    )


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


def _read_file(path: Path, na_values: tuple[str, ...], deadline: Deadline) -> list[Column]:
    if str(path) == "-":
        content = _whole(sys.stdin.buffer, "standard input")
        return _read_text(content, "standard input", None, na_values, deadline)
    if URL.match(str(path)):
        address = URL_CUT.sub("//", str(path), count=1)
        raise InputError(
            f"{address} is an address on the net, which is not read here; download the file first, for instance with "
            f"curl -LO, and give its path"
        )
    if not path.exists():
        raise InputError(f"there is no file {path}; check the path, which is relative to the current folder")
    if path.suffix.lower() in {".parquet", ".pq"}:
        return columns_from_frame(_read_parquet(path))
    kind = [suffix.lower() for suffix in path.suffixes]
    if kind[-1:] and kind[-1] in SHEETS:
        return columns_from_frame(_read_sheet(path))
    if any(suffix in UNREADABLE for suffix in kind):
        how = ", or as .jsonl with one object per line" if path.suffix.lower() == ".json" else ""
        raise InputError(f"{path} is a {path.suffix} file, which cannot be read; save it as CSV or Parquet{how}")
    try:
        with opened_unpacked(path) as opened:
            content = _whole(opened, str(path))
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        damaged = not isinstance(error, OSError) or isinstance(error, gzip.BadGzipFile)
        how = "; it may be damaged or cut off: write it again" if damaged else ""
        raise InputError(f"cannot read {path}: {str(error).rstrip('.')}{how}") from error
    separator = "\t" if ".tsv" in kind or ".tab" in kind else None
    return _read_text(content, str(path), separator, na_values, deadline)


def opened_unpacked(path: Path) -> Any:
    """Return a file opened for reading bytes, unpacked by its ending."""
    if path.suffix.lower() != ".zip":
        return COMPRESSED.get(path.suffix.lower(), open)(path, "rb")
    packed = zipfile.ZipFile(path)
    members = [name for name in packed.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
    if len(members) != 1:
        raise InputError(f"expected one file in {path} but got {quoted(members) or 'none'}; unpack it first")
    if Path(members[0]).suffix.lower() in NOT_TEXT:
        raise InputError(f"expected a text file in {path} but got {members[0]!r}; unpack it first")
    return packed.open(members[0])


def _read_sheet(path: Path) -> pd.DataFrame:
    """Return the first sheet of a spreadsheet."""
    try:
        engine: Any = "openpyxl" if path.suffix.lower() in (".xlsx", ".xlsm") else None
        frame: pd.DataFrame = pd.read_excel(path, engine=engine, keep_default_na=False, na_values=[""])
    except ImportError as error:
        raise InputError(f"reading {path} needs openpyxl; install it with: pip install 'dagopt[excel]'") from error
    except Exception as error:
        said = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"cannot read {path} as a spreadsheet: {said}; save it as CSV") from error
    return frame.dropna(how="all")


def _whole(opened: Any, source: str) -> bytearray:
    """Return all bytes, decompressed, unless reading them would take more memory than is free."""
    most = available_bytes() // BYTES_PER_BYTE
    content = read_up_to(opened, most + 1)
    if len(content) > most:
        raise InputError(
            f"{source} has more than {readable(most)} of text, too much for the free memory; give fewer rows or "
            f"columns, or a Parquet file"
        )
    return content


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path, page_checksum_verification=True)
    except ImportError as error:
        raise InputError(f"reading {path} needs pyarrow; install it with: pip install 'dagopt[parquet]'") from error
    except Exception as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"cannot read {path} as Parquet: {said}; it may be damaged: write it again") from error


def _read_text(
    content: bytearray, source: str, separator: str | None, na_values: tuple[str, ...], deadline: Deadline
) -> list[Column]:
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
        separator = separator_of(text)
    names, body = header_of(text, source, separator)
    file = _Text(text, body, source, separator, len(names), deadline)
    return _columns(file, names, _parse(file), na_values)


def separator_of(text: str) -> str:
    """Return the separator that occurs most often in the first line.

    A space, if none does and the first lines have the same number of words between single spaces, as R writes them.
    """
    text = text.lstrip()
    first = text.partition("\n")[0]
    if not any(one in first for one in SEPARATORS):
        lines = text[:SAMPLE].splitlines()[:LINES]
        widths = {len(row) for row in csv.reader(lines, delimiter=" ") if row}
        if len(widths) == 1 and len(lines) > 1 and max(widths) > 1:
            return " "
    return max(SEPARATORS, key=first.count)


def header_of(text: str, source: str, separator: str) -> tuple[list[str], str]:
    """Return the names of the first row that is not blank, and the text below it."""
    stream = io.StringIO(text, newline="")
    try:
        rows = csv.reader(stream, delimiter=separator)
        row = next((cells for cells in rows if any(cell.strip() for cell in cells)), None)
    except csv.Error as error:
        raise InputError(f"cannot read the header of {source}: {error}") from error
    if row is None:
        raise InputError(f"{source} has only separators; give a header row and rows of data")
    names = [plain_cell(cell.strip()) for cell in row]
    return [name or f"column {k + 1}" for k, name in enumerate(names)], stream.read()


class _Text(NamedTuple):
    """Delimited text: all of it, what is below its header, where it is from, and its number of columns."""

    whole: str
    body: str
    source: str
    separator: str
    width: int
    deadline: Deadline

    def check_widths(self) -> None:
        """Raise an error for the first row whose number of fields differs from the header."""
        refuse_widths(self.whole, self.source, self.separator, self.width)


class _Watched(io.StringIO):
    """Text that looks at the clock whenever a part of it is read."""

    def __init__(self, text: str, deadline: Deadline) -> None:
        super().__init__(text)
        self._size, self._deadline = max(len(text), 1), deadline

    def read(self, size: int | None = -1, /) -> str:
        """Return the next part; raise an error if it is late."""
        self._deadline.check("the data were read", self.tell() / self._size)
        return super().read(size)


def _parse(file: _Text, **options: Any) -> pd.DataFrame:
    """Parse the rows below the header, or raise an error that names the line with too many fields."""
    try:
        frame: pd.DataFrame = pd.read_csv(
            _Watched(file.body, file.deadline),
            sep=file.separator,
            header=None,
            low_memory=False,
            index_col=False,
            **options,
        )
    except InputError:  # by the clock
        raise
    except pd.errors.EmptyDataError:
        raise InputError(f"{file.source} has a header but no rows; give at least one row of data") from None
    except (pd.errors.ParserError, csv.Error, ValueError) as error:
        file.check_widths()
        raise InputError(f"cannot read {file.source}: {str(error).splitlines()[0].strip()}") from error
    if frame.shape[1] != file.width and "usecols" not in options:
        file.check_widths()
    return frame


def refuse_widths(text: str, source: str, separator: str, width: int, before: int = 0) -> None:
    """Raise an error for the first row whose number of fields differs from the header, after so many lines."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for cells in reader:
            if cells and len(cells) != width and any(cell.strip() for cell in cells):
                raise InputError(
                    f"{source}, line {before + reader.line_num}: expected {width} fields as in the header but got "
                    f"{len(cells)}; correct the line, or quote values that contain {separator!r}"
                )
    except csv.Error as error:
        raise InputError(f"cannot read {source}, line {before + reader.line_num}: {error}") from error


def _columns(file: _Text, names: list[str], typed: pd.DataFrame, na_values: tuple[str, ...]) -> list[Column]:
    """Keep the columns that were read as complete numbers; interpret all others cell by cell.

    Spellings of "missing" are compared with the text of a cell, so all cells are read as text if there are any.
    """
    complete = typed.notna().all().to_numpy()
    plain = {
        k
        for k, dtype in enumerate(typed.dtypes[: len(names)])
        if not na_values
        and pd.api.types.is_numeric_dtype(dtype)
        and not pd.api.types.is_bool_dtype(dtype)
        and complete[k]
    }
    others = [k for k in range(len(names)) if k not in plain]
    last_is_open = len(names) - 1 in others
    cells = pd.DataFrame()
    if others:
        cells = _parse(file, usecols=others, dtype=str, keep_default_na=False)
        cells.columns = pd.Index(others)
        if last_is_open and (cells[len(names) - 1] == "").any():
            file.check_widths()
        if ESCAPED.search(file.body):
            cells = cells.map(plain_cell)
    found = []
    for k, name in enumerate(names):
        file.deadline.check("the data were read", (k + len(names)) / (2 * len(names)))
        if k in plain:
            found.append(column_from_series(name, typed[k]))
        else:
            found.append(column_from_text(name, cells[k], na_values))
    return found


def _position(choice: str | int, names: list[str]) -> int:
    if str(choice) in names:
        return names.index(str(choice))
    if isinstance(choice, (int, np.integer)) and 0 <= choice < len(names):
        return int(choice)
    raise unknown_name("column", choice, names)


def _positions(columns: Sequence[str | int], names: list[str], option: str = "columns") -> list[int]:
    """Return the positions of the chosen columns; each may be chosen only once."""
    if isinstance(columns, str):
        columns = [name for name in re.split(r"\s*,\s*", columns.strip()) if name]
    positions = [_position(choice, names) for choice in columns]
    twice = [names[position] for position, times in Counter(positions).items() if times > 1]
    if twice:
        raise InputError(f"{option}= lists {quoted(twice)} more than once; list each column once")
    return positions
