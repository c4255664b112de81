"""The model strings of R's bnlearn: ``[A][B|A:C][C]`` lists each node with its parents."""

from __future__ import annotations

import re

from dagopt.errors import InputError, unknown_name
from dagopt.graph.dag import Graph, checked_names, require_dag

__all__ = ["format_model_string", "parse_model_string"]

_TERM = re.compile(r"\s*\[([^\[\]|:]+)(?:\|([^\[\]|]+))?\]\s*")
_RESERVED = re.compile(r"[\[\]|:]|^\s|\s$")


def parse_model_string(text: str) -> Graph:
    """Read a model string; the nodes are in the order of their brackets.

    Parameters
    ----------
    text : str
        Such as ``"[A][C][B|A:C]"``; spaces and line ends around a name are ignored.

    Returns
    -------
    Graph
        A DAG.
    """
    parents: list[tuple[str, list[str]]] = []
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None:
            raise InputError(
                f"expected a bnlearn model string such as [A][B|A:C] but got {text[at : at + 20]!r} at {at}; write"
                " each node as [name] or [name|parent:parent]"
            )
        parents.append((term[1].strip(), [name.strip() for name in (term[2] or "").split(":") if name.strip()]))
        at = term.end()
    names = checked_names(name for name, _ in parents)
    known = set(names)
    for _, given in parents:
        for name in given:
            if name not in known:
                raise unknown_name("parent", name, names)
    graph = Graph.from_edges(names, [(parent, name) for name, given in parents for parent in given])
    require_dag(graph)
    return graph


def format_model_string(graph: Graph) -> str:
    """Write a DAG as a model string, with its nodes in their order."""
    require_dag(graph)
    for name in graph.names:
        if _RESERVED.search(name):
            raise InputError(
                f"a bnlearn model string cannot hold the name {name!r} ([ ] | : and outer spaces have a"
                " meaning there); rename the node or use another format"
            )
    terms = []
    for i, name in enumerate(graph.names):
        given = ":".join(graph.names[k] for k in graph.parents(i))
        terms.append(f"[{name}|{given}]" if given else f"[{name}]")
    return "".join(terms) + "\n"
