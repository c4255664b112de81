"""``GraphSample``: DAGs drawn by their probability given the data, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.by_name import by_name
from dagopt.data.html_table import html_of
from dagopt.problem import Problem

__all__ = ["GraphSample"]


@dataclass(frozen=True, eq=False)
class GraphSample:
    """DAGs drawn from their posterior.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    dags : int8 array of shape (count, n, n)
        The drawn DAGs, ``[k, i, j] = 1`` for i -> j in the k-th; likely ones are there several times.
    learned : int8 array of shape (n, n)
        The learned DAG, with which they are compared.
    prior : str
        The prior over parent sets; see ``edge_posterior``.
    score_label : str
        The score whose exponential is the likelihood.
    sampling : str
        How well the chains agree.
    agrees : bool
        Whether they agree well enough.
    seconds : float
        Wall-clock time.
    problem : Problem
        The data, the score and the knowledge.
    """

    names: tuple[str, ...]
    dags: NDArray[np.int8]
    learned: NDArray[np.int8]
    prior: str
    score_label: str
    sampling: str
    agrees: bool
    seconds: float
    problem: Problem

    def __len__(self) -> int:
        return len(self.dags)

    @property
    def n_distinct(self) -> int:
        """How many different DAGs were drawn."""
        return len(np.unique(self.dags.reshape(len(self.dags), -1), axis=0))

    @property
    def edges(self) -> pd.DataFrame:
        """The share of the DAGs with each edge, and of those that join the two columns, the most joined first."""
        share = self.dags.mean(axis=0)
        rows = [
            (
                self.names[i],
                self.names[j],
                float(share[i, j]),
                float(share[i, j] + share[j, i]),
                bool(self.learned[i, j]),
            )
            for i, j in np.argwhere(share > 0).tolist()
        ]
        frame = pd.DataFrame(rows, columns=["from", "to", "share", "joined", "learned"])
        return frame.sort_values(["joined", "share"], ascending=False, kind="stable", ignore_index=True)

    def query(
        self,
        target: str,
        evidence: Mapping[str, object] | None = None,
        *,
        do: Mapping[str, object] | None = None,
        level: float = 0.95,
        equivalent_sample_size: float = 0.0,
    ) -> pd.DataFrame:
        """Ask every drawn DAG for the distribution of a column, and average the answers.

        Parameters
        ----------
        target : str
            The column.
        evidence : mapping of str to value, optional
            What is known.
        do : mapping of str to value, optional
            What is set from outside.
        level : float
            The share of the graphs whose answers are between ``lower`` and ``upper``.
        equivalent_sample_size : float
            Weight, in rows, of a prior on each table of discrete data, as in ``Result.fit``.

        Returns
        -------
        DataFrame
            One row per level of the target, or ``mean`` and ``std``: the answer of the ``learned`` graph, the
            ``average``, the ``spread`` (standard deviation) of the answers of the graphs, and ``lower`` and ``upper``.
            ``attrs`` has how many different ``graphs`` were asked.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sample = dagopt.learn(data, score="bge").sample_graphs(100)
        >>> sample.query("X2", do={"X0": 1.0}).columns.tolist()
        ['learned', 'average', 'spread', 'lower', 'upper']
        """
        ask = by_name("confidence.averaged", "sampled_query")
        found: pd.DataFrame = ask(self, target, evidence, do, level, equivalent_sample_size)
        return found

    def predict(
        self, data: object, column: str, *, level: float = 0.95, equivalent_sample_size: float = 0.0
    ) -> pd.DataFrame:
        """Predict a column in every row by every drawn DAG, and average the predictions.

        Parameters
        ----------
        data : path, frame, array or Table
            The rows. Their values of ``column`` itself are ignored.
        column : str
            What to predict.
        level, equivalent_sample_size
            As for ``query``.

        Returns
        -------
        DataFrame
            One row per row of the data. Columns are pairs: a level of the column, or ``mean`` and ``std``; and
            ``learned``, ``average``, ``spread``, ``lower`` or ``upper``, as for ``query``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sample = dagopt.learn(data, score="bge").sample_graphs(100)
        >>> sample.predict(data.head(3), "X2").shape
        (3, 10)
        """
        ask = by_name("confidence.averaged", "sampled_predict")
        found: pd.DataFrame = ask(self, data, column, level, equivalent_sample_size)
        return found

    def summary(self) -> str:
        """Return the sample in words."""
        edges = self.edges
        sure = int((edges["share"] >= 0.95).sum())
        agree = "" if self.agrees else "; the chains do not agree yet: raise time_limit="
        return "\n".join(
            [
                f"{len(self)} DAGs over {len(self.names)} columns drawn by their probability, {self.n_distinct} of "
                f"them different; {self.score_label}",
                f"edges     {sure} in 95 % of them, {len(edges)} in any, {int(self.learned.sum())} in the learned DAG",
                f"prior     {self.prior}, all orders of the columns equally likely, so not uniform over DAGs",
                f"sampled   {self.sampling}{agree}",
                f"seconds   {self.seconds:.2f}",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: the shares of the edges, not the DAGs."""
        return {
            "names": list(self.names),
            "count": len(self),
            "distinct": self.n_distinct,
            "prior": self.prior,
            "score_label": self.score_label,
            "sampling": self.sampling,
            "agrees": self.agrees,
            "seconds": self.seconds,
            "edges": self.edges.to_dict("records"),
        }

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return html_of(self.summary(), self.edges)
