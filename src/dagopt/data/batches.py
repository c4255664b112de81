"""Sources of any size, batch by batch: files, folders and globs of them, Arrow streams, iterators of frames.

pyarrow is the engine (docs/decisions/engine.md has the measurements). Text is cut into blocks at line ends, so that an
error can name the file and the row, blocks are parsed on all cores, and a block with an odd cell is read again by the
rules of ``columns.py`` without the blocks before it.
"""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.columns import column_from_dictionary, column_from_series, column_from_spellings
from dagopt.data.reading import COMPRESSED, header_of, opened_unpacked, refuse_widths, separator_of
from dagopt.data.spellings import NUMERIC_MISSING
from dagopt.errors import InputError
from dagopt.spreadsheets import ESCAPED, plain_cell

__all__ = ["Batch", "Numbers", "batches_of", "ending_of", "is_streamed", "is_tabular_file"]

ROWS = 1 << 16  # of a batch
BLOCK = 1 << 23  # bytes of text of a block
BUFFER = 1 << 20  # bytes of a column of a Parquet file that are read at once, however long its parts are
WORDS = ("string", "large_string", "string_view")
LARGE_TEXT, LARGE_PACKED = 100_000_000, 15_000_000  # bytes of a file that is read in one pass
LARGE_BINARY = 50_000_000
PACKED = {*COMPRESSED, ".zip"}
BINARY = {".parquet", ".pq", ".feather", ".arrow", ".ipc"}
LINES = {".jsonl", ".ndjson"}
TEXT = {".csv", ".tsv", ".txt", ".tab", *LINES}
ENDINGS = BINARY | TEXT
NEEDS = "needs pyarrow; install it with: pip install 'dagopt[parquet]'"


class Batch(NamedTuple):
    """Some rows.

    Attributes
    ----------
    names : sequence of str
        The columns.
    read : callable
        Returns the columns, each as ``Numbers`` or as a ``Column``; called on any thread.
    where : str
        The file or part.
    done : float or None
        The share of all bytes that is read after this batch, None if it is not known.
    n_rows : int or None
        The number of its rows, None if it is not known before it is read.
    """

    names: Sequence[str]
    read: Callable[[], list[Any]]
    where: str
    done: float | None = None
    n_rows: int | None = None


def is_streamed(data: object) -> bool:
    """Say whether data are read in one pass: folders, globs, iterators, Arrow streams and large files."""
    if isinstance(data, str | Path):
        path = Path(data)
        if has_magic(str(data)) and not path.exists():
            return True
        if path.is_dir():
            return True
        if not path.is_file():
            return False
        ending = ending_of(path)
        if ending in BINARY:
            return path.stat().st_size > LARGE_BINARY or ending not in {".parquet", ".pq"}
        if ending in LINES:
            return True
        packed = path.suffix.lower() in PACKED
        return ending in TEXT and path.stat().st_size > (LARGE_PACKED if packed else LARGE_TEXT)
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(one, str | Path) for one in data)
    package = type(data).__module__.partition(".")[0]
    if package == "polars":
        return type(data).__name__ == "LazyFrame"
    if isinstance(data, pd.DataFrame) or package == "xarray" or (package == "pyarrow" and hasattr(data, "to_pandas")):
        return False
    return hasattr(data, "__arrow_c_stream__") or package in ("dask", "dask_expr") or hasattr(data, "__next__")


def is_tabular_file(data: object) -> bool:
    """Say whether data are the path of a file that can be read batch by batch."""
    return isinstance(data, str | Path) and Path(data).is_file() and ending_of(Path(data)) in ENDINGS


def size_of(path: Path) -> int:
    """Return the bytes of a file, 0 if it is none."""
    return path.stat().st_size if path.is_file() else 0


def batches_of(data: object, na_values: tuple[str, ...] = ()) -> Iterator[Batch]:
    """Yield the batches of a source that is read in one pass.

    Parameters
    ----------
    data : path, sequence of paths, iterator, Arrow stream
        The source.
    na_values : tuple of str
        Further spellings that mean "missing" in text files.
    """
    if isinstance(data, str | Path):
        yield from _files(_listed(data), na_values)
    elif isinstance(data, list | tuple):
        yield from _files([path for one in data for path in _listed(one)], na_values)
    elif type(data).__module__.partition(".")[0] == "polars":
        with _in_words("the polars LazyFrame"):
            for k, frame in enumerate(data.collect_batches(chunk_size=ROWS)):  # type: ignore[attr-defined]
                yield _of_arrow(frame.to_arrow(), f"batch {k + 1}")
    elif isinstance(data, pd.DataFrame):
        yield _of_frame(data, "the frame")
    elif hasattr(data, "__arrow_c_stream__"):
        with _in_words("the Arrow stream"):
            reader = _pyarrow().RecordBatchReader.from_stream(data)
            for k, batch in enumerate(reader):
                yield from _pieces(batch, f"batch {k + 1}")
    else:
        for k, part in enumerate(data):  # type: ignore[arg-type, var-annotated]
            yield from _of_part(part, f"part {k + 1}")


def _of_part(part: Any, where: str) -> Iterator[Batch]:
    """Yield what an iterator gives as batches."""
    if isinstance(part, pd.DataFrame):
        for first in range(0, max(len(part), 1), ROWS):
            yield _of_frame(part.iloc[first : first + ROWS], where)
    elif isinstance(part, np.ndarray) and part.ndim == 2:
        yield _of_frame(pd.DataFrame(part, columns=[f"X{j}" for j in range(part.shape[1])]), where)
    elif hasattr(part, "__arrow_c_stream__"):
        for batch in _pyarrow().RecordBatchReader.from_stream(part):
            yield from _pieces(batch, where)
    elif hasattr(part, "__arrow_c_array__"):
        yield from _pieces(_pyarrow().record_batch(part), where)
    else:
        raise InputError(
            f"expected an iterator of frames or Arrow batches but {where} is a {type(part).__name__}; give frames"
        )


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise InputError(f"reading data in one pass {NEEDS}") from error
    return pyarrow


def _listed(data: str | Path) -> list[Path]:
    """Return the files of a path, a folder or a glob, sorted by name."""
    path = Path(data)
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.is_file() and ending_of(one) in ENDINGS)
        found = [one for one in found if not one.name.startswith((".", "_"))]
        if not found:
            raise InputError(f"the folder {path} has no CSV, Parquet, Arrow or JSON lines file; give another folder")
    elif has_magic(str(data)) and not path.exists():
        found = sorted(Path(one) for one in glob(str(data), recursive=True) if Path(one).is_file())
        if not found:
            raise InputError(
                f"no file matches {str(data)!r}; check the pattern, which is relative to the current folder"
            )
    else:
        found = [path]
    kinds = {ending_of(one) for one in found}
    unknown = sorted(kinds - ENDINGS)
    if unknown:
        odd = next(one for one in found if ending_of(one) in unknown)
        raise InputError(f"expected CSV, Parquet, Arrow or JSON lines files but got {odd}; leave it out")
    return found


def ending_of(path: Path) -> str:
    """Return the ending that says what a file holds, that of packing left out."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] in PACKED:
        return endings[-2] if len(endings) > 1 else ".csv"
    return endings[-1] if endings else ""


def _files(paths: Sequence[Path], na_values: tuple[str, ...]) -> Iterator[Batch]:
    whole = max(sum(map(size_of, paths)), 1)
    before = 0
    for path in paths:
        size, done = size_of(path), before / whole
        read = _binary if ending_of(path) in BINARY else _json_lines if ending_of(path) in LINES else _text
        for batch, share in read(path, na_values):
            yield batch._replace(done=done + share * size / whole)
        before += size


@contextmanager
def _in_words(where: str) -> Iterator[None]:
    """Turn an error of the engine into a sentence with the file."""
    try:
        yield
    except (InputError, GeneratorExit):
        raise
    except ImportError as error:
        raise InputError(f"reading {where} {NEEDS}") from error
    except Exception as error:
        said = (str(error) or type(error).__name__).splitlines()[0].strip().rstrip(".")
        raise InputError(f"cannot read {where}: {said}; it may be damaged or cut off: write it again") from error


def _binary(path: Path, na_values: tuple[str, ...]) -> Iterator[tuple[Batch, float]]:
    """Yield the batches of a Parquet or Arrow file."""
    rows = 0
    try:
        if ending_of(path) in {".parquet", ".pq"}:
            from pyarrow import parquet

            with parquet.ParquetFile(path) as file:
                fields, held = file.schema_arrow, file.metadata
            words = [name for name, kind in zip(fields.names, fields.types, strict=True) if str(kind) in WORDS]
            how: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER, "page_checksum_verification": True}
            with parquet.ParquetFile(path, metadata=held, read_dictionary=words, **how) as file:
                total = max(file.metadata.num_rows, 1)
                for batch in file.iter_batches(ROWS):
                    rows += batch.num_rows
                    yield _of_arrow(batch, str(path), frozenset(words)), rows / total
            return
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            magic = source.read(6)
            source.seek(0)
            if magic != b"ARROW1":
                for batch in pa.ipc.open_stream(source):
                    yield from ((piece, 0.5) for piece in _pieces(batch, str(path)))
                    rows += batch.num_rows
                return
            reader = pa.ipc.open_file(source)
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                for piece in _pieces(batch, str(path)):
                    yield piece, (k + 1) / reader.num_record_batches
                rows += batch.num_rows
    except (InputError, GeneratorExit):
        raise
    except ImportError as error:
        raise InputError(f"reading {path} {NEEDS}") from error
    except Exception as error:
        said = (str(error) or type(error).__name__).splitlines()[0].strip().rstrip(".")
        after = f" after row {rows}" if rows else ""
        raise InputError(f"cannot read {path}{after}: {said}; it may be damaged or cut off: write it again") from error


def _pieces(batch: Any, where: str) -> Iterator[Batch]:
    """Yield an Arrow batch in pieces."""
    for first in range(0, max(batch.num_rows, 1), ROWS):
        yield _of_arrow(batch.slice(first, ROWS), where)


def _of_arrow(table: Any, where: str, encoded: frozenset[str] = frozenset()) -> Batch:
    """Return an Arrow table or batch as a batch; words may be encoded as positions in a list."""
    names = [str(name) for name in table.schema.names]
    types = ["string" if name in encoded else str(kind) for name, kind in zip(names, table.schema.types, strict=True)]

    def read() -> list[Any]:
        return [_arrow_column(name, table.column(k), types[k]) for k, name in enumerate(names)]

    return Batch(names, read, where, n_rows=table.num_rows)


def _arrow_column(name: str, array: Any, kind: str) -> Any:
    """Return the numbers of an Arrow array, whole ones marked, or its ``Column``."""
    if kind in ("double", "float", "halffloat") or (kind.startswith(("int", "uint")) and kind[-1].isdigit()):
        if array.null_count and "int" in kind:
            array = array.cast("double", safe=False)
        values = array.to_numpy(zero_copy_only=False) if "Chunked" not in type(array).__name__ else array.to_numpy()
        return Numbers(_as_numbers(values), "int" in kind)
    if kind in WORDS:
        return column_from_dictionary(name, *_encoded(array))
    return column_from_series(name, array.to_pandas())


def _encoded(array: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Return the words of an Arrow array as positions in a list of words, -1 where a cell is missing."""
    whole = array.combine_chunks() if "Chunked" in type(array).__name__ else array
    if hasattr(whole, "num_chunks"):  # too long for one piece
        return _encoded(_pyarrow().concat_arrays([one.cast("large_string") for one in whole.chunks]))
    held = whole if hasattr(whole, "dictionary") else whole.dictionary_encode()
    codes = held.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, held.dictionary.to_pylist()


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as floats, or as whole numbers if they are such and none is missing."""
    if values.dtype == np.int64 or (values.dtype.kind == "i" and values.dtype.itemsize <= 8):
        return values.astype(np.int64, copy=False)
    return np.asarray(values, dtype=np.float64)


class Numbers(NamedTuple):
    """Numbers, floats with NaN where a cell is missing, and whether they are stored as whole numbers."""

    values: Any
    whole: bool


def _of_frame(frame: pd.DataFrame, where: str) -> Batch:
    """Return a pandas frame as a batch."""
    names = [str(name) for name in frame.columns]

    def read() -> list[Any]:
        return [_series(name, frame.iloc[:, k]) for k, name in enumerate(names)]

    return Batch(names, read, where)


def _series(name: str, series: pd.Series[Any]) -> Any:
    if pd.api.types.is_float_dtype(series.dtype) or (
        pd.api.types.is_integer_dtype(series.dtype) and not isinstance(series.dtype, pd.CategoricalDtype)
    ):
        if series.dtype == np.int64:
            return Numbers(series.to_numpy(), True)
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return Numbers(values, not pd.api.types.is_float_dtype(series.dtype))
    return column_from_series(name, series)


def _blocks(path: Path) -> Iterator[tuple[bytes, int, float]]:
    """Yield text in blocks that end at the end of a row, the number of the first line of each, and the share read."""
    size, line, rest = max(size_of(path), 1), 1, b""
    packed = path.suffix.lower() in PACKED
    read = 0
    try:
        with opened_unpacked(path) as file:
            while part := file.read(BLOCK):
                read += len(part)
                block = rest + part
                cut = _last_row_end(block)
                if cut:
                    yield block[:cut], line, 0.5 if packed else min(read / size, 1.0)
                    line += block.count(b"\n", 0, cut)
                    block = block[cut:]
                rest = block
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        said = str(error).rstrip(".")
        raise InputError(f"cannot read {path} after line {line}: {said}; it may be cut off: write it again") from error
    if rest.strip():
        yield rest, line, 1.0


def _last_row_end(block: bytes) -> int:
    """Return where the last whole row ends; a line end within quotes is none."""
    cut = block.rfind(b"\n") + 1
    if b'"' not in block:
        return cut
    quotes = block.count(b'"', 0, cut)
    while cut and quotes % 2:
        before = block.rfind(b"\n", 0, cut - 1) + 1
        quotes -= block.count(b'"', before, cut)
        cut = before
    return cut


class _Layout(NamedTuple):
    """How a text file is written: its separator and its columns."""

    source: str
    separator: str
    names: list[str]
    na_values: tuple[str, ...]


def _text(path: Path, na_values: tuple[str, ...]) -> Iterator[tuple[Batch, float]]:
    """Yield the blocks of a delimited text file."""
    layout: _Layout | None = None
    guess: dict[str, Any] = {}
    for block, line, share in _blocks(path):
        if layout is None:
            text = _decoded(block, path, line)
            separator = "\t" if ending_of(path) in (".tsv", ".tab") else separator_of(text)
            names, body = header_of(text, str(path), separator)
            layout = _Layout(str(path), separator, names, na_values)
            _pyarrow()
            line += text.count("\n") - body.count("\n")
            block = body.encode()
            if not block.strip():
                continue
        yield Batch(layout.names, _reader(layout, block, line, guess), str(path)), share
    if layout is None:
        raise InputError(f"{path} is empty; give a header row and rows of data")


def _decoded(block: bytes, path: Path, line: int) -> str:
    try:
        return block.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        raise InputError(
            f"{path} is not UTF-8 text (byte 0x{block[error.start]:02x} in line {at}); save it with UTF-8 encoding"
        ) from error


def _reader(layout: _Layout, block: bytes, line: int, guess: dict[str, Any]) -> Callable[[], list[Any]]:
    def read() -> list[Any]:
        return _parsed(layout, block, line, guess)

    return read


def _parsed(layout: _Layout, block: bytes, line: int, guess: dict[str, Any]) -> list[Any]:
    """Return the columns of a block: numbers by pyarrow, all other cells by the rules of ``columns.py``.

    ``guess`` has the types of columns of the blocks so far, by name; a block that does not fit is read as text.
    """
    import pyarrow as pa
    from pyarrow import csv

    absent = sorted({"", *NUMERIC_MISSING, *layout.na_values})
    keys = [str(k) for k in range(len(layout.names))]

    def parse(types: dict[str, Any]) -> Any:
        return csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(column_names=keys, use_threads=False, block_size=max(len(block), 1)),
            csv.ParseOptions(delimiter=layout.separator, newlines_in_values=b'"' in block),
            csv.ConvertOptions(column_types=types, null_values=absent, strings_can_be_null=False),
        )

    try:
        types = dict(guess)
        try:
            table = parse(types)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            table = parse({})
        odd = [k for k in keys if table.schema.field(k).type not in (pa.int64(), pa.float64(), pa.string())]
        if odd:  # dates, times and truth values are words here, as everywhere in text
            guess.update(dict.fromkeys(odd, pa.string()))
            table = parse(
                {**dict(zip(table.schema.names, table.schema.types, strict=True)), **dict.fromkeys(odd, pa.string())}
            )
    except pa.ArrowInvalid as error:
        _refuse_block(layout, block, line, error)
        raise AssertionError from error
    words = any(kind == pa.string() for kind in table.schema.types)
    escaped = words and ESCAPED.search(block.decode(errors="replace")) is not None
    found: list[Any] = []
    for name, key in zip(layout.names, keys, strict=True):
        array = table.column(key)
        if array.type == pa.string():
            codes, spelled = _encoded(array)
            spelled = [plain_cell(word) for word in spelled] if escaped else spelled
            found.append(column_from_spellings(name, codes, spelled, layout.na_values))
        else:
            found.append(Numbers(_as_numbers(array.to_numpy()), array.type == pa.int64()))
    return found


def _refuse_block(layout: _Layout, block: bytes, line: int, error: Exception) -> None:
    """Raise an error that names the line that cannot be read."""
    text = _decoded(block, Path(layout.source), line)
    refuse_widths(text, layout.source, layout.separator, len(layout.names), line - 1)
    said = str(error).splitlines()[0].rstrip(".")
    raise InputError(f"cannot read {layout.source} from line {line} on: {said}; correct it") from error


def _json_lines(path: Path, na_values: tuple[str, ...]) -> Iterator[tuple[Batch, float]]:
    """Yield the blocks of a file with one JSON object per line."""
    for block, line, share in _blocks(path):
        try:
            frame = pd.DataFrame.from_records([json.loads(row) for row in block.splitlines() if row.strip()])
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"cannot read {path} from line {line} on: {error}; give one JSON object with all columns per line"
            ) from error
        yield _of_frame(frame, str(path)), share
