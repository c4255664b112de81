"""Soft knowledge: log-odds of edges, added to any score family by family.

If edges are independent before the data, edge j → i with probability p, a graph has the prior odds Σ log p / (1 - p) of
its edges, up to a constant. With a score that is a log marginal likelihood, or approximates one, the sum is the log
posterior. A probability of one half changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.scores.base import Score, as_set

__all__ = ["PriorScore", "with_prior"]


class PriorScore(Score):
    """A score plus the log-odds of the edges.

    Parameters
    ----------
    score : Score
        What the data say.
    log_odds : array of shape (n, n)
        ``[j, i]`` is added if j is a parent of i.
    """

    def __init__(self, score: Score, log_odds: Floats) -> None:
        self.names, self.n_samples, self.reason = score.names, score.n_samples, score.reason
        self.label = f"{score.label} + log-odds of edges"
        self.seconds_per_local, self.degree = score.seconds_per_local, score.degree
        self.way_to_bound = score.way_to_bound
        self.data_score, self.log_odds = score, log_odds

    @property
    def rounding(self) -> float:
        """That of the score; log-odds are sums of a few numbers."""
        eps = float(np.finfo(np.float64).eps)
        return self.data_score.rounding + self.n_nodes * eps * float(np.abs(self.log_odds).sum())

    def unbounded(self, node: int, parents: Ints) -> bool:
        """Say whether parents determine a column."""
        return self.data_score.unbounded(node, parents)

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score plus the log-odds of its edges."""
        own = as_set(parents)
        return self.data_score.local(node, own) + float(self.log_odds[own, node].sum())

    def local_packed(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats:
        """Return the local scores of many nodes with packed parent sets."""
        sizes = np.diff(offsets)
        family = np.repeat(np.arange(len(nodes)), sizes)
        odds = np.bincount(family, self.log_odds[flat, nodes[family]], len(nodes))
        return self.data_score.local_packed(nodes, flat, offsets) + odds

    @property
    def bounds_sets(self) -> bool:
        """Whether the score has bounds."""
        return self.data_score.bounds_sets

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return the bound of the score plus all log-odds that may help."""
        own, more = np.asarray(parents, dtype=np.int64), np.asarray(candidates, dtype=np.int64)
        odds = float(self.log_odds[own, node].sum() + np.maximum(self.log_odds[more, node], 0.0).sum())
        return self.data_score.bound(node, own, more) + odds


def with_prior(score: Score, log_odds: Floats | None) -> Score:
    """Return the score with the log-odds of edges, or as it is if there are none."""
    return score if log_odds is None or not log_odds.any() else PriorScore(score, log_odds)
