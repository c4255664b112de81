"""The structure in a BIF file: its ``variable`` and ``probability`` headers, without the tables."""

from __future__ import annotations

import re

from dagopt.errors import InputError, unknown_name
from dagopt.graph.dag import Graph, checked_names, require_dag

__all__ = ["parse_bif_structure", "refuse_bif"]

_COMMENT = re.compile(r'("[^"\n]*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_VARIABLE = re.compile(r'\bvariable\s+("[^"\n]*"|[^\s{"]+)\s*\{')
_PROBABILITY = re.compile(r"\bprobability\s*\(([^)]*)\)")
_NAME = re.compile(r'"[^"\n]*"|[^\s,|"]+')


def parse_bif_structure(text: str) -> Graph:
    """Read the nodes, in order, and their parents from the headers of a BIF file.

    Parameters
    ----------
    text : str
        ``variable X { ... }`` declares a node, ``probability ( X | A, B ) { ... }`` gives its parents.

    Returns
    -------
    Graph
        A DAG.
    """
    text = _COMMENT.sub(lambda comment: comment[1] or " ", text)
    names = checked_names(name.strip('"') for name in _VARIABLE.findall(text))
    if not names:
        raise InputError("expected a BIF file with blocks such as 'variable X {', found none; check the file")
    known, edges = set(names), []
    for header in _PROBABILITY.findall(text):
        family = [name.strip('"') for name in _NAME.findall(header)]
        for name in family:
            if name not in known:
                raise unknown_name("variable in a probability block", name, names)
        edges += [(parent, family[0]) for parent in family[1:]]
    graph = Graph.from_edges(names, edges)
    require_dag(graph)
    return graph


def refuse_bif(graph: Graph) -> str:
    """Raise the error for a graph that is to be written as BIF."""
    raise InputError(
        f"a BIF file needs probability tables, got a graph of {graph.n_nodes} nodes without any; write the"
        " fitted network, or the graph in another format such as .dot"
    )
