"""`SeriesGraph`: the graph of a dynamic network, folded to one node per series or unrolled over moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dagopt.arrays import Dag
from dagopt.data.lags import Lags
from dagopt.errors import checked_whole
from dagopt.graph.dag import Graph

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["SeriesGraph"]


@dataclass(frozen=True, eq=False, repr=False)
class SeriesGraph(Graph):
    """The graph of the present and the past of some series; edges lead into the present.

    Its nodes are the lagged columns: x is the present of a series, x(t-1) the same one moment before.

    Attributes
    ----------
    lags : Lags
        The layout of the columns in time.
    """

    lags: Lags

    def __repr__(self) -> str:
        return f"<SeriesGraph: {self.lags.n_series} series, {self.lags.count} lags, {self.n_edges} edges>"

    @property
    def series(self) -> tuple[str, ...]:
        """The series."""
        return self.lags.series

    @property
    def edges(self) -> pd.DataFrame:
        """One row per edge between series: ``from``, ``to``, ``lag`` in moments, and whether it is ``directed``."""
        rows = []
        for i, j in np.argwhere(self.adjacency):
            undirected = bool(self.adjacency[j, i])
            if not undirected or i < j:
                tail, lag = self.lags.series_and_lag(int(i))
                rows.append((tail, self.names[j], lag, not undirected))
        return pd.DataFrame(rows, columns=["from", "to", "lag", "directed"])

    @property
    def by_lag(self) -> Dag:
        """The edges as an array ``[k, i, j]``: 1 if series i at lag k is a parent of series j."""
        n = self.lags.n_series
        return np.stack([self.adjacency[k * n : (k + 1) * n, :n] for k in range(self.lags.count + 1)])

    def folded(self) -> nx.MultiDiGraph:
        """Return a networkx graph with one node per series; edges have their ``lag``, and may form cycles."""
        import networkx as nx

        graph = nx.MultiDiGraph()
        graph.add_nodes_from(self.series)
        for k, i, j in np.argwhere(self.by_lag):
            graph.add_edge(self.series[i], self.series[j], lag=int(k))
        return graph

    def unrolled(self, moments: int | None = None) -> Graph:
        """Return the graph over successive moments, the latest last; the same edges at every moment.

        Parameters
        ----------
        moments : int, optional
            The number of moments; by default one more than there are lags. Nodes are x(t-2), x(t-1), x, ...
        """
        count = self.lags.count + 1 if moments is None else checked_whole("moments", moments, 1)
        n, own = self.lags.n_series, self.by_lag
        adjacency = np.zeros((n * count, n * count), dtype=np.int8)
        for t in range(count):
            for k in range(min(t, self.lags.count) + 1):
                adjacency[(t - k) * n : (t - k + 1) * n, t * n : (t + 1) * n] = own[k]
        ago = range(count - 1, -1, -1)
        return Graph(adjacency, tuple(f"{name}(t-{k})" if k else name for k in ago for name in self.series))
