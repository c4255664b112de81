"""Graphs as CSV: an edge list under ``from,to``, or an adjacency table under the names."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from dagopt.errors import InputError, quoted
from dagopt.graph.dag import Graph, as_graph, checked_names
from dagopt.graph.order import is_sparse
from dagopt.spreadsheets import plain_cell, safe_cell

__all__ = ["format_adjacency", "format_edges", "parse_adjacency", "parse_csv", "parse_edges"]

_EDGE_HEADERS = (["from", "to"], ["source", "target"], ["parent", "child"])
_FIELD = re.compile(r'[ \t]*(?:"([^"]*(?:""[^"]*)*)"[ \t]*|([^,\r\n]*))(,|\r\n|\r|\n|\Z)')
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')


def parse_csv(text: str) -> Graph:
    """Read either kind of CSV: a header such as ``from,to`` means edges, any other an adjacency table."""
    rows = _rows(text)
    return parse_edges(text) if _is_edge_header(rows) else parse_adjacency(text)


def parse_edges(text: str) -> Graph:
    """Read an edge list: a header ``from,to``, then one row per edge.

    Rows in both directions make an edge undirected; a row with nothing under ``to`` is a node that may have no
    edges. Nodes are in the order in which they appear.
    """
    rows = _rows(text)
    if not _is_edge_header(rows):
        raise InputError(f"expected the header from,to but got {quoted(rows[0], 3)}; put from,to in the first row")
    nodes: dict[str, None] = {}
    edges = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) > 2 or not row[0]:
            raise InputError(f"expected from,to in row {number} but got {quoted(row)}; give each edge two names")
        nodes.update(dict.fromkeys(name for name in row if name))
        if len(row) == 2 and row[1]:
            edges.append((row[0], row[1]))
    return as_graph(edges, nodes)


def format_edges(graph: Graph) -> str:
    """Write an edge list; nodes without edges are rows with nothing under ``to``, at the end."""
    pairs = [(graph.names[i], graph.names[j]) for i, j in zip(*graph.ends, strict=True)]
    joined = {name for pair in pairs for name in pair}
    alone = [(name, "") for name in graph.names if name not in joined]
    return _table([("from", "to"), *pairs, *alone])


def parse_adjacency(text: str) -> Graph:
    """Read a table of 0 and 1 under the names; the rows may also start with their names."""
    header, *rows = _rows(text)
    if len(header) == len(rows) + 1:
        header = header[1:]
    if not rows or len(header) != len(rows):
        raise InputError(
            f"expected an edge list under from,to or a square table of 0 and 1 under the names but got"
            f" {len(header)} columns and {len(rows)} rows under {quoted(header, 3)}; check the header"
        )
    names = checked_names(header)
    labelled = len(rows[0]) == len(names) + 1
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names) + labelled:
            raise InputError(
                f"expected {len(names) + labelled} fields in row {number} but got {len(row)}; give each node one column"
            )
    order = _row_order([row[0] for row in rows], names) if labelled else range(len(names))
    return Graph(np.array([_numbers(rows[k][labelled:], k + 2) for k in order]), names)


def _row_order(labels: list[str], names: tuple[str, ...]) -> list[int]:
    """Return the position of each name in ``labels``."""
    if sorted(labels) != sorted(names):
        raise InputError(
            f"expected the same names in the first column as in the header but got {quoted(labels, 3)} under"
            f" {quoted(names, 3)}; name rows and columns alike"
        )
    place = {label: k for k, label in enumerate(labels)}
    return [place[name] for name in names]


def _numbers(fields: list[str], number: int) -> list[float]:
    """Return the entries of a row as numbers."""
    try:
        return [float(field) for field in fields]
    except ValueError:
        raise InputError(
            f"expected 0 or 1 in row {number} but got {quoted(fields, 3)}; put from,to above an edge list"
        ) from None


def format_adjacency(graph: Graph) -> str:
    """Write a table of 0 and 1 with the names as header and first column."""
    if is_sparse(graph.adjacency):
        raise InputError(f"a table of {graph.n_nodes:,} by {graph.n_nodes:,} cells is too large; write edges (.csv)")
    rows = [(name, *map(str, row)) for name, row in zip(graph.names, graph.adjacency.tolist(), strict=True)]
    return _table([("", *graph.names), *rows])


def _is_edge_header(rows: list[list[str]]) -> bool:
    return [field.lower() for field in rows[0]] in _EDGE_HEADERS


def _rows(text: str) -> list[list[str]]:
    """Split CSV text; spaces around a field are dropped, those inside quotes kept, blank lines skipped."""
    rows: list[list[str]] = []
    row: list[str] = []
    at = 0
    while at < len(text) or row:
        match = _FIELD.match(text, at)
        assert match is not None  # the pattern takes any text up to the next comma or line end
        in_quotes, plain, end = match.groups()
        if in_quotes is None and plain.startswith('"'):
            raise InputError(f"expected a closing quote after {plain[:20]!r} but got none; quote a field on both sides")
        row.append(plain_cell(plain.strip() if in_quotes is None else in_quotes.replace('""', '"')))
        at = match.end()
        if end != ",":
            if row != [""]:
                rows.append(row)
            row = []
    if not rows:
        raise InputError("expected rows of comma-separated names but got none; check the file")
    return rows


def _table(rows: Iterable[Iterable[str]]) -> str:
    """Join rows of fields, with quotes where a field needs them."""
    return "".join(",".join(map(_field, row)) + "\n" for row in rows)


def _field(text: str) -> str:
    text = safe_cell(text)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
