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

from dagopt.errors import InputError, quoted, unknown_name
from dagopt.graph.order import (
    checked_adjacency,
    default_names,
    find_cycle,
    is_acyclic,
    refuse_unless_dag,
    topological_order,
)
from dagopt.memory import require_memory

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "Graph",
    "as_graph",
    "empty_graph",
    "find_cycle",
    "is_array",
    "is_bare",
    "is_networkx",
    "require_dag",
    "topological_order",
]

COPIES = 4  # of an adjacency array while a graph is made


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with directed and undirected edges (a PDAG) over named nodes.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        ``adjacency[i, j] = 1`` means ``i -> j``; ones both ways mean ``i - j``. Stored as a read-only
        int8 copy.
    names : sequence of str
        One name per node, none empty, all different. Stored as a tuple.
    """

    adjacency: NDArray[np.int8]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        names = checked_names(self.names)
        adjacency = checked_adjacency(self.adjacency, names)
        if len(names) != len(adjacency):
            raise InputError(
                f"expected one name per node but got {len(names)} names for {len(adjacency)} nodes; give as many"
                " names as the adjacency array has rows"
            )
        adjacency.flags.writeable = False
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "names", names)

    @classmethod
    def from_edges(cls, names: Iterable[str], edges: Iterable[tuple[object, object]]) -> Graph:
        """Return the graph on ``names`` with the given pairs (from, to), by name or by position."""
        return as_graph(list(edges), checked_names(names))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.names == other.names and bool(np.array_equal(self.adjacency, other.adjacency))

    def __hash__(self) -> int:
        return hash((self.names, self.adjacency.tobytes()))

    def __repr__(self) -> str:
        kind = "DAG" if self.is_dag else "PDAG"
        return f"<Graph: {kind}, {self.n_nodes} nodes, {self.n_edges} edges>"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Iterate over the edges as pairs of names: the directed ones (from, to), then the undirected ones."""
        return iter([*self.directed_edges, *self.undirected_edges])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of joined pairs; an undirected edge counts once."""
        return int(np.triu(self.adjacency | self.adjacency.T).sum())

    @property
    def is_dag(self) -> bool:
        """Whether every edge is directed and there is no cycle."""
        return is_acyclic(self.adjacency)

    @property
    def directed_edges(self) -> list[tuple[str, str]]:
        """The pairs (from, to), sorted by position."""
        return self._named(self.adjacency & ~self.adjacency.T)

    @property
    def undirected_edges(self) -> list[tuple[str, str]]:
        """The undirected pairs, each once with its earlier node first, sorted by position."""
        return self._named(np.triu(self.adjacency & self.adjacency.T))

    def parents(self, node: int) -> tuple[int, ...]:
        """Return the positions of the parents of the node at position ``node``."""
        into = self.adjacency[:, node] & ~self.adjacency[node]
        return tuple(int(i) for i in np.flatnonzero(into))

    def to_networkx(self) -> nx.DiGraph:
        """Return a networkx DiGraph with the names as nodes, in order; ``a - b`` becomes both arrows."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self._named(self.adjacency))
        return graph

    def _named(self, pairs: NDArray[np.int8]) -> list[tuple[str, str]]:
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(pairs)]


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


def empty_graph(n_nodes: int) -> NDArray[np.int8]:
    """Return an adjacency array without edges, or raise an error if the memory does not suffice for such graphs."""
    require_memory(COPIES * n_nodes**2, f"a graph of {n_nodes:,} nodes")
    return np.zeros((n_nodes, n_nodes), dtype=np.int8)


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
        return graph if known in (None, graph.names) else _aligned(graph.names, graph.adjacency, known)
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
    """Tell an adjacency array from pairs: an ndarray, or a square list of lists of 0 and 1."""
    if isinstance(graph, np.ndarray):
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
    adjacency = empty_graph(len(labels))
    for a, b in graph.edges():
        adjacency[position[a], position[b]] = 1
    if not graph.is_directed():
        adjacency |= adjacency.T
    return _aligned(labels, adjacency, names)


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
    return _aligned(list(frame.columns), checked_adjacency(adjacency, columns), names)


def _from_array(array: ArrayLike, names: tuple[str, ...] | None) -> Graph:
    adjacency = checked_adjacency(array, names)
    if names is not None and len(names) != len(adjacency):
        raise InputError(
            f"expected an adjacency array of shape ({len(names)}, {len(names)}) for {len(names)} names but got"
            f" shape {adjacency.shape}; give the nodes in the order of the names, or a graph with names"
        )
    return Graph(adjacency, default_names(len(adjacency)) if names is None else names)


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
    adjacency = empty_graph(len(labels))
    for a, b in edges:
        adjacency[position[str(a)], position[str(b)]] = 1
    return _aligned(labels, adjacency, names)


def _checked_pair(pair: object) -> tuple[object, object]:
    if isinstance(pair, Collection) and not isinstance(pair, str) and len(pair) == 2:
        first, second = pair
        return first, second
    raise InputError(f"expected edges as pairs (from, to) but got {pair!r}; give two names or positions per edge")


def _aligned(labels: Sequence[object], adjacency: NDArray[np.int8], names: tuple[str, ...] | None) -> Graph:
    """Return the graph on ``names``, or on its own labels if no names are given."""
    if names is None:
        return Graph(adjacency, tuple(str(label) for label in labels))
    index = {name: i for i, name in enumerate(names)}
    place = np.array([_position(label, index, names) for label in labels], dtype=np.intp)
    aligned = empty_graph(len(names))
    tails, heads = np.nonzero(adjacency)
    aligned[place[tails], place[heads]] = 1
    return Graph(aligned, names)


def _position(label: object, index: dict[str, int], names: Sequence[str]) -> int:
    """Return the position of a label in ``names``: as a name if it is one, otherwise as a position."""
    if str(label) in index:
        return index[str(label)]
    if isinstance(label, int | np.integer) and not isinstance(label, bool) and 0 <= int(label) < len(names):
        return int(label)
    raise unknown_name("node in the graph", label, names)
