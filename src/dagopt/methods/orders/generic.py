"""Orders for any score: parents by growing and shrinking, in plain Python, with a cache of local scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dagopt.arrays import Dag, Ints
from dagopt.bits import mask_of, members, to_bitsets
from dagopt.deadline import Deadline
from dagopt.kernels.orders.trees import ENOUGH
from dagopt.methods.names import name_order
from dagopt.methods.orders.screening import screened
from dagopt.problem import Problem

__all__ = ["GenericOrders"]

MOST_REMEMBERED = 1_000_000  # local scores kept, and as many best sets


@dataclass
class GenericState:
    """A search in progress: the order, and each column's parents as bits with their score."""

    order: list[int]
    parents: list[int]
    scores: list[float]
    deadline: Deadline


class GenericOrders:
    """Orders of the columns for any score; only local scores are needed.

    Parameters
    ----------
    problem : Problem
        Any score, and knowledge.
    candidates : int, optional
        Keep only this many candidate parents per column (see ``screening.py``); all unless given.
    """

    def __init__(self, problem: Problem, candidates: int | None = None) -> None:
        self.n_nodes = problem.n_nodes
        self._score = problem.score
        self._may = to_bitsets(screened(problem, candidates).T)
        self._must = to_bitsets(problem.knowledge.must.T)
        self._most = problem.knowledge.at_most.tolist()
        self._by_name = name_order(problem.names).tolist()
        self._local: dict[tuple[int, int], float] = {}
        self._best: dict[tuple[int, int], tuple[float, int]] = {}

    def start(
        self, order: Ints, deadline: Deadline, dag: Dag | None = None, after: GenericState | None = None
    ) -> GenericState:
        """Return the state of a search that starts from an order; after the deadline, with only required parents."""
        given = [0] * self.n_nodes if dag is None else to_bitsets(dag.T)
        state = GenericState([int(v) for v in order], list(self._must), [0.0] * self.n_nodes, deadline)
        before = 0
        for v in state.order:
            found = (self._locals(v, [self._must[v]])[0], self._must[v])
            if deadline.reason is None:
                found = self._best_parents(v, before, deadline) or found
            if dag is not None and not given[v] & ~self._may[v]:
                found = max(found, (self._locals(v, [given[v]])[0], given[v]))
            state.scores[v], state.parents[v] = found
            before |= 1 << v
        return state

    def improve(self, state: GenericState, variables: Ints) -> tuple[int, int]:
        """Move each variable to its best position; return how many were tried and how many of the last ones stayed.

        Stops if the deadline comes first.
        """
        idle = 0
        for tried, v in enumerate(map(int, variables)):
            moved = self._insert(state, v)
            if moved is None:
                return tried, idle
            idle = 0 if moved else idle + 1
        return len(variables), idle

    def score(self, state: GenericState) -> float:
        """Return the score of the current order."""
        return float(sum(state.scores))

    def order(self, state: GenericState) -> Ints:
        """Return the current order."""
        return np.array(state.order, dtype=np.int64)

    def dag(self, state: GenericState) -> Dag:
        """Return the current DAG."""
        adjacency = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        for v, mask in enumerate(state.parents):
            adjacency[members(mask), v] = 1
        return adjacency

    def _insert(self, state: GenericState, v: int) -> bool | None:
        """Move one variable to its best position; say whether it moved, or None if the deadline came first."""
        place = state.order.index(v)
        best_gain, best_place, best_found = ENOUGH, place, {v: (state.scores[v], state.parents[v])}
        for step in (-1, 1):
            passed = mask_of(state.order[:place])
            found: dict[int, tuple[float, int]] = {}
            at = place + step
            while 0 <= at < self.n_nodes:
                u = state.order[at]
                if (self._must[v] >> u if step < 0 else self._must[u] >> v) & 1:
                    break
                passed ^= 1 << u  # before v: without u on the way forward, with it on the way back
                before_u = passed | 1 << v if step < 0 else passed & ~(1 << u)
                own, other = (self._kept_or_best(state, w, before) for w, before in ((v, passed), (u, before_u)))
                if own is None or other is None:
                    return None
                found |= {v: own, u: other}
                gain = sum(score - state.scores[w] for w, (score, _) in found.items())
                if gain > best_gain:
                    best_gain, best_place, best_found = gain, at, dict(found)
                at += step
        if best_place == place:
            return False
        state.order.insert(best_place, state.order.pop(place))
        for w, (score, mask) in best_found.items():
            state.scores[w], state.parents[w] = score, mask
        return True

    def _kept_or_best(self, state: GenericState, v: int, before: int) -> tuple[float, int] | None:
        """Return the parents found, or the column's current ones if they come before it and are at least as good."""
        found = self._best_parents(v, before, state.deadline)
        if found is None or state.parents[v] & ~before or found[0] > state.scores[v]:
            return found
        return state.scores[v], state.parents[v]

    def _best_parents(self, v: int, before: int, deadline: Deadline) -> tuple[float, int] | None:
        """Return the score and the parents found among those before a column; None if the deadline came first."""
        allowed = before & self._may[v]
        known = self._best.get((v, allowed))
        if known is not None:
            return known
        chosen = self._must[v]
        score = self._locals(v, [chosen])[0]
        growing, stuck = True, 0
        while stuck < 2:
            if deadline.reason is not None:
                return None
            room = chosen.bit_count() < self._most[v]
            changes = (allowed & ~chosen if room else 0) if growing else chosen & ~self._must[v]
            tries = [chosen ^ 1 << j for j in self._by_name if changes >> j & 1]
            values = self._locals(v, tries)
            best = max(range(len(tries)), key=values.__getitem__, default=None)
            if best is not None and values[best] > score + ENOUGH:
                score, chosen, stuck = values[best], tries[best], 0
            else:
                growing, stuck = not growing, stuck + 1
        if len(self._best) >= MOST_REMEMBERED:
            self._best.clear()
        self._best[v, allowed] = score, chosen
        return score, chosen

    def _locals(self, v: int, sets: list[int]) -> list[float]:
        """Return the local scores of parent sets; new ones are computed in one call."""
        known = [self._local.get((v, mask)) for mask in sets]
        new = [mask for mask, value in zip(sets, known, strict=True) if value is None]
        values = self._score.local_many([v] * len(new), [members(mask) for mask in new]).tolist() if new else []
        if len(self._local) + len(new) > MOST_REMEMBERED:
            self._local.clear()
        self._local.update(((v, mask), value) for mask, value in zip(new, values, strict=True))
        rest = iter(values)
        return [next(rest) if value is None else value for value in known]
