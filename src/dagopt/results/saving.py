"""Results in files: JSON with everything except the data and the trace."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.findings import Finding
from dagopt.errors import InputError
from dagopt.files import read_text, write_text
from dagopt.graph.dag import Graph
from dagopt.results.answer import Answer
from dagopt.results.certificate import Certificate
from dagopt.results.figures import Figures
from dagopt.results.provenance import Provenance
from dagopt.results.result import Result, result_of

__all__ = ["load_result", "plain_of", "save_result"]

FACTS = ("method", "status", "score", "score_label", "seconds", "n_samples")


def plain_of(result: Result) -> dict[str, Any]:
    """Return a result as plain values, for JSON."""
    essential = Graph(result.cpdag_adjacency, result.names)
    return {
        **{name: getattr(result, name) for name in FACTS},
        **{name: getattr(result, name) for name in ("bound", "scope", "gap", "gap_share")},
        "certificate": None if result.certificate is None else asdict(result.certificate),
        "limited": None if result.limited is None else asdict(result.limited),
        "names": list(result.names),
        "edges": _pairs(result.graph.directed_edges),
        "undirected_edges": _pairs(result.graph.undirected_edges),
        "essential": [_pairs(essential.directed_edges), _pairs(essential.undirected_edges)],
        "notes": list(result.notes),
        "warnings": [finding.line for finding in result.findings],
        "findings": [asdict(finding) for finding in result.findings],
        "provenance": None if result.provenance is None else result.provenance.to_dict(),
        "figures": {key: value for key, value in result.figures.known().items() if _is_plain(value)},
    }


def _pairs(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    return [list(edge) for edge in edges]


def _is_plain(value: Any) -> bool:
    """Say whether a value goes into JSON: a number, a text, or a mapping from texts to such values."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return isinstance(value, int | float | str)


def save_result(result: Result, path: str | Path) -> None:
    """Write a result as JSON, completely or not at all."""
    write_text(json.dumps(plain_of(result), indent=1, ensure_ascii=False) + "\n", path)


def load_result(path: str | Path) -> Result:
    """Read a saved result, with its class as it was under the knowledge."""
    try:
        saved = json.loads(read_text(path))
        names = tuple(saved["names"])
        answer = Answer(
            saved["method"],
            _adjacency(names, saved["edges"], saved["undirected_edges"]),
            saved["score"],
            saved["status"],
            _certificate(saved["certificate"]),
            _certificate(saved["limited"]),
            notes=tuple(saved["notes"]),
            figures=Figures(**saved["figures"]),
        )
        result = result_of(
            answer,
            names,
            saved["score_label"],
            seconds=saved["seconds"],
            n_samples=saved["n_samples"],
            findings=tuple(Finding(**{**one, "columns": tuple(one["columns"])}) for one in saved["findings"]),
            provenance=Provenance(**saved["provenance"]) if saved.get("provenance") else None,
        )
        essential = _adjacency(names, *saved["essential"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"expected a result saved by dagopt in {str(path)!r} but got something else ({error!r}); check the path"
        ) from None
    result.__dict__["cpdag_adjacency"] = essential
    return result


def _certificate(saved: Any) -> Certificate | None:
    return None if saved is None else Certificate(**saved)


def _adjacency(names: tuple[str, ...], edges: Any, undirected: Any) -> NDArray[np.int8]:
    """Return the array of directed and undirected edges by name."""
    place = {name: k for k, name in enumerate(names)}
    found = np.zeros((len(names), len(names)), dtype=np.int8)
    for a, b in [*edges, *undirected, *((b, a) for a, b in undirected)]:
        found[place[a], place[b]] = 1
    return found
