"""Whole text files in and out: one clear error where that fails, and never half a file."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from dagopt.errors import InputError

__all__ = ["read_text", "write_text"]


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the UTF-8 text of a file, without a byte-order mark and with its line ends as they are.

    Raises
    ------
    InputError
        If the file is missing, a folder, not readable, not UTF-8, or empty.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"expected a file at {str(path)!r}, found none; check the path") from None
    except IsADirectoryError:
        raise InputError(f"expected a file at {str(path)!r}, found a folder; name a file in it") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"expected UTF-8 text in {str(path)!r}, found byte {error.object[error.start]:#04x} at"
            f" {error.start}; save the file as UTF-8"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"could not read {str(path)!r}: {_reason(error)}; check the path and its rights") from None
    if not text.strip():
        raise InputError(f"expected some text in {str(path)!r}, found an empty file; check how it was written")
    return text


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a UTF-8 file whole or not at all: into a new file beside it, which then takes its place.

    Raises
    ------
    InputError
        If the folder is missing or not writable, the path is a folder, or the text has no UTF-8 form.
    """
    path = Path(path)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"could not write {str(path)!r}: the name part {text[error.start : error.end]!r} has no UTF-8"
            " form; rename the node"
        ) from None
    if path.is_dir():
        raise InputError(f"expected a file at {str(path)!r}, found a folder; name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"could not write {str(path)!r}: there is no folder {str(path.parent)!r}; make it first")
    try:
        _replace(content, path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"could not write {str(path)!r}: {_reason(error)}; choose a folder that can be written"
        ) from None


def _replace(content: bytes, path: Path) -> None:
    """Write beside the target and rename; a target that is no plain file, such as a pipe, is written to."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    draft = target.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        draft.write_bytes(content)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    """Return the system's words for an error, without its path and number."""
    return str(getattr(error, "strerror", None) or error).lower()
