"""Whole text files in and out: one clear error where that fails, and never half a file."""

from __future__ import annotations

import gzip
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dagopt.errors import InputError

__all__ = ["read_text", "replacing", "write_text"]

GZIP = b"\x1f\x8b"  # the first bytes of what gzip writes


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the UTF-8 text of a file, without a byte-order mark and with its line ends as they are.

    A file that is compressed by gzip, whatever its name, is expanded first.

    Raises
    ------
    InputError
        If the file is missing, a folder, not readable, not UTF-8, or empty.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw.startswith(GZIP) else raw).decode("utf-8-sig")
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
        raise InputError(f"could not read {str(path)!r}: {_reason(error)}; check the path and its rights") from None
    if not text.strip():
        raise InputError(f"expected some text in {str(path)!r} but got an empty file; check how it was written")
    return text


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a UTF-8 file whole or not at all.

    Raises
    ------
    InputError
        If the folder is missing or not writable, the path is a folder, or the text has no UTF-8 form.
    """
    with replacing(path) as draft:
        draft.write_bytes(text.encode("utf-8"))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new path beside ``path`` to write to, which takes the place of ``path`` when the block ends.

    Parameters
    ----------
    path : str or path
        The file to write or replace; a link stays and the file it leads to is replaced.

    Yields
    ------
    Path
        The draft. If the block raises, it is removed and what stood at ``path`` stays as it was. For a
        ``path`` that is no plain file, such as a pipe, it is that path itself.

    Raises
    ------
    InputError
        If the folder is missing or not writable, the path is a folder, or a text has no UTF-8 form.
    """
    path = Path(path)
    draft = None
    try:
        target = _target(path)
        if target.exists() and not target.is_file():
            yield target
            return
        draft = target.parent / f".{secrets.token_hex(8)}.tmp"
        yield draft
        draft.replace(target)
    except UnicodeEncodeError as error:
        part = error.object[error.start : error.end]
        raise InputError(f"could not write {str(path)!r}: the part {part!r} has no UTF-8 form; rename it") from None
    except OSError as error:
        raise InputError(
            f"could not write {str(path)!r}: {_reason(error)}; choose a folder that can be written"
        ) from None
    finally:
        if draft is not None:
            with suppress(OSError):
                draft.unlink()


def _target(path: Path) -> Path:
    """Return the file that ``path`` leads to, or say why none can be written there."""
    if "\0" in str(path):
        raise InputError(f"could not write {str(path)!r}: a path holds no null character; remove it")
    if path.is_dir():
        raise InputError(f"expected a file at {str(path)!r} but got a folder; name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"could not write {str(path)!r}: there is no folder {str(path.parent)!r}; create it first")
    return Path(os.path.realpath(path))


def _reason(error: Exception) -> str:
    """Return the system's words for an error, without its path and number."""
    return str(getattr(error, "strerror", None) or error).lower()
