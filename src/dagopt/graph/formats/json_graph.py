"""Graphs as JSON: ``{"nodes": [...], "edges": [{"from": ..., "to": ..., "directed": true}]}``."""

from __future__ import annotations

import json
from typing import Any

from dagopt.errors import InputError
from dagopt.graph.dag import Graph, as_graph, checked_names
from dagopt.schema import parse_json as parse_json_text

__all__ = ["format_json", "parse_json"]


def parse_json(text: str) -> Graph:
    """Read the schema above, or the node-link JSON of networkx and d3.

    Node-link JSON has nodes ``{"id": ...}``, edges (or links) ``{"source": ..., "target": ...}``, and
    ``"directed"`` for the whole graph.
    """
    content = parse_json_text(text)
    edges = content.get("edges", content.get("links")) if isinstance(content, dict) else None
    if not isinstance(edges, list) or not isinstance(content.get("nodes"), list):
        raise InputError('expected JSON with the lists "nodes" and "edges" (or "links") but got others; add both lists')
    names = checked_names(_label(node, "id", "name") for node in content["nodes"])
    pairs = []
    for edge in edges:
        tail, head = _label(edge, "from", "source"), _label(edge, "to", "target")
        pairs.append((tail, head))
        if not edge.get("directed", content.get("directed", True)):
            pairs.append((head, tail))
    return as_graph(pairs, names)


def _label(item: Any, *keys: str) -> str | int:
    """Return the text or number that names a node, directly or under one of the keys."""
    if isinstance(item, dict):
        item = next((item[key] for key in keys if key in item), None)
    elif "id" not in keys:
        raise InputError(f"expected an edge with {' or '.join(map(repr, keys))} but got {item!r}; write an object")
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        raise InputError(f"expected a node under {' or '.join(map(repr, keys))} but got {item!r}; give its name")
    return str(item) if isinstance(item, float) else item


def format_json(graph: Graph) -> str:
    """Write nodes in order, then the directed edges, then the undirected ones."""
    edges: list[dict[str, str | bool]] = []
    edges += [{"from": a, "to": b, "directed": True} for a, b in graph.directed_edges]
    edges += [{"from": a, "to": b, "directed": False} for a, b in graph.undirected_edges]
    content = {"nodes": list(graph.names), "edges": edges}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
