"""What is in a proof file, and the digest of the table that it is about."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from dagopt.data.continuous import ContinuousTable
from dagopt.data.table import Table
from dagopt.errors import InputError
from dagopt.schema import check, items, number, read_json, record, row, text, truth, whole

__all__ = ["FORMAT", "MOST_COLUMNS", "digest", "read_proof"]

FORMAT = "dagopt proof 1"
MOST_COLUMNS = 30  # about 13 bytes for each of 2^n sets: 14 GB; each further column doubles it

_EDGES = items(row(text(), text()))
_SCORE = record(
    kind=text("gaussian", "gaussian-bnlearn", "multinomial", "bdeu"),
    parameter_cost=number(0.0),
    edge_cost=number(0.0),
    equivalent_sample_size=number(0.0),
)
_SCHEMA = record(
    format=text(FORMAT),
    names=items(text(), 1),
    n_samples=whole(1),
    sha256=text(),
    scoring=_SCORE,
    required=_EDGES,
    forbidden=_EDGES,
    max_parents=items(whole()),
    edges=_EDGES,
    score=number(),
    bound=number(),
    rounding=number(0.0),
    optimal=truth,
)


def read_proof(path: str | Path) -> dict[str, Any]:
    """Return the content of a proof file, or raise an error that names the file and what is wrong in it."""
    proof: dict[str, Any] = check(_SCHEMA, read_json(path), str(path), "save the proof again")
    wrong = _wrong(proof)
    if wrong:
        raise InputError(f"{path}: {wrong}; save the proof again")
    return proof


def _wrong(proof: dict[str, Any]) -> str:
    """Return which parts of a proof do not fit together; nothing if all do."""
    names = proof["names"]
    if len(set(names)) < len(names):
        return "a column is named twice"
    if len(names) > MOST_COLUMNS:
        return f"expected at most {MOST_COLUMNS} columns but got {len(names)}"
    if len(proof["max_parents"]) != len(names):
        return "expected one limit in max_parents for each column"
    for a, b in [edge for key in ("required", "forbidden", "edges") for edge in proof[key]]:
        if a not in names or b not in names or a == b:
            return f"{a!r} -> {b!r} is no edge between two columns"
    return ""


def digest(table: Table) -> str:
    """Return the SHA-256 of the names and the cells of a table."""
    found = hashlib.sha256(repr((table.kind, table.names, getattr(table, "levels", ()))).encode())
    arrays = [table.values] if isinstance(table, ContinuousTable) else table.arrays
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
