"""Results in files: JSON with everything except the data and the trace."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dagopt.data.findings import Finding
from dagopt.data.lags import Lags
from dagopt.errors import InputError, quoted
from dagopt.files import write_text
from dagopt.graph.dag import Graph, checked_names
from dagopt.graph.order import adjacency_of
from dagopt.results.answer import Answer, Status
from dagopt.results.certificate import Certificate
from dagopt.results.explanation import arrow
from dagopt.results.figures import Figures
from dagopt.results.provenance import Provenance
from dagopt.results.result import Result, result_of
from dagopt.schema import check, fields_of, items, maybe, number, read_json, record, row, text, truth, whole

__all__ = ["is_saved_result", "load_result", "plain_of", "save_result"]

FACTS = ("method", "status", "score", "score_label", "seconds", "n_samples")

Edges = list[tuple[str, str]]

_EDGES = items(row(text(), text()))
SCHEMA = record(
    method=text(),
    status=text(*get_args(Status)),
    score=maybe(number()),
    score_label=text(),
    seconds=number(0.0),
    n_samples=whole(),
    certificate=maybe(fields_of(Certificate)),
    limited=maybe(fields_of(Certificate)),
    names=items(text()),
    edges=_EDGES,
    undirected_edges=_EDGES,
    essential=row(_EDGES, _EDGES),
    notes=items(text()),
    findings=items(fields_of(Finding)),
    provenance=maybe(fields_of(Provenance)),
    figures=fields_of(Figures, finite=False),
    lags=maybe(record(series=items(text()), count=whole(1), within=truth)),
)


def plain_of(result: Result) -> dict[str, Any]:
    """Return a result as plain values, for JSON."""
    essential = Graph(result.cpdag_adjacency, result.names)
    directions = {arrow(a, b): word for (a, b), word in result.directions().items()}  # adds figures
    figures = {**result.figures.known(), "misfits": result.misfits}
    return {
        **{name: getattr(result, name) for name in FACTS},
        **{name: getattr(result, name) for name in ("bound", "scope", "gap", "gap_share")},
        "certificate": None if result.certificate is None else asdict(result.certificate),
        "limited": None if result.limited is None else asdict(result.limited),
        "names": list(result.names),
        "lags": None
        if result.lags is None
        else {"series": list(result.lags.series), "count": result.lags.count, "within": result.lags.within},
        "edges": _pairs(result.graph.directed_edges),
        "undirected_edges": _pairs(result.graph.undirected_edges),
        "essential": [_pairs(essential.directed_edges), _pairs(essential.undirected_edges)],
        "directions": directions,
        "notes": list(result.notes),
        "warnings": [finding.line for finding in result.findings],
        "findings": [asdict(finding) for finding in result.findings],
        "provenance": None if result.provenance is None else result.provenance.to_dict(),
        "figures": {key: value for key, value in figures.items() if _is_plain(value)},
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


def is_saved_result(path: str | Path) -> bool:
    """Say whether a file is a saved result, rather than a graph in JSON or in another format."""
    if Path(path).suffix.lower() != ".json" or not Path(path).is_file():
        return False
    found = read_json(path)
    return isinstance(found, dict) and {"essential", "certificate", "names"} <= set(found)


def load_result(path: str | Path) -> Result:
    """Read a saved result, with its class as it was under the knowledge, or raise an error that names the file."""
    content = read_json(path)
    if isinstance(content, dict):
        content.setdefault("lags", None)  # files of earlier versions do not have it
    saved = check(SCHEMA, content, str(path), "check the path, or save the result again")
    try:
        names = checked_names(saved["names"])
        graph = _adjacency(names, saved["edges"], saved["undirected_edges"])
        essential = _adjacency(names, *saved["essential"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    told, in_time = saved["provenance"], saved["lags"]
    answer = Answer(
        saved["method"],
        graph,
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
        findings=tuple(Finding(**one) for one in saved["findings"]),
        provenance=None if told is None else Provenance(**told),
        lags=None if in_time is None else Lags(tuple(in_time["series"]), in_time["count"], in_time["within"]),
    )
    result.__dict__["cpdag_adjacency"] = essential
    return result


def _certificate(saved: Any) -> Certificate | None:
    return None if saved is None else Certificate(**saved)


def _adjacency(names: tuple[str, ...], edges: Edges, undirected: Edges) -> NDArray[np.int8]:
    """Return the array of directed and undirected edges by name."""
    place = {name: k for k, name in enumerate(names)}
    pairs = [*edges, *undirected, *((b, a) for a, b in undirected)]
    for a, b in pairs:
        if a not in place or b not in place or a == b:
            raise InputError(f"expected edges between different columns but got {quoted([a, b])}; save it again")
    return adjacency_of(len(names), [place[a] for a, _ in pairs], [place[b] for _, b in pairs])
