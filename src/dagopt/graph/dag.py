"""`Graph`, a PDAG with names, and `as_graph`, which makes one from many kinds of input."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dagopt.by_name import by_name
from dagopt.errors import InputError, quoted, unknown_name
from dagopt.graph.order import (
    adjacency_of,
    checked_adjacency,
    default_names,
    edge_ends,
    find_cycle,
    is_acyclic,
    is_sparse,
    refuse_unless_dag,
    topological_order,
)

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "Graph",
    "as_graph",
    "find_cycle",
    "is_array",
    "is_bare",
    "is_networkx",
    "require_dag",
    "topological_order",
]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with directed and undirected edges (a PDAG) over named nodes.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        ``adjacency[i, j] = 1`` means ``i -> j``; ones both ways mean ``i - j``. Stored as a read-only
        int8 copy; for more than 10,000 nodes as a ``scipy.sparse.csr_array``.
    names : sequence of str
        One name per node, none empty, all different. Stored as a tuple.

    Examples
    --------
    >>> import dagopt
    >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
    >>> graph
    <Graph: DAG, 3 nodes, 2 edges>
    >>> list(graph)
    [('a', 'b'), ('c', 'b')]
    >>> graph.adjacency.tolist()
    [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    """

    adjacency: NDArray[np.int8]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        names = checked_names(self.names)
        adjacency = checked_adjacency(self.adjacency, names)
        if len(names) != adjacency.shape[0]:
            raise InputError(
                f"expected one name per node but got {len(names)} names for {adjacency.shape[0]} nodes; give as many"
                " names as the adjacency array has rows"
            )
        if not is_sparse(adjacency):
            adjacency.flags.writeable = False
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "names", names)

    @classmethod
    def from_edges(cls, names: Iterable[str], edges: Iterable[tuple[object, object]]) -> Graph:
        """Return the graph on ``names`` with the given pairs (from, to), by name or by position.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> graph.directed_edges
        [('a', 'b'), ('c', 'b')]
        """
        return as_graph(list(edges), checked_names(names))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.names == other.names and all(map(np.array_equal, self.ends, other.ends))

    def __hash__(self) -> int:
        return hash((self.names, *(end.tobytes() for end in self.ends)))

    def __repr__(self) -> str:
        kind = "DAG" if self.is_dag else "PDAG"
        return f"<Graph: {kind}, {self.n_nodes} nodes, {self.n_edges} edges>"

    def _repr_html_(self) -> str:
        return str(by_name("report.notebook", "graph_html")(self))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Iterate over the edges as pairs of names: the directed ones (from, to), then the undirected ones."""
        return iter([*self.directed_edges, *self.undirected_edges])

    @property
    def n_nodes(self) -> int:
        """Number of nodes.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> graph.n_nodes
        3
        """
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of joined pairs; an undirected edge counts once.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> graph.n_edges
        2
        """
        tails, heads = self.ends
        return len(tails) - int((self._are_undirected & (tails < heads)).sum())

    @property
    def is_dag(self) -> bool:
        """Whether every edge is directed and there is no cycle.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> graph.is_dag
        True
        """
        return is_acyclic(self.adjacency)

    @property
    def directed_edges(self) -> list[tuple[str, str]]:
        """The pairs (from, to), sorted by position.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> graph.directed_edges
        [('a', 'b'), ('c', 'b')]
        """
        return self._named(~self._are_undirected)

    @property
    def undirected_edges(self) -> list[tuple[str, str]]:
        """The undirected pairs, each once with its earlier node first, sorted by position.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph([[0, 1], [1, 0]], ["a", "b"])
        >>> graph.undirected_edges
        [('a', 'b')]
        """
        tails, heads = self.ends
        return self._named(self._are_undirected & (tails < heads))

    @property
    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The positions (from, to) of all entries of the adjacency array, sorted; an undirected edge has two.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> [positions.tolist() for positions in graph.ends]
        [[0, 2], [1, 1]]
        """
        return edge_ends(self.adjacency)

    @property
    def _are_undirected(self) -> NDArray[np.bool_]:
        """Which of the ``ends`` are those of undirected edges."""
        tails, heads = self.ends
        return np.isin(tails * self.n_nodes + heads, heads * self.n_nodes + tails)

    def parents(self, node: int) -> tuple[int, ...]:
        """Return the positions of the parents of the node at position ``node``.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> [graph.names[i] for i in graph.parents(1)]
        ['a', 'c']
        """
        tails, heads = self.ends
        return tuple(tails[(heads == node) & ~self._are_undirected].tolist())

    def to_networkx(self) -> nx.DiGraph:
        """Return a networkx DiGraph with the names as nodes, in order; ``a - b`` becomes both arrows.

        Examples
        --------
        >>> import dagopt
        >>> graph = dagopt.Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
        >>> sorted(graph.to_networkx().predecessors("b"))
        ['a', 'c']
        """
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self._named(slice(None)))
        return graph

    def _named(self, chosen: Any) -> list[tuple[str, str]]:
        tails, heads = (ends[chosen].tolist() for ends in self.ends)
        return [(self.names[i], self.names[j]) for i, j in zip(tails, heads, strict=True)]


def checked_names(names: Iterable[object]) -> tuple[str, ...]:
    """Return names as a tuple of strings, or raise an error that says which one is empty or given twice."""
    if isinstance(names, str):
        raise InputError(f"expected a list of names but got the single string {names!r}; put it in a list")
    texts = tuple(str(name) for name in names)
    if "" in texts:
        raise InputError(f"expected a name for every node but got an empty one at {texts.index('')}; name it")
    if len(set(texts)) < len(texts):
        twice = [name for name, times in Counter(texts).items() if times > 1]
        raise InputError(f"expected different names but got {quoted(twice)} more than once; rename one of each")
    return texts


def require_dag(graph: Graph) -> None:
    """Raise an `InputError` that names a cycle or an undirected edge, unless the graph is a DAG."""
    refuse_unless_dag(graph.adjacency, graph.names)


def as_graph(graph: Any, names: Iterable[str] | None = None) -> Graph:
    """Make a `Graph` from any description of a graph.

    Parameters
    ----------
    graph : Graph, networkx graph, array, DataFrame, pairs, path or str
        * a `Graph`, a networkx ``DiGraph`` (both arrows mean undirected) or ``Graph`` (all undirected),
          or an object whose ``dag`` is a networkx graph;
        * a square array or list of lists of 0 and 1, or a DataFrame of them with the names as rows and
          columns;
        * pairs (from, to), by name or position, or a DataFrame with the columns ``from`` and ``to``;
        * the path of a file that `dagopt.graph.read_graph` reads, or a bnlearn model string such as
          ``"[A][B|A]"``.
    names : iterable of str, optional
        The names of all nodes, in order: the columns of the data. The result has exactly these; nodes
        that ``graph`` does not mention have no edges. A label of ``graph`` is a name, or the position of a name.

    Returns
    -------
    Graph
        Without ``names``: the nodes in the order in which they appear, ``X0, X1, ...`` for an array.

    Notes
    -----
    ``[[0, 1], [0, 0]]``, a square list of lists of 0 and 1, is read as an array; ``[(0, 1), (0, 0)]``, a list of
    tuples, is read as pairs.
    """
    known = None if names is None else checked_names(names)
    if isinstance(graph, str | os.PathLike):
        return _from_text(graph, known)
    if isinstance(graph, Graph):
        return (
            graph if known in (None, graph.names) else _aligned(graph.names, list(zip(*graph.ends, strict=True)), known)
        )
    if is_networkx(graph):
        return _from_networkx(graph, known)
    if isinstance(graph, pd.DataFrame):
        return _from_frame(graph, known)
    if is_array(graph):
        return _from_array(graph, known)
    if is_networkx(getattr(graph, "dag", None)):
        return _from_networkx(graph.dag, known)
    return _from_pairs(graph, known)


def is_bare(graph: object) -> bool:
    """Say whether `as_graph` would read this as an array or pairs, which may lack names or nodes."""
    with_nodes = (str, os.PathLike, Graph, pd.DataFrame)
    return not isinstance(graph, with_nodes) and not is_networkx(graph) and not is_networkx(getattr(graph, "dag", None))


def is_networkx(graph: object) -> TypeGuard[nx.Graph]:
    """Say whether this is a graph of networkx, which is not imported for that: whoever made one has done so."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(graph, networkx.Graph)


def is_array(graph: object) -> bool:
    """Tell an adjacency array from pairs: an ndarray, a sparse one, or a square list of lists of 0 and 1."""
    if isinstance(graph, np.ndarray) or is_sparse(graph):
        return True
    if not isinstance(graph, list) or not graph or not all(isinstance(row, list | np.ndarray) for row in graph):
        return False
    if any(len(row) != 2 for row in graph):
        return True
    numbers = all(isinstance(entry, int | float | np.number | np.bool_) for row in graph for entry in row)
    return len(graph) == 2 and numbers and all(entry in (0, 1) for row in graph for entry in row)


def _from_text(graph: str | os.PathLike[str], names: tuple[str, ...] | None) -> Graph:
    from dagopt.graph.formats import read_graph
    from dagopt.graph.formats.bnlearn_string import parse_model_string

    text = graph.strip() if isinstance(graph, str) else ""
    if text.startswith("[") and text.endswith("]"):
        return as_graph(parse_model_string(text), names)
    return read_graph(graph, names)


def _from_networkx(graph: nx.Graph, names: tuple[str, ...] | None) -> Graph:
    labels = list(graph.nodes)
    if len({str(label) for label in labels}) < len(labels):
        checked_names(labels)  # the error names labels that are equal as text
    position = {label: i for i, label in enumerate(labels)}
    edges = [(position[a], position[b]) for a, b in graph.edges()]
    if not graph.is_directed():
        edges += [(b, a) for a, b in edges]
    return _aligned(labels, edges, names)


def _from_frame(frame: pd.DataFrame, names: tuple[str, ...] | None) -> Graph:
    columns = [str(label) for label in frame.columns]
    if columns == ["from", "to"]:
        pairs = frame.dropna().itertuples(index=False, name=None)
        alone = list(frame["from"][frame["to"].isna()])
        return _from_pairs(list(pairs), names, alone)
    rows = [str(label) for label in frame.index]
    if sorted(rows) != sorted(columns):
        raise InputError(
            "expected a DataFrame with the same names as rows and columns but got rows"
            f" {quoted(rows, 3)} and columns {quoted(columns, 3)}; set its index to its columns"
        )
    checked_names(columns)
    adjacency = frame.to_numpy()[[rows.index(name) for name in columns]]
    ends = edge_ends(checked_adjacency(adjacency, columns))
    return _aligned(list(frame.columns), list(zip(*ends, strict=True)), names)


def _from_array(array: ArrayLike, names: tuple[str, ...] | None) -> Graph:
    adjacency = checked_adjacency(array, names)
    if names is not None and len(names) != adjacency.shape[0]:
        raise InputError(
            f"expected an adjacency array of shape ({len(names)}, {len(names)}) for {len(names)} names but got"
            f" shape {adjacency.shape}; give the nodes in the order of the names, or a graph with names"
        )
    return Graph(adjacency, default_names(adjacency.shape[0]) if names is None else names)


def _from_pairs(pairs: Any, names: tuple[str, ...] | None, alone: Iterable[object] = ()) -> Graph:
    """Return the graph of pairs of labels; ``alone`` are labels of nodes that may have no edges."""
    if not isinstance(pairs, Iterable):
        raise InputError(
            f"expected a graph but got {type(pairs).__name__}; give a networkx graph, an adjacency array, pairs"
            " (from, to) or the path of a file"
        )
    edges = [_checked_pair(pair) for pair in (sorted(pairs, key=repr) if isinstance(pairs, set) else pairs)]
    labels = list({str(label): label for label in [*(end for edge in edges for end in edge), *alone]}.values())
    position = {str(label): i for i, label in enumerate(labels)}
    return _aligned(labels, [(position[str(a)], position[str(b)]) for a, b in edges], names)


def _checked_pair(pair: object) -> tuple[object, object]:
    if isinstance(pair, Collection) and not isinstance(pair, str) and len(pair) == 2:
        first, second = pair
        return first, second
    raise InputError(f"expected edges as pairs (from, to) but got {pair!r}; give two names or positions per edge")


def _aligned(labels: Sequence[object], edges: Sequence[tuple[int, int]], names: tuple[str, ...] | None) -> Graph:
    """Return the graph on ``names``, or on its own labels if no names are given; edges are positions of labels."""
    tails, heads = (np.array([edge[k] for edge in edges], dtype=np.intp) for k in (0, 1))
    if names is None:
        return Graph(adjacency_of(len(labels), tails, heads), tuple(str(label) for label in labels))
    index = {name: i for i, name in enumerate(names)}
    place = np.array([_position(label, index, names) for label in labels], dtype=np.intp)
    return Graph(adjacency_of(len(names), place[tails], place[heads]), names)


def _position(label: object, index: dict[str, int], names: Sequence[str]) -> int:
    """Return the position of a label in ``names``: as a name if it is one, otherwise as a position."""
    if str(label) in index:
        return index[str(label)]
    if isinstance(label, int | np.integer) and not isinstance(label, bool) and 0 <= int(label) < len(names):
        return int(label)
    raise unknown_name("node in the graph", label, names)
