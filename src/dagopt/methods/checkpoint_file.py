"""Files in which methods save themselves, so that a run that was killed goes on to the same answer.

A checkpoint is a JSON file with the hash of its content and what identifies the problem. Arrays are compressed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError, shortened
from dagopt.files import require_folder, write_text
from dagopt.problem import Problem
from dagopt.schema import Misfit, Shape, check, items, mapping, plain, read_json, row, text, whole

__all__ = [
    "AGAIN",
    "Saver",
    "array",
    "digest_of",
    "identity_of",
    "packed",
    "read_checkpoint",
    "resumed_path",
    "write_checkpoint",
]

AGAIN = "start again without resume="
SAVE_EVERY = 120.0  # seconds between two files
COST_SHARE = 0.05  # of the time, at most, for writing them
MOST_BYTES = 1 << 34  # of one array


def resumed_path(path: str | Path | None, resume: bool) -> Path | None:
    """Return the file to continue from; None to begin."""
    if resume and path is None:
        raise InputError("resume=True needs checkpoint= but got none; name the file of the run to continue")
    return Path(path) if resume and path is not None and Path(path).exists() else None


def identity_of(problem: Problem, options: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same as in a checkpoint: data, score, knowledge and the options that matter."""
    digest = hashlib.sha256()
    known = problem.knowledge
    order = [one for one in (known.before, known.log_odds) if one is not None]
    for own in (*problem.table.arrays, known.must, known.may, known.at_most, *order, np.array(known.ancestors)):
        digest.update(np.ascontiguousarray(own).tobytes())
    return {
        "columns": list(problem.names),
        "score": problem.score.label,
        "data": digest.hexdigest(),
        "values": _values(problem),
        **options,
    }


def _values(problem: Problem) -> str:
    """Return the hash of some local scores, to six digits: not all that changes a score is in its label or the data."""
    known, found = problem.knowledge, []
    for i in range(problem.n_nodes):
        least = np.flatnonzero(known.must[:, i])
        found.append(problem.score.local(i, least))
        more = np.flatnonzero(known.may[:, i] & ~known.must[:, i])
        if len(more) and len(least) < known.at_most[i]:
            found.append(problem.score.local(i, np.append(least, more[i % len(more)])))
    return hashlib.sha256(" ".join(f"{value:.5e}" for value in found).encode()).hexdigest()


def write_checkpoint(content: dict[str, Any], path: str | Path) -> None:
    """Write a checkpoint completely or not at all."""
    content = json.loads(json.dumps(content, default=lambda number: number.item()))  # without numpy's numbers
    write_text(json.dumps({**content, "sha256": digest_of(content)}), path)


def read_checkpoint(path: str | Path, problem: dict[str, Any]) -> dict[str, Any]:
    """Read a checkpoint of the same problem, or raise an error that names what differs."""
    read = read_json(path)
    if not isinstance(read, dict) or read.pop("sha256", None) != digest_of(read):
        raise InputError(f"expected the checkpoint of a run but {path} is not one, or is damaged; {AGAIN}")
    saved = check(mapping(plain), read.get("problem"), str(path), AGAIN)
    for key, value in problem.items():
        if saved.get(key) != value:
            raise InputError(
                f"expected a checkpoint of this run but {path} belongs to another: "
                f"{key} was {shortened(saved.get(key))} and is now {shortened(value)}; "
                f"give the same data and options, or start again without resume="
            )
    return read


def digest_of(content: Any) -> str:
    """Return the hash of the content: a file that was changed could make a run prove what is not true."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def packed(values: NDArray[Any]) -> list[Any]:
    """Return an array as its type, its shape and its compressed bytes; truth values as bits."""
    values = np.ascontiguousarray(values)
    raw = np.packbits(values) if values.dtype == np.bool_ else values
    return [values.dtype.str, list(values.shape), base64.b64encode(zlib.compress(raw.tobytes(), 1)).decode()]


def array(kind: type | str, *shape: int | None) -> Shape:
    """Return the shape of a packed array of a type; None is a length that may be any."""
    dtype = np.dtype(kind)
    entry = row(text(dtype.str), items(whole()), text())
    sizes = " x ".join("any" if size is None else str(size) for size in shape)
    expected = f"an array of {dtype.name}, {sizes}"

    def read(value: Any, where: str) -> NDArray[Any]:
        _, found, data = entry(value, where)
        fits = len(found) == len(shape) and all(b in (None, a) for a, b in zip(found, shape, strict=True))
        count = int(np.prod(found, dtype=object)) if fits else 0
        n_bytes = -(-count // 8) if dtype == np.bool_ else count * dtype.itemsize
        if not fits or n_bytes > MOST_BYTES:
            raise Misfit(where, expected, found)
        unzip = zlib.decompressobj()
        try:
            raw = unzip.decompress(base64.b64decode(data, validate=True), n_bytes + 1)
        except (zlib.error, binascii.Error, ValueError):
            raise Misfit(where, expected, data) from None
        if len(raw) != n_bytes:
            raise Misfit(where, expected, f"{len(raw)} bytes")
        if dtype == np.bool_:
            bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), count=count)
            return bits.astype(np.bool_).reshape(found)
        return np.frombuffer(raw, dtype=dtype).reshape(found).copy()

    return read


class Saver:
    """Writes what a run has reached, every few minutes and when it stops.

    Parameters
    ----------
    path : str or path, optional
        The file; none to write nothing. Its folder must exist.
    warn : callable
        Called with the reason if a file cannot be written; the run goes on.
    clock : callable
        Returns seconds; for tests.
    """

    def __init__(
        self,
        path: str | Path | None,
        warn: Callable[[str], None] = lambda reason: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if path is not None:
            require_folder(path)
        self._path = path
        self._warn = warn
        self._clock = clock
        self._last = clock()
        self._pause = SAVE_EVERY
        self._unwritten: Callable[[], dict[str, Any]] | None = None

    @property
    def is_on(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def note(self, content: Callable[[], dict[str, Any]]) -> None:
        """Take note of a state from which a run can go on; it is written now if the last file is old."""
        if self.is_on:
            self._unwritten = content
            if self._clock() - self._last >= self._pause:
                self.flush()

    def flush(self) -> None:
        """Write the last state, unless it is written."""
        if self._unwritten is None or self._path is None:
            return
        begin = self._clock()
        try:
            write_checkpoint(self._unwritten(), self._path)
            self._unwritten = None
        except InputError as error:  # the proof matters more than its checkpoint
            self._warn(str(error))
        self._last = self._clock()
        self._pause = max(SAVE_EVERY, (self._last - begin) / COST_SHARE)
