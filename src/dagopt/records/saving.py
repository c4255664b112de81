"""Results in files: JSON that holds everything but the data and the trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.findings import Finding
from dagopt.errors import InputError
from dagopt.files import read_text, write_text
from dagopt.records.provenance import Provenance
from dagopt.result import Result

__all__ = ["load_result", "save_result"]

FIGURES = ("score", "status", "method", "score_label", "bound", "scope", "seconds", "n_samples", "details")


def save_result(result: Result, path: str | Path) -> None:
    """Write a result as JSON, whole or not at all."""
    write_text(json.dumps(result.to_dict(), indent=1, ensure_ascii=False) + "\n", path)


def load_result(path: str | Path) -> Result:
    """Read a result that was saved, with its class as it was, knowledge included."""
    try:
        saved = json.loads(read_text(path))
        names = tuple(saved["names"])
        result = Result(
            names,
            _adjacency(names, saved["edges"], saved["undirected_edges"]),
            **{key: saved[key] for key in FIGURES},
            findings=tuple(Finding(**{**one, "columns": tuple(one["columns"])}) for one in saved["findings"]),
            notes=tuple(saved["notes"]),
            provenance=Provenance(**saved["provenance"]) if saved.get("provenance") else None,
        )
        essential = _adjacency(names, *saved["essential"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"expected a result that dagopt saved in {str(path)!r} but got something else: {error!r}"
        ) from None
    result.__dict__["cpdag_adjacency"] = essential
    return result


def _adjacency(names: tuple[str, ...], edges: Any, undirected: Any) -> NDArray[np.int8]:
    """Return the array of directed and undirected edges by name."""
    place = {name: k for k, name in enumerate(names)}
    found = np.zeros((len(names), len(names)), dtype=np.int8)
    for a, b in [*edges, *undirected, *((b, a) for a, b in undirected)]:
        found[place[a], place[b]] = 1
    return found
