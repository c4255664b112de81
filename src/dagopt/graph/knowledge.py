"""Background knowledge, as conditions on each node's parent set: must ⊆ J ⊆ may, |J| ≤ at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.lags import Lags
from dagopt.graph.dag import find_cycle

__all__ = ["Knowledge", "reaching"]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Knowledge about the columns of one table, in the form that every solver uses.

    Attributes
    ----------
    must : bool array of shape (n, n)
        ``must[j, i]``: j must be a parent of i.
    may : bool array of shape (n, n)
        ``may[j, i]``: j may be a parent of i. The diagonal is False.
    at_most : int array of shape (n,)
        The largest number of parents of each node.
    in_superstructure : bool
        Whether ``may`` comes from a superstructure, which the scope of a proof then names.
    lags : Lags or None
        How the columns are laid out in time, which ``may`` respects, if they are.
    before : bool array of shape (n, n) or None
        ``before[j, i]``: j comes before i in an order that all edges follow, transitively closed; ``may`` has no edge
        against it. None if nothing is known.
    log_odds : array of shape (n, n) or None
        Soft knowledge: ``log_odds[j, i]`` is added to the score if j is a parent of i.
    ancestors : tuple of (int, int)
        Pairs (j, i): a path leads from j to i.
    """

    must: NDArray[np.bool_]
    may: NDArray[np.bool_]
    at_most: NDArray[np.int64]
    in_superstructure: bool = False
    lags: Lags | None = None
    before: NDArray[np.bool_] | None = None
    log_odds: NDArray[np.float64] | None = None
    ancestors: tuple[tuple[int, int], ...] = ()

    @property
    def path_keys(self) -> str:
        """The keys of constraints that are about paths, not about parent sets, in words; empty if there are none."""
        said = [] if self.before is None else ["before="]
        return " and ".join([*said, *(["ancestors="] if self.ancestors else [])])

    def without_paths(self) -> Knowledge:
        """Return the knowledge without the paths of ``ancestors``."""
        return replace(self, ancestors=())

    def requiring(self, tail: int, head: int) -> Knowledge | None:
        """Return the knowledge with one more required edge; None if no DAG has it."""
        must = self.must.copy()
        must[tail, head] = True
        known = reaching(must if self.before is None else must | self.before)
        if not self.may[tail, head] or known.diagonal().any() or must[:, head].sum() > self.at_most[head]:
            return None
        may = self.may & ~known.T
        if must[:, head].sum() == self.at_most[head]:
            may[:, head] &= must[:, head]
        return replace(self, must=must, may=may, before=None if self.before is None else known)

    @property
    def added(self) -> NDArray[np.bool_]:
        """The edges that say the order together with those that are required: all of ``before`` that others do not."""
        if self.before is None:
            return np.zeros_like(self.must)
        implied = (self.before.astype(np.int64) @ self.before.astype(np.int64)) > 0
        return self.before & ~implied & ~self.must

    @property
    def earlier(self) -> NDArray[np.bool_] | None:
        """``[a, b]``: a comes before b in every order, by ``before`` or because a is past; None if nothing is known."""
        if self.lags is None:
            return self.before
        first = np.zeros_like(self.must) if self.before is None else self.before.copy()
        first[self.lags.n_series :, : self.lags.n_series] = True
        return first

    @property
    def orders(self) -> str:
        """The orders of the columns that are possible, in words."""
        said = [] if self.lags is None else ["in which the past comes first"]
        said += [] if self.before is None else ["that before= allows"]
        return " ".join(["all orders of the columns", " and ".join(said)]).strip()

    @property
    def n_nodes(self) -> int:
        """Number of columns n."""
        return len(self.at_most)

    @property
    def is_free(self) -> bool:
        """True if nothing is known: every set of other columns is allowed."""
        n = self.n_nodes
        if self.path_keys:
            return False
        return bool(not self.must.any() and self.may.sum() == n * (n - 1) and (self.at_most >= n - 1).all())

    @property
    def limit(self) -> int | None:
        """The largest number of parents that any node may have; None if there is no limit."""
        most = int(self.at_most.max(initial=0))
        return most if most < self.n_nodes - 1 else None

    @cached_property
    def masks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """``must`` and ``may`` of each node as the bits of an integer, for at most 62 columns."""
        weights = np.int64(1) << np.arange(self.n_nodes, dtype=np.int64)
        return self.must.T.astype(np.int64) @ weights, self.may.T.astype(np.int64) @ weights

    @cached_property
    def safe(self) -> NDArray[np.bool_]:
        """``safe[j, i]``: the edge from j to i lies in no cycle, whatever the other edges, as if j is past or earlier.

        No allowed edges lead from i to j. Whether a graph is acyclic does not depend on its safe edges.
        """
        edges = self.may if self.before is None else self.may | self.before
        if edges.sum() == edges.size - self.n_nodes:  # all edges are allowed
            return np.zeros_like(self.may)
        return np.ascontiguousarray(self.may & ~reaching(edges).T)

    def directing(self, adjacency: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the edges of a graph that keep their direction: required ones, and those believed more than reversed.

        Equivalent DAGs differ in score where one direction is believed more than the other.
        """
        if self.log_odds is None:
            return self.must
        believed: NDArray[np.bool_] = (np.asarray(adjacency) != 0) & (self.log_odds != self.log_odds.T)
        return self.must | believed

    def free(self, node: int) -> NDArray[np.int64]:
        """Return the columns that may but need not be parents of a node."""
        return np.flatnonzero(self.may[:, node] & ~self.must[:, node])

    def allows(self, node: int, parents: Iterable[int]) -> bool:
        """Say whether a parent set is allowed for a node."""
        chosen = np.zeros(self.n_nodes, dtype=bool)
        chosen[list(parents)] = True
        return bool(
            (chosen | ~self.must[:, node]).all()
            and (self.may[:, node] | ~chosen).all()
            and chosen.sum() <= self.at_most[node]
        )

    def allows_masks(self, node: int, masks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which of many parent sets are allowed for a node: bits of integers, for at most 62 columns."""
        must, may = (known[node] for known in self.masks)
        few = np.bitwise_count(masks) <= self.at_most[node]
        allowed: NDArray[np.bool_] = ((must & ~masks) == 0) & ((masks & ~may) == 0) & few
        return allowed

    def allows_order(self, adjacency: NDArray[Any]) -> bool:
        """Say whether some order follows all edges of a DAG and what is known about the order."""
        if self.before is None:
            return True
        return find_cycle(((np.asarray(adjacency) != 0) | self.before).astype(np.int8)) is None

    def has_paths(self, adjacency: NDArray[Any]) -> bool:
        """Say whether a DAG has all paths of ``ancestors``."""
        if not self.ancestors:
            return True
        reach = reaching(np.asarray(adjacency) != 0)
        return all(bool(reach[a, b]) for a, b in self.ancestors)

    def allows_dag(self, adjacency: NDArray[Any]) -> bool:
        """Say whether every parent set of a DAG is allowed, its order, and its paths."""
        present = np.asarray(adjacency) != 0
        return (
            self.allows_order(present)
            and self.has_paths(present)
            and bool(
                not (self.must & ~present).any()
                and not (present & ~self.may).any()
                and (present.sum(axis=0) <= self.at_most).all()
            )
        )


def reaching(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which node a path of one or more edges leads from and to, ``[a, b]``."""
    reach = edges.copy()
    for k in range(len(reach)):
        reach |= np.outer(reach[:, k], reach[k])
    return reach
