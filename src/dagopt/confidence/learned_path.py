"""``PenaltyPath``: what ``path`` found along a grid of penalties, as tables and in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats
from dagopt.by_name import by_name
from dagopt.data.html_table import html_of
from dagopt.data.writing import write_frame
from dagopt.graph.dag import Graph
from dagopt.results.result import Result, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PenaltyPath"]


_ENDED = {
    "converged": "all penalties done",
    "time_limit": "stopped by the time limit",
    "interrupted": "stopped by the user",
}


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """The learned DAGs along a grid of penalties.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    penalties : float array
        The penalties Λ of one parameter that were finished, from the largest down.
    results : tuple of Result
        What was learned at each of them.
    loglik, parameters : float arrays
        Log-likelihood and number of parameters of each DAG; the score is ``loglik - penalty * parameters``.
    reference : float
        The penalty of the score that was asked for, which the usual grid contains.
    method : str
        The method.
    status : {"converged", "time_limit", "interrupted"}
        Why it ended.
    seconds : float
        Wall-clock time.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> along = dagopt.path(data, n=4)
    >>> len(along.graphs)
    5
    >>> along.entries.iloc[0][["from", "to"]].tolist()
    ['X2', 'X0']
    """

    names: tuple[str, ...]
    penalties: Floats
    results: tuple[Result, ...]
    loglik: Floats
    parameters: Floats
    reference: float
    method: str
    status: Status
    seconds: float

    @property
    def graphs(self) -> list[Graph]:
        """The DAG at each penalty.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> [graph.n_edges for graph in along.graphs]
        [0, 3, 3, 3, 4]
        """
        return [result.graph for result in self.results]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per penalty: ``penalty``, ``score``, ``loglik``, ``parameters``, ``edges``, and whether proven.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> along.table["edges"].tolist()
        [0, 3, 3, 3, 4]
        """
        return pd.DataFrame(
            {
                "penalty": self.penalties,
                "score": self.loglik - self.penalties * self.parameters,
                "loglik": self.loglik,
                "parameters": np.minimum(self.parameters, 2.0**62).astype(np.int64),
                "edges": np.array([graph.n_edges for graph in self.graphs], dtype=np.int64),
                "proven": np.array([result.status == "optimal" for result in self.results], dtype=bool),
            }
        )

    @cached_property
    def entries(self) -> pd.DataFrame:
        """One row per pair of columns that is joined at some penalty, the first to enter first.

        ``enters`` is the largest penalty at which the pair is joined, ``stays`` the largest penalty from which it is
        joined at all smaller ones (NaN if it is not joined at the last), ``points`` the number of penalties at which
        it is joined. ``from`` and ``to`` are as in the DAG of the smallest penalty at which it is joined.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> along.entries.columns.tolist()
        ['from', 'to', 'enters', 'stays', 'points']
        """
        tails, heads, joined = self._pairs()
        stays_at = _last(~joined) + 1
        return pd.DataFrame(
            {
                "from": pd.Series([self.names[i] for i in tails], dtype=object),
                "to": pd.Series([self.names[j] for j in heads], dtype=object),
                "enters": self.penalties[_first(joined)],
                "stays": np.append(self.penalties, np.nan)[stays_at],
                "points": joined.sum(axis=0),
            }
        )

    def summary(self) -> str:
        """Return a short summary: the range of penalties, the edges, why it ended.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> print(along.summary().splitlines()[0])
        5 penalties from 172 to 0.713; exact
        """
        lines = [f"{len(self.penalties)} penalties; {self.method}"]
        if len(self.penalties):
            first, last = self.table.iloc[0], self.table.iloc[-1]
            lines[0] = f"{len(self.penalties)} penalties from {first.penalty:.4g} to {last.penalty:.4g}; {self.method}"
            lines.append(f"edges   {int(first.edges)} at the largest penalty, {int(last.edges)} at the smallest")
            at = np.flatnonzero(np.isclose(self.penalties, self.reference))
            if len(at):
                lines.append(
                    f"        {int(self.table.edges.iloc[at[0]])} at the penalty {self.reference:.4g} of the score"
                )
            proven = int(self.table.proven.sum())
            lines.append(f"proven  {proven} of {len(self.penalties)} DAGs are proven optimal for their penalty")
        lines.append(f"status  {self.status}: {_ENDED[self.status]}, {self.seconds:.2f} s")
        return "\n".join(lines)

    def to_csv(self, path: str | Path) -> None:
        """Write ``table`` as a CSV file, completely or not at all.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> along.to_csv("path.csv")
        >>> open("path.csv").readline().strip()
        'penalty,score,loglik,parameters,edges,proven'
        """
        write_frame(self.table, path)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> sorted(along.to_dict())[:3]
        ['edges', 'entries', 'method']
        """
        entries = [
            row | {"stays": None if np.isnan(row["stays"]) else row["stays"]}
            for row in self.entries.to_dict(orient="records")
        ]
        return {
            "method": self.method,
            "status": self.status,
            "seconds": self.seconds,
            "reference": self.reference,
            "names": list(self.names),
            "table": self.table.to_dict(orient="records"),
            "entries": entries,
            "edges": [[list(edge) for edge in graph.directed_edges] for graph in self.graphs],
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw at which penalties each pair of columns is joined.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> along.plot().figure.savefig("path.png")
        """
        drawn: Axes = by_name("report.path_plot", "plot_path")(self, ax)
        return drawn

    def _repr_html_(self) -> str:
        return html_of(self.summary(), self.table)

    def __str__(self) -> str:
        return self.summary()

    def joined(self) -> tuple[list[tuple[str, str]], Bools]:
        """Return the pairs of ``entries``, and for each penalty (a row) which of them are joined.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> along = dagopt.path(data, n=4)
        >>> pairs, present = along.joined()
        >>> len(pairs), present.shape
        (4, (5, 4))
        """
        tails, heads, joined = self._pairs()
        return [(self.names[i], self.names[j]) for i, j in zip(tails, heads, strict=True)], joined

    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Bools]:
        """Return tails and heads of the pairs in the order of ``entries``, and where they are joined."""
        n = len(self.names)
        dags = np.array([result.adjacency for result in self.results], dtype=np.int8).reshape(-1, n, n)
        skeletons = (dags | dags.transpose(0, 2, 1)) != 0
        first, second = np.nonzero(np.triu(skeletons.any(axis=0)))
        joined = skeletons[:, first, second]
        ranks = np.lexsort((second, first, _first(joined)))
        first, second, joined = first[ranks], second[ranks], joined[:, ranks]
        last = _last(joined)
        turned = dags[last, second, first] > dags[last, first, second]
        return np.where(turned, second, first), np.where(turned, first, second), joined


def _first(present: Bools) -> NDArray[np.intp]:
    """Return the first row with a one in each column, the number of rows if there is none."""
    places = np.where(present, np.arange(len(present))[:, None], len(present))
    return np.asarray(places.min(axis=0, initial=len(present)), dtype=np.intp)


def _last(present: Bools) -> NDArray[np.intp]:
    """Return the last row with a one in each column, -1 if there is none."""
    places = np.where(present, np.arange(len(present))[:, None], -1)
    return np.asarray(places.max(axis=0, initial=-1), dtype=np.intp)
