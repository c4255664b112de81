"""Graph files: `read_graph` and `write_graph` choose the format by the suffix of the path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from dagopt.errors import InputError, unknown_name
from dagopt.files import read_text, write_text
from dagopt.graph.dag import Graph, as_graph, require_dag
from dagopt.graph.formats.bif_blocks import read_blocks
from dagopt.graph.formats.bnlearn_string import format_model_string, parse_model_string
from dagopt.graph.formats.csv_tables import format_adjacency, format_edges, parse_adjacency, parse_csv, parse_edges
from dagopt.graph.formats.dot import format_dot, parse_dot
from dagopt.graph.formats.edge_numbers import Figures, edge_figures
from dagopt.graph.formats.graphml import format_graphml, parse_graphml
from dagopt.graph.formats.json_graph import format_json, parse_json

__all__ = ["FORMATS", "Format", "read_graph", "write_graph"]


class Format(NamedTuple):
    """A graph format: how to read and write a graph as text, and the suffixes of its files.

    To add one, write a module in this package and give it an entry in ``FORMATS``.
    """

    parse: Callable[[str], Graph]
    render: Callable[[Graph], str]
    suffixes: tuple[str, ...]
    render_figures: Callable[[Graph, Figures], str] | None = None  # for formats that hold numbers on edges
    only_dags: bool = False


def _parse_bif(text: str) -> Graph:
    """Read the structure of a discrete network."""
    read = read_blocks(text, "BIF text")
    own = zip(read.names, read.parents, strict=True)
    graph = Graph.from_edges(read.names, [(read.names[i], name) for name, parents in own for i in parents])
    require_dag(graph)
    return graph


def _refuse_bif(graph: Graph) -> str:
    """Raise the error for writing a graph without parameters as BIF."""
    raise InputError(
        f"expected probability tables for a BIF file but got a graph of {graph.n_nodes} nodes without any; fit them"
        " with dagopt convert graph.csv out.bif --data data.csv, or write another format such as .dot"
    )


FORMATS = {
    "dot": Format(parse_dot, format_dot, (".dot", ".gv"), format_dot),
    "csv": Format(parse_csv, format_edges, (".csv",)),  # read by content, written as edges
    "edges": Format(parse_edges, format_edges, ()),
    "adjacency": Format(parse_adjacency, format_adjacency, (".adj.csv",)),
    "graphml": Format(parse_graphml, format_graphml, (".graphml",), format_graphml),
    "json": Format(parse_json, format_json, (".json",)),
    "bnlearn": Format(parse_model_string, format_model_string, (".bnlearn", ".txt"), only_dags=True),
    "bif": Format(_parse_bif, _refuse_bif, (".bif",), only_dags=True),
}
"""The graph formats by the names that ``format=`` accepts; writing ``bif`` needs parameters."""


def read_graph(path: str | os.PathLike[str], names: Iterable[str] | None = None, *, format: str | None = None) -> Graph:
    """Read a graph from a file.

    Parameters
    ----------
    path : str or path
        The file. Its suffix gives the format: ``.csv`` (edges or adjacency, told apart by the header),
        ``.adj.csv``, ``.dot`` or ``.gv``, ``.graphml``, ``.json``, ``.bnlearn`` or ``.txt`` (a model
        string), ``.bif`` (only the structure).
    names : iterable of str, optional
        All nodes, in the order wanted, as in `dagopt.graph.as_graph`.
    format : str, optional
        One of `FORMATS`, whatever the suffix.

    Returns
    -------
    Graph
        The graph, its nodes in the order of the file if no names are given.

    Examples
    --------
    >>> import dagopt
    >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
    >>> dagopt.write_graph(graph, "graph.dot")
    >>> dagopt.read_graph("graph.dot") == graph
    True
    """
    chosen = _format_of(path, format)
    text = read_text(path)
    try:
        return as_graph(chosen.parse(text), names)
    except InputError as error:
        raise InputError(f"in {str(path)!r}: {error}") from None


def write_graph(graph: Any, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph to a file, completely or not at all.

    Parameters
    ----------
    graph : Result, or anything that `dagopt.graph.as_graph` takes
        DOT and GraphML store as edge attributes the score gained by each edge of a result, its numbers from bootstrap,
        regrets or posterior, and the numbers on the edges of a networkx graph. Model strings (``.bnlearn``, ``.txt``)
        hold only DAGs; all other formats hold any PDAG.
    path : str or path
        The file to write or replace; its suffix gives the format as in `read_graph`, and ``.csv`` is
        written as edges.
    format : str, optional
        One of `FORMATS`, whatever the suffix.

    Notes
    -----
    Every format except ``edges`` keeps the order of the nodes.

    Examples
    --------
    >>> import dagopt
    >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
    >>> dagopt.write_graph(graph, "graph.bnlearn")
    >>> open("graph.bnlearn").read().strip()
    '[a][b|a:c][c]'
    """
    chosen = _format_of(path, format)
    own = getattr(graph, "graph", None)
    named = own if isinstance(own, Graph) else as_graph(graph)
    if named.n_nodes == 0:
        raise InputError(f"expected a graph with nodes to write to {str(path)!r} but got none; give its names")
    try:
        figures = edge_figures(graph, named)
        text = chosen.render_figures(named, figures) if figures and chosen.render_figures else chosen.render(named)
    except InputError as error:
        raise InputError(f"could not write {str(path)!r}: {error}") from None
    write_text(text, path)


def _format_of(path: str | os.PathLike[str], format: str | None) -> Format:
    """Return the format by name if given, otherwise by the longest suffix that fits."""
    if format is not None:
        if format not in FORMATS:
            raise unknown_name("graph format", format, list(FORMATS))
        return FORMATS[format]
    name = Path(path).name.lower()
    suffixes = {suffix: chosen for chosen in FORMATS.values() for suffix in chosen.suffixes}
    fitting = [suffix for suffix in suffixes if name.endswith(suffix)]
    if fitting:
        return suffixes[max(fitting, key=len)]
    raise InputError(
        f"expected a graph file ending in {', '.join(suffixes)} but got {str(path)!r}; rename it or give format="
    )
