"""Start points x^0 for the pricing of a node (section 4.1 of the paper)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.bits import listed_members
from dagopt.errors import unknown_name
from dagopt.lp.rows.row import Point

__all__ = ["START_POINTS", "Hybrid", "RandomStart", "StartPoint", "WarmStart", "make_start_point"]

SWITCH_AT = 50  # families per node after which the hybrid strategy starts warm (section 4.1)


class StartPoint(Protocol):
    """Chooses where the pricing of a node starts."""

    def __call__(self, node: int, candidates: Ints, lp: Point, rng: np.random.Generator) -> Floats:
        """Return a point of the unit cube over the candidates."""


class RandomStart:
    """A point drawn uniformly from the cube, to explore."""

    def __call__(self, node: int, candidates: Ints, lp: Point, rng: np.random.Generator) -> Floats:
        """Return a random point."""
        return rng.random(len(candidates))


class WarmStart:
    """The LP's own choice: each candidate's weight in the node's LP parent sets, which have reduced cost zero."""

    def __call__(self, node: int, candidates: Ints, lp: Point, rng: np.random.Generator) -> Floats:
        """Return the weight of each candidate in the LP's parent sets of the node."""
        own = lp.families.own(node)
        used = own.start + np.flatnonzero(lp.values[own] > 0)
        parents, starts = listed_members(lp.families.words[used])
        weight = np.zeros(lp.families.n_nodes)
        np.add.at(weight, parents, np.repeat(lp.values[used], np.diff(starts)))
        return np.clip(weight[candidates], 0.0, 1.0)


class Hybrid:
    """Random until the node has ``switch_at`` families, then warm."""

    def __init__(self, switch_at: int = SWITCH_AT) -> None:
        self.switch_at = switch_at
        self._random, self._warm = RandomStart(), WarmStart()

    def __call__(self, node: int, candidates: Ints, lp: Point, rng: np.random.Generator) -> Floats:
        """Return a random point at first, a warm one later."""
        count = int(np.diff(lp.families.offsets)[node])
        chosen = self._random if count < self.switch_at else self._warm
        return chosen(node, candidates, lp, rng)


START_POINTS = ("random", "warm", "hybrid")


def make_start_point(name: str, switch_at: int = SWITCH_AT) -> StartPoint:
    """Return a start strategy by name."""
    if name not in START_POINTS:
        raise unknown_name("start strategy", name, START_POINTS)
    strategies: dict[str, StartPoint] = {"random": RandomStart(), "warm": WarmStart(), "hybrid": Hybrid(switch_at)}
    return strategies[name]
