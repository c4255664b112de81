"""Graphs as GraphML, the XML format that networkx, igraph, Gephi and yEd share."""

from __future__ import annotations

import re
from io import BytesIO
from xml.etree import ElementTree

from dagopt.errors import InputError
from dagopt.graph.dag import Graph, as_graph, checked_names
from dagopt.graph.formats.edge_numbers import Figures

__all__ = ["format_graphml", "parse_graphml"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_graphml(text: str) -> Graph:
    """Read GraphML; an edge is undirected by its own ``directed`` or by the graph's ``edgedefault``.

    Nodes are named by their id, or by a data field ``name`` if all of them have one, as in igraph's files.
    """
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"expected GraphML but {error}; check the file") from None
    graph = root.find("{*}graph")
    if graph is None:
        raise InputError(f"expected GraphML with a <graph> but got <{_tag(root)}>; check the file")
    keys = {key.get("id") for key in root.findall(".//{*}key") if key.get("attr.name") == "name"}
    nodes = graph.findall(".//{*}node")
    names = {_required(node, "id"): _name(node, keys) for node in nodes}
    if len(names) < len(nodes):
        checked_names(_required(node, "id") for node in nodes)
    if None in names.values() or len(set(names.values())) < len(names):
        names = {node: node for node in names}
    default = graph.get("edgedefault", "directed")
    pairs = []
    for edge in graph.findall(".//{*}edge"):
        ends = [_required(edge, key) for key in ("source", "target")]
        tail, head = (names.get(end) or end for end in ends)
        pairs.append((tail, head))
        if edge.get("directed", "false" if default == "undirected" else "true") == "false":
            pairs.append((head, tail))
    return as_graph(pairs, [str(name) for name in names.values()])


def _name(node: ElementTree.Element, keys: set[str | None]) -> str | None:
    """Return the data field ``name`` of a node, if it has one."""
    return next((field.text for field in node.findall("{*}data") if field.get("key") in keys), None)


def _required(element: ElementTree.Element, key: str) -> str:
    value = element.get(key)
    if not value:
        raise InputError(f"expected <{_tag(element)}> with {key!r} but got one without; add it")
    return value


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def format_graphml(graph: Graph, figures: Figures | None = None) -> str:
    """Write a directed graph with the numbers on its edges; an undirected edge is written in both directions."""
    for name in graph.names:
        if bad := _NOT_XML.search(name):
            raise InputError(
                f"GraphML cannot hold the character {bad[0]!r} of the name {name!r}; rename the node or use"
                " another format"
            )
    stream = BytesIO()
    import networkx as nx

    drawn = graph.to_networkx()
    for (a, b), own in (figures or {}).items():
        drawn.edges[a, b].update(own)
    nx.write_graphml_xml(drawn, stream)
    return stream.getvalue().decode("utf-8") + "\n"
