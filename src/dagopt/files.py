"""Reading and writing whole text files: one clear error if that fails, and never a partial file."""

from __future__ import annotations

import gzip
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dagopt.errors import InputError
from dagopt.memory import available_bytes, readable

__all__ = ["read_text", "read_up_to", "replacing", "require_folder", "write_text"]

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
BYTES_PER_BYTE = 8  # of memory for each byte of text, its parts included
STREAMS = (Path("/dev"), Path("/dev/fd"), Path(f"/proc/{os.getpid()}/fd"))  # folders with links to open files
PART = 1 << 20  # bytes that are read at a time


def read_text(path: str | os.PathLike[str], *, bytes_per_byte: int = BYTES_PER_BYTE, may_be_empty: bool = False) -> str:
    """Return the UTF-8 text of a file, without a byte-order mark and with unchanged line ends.

    A file compressed with gzip, whatever its name, is decompressed first.

    Parameters
    ----------
    path : str or path
        The file.
    bytes_per_byte : int
        The memory that what is made from the text takes, per byte: a file for which it does not suffice is refused.
    may_be_empty : bool
        Whether a file without text is right.

    Raises
    ------
    InputError
        If the file is missing, a folder, not readable, not UTF-8, empty or too large.
    """
    path = Path(path)
    try:
        text = _content(path, bytes_per_byte).decode("utf-8-sig")
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"expected a file at {str(path)!r} but got none; check the path") from None
    except IsADirectoryError:
        raise InputError(f"expected a file at {str(path)!r} but got a folder; name a file in it") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"expected UTF-8 text in {str(path)!r} but got byte {error.object[error.start]:#04x} at"
            f" {error.start}; save the file as UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(
            f"could not read {str(path)!r}: {_reason(error)}; check the path and its permissions"
        ) from None
    if not text.strip() and not may_be_empty:
        raise InputError(f"expected some text in {str(path)!r} but got an empty file; check how it was written")
    return text


def _content(path: Path, bytes_per_byte: int) -> bytearray:
    """Return the bytes of a file, decompressed, unless they are too many for the free memory."""
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP)) == GZIP
    most = available_bytes() // bytes_per_byte
    with gzip.open(path) if is_packed else path.open("rb") as opened:
        content = read_up_to(opened, most + 1)
    if len(content) > most:
        raise InputError(f"{str(path)!r} has more than {readable(most)} of text, too much for the free memory")
    return content


def read_up_to(opened: Any, most: int) -> bytearray:
    """Return at most this many bytes of an open file, read in parts: ``read(most)`` would take the memory at once."""
    content = bytearray()
    while part := opened.read(min(PART, most - len(content))):
        content += part
    return content


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a UTF-8 file completely or not at all.

    Raises
    ------
    InputError
        If the folder is missing or not writable, the path is a folder, or the text cannot be written as UTF-8.
    """
    with replacing(path) as draft:
        draft.write_bytes(text.encode("utf-8"))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` to write to, which replaces ``path`` when the block ends.

    Parameters
    ----------
    path : str or path
        The file to write or replace. A link is replaced, too: what it points to is never written to, except for the
        streams that the system names by links, such as /dev/stdout.

    Yields
    ------
    Path
        The draft. If the block raises, it is removed and ``path`` stays unchanged. If ``path`` is not a plain file,
        for instance a pipe, the draft is that path itself.

    Raises
    ------
    InputError
        If the folder is missing or not writable, the path is a folder, or a text cannot be written as UTF-8.
    """
    path = Path(path)
    draft = None
    try:
        target = _target(path)
        if target.exists() and (not target.is_file() or target.parent in STREAMS):
            yield target
            return
        draft = target.parent / f".{secrets.token_hex(8)}.tmp"
        yield draft
        draft.replace(target)
    except UnicodeEncodeError as error:
        part = error.object[error.start : error.end]
        raise InputError(
            f"could not write {str(path)!r}: the part {part!r} cannot be written as UTF-8; rename it"
        ) from None
    except OSError as error:
        raise InputError(
            f"could not write {str(path)!r}: {_reason(error)}; choose a folder that can be written"
        ) from None
    finally:
        if draft is not None:
            with suppress(OSError):
                draft.unlink()


def require_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error if no file can be written at a path because of its folder, before much is computed."""
    target = _target(Path(path))
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"could not write {str(path)!r}: permission denied; choose a folder that can be written")


def _target(path: Path) -> Path:
    """Return the path in its real folder, or raise an error that says why none can be written there."""
    if "\0" in str(path):
        raise InputError(f"could not write {str(path)!r}: a path cannot hold a null character; remove it")
    if path.is_dir():
        raise InputError(f"expected a file at {str(path)!r} but got a folder; name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"could not write {str(path)!r}: there is no folder {str(path.parent)!r}; create it first")
    return Path(os.path.realpath(path.parent)) / path.name


def _reason(error: Exception) -> str:
    """Return the system's message for an error, without its path and number."""
    return str(getattr(error, "strerror", None) or error).lower()
