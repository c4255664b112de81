"""``Rivals``: every graph that scores nearly as much as the best, and what they agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.by_name import by_name
from dagopt.data.html_table import html_of
from dagopt.graph.cpdag import cpdag
from dagopt.graph.dag import Graph
from dagopt.problem import Problem

__all__ = ["Rivals"]

DAGS_TOGETHER = 5_000  # whose v-structures are compared at once
SAME = 1e-9  # relative difference up to which two scores count as equal


@dataclass(frozen=True, eq=False)
class Rivals:
    """All DAGs within some points of the best.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    within : float
        How many points a rival may score less than the best; a factor of e^within in likelihood.
    best : float
        The best score, proven unless ``bound`` is larger.
    count : int or None
        How many DAGs are within that; None if there are too many to count or the time was over.
    at_least : int
        A proven lower limit on that number; the number itself if it is known.
    parents : int array of shape (n_listed, n_nodes)
        The parents of each node of each listed DAG as the bits of an integer, from the best DAG down.
    losses : float array
        How many points less than the best each of them scores.
    family_node, family_parents : int arrays
        Every parent set that some rival has, listed or not: the node, and its parents as bits.
    family_loss : float array
        How many points less than the best the best DAG with this parent set scores; a lower limit for undecided ones.
    family_undecided : bool array
        The parent sets that were neither shown nor ruled out, because the time was over or the graphs are too many.
    bound : float
        No DAG scores more.
    score_label : str
        The score.
    learned_loss : float
        How many points less than the best the learned graph scores.
    seconds : float
        Wall-clock time.
    problem : Problem or None
        Data, score and knowledge.
    """

    names: tuple[str, ...]
    within: float
    best: float
    count: int | None
    at_least: int
    parents: Ints
    losses: Floats
    family_node: Ints
    family_parents: Ints
    family_loss: Floats
    family_undecided: Bools
    bound: float
    score_label: str
    learned_loss: float = 0.0
    seconds: float = 0.0
    problem: Problem | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all rivals are listed."""
        return self.count == len(self.losses)

    def adjacency(self, rank: int = 0) -> NDArray[np.int8]:
        """Return a listed DAG, 0 for the best: ``[i, j] = 1`` means i → j."""
        n = len(self.names)
        dag: NDArray[np.int8] = (self.parents[rank][None, :] >> np.arange(n)[:, None] & 1).astype(np.int8)
        return dag

    @cached_property
    def class_of(self) -> tuple[Ints, Ints, Ints]:
        """The rank of the first DAG of each class, from the best down; how many it has; and the class of each DAG."""
        keys = np.concatenate([self._class_keys(first) for first in range(0, max(len(self.losses), 1), DAGS_TOGETHER)])
        _, first, place, members = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first, kind="stable")
        return first[order], members[order], np.argsort(order)[place.ravel()]

    def _class_keys(self, first: int) -> NDArray[np.void]:
        """Return the skeleton and the v-structures of some DAGs as bytes: equal exactly for equivalent DAGs."""
        n = len(self.names)
        some = self.parents[first : first + DAGS_TOGETHER]
        has = (some[:, None, :] >> np.arange(n)[:, None] & 1).astype(bool)
        joined = has | has.transpose(0, 2, 1)
        a, b = np.triu_indices(n, 1)
        apart = ~joined[:, a, b]
        colliders = [has[:, a, i] & has[:, b, i] & apart for i in range(n)]
        bits = np.packbits(np.concatenate([apart, *colliders], axis=1), axis=1)
        return np.ascontiguousarray(bits).view(np.dtype((np.void, max(bits.shape[1], 1)))).ravel()

    @property
    def n_classes(self) -> int:
        """The number of equivalence classes among the listed DAGs."""
        return len(self.class_of[0])

    @cached_property
    def classes(self) -> list[dict[str, Any]]:
        """The equivalence classes of the listed DAGs, from the best down.

        Each has ``score``, ``loss``, ``dags`` (how many of the listed DAGs are in it), ``adjacency`` (the best of
        them) and ``cpdag``.
        """
        first, members, _ = self.class_of
        return [
            {
                "score": self.best - float(self.losses[k]),
                "loss": float(self.losses[k]),
                "dags": int(size),
                "adjacency": self.adjacency(k),
                "cpdag": cpdag(self.adjacency(k)),
            }
            for k, size in zip(first.tolist(), members, strict=True)
        ]

    @cached_property
    def shares(self) -> Floats:
        """The share of the listed DAGs that have each edge, ``[i, j]`` for i → j; NaN if none is listed."""
        n = len(self.names)
        if not len(self.losses):
            return np.full((n, n), np.nan)
        return np.array([(self.parents >> j & 1).mean(axis=0) for j in range(n)])

    @cached_property
    def edges(self) -> pd.DataFrame:
        """One row for each edge that some rival has.

        ``from``, ``to``; ``rivals``: "all" or "some" have it, or it is "undecided" whether any has; ``loss_with`` and
        ``loss_without``: how many points the best DAG with and without it loses, infinity for more than ``within``, a
        lower limit if it is undecided; ``share`` of the listed DAGs that have it, and ``joined``, the share in which
        the two columns are joined in either direction. All but the two shares are proven for all rivals, listed or not.
        """
        shares = self.shares
        rows = []
        for i, head in enumerate(self.names):
            own = self.family_node == i
            for j, tail in enumerate(self.names):
                with_edge = own & (self.family_parents >> j & 1 == 1)
                if with_edge.any():
                    without = float(self.family_loss[own & ~with_edge].min(initial=np.inf))
                    said = "undecided" if self.family_undecided[with_edge].all() else "some"
                    said = "all" if np.isinf(without) else said
                    least = float(self.family_loss[with_edge].min())
                    joined = shares[j, i] + shares[i, j]
                    rows.append((tail, head, said, least, without, float(shares[j, i]), float(joined)))
        columns = ["from", "to", "rivals", "loss_with", "loss_without", "share", "joined"]
        frame = pd.DataFrame(rows, columns=columns)
        return frame.sort_values(["joined", "share"], ascending=False, kind="stable", ignore_index=True)

    def query(
        self,
        target: str,
        evidence: Mapping[str, object] | None = None,
        *,
        do: Mapping[str, object] | None = None,
        most: int = 200,
        equivalent_sample_size: float = 0.0,
    ) -> pd.DataFrame:
        """Ask every rival for the distribution of a column, and average the answers with the weights e^score.

        Parameters
        ----------
        target : str
            The column.
        evidence : mapping of str to value, optional
            What is known.
        do : mapping of str to value, optional
            What is set from outside.
        most : int
            The most graphs that are asked, from the best down; of equivalent ones only one, unless something is set.
        equivalent_sample_size : float
            Weight, in rows, of a prior on each table of discrete data, as in ``Result.fit``.

        Returns
        -------
        DataFrame
            One row per level of the target, or ``mean`` and ``std``: the answer of the ``best`` graph, the ``average``,
            the ``lowest`` and the ``highest``. ``attrs`` has how many ``graphs`` were asked, and their ``weight``
            among all listed ones.
        """
        ask = by_name("confidence.averaged", "averaged_query")
        found: pd.DataFrame = ask(self, target, evidence, do, most, equivalent_sample_size)
        return found

    def predict(
        self,
        data: object,
        column: str,
        *,
        most: int = 200,
        equivalent_sample_size: float = 0.0,
    ) -> pd.DataFrame:
        """Predict a column in every row by every rival, and average the predictions with the weights e^score.

        Parameters
        ----------
        data : path, frame, array or Table
            The rows. Their values of ``column`` itself are ignored.
        column : str
            What to predict.
        most, equivalent_sample_size
            As for ``query``.

        Returns
        -------
        DataFrame
            One row per row of the data. Columns are pairs: a level of the column, or ``mean`` and ``std``; and
            ``best``, ``average``, ``lowest`` or ``highest``, as for ``query``, with the same ``attrs``.
        """
        ask = by_name("confidence.averaged", "averaged_predict")
        found: pd.DataFrame = ask(self, data, column, most, equivalent_sample_size)
        return found

    def plot(self, ax: Any = None) -> Any:
        """Draw every edge that some rival has, wider the more of the listed DAGs have it."""
        n = len(self.names)
        drawn = np.zeros((n, n), dtype=np.int8)
        strength = {}
        for row in self.edges.itertuples(index=False):
            a, b = (self.names.index(one) for one in row[:2])
            drawn[a, b] = 1
            strength[row[0], row[1]] = float(row[6])
        return by_name("report.plots", "plot_graph")(Graph(drawn, self.names), ax, strength)

    @property
    def told(self) -> str:
        """One sentence: how many rivals there are, and how many edges they agree on."""
        return f"{self._number} DAGs are within {self.within:g} points of the best; edges: {self._agreement}"

    @property
    def _number(self) -> str:
        return f"{self.count:,}" if self.count is not None else f"more than {self.at_least:,}"

    @property
    def _agreement(self) -> str:
        n = len(self.names)
        kinds = self.edges["rivals"].value_counts()
        in_all, in_some, open_ = (int(kinds.get(kind, 0)) for kind in ("all", "some", "undecided"))
        none = n * (n - 1) - in_all - in_some - open_
        undecided = f", {open_} undecided" if open_ else ""
        return f"{in_all} in all of them, {in_some} in some{undecided}, {none} of {n * (n - 1)} in none"

    def summary(self) -> str:
        """Return a short summary: how many rivals there are, and what they agree on."""
        n, tolerance = len(self.names), SAME * max(abs(self.best), 1.0)
        lines = [
            f"{n} columns; graphs within {self.within:g} points of the best, a factor of {np.exp(self.within):.4g} "
            f"in likelihood; {self.score_label}",
            f"best      {self.best:.4f}  "
            + ("proven" if self.bound <= self.best + tolerance else f"known; none scores more than {self.bound:.4f}"),
            f"DAGs      {self._number}, {'all' if self.is_complete else f'the best {len(self.losses):,}'} listed; "
            f"{self.n_classes:,} equivalence classes" + ("" if self.is_complete else " among the listed ones")
            if len(self.losses)
            else "DAGs      not counted: too many, or the time was over; lower within= or raise time_limit=",
            f"edges     {self._agreement}",
        ]
        if self.learned_loss > tolerance:
            lines.append(f"learned   the learned graph scores {self.learned_loss:.4f} less than the best")
        return "\n".join([*lines, f"seconds   {self.seconds:.2f}"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "within": self.within,
            "best": self.best,
            "bound": self.bound,
            "count": self.count,
            "at_least": self.at_least,
            "is_complete": self.is_complete,
            "n_listed": len(self.losses),
            "n_classes": self.n_classes,
            "n_undecided": int(self.family_undecided.sum()),
            "names": list(self.names),
            "score_label": self.score_label,
            "seconds": self.seconds,
            "edges": [
                {name: None if value == np.inf else value for name, value in row.items()}
                for row in self.edges.to_dict(orient="records")
            ],
            "classes": [
                {**one, "adjacency": one["adjacency"].tolist(), "cpdag": one["cpdag"].tolist()} for one in self.classes
            ],
        }

    def _repr_html_(self) -> str:
        return html_of(self.summary(), self.edges)

    def __repr__(self) -> str:
        return self.summary()
