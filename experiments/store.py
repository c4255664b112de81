"""Result files: a folder with one file per method, one line per run; files are only appended to."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path

from dagopt.errors import InputError
from experiments.records import Key, Record

try:
    import fcntl
except ImportError:  # Windows, where one program writes at a time or lines may be lost
    fcntl = None  # type: ignore[assignment]

__all__ = ["RESULTS_FOLDER", "append", "best_of", "bundled_records", "read_folder", "results_in_use"]

RESULTS_FOLDER = Path("paper-results")


def append(record: Record, folder: Path) -> None:
    """Append a complete record to the file of its method, and flush it to disk before returning."""
    path = folder / f"{record.method}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(path) as file:
            torn = b"" if _ends_whole(path) else b"\n"  # an incomplete line from a crash is closed first
            _write_all(file, torn + record.to_line().encode("ascii"))
            os.fsync(file)
    except OSError as error:
        reason = str(error.strerror or error).lower()
        raise InputError(f"could not write into {str(folder)!r}: {reason}; choose another --results") from None


def read_folder(folder: Path) -> list[Record]:
    """Return the records of a folder; incomplete lines are ignored."""
    if not folder.is_dir():
        raise InputError(
            f"expected a folder of results at {str(folder)!r} but got none; make some with python -m experiments run"
        )
    return [record for path in sorted(folder.glob("*.jsonl")) for record in _records(path.read_text("utf-8"))]


def bundled_records() -> list[Record]:
    """Return the records that come with the package, which the documentation uses."""
    with as_file(files("experiments") / "results") as folder:
        return read_folder(folder)


def results_in_use(given: Path | None) -> tuple[list[Record], str]:
    """Return records and their source: the folder given, else ``RESULTS_FOLDER``, else the bundled ones."""
    if given is not None:
        return read_folder(given), str(given)
    if RESULTS_FOLDER.is_dir():
        return read_folder(RESULTS_FOLDER), str(RESULTS_FOLDER)
    return bundled_records(), "the package"


def best_of(records: Iterable[Record]) -> dict[Key, Record]:
    """Return one record per run: one with an answer before one without, then the longer limit, then the later."""
    best: dict[Key, Record] = {}
    for record in records:
        other = best.get(record.key)
        if other is None or (record.ended, record.limit) >= (other.ended, other.limit):
            best[record.key] = record
    return best


def _records(text: str) -> Iterator[Record]:
    for line in text.splitlines():
        with suppress(ValueError, TypeError, AttributeError):
            yield Record.from_line(line)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a file for appending, with an exclusive lock."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _write_all(file: int, line: bytes) -> None:
    """Append a line completely, or raise an error and leave the file as it was."""
    size = os.fstat(file).st_size
    try:
        written = os.write(file, line)
        if written < len(line):  # the disk is nearly full: the next attempt says why
            os.write(file, line[written:])
            if os.fstat(file).st_size < size + len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        os.ftruncate(file, size)
        raise


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
