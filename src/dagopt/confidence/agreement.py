"""How much the graphs learned from resamples agree: the frequencies of edges, and a consensus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.by_name import by_name
from dagopt.confidence.series_effects import effects_over_resamples
from dagopt.data.html_table import html_of
from dagopt.data.writing import write_frame
from dagopt.errors import InputError, checked_number
from dagopt.graph.acyclic_union import acyclic_union
from dagopt.graph.dag import Graph
from dagopt.graph.knowledge import Knowledge
from dagopt.results.result import Result, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Bootstrap"]

EQUAL = 1e-9  # frequencies are sums of halves over a count
SURE = 0.95  # the share of resamples that the summary counts apart
_ENDED = {
    "converged": "all resamples done",
    "time_limit": "stopped by the time limit",
    "interrupted": "stopped by the user",
}


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The graphs learned from resamples, and how often they agree.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    essential : int8 array of shape (n_done, n, n)
        The essential graph learned from each resample, in the order of the resamples, with the directions that the
        constraints fix.
    result : Result
        What was learned from all rows.
    knowledge : Knowledge
        What was known about the graph.
    n_asked : int
        Resamples that were asked for.
    n_rows : int
        Rows of a resample, or groups if these were drawn.
    replace : bool
        Whether rows were drawn with replacement.
    method : str
        The method that learned from each resample.
    status : {"converged", "time_limit", "interrupted"}
        Why it ended.
    seconds : float
        Wall-clock time.
    grouped : bool
        Whether whole groups of rows were drawn.
    random_state : int
        The seed of the resamples.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> sure = dagopt.bootstrap(data, 10, random_state=0)
    >>> sure.n_done
    10
    >>> sure.edges.iloc[0][["from", "to"]].tolist()
    ['X2', 'X0']
    """

    names: tuple[str, ...]
    essential: NDArray[np.int8]
    result: Result
    knowledge: Knowledge
    n_asked: int
    n_rows: int
    replace: bool
    method: str
    status: Status
    seconds: float
    grouped: bool = False
    random_state: int = 0

    @property
    def drawn(self) -> str:
        """What was drawn: rows, or groups.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sure.drawn
        'rows'
        """
        return "groups" if self.grouped else "rows"

    @property
    def n_done(self) -> int:
        """Number of resamples that were learned from.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sure.n_done
        10
        """
        return len(self.essential)

    def effects(self, cause: str, outcome: str | None = None, *, steps: int = 10, level: float = 0.95) -> pd.DataFrame:
        """Return effects after 0, 1, ... moments, with intervals over the resamples: for continuous series.

        The intervals of ``result.dynamics().effects`` take the graph as it was learned. These allow for other graphs:
        each resample has its own.

        Parameters
        ----------
        cause : str
            The series that is changed by one unit from outside, once.
        outcome : str, optional
            The series that may change; all series unless given.
        steps : int
            The largest number of moments.
        level : float
            The level of the intervals, from one percentile of the resamples to the other: give at least 100 resamples.

        Returns
        -------
        DataFrame
            ``outcome``, ``step``, ``effect`` from all rows, ``standard_error``, ``low``, ``high``, and ``not_zero``,
            the share of the resamples whose graph has a path that takes so long.

        Examples
        --------
        >>> import dagopt
        >>> made = dagopt.simulate_series(3, 300, random_state=0)
        >>> sure = dagopt.bootstrap(made.data, 20, lags=1)
        >>> sure.effects("x0", "x0", steps=1)["not_zero"].tolist()
        [1.0, 1.0]
        """
        return effects_over_resamples(self, cause, outcome, steps=steps, level=level)

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        """How often each edge was learned: ``[i, j]`` is the share of i → j; undirected edges count half each way.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sure.frequency[0].tolist()
        [0.0, 0.0, 0.4, 0.4]
        """
        both = self.essential & self.essential.transpose(0, 2, 1)
        counts = self.essential.sum(axis=0) - 0.5 * both.sum(axis=0)
        return np.asarray(counts / max(self.n_done, 1), dtype=np.float64)

    @cached_property
    def edges(self) -> pd.DataFrame:
        """Every pair that was joined at least once, the most frequent first.

        ``strength`` is how often the pair was joined, ``forward`` how often as from → to and ``backward`` how often
        as to → from; undirected edges count half each, so that the two add up to the strength. ``learned`` says
        whether the graph of all rows joins the pair.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sure.edges.columns.tolist()
        ['from', 'to', 'strength', 'forward', 'backward', 'learned']
        """
        tails, heads = self._ranked()
        forward, backward = self.frequency[tails, heads], self.frequency[heads, tails]
        joined = self.result.adjacency | self.result.adjacency.T
        return pd.DataFrame(
            {
                "from": pd.Series([self.names[i] for i in tails], dtype=object),
                "to": pd.Series([self.names[j] for j in heads], dtype=object),
                "strength": forward + backward,
                "forward": forward,
                "backward": backward,
                "learned": joined[tails, heads] != 0,
            }
        )

    def consensus(self, threshold: float = 0.5) -> Graph:
        """Return the DAG of the pairs that are joined often.

        Parameters
        ----------
        threshold : float
            The least strength, above 0 and at most 1.

        Returns
        -------
        Graph
            A DAG.

        Notes
        -----
        Pairs are taken from the strongest down; among equally strong ones, the pair with the clearer direction comes
        first, then the one with the earlier columns. A pair gets its more frequent direction. If both directions are
        equally frequent, it is directed as in the graph of all rows, otherwise from the earlier column to the later,
        or the other way if that would close a cycle. Any other edge that would close a cycle with those already taken
        is left out, as is one that gives a column more parents than the constraints allow.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sure.consensus(0.9)
        <Graph: DAG, 4 nodes, 3 edges>
        """
        if checked_number("threshold", threshold) > 1:
            raise InputError(f"expected threshold= to be a share, at most 1, but got {threshold!r}; change the option")
        if not self.n_done:
            raise InputError("no resample was finished, so there is no consensus; raise time_limit=")
        taken: list[tuple[int, int]] = []
        for i, j in zip(*(ends.tolist() for ends in self._ranked()), strict=True):
            forward, backward = self.frequency[i, j], self.frequency[j, i]
            if forward + backward >= threshold - EQUAL:
                taken += [(i, j), (j, i)] if forward - backward < EQUAL else [(i, j)]
        return Graph(acyclic_union(taken, len(self.names), self.knowledge.at_most), self.names)

    def summary(self) -> str:
        """Return a short summary: how many resamples, how certain the edges are, why it ended.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> print(sure.summary().splitlines()[0])
        10 of 10 resamples of 300 rows, drawn with replacement; exact
        """
        how = "with replacement" if self.replace else "without replacement"
        lines = [f"{self.n_done} of {self.n_asked} resamples of {self.n_rows} {self.drawn}, drawn {how}; {self.method}"]
        if self.n_done:
            strength = self.edges["strength"] + EQUAL
            lines.append(
                f"pairs   {len(strength)} joined at least once, {int((strength >= 0.5).sum())} in at least half of the "
                f"resamples, {int((strength >= SURE).sum())} in at least {SURE:.0%}"
            )
            lines.append(f"learned {self._weakest()}")
        lines.append(f"status  {self.status}: {_ENDED[self.status]}, {self.seconds:.2f} s")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of ``edges``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> len(sure.to_frame()) == len(sure.edges)
        True
        """
        return self.edges.copy()

    def to_csv(self, path: str | Path) -> None:
        """Write ``edges`` as a CSV file, completely or not at all.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sure.to_csv("edges.csv")
        >>> open("edges.csv").readline().strip()
        'from,to,strength,forward,backward,learned'
        """
        write_frame(self.edges, path)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sorted(sure.to_dict())[:3]
        ['asked', 'edges', 'method']
        """
        return {
            "resamples": self.n_done,
            "asked": self.n_asked,
            self.drawn: self.n_rows,
            "replace": self.replace,
            "method": self.method,
            "status": self.status,
            "seconds": self.seconds,
            "names": list(self.names),
            "edges": self.edges.to_dict(orient="records"),
        }

    def plot(self, ax: Axes | None = None, *, threshold: float = 0.5) -> Axes:
        """Draw the consensus; the more often a pair was joined, the wider its edge.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sure = dagopt.bootstrap(data, 10, random_state=0)
        >>> sure.plot().figure.savefig("strengths.png")
        """
        plot_graph = by_name("report.plots", "plot_graph")
        graph = self.consensus(threshold)
        strength = self.frequency + self.frequency.T
        tails, heads = np.nonzero(graph.adjacency)
        widths = {(self.names[i], self.names[j]): float(strength[i, j]) for i, j in zip(tails, heads, strict=True)}
        drawn: Axes = plot_graph(graph, ax, strength=widths)
        return drawn

    def _repr_html_(self) -> str:
        return html_of(self.summary(), self.edges)

    def __str__(self) -> str:
        return self.summary()

    def _ranked(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return tails and heads of the joined pairs, in the order and with the directions of ``consensus``."""
        learned = self.result.adjacency
        first, second = np.nonzero(np.triu(self.frequency + self.frequency.T))
        lead = self.frequency[second, first] - self.frequency[first, second]
        told = np.abs(lead) < EQUAL
        turned = np.where(told, learned[second, first] > learned[first, second], lead > 0)
        tails, heads = np.where(turned, second, first), np.where(turned, first, second)
        strength = self.frequency[tails, heads] + self.frequency[heads, tails]
        ranks = np.lexsort((second, first, -np.abs(lead).round(9), -strength.round(9)))
        return tails[ranks], heads[ranks]

    def _weakest(self) -> str:
        """Return how many edges were learned from all rows, and which of them is least certain."""
        edges = self.result.graph.n_edges
        strength = self.frequency + self.frequency.T
        joined = np.argwhere(np.triu(self.result.adjacency | self.result.adjacency.T))
        if not len(joined):
            return "no edges from all rows"
        i, j = min(joined.tolist(), key=lambda pair: strength[pair[0], pair[1]])
        return (
            f"{edges} edges from all rows; the least certain is {self.names[i]} - {self.names[j]}, "
            f"joined in {strength[i, j]:.0%}"
        )
