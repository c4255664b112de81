"""What discrete and Gaussian networks share: names, parents and their order, columns of data, and seeds."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.errors import InputError, checked_whole, quoted, unknown_name
from dagopt.graph.dag import is_networkx

if TYPE_CHECKING:
    import networkx

__all__ = [
    "Parents",
    "RandomState",
    "adjacency_of",
    "as_generator",
    "blanket_of",
    "checked_given",
    "checked_names",
    "graph_of",
    "named_columns",
    "parents_of",
    "topological_order",
]

RandomState = int | np.random.Generator | None
Parents = tuple[tuple[int, ...], ...]


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator itself, or a new one from a seed or from fresh entropy."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(checked_whole("random_state", random_state, 0))


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names as a tuple, or raise if there are none, one is not a string or one occurs twice."""
    names = tuple(names)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"expected at least one node name, each a string but got {quoted(names) or 'none'}")
    if len(set(names)) < len(names):
        twice = [name for name, times in Counter(names).items() if times > 1]
        raise InputError(f"expected different node names but got {quoted(twice)} more than once; rename")
    return names


def topological_order(names: Sequence[str], parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the positions with parents before children; raise if a parent is unknown or there is a cycle.

    Notes
    -----
    Nodes come in the order in which they become available, not the smallest first as in `dagopt.graph.order`: networks
    draw their nodes in this order, so the data drawn with a seed depend on it.
    """
    n = len(names)
    children: list[list[int]] = [[] for _ in range(n)]
    for j, own in enumerate(parents):
        if len(set(own)) < len(own) or not all(0 <= i < n for i in own):
            raise InputError(f"expected different parents among positions 0..{n - 1} for {names[j]!r} but got {own}")
        for i in own:
            children[i].append(j)
    waiting = [len(own) for own in parents]
    ready = deque(j for j in range(n) if not waiting[j])
    order: list[int] = []
    while ready:
        order.append(ready.popleft())
        for child in children[order[-1]]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if len(order) < n:
        stuck = quoted(names[j] for j in range(n) if waiting[j])
        raise InputError(f"expected an acyclic graph but got a cycle among or above {stuck}; remove one of its edges")
    return order


def adjacency_of(parents: Parents) -> NDArray[np.int64]:
    """Return the array with ``[i, j] = 1`` where i is a parent of j."""
    adjacency = np.zeros((len(parents), len(parents)), dtype=np.int64)
    for j, own in enumerate(parents):
        adjacency[list(own), j] = 1
    return adjacency


def blanket_of(parents: Parents, node: int) -> tuple[int, ...]:
    """Return the Markov blanket of a node: its parents, its children and their parents, in order."""
    children = [j for j, own in enumerate(parents) if node in own]
    near = {*parents[node], *children, *(i for j in children for i in parents[j])}
    return tuple(sorted(near - {node}))


def position_of(names: Sequence[str], node: Any) -> int:
    """Return the position of a node that is given by its name or by its position."""
    if isinstance(node, str):
        if node not in names:
            raise unknown_name("column", node, list(names))
        return list(names).index(node)
    if isinstance(node, bool) or not isinstance(node, Integral) or not -len(names) <= int(node) < len(names):
        raise InputError(f"expected the name of a column or a position below {len(names)} but got {node!r}; correct it")
    return int(node)


def checked_given(names: Sequence[str], parents: Parents, column: str, given: str) -> tuple[int, tuple[int, ...]]:
    """Return the position of the column to predict and those it is predicted from."""
    if column not in names:
        raise unknown_name("column", column, list(names))
    if given not in ("parents", "blanket"):
        raise InputError(f"expected given= to be 'all', 'parents' or 'blanket' but got {given!r}; change the option")
    node = list(names).index(column)
    return node, parents[node] if given == "parents" else blanket_of(parents, node)


def graph_of(names: Sequence[str], adjacency: NDArray[np.int64]) -> networkx.DiGraph:
    """Return a new networkx graph over the names."""
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[i], names[j]) for i, j in zip(*np.nonzero(adjacency), strict=True))
    return graph


def parents_of(dag: networkx.DiGraph, names: Sequence[str]) -> Parents:
    """Return the parents of each column, in column order."""
    if not is_networkx(dag) or not dag.is_directed():
        raise InputError(f"expected the DAG as a networkx.DiGraph over the columns but got {type(dag).__name__}")
    position = {name: k for k, name in enumerate(names)}
    nodes = {str(node) for node in dag}
    if strange := [node for node in sorted(nodes) if node not in position]:
        raise InputError(f"the DAG has nodes that are not columns: {quoted(strange)}; the columns are {quoted(names)}")
    if missing := [name for name in names if name not in nodes]:
        raise InputError(f"the DAG has no node for the columns {quoted(missing)}; add them with dag.add_node")
    parents: list[set[int]] = [set() for _ in names]
    for i, j in dag.edges():
        parents[position[str(j)]].add(position[str(i)])
    return tuple(tuple(sorted(own)) for own in parents)


def named_columns(data: pd.DataFrame, names: Sequence[str] | None = None) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Return names and frame with string column labels, cut to ``names`` if given."""
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"expected the data as a pandas DataFrame but got {type(data).__name__}")
    if names is not None and not names:
        return (), data.iloc[:, :0]
    labels = checked_names([str(label) for label in data.columns])
    data = data.set_axis(list(labels), axis=1)
    if names is None:
        return labels, data
    if missing := [name for name in names if name not in labels]:
        raise InputError(f"expected a column for every node but {quoted(missing)} is missing; got {quoted(labels)}")
    return tuple(names), data[list(names)]
