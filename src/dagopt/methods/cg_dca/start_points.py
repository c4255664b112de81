"""Start points x^0 for the pricing of a node (section 4.1 of the paper)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.bits import members
from dagopt.errors import unknown_name
from dagopt.families.family_pool import FamilyPool
from dagopt.lp.restricted_master import MasterSolution

__all__ = ["START_POINTS", "Hybrid", "RandomStart", "StartPoint", "WarmStart", "make_start_point"]

SWITCH_AT = 50  # families per node after which the hybrid strategy starts warm (section 4.1)


class StartPoint(Protocol):
    """Chooses where the pricing of a node starts."""

    def __call__(
        self, node: int, candidates: Ints, pool: FamilyPool, lp: MasterSolution, rng: np.random.Generator
    ) -> Floats:
        """Return a point of the unit cube over the candidates."""


class RandomStart:
    """A point drawn uniformly from the cube, to explore."""

    def __call__(
        self, node: int, candidates: Ints, pool: FamilyPool, lp: MasterSolution, rng: np.random.Generator
    ) -> Floats:
        """Return a random point."""
        return rng.random(len(candidates))


class WarmStart:
    """The LP's own choice: each candidate's weight in the node's LP parent sets, which have reduced cost zero."""

    def __call__(
        self, node: int, candidates: Ints, pool: FamilyPool, lp: MasterSolution, rng: np.random.Generator
    ) -> Floats:
        """Return the weight of each candidate in the LP's parent sets of the node."""
        weight = np.zeros(pool.n_nodes)
        for place in pool.places(node):
            if lp.values[place] > 0:
                weight[members(pool.families[place].mask)] += lp.values[place]
        return np.clip(weight[candidates], 0.0, 1.0)


class Hybrid:
    """Random until the node has ``switch_at`` families, then warm."""

    def __init__(self, switch_at: int = SWITCH_AT) -> None:
        self.switch_at = switch_at
        self._random, self._warm = RandomStart(), WarmStart()

    def __call__(
        self, node: int, candidates: Ints, pool: FamilyPool, lp: MasterSolution, rng: np.random.Generator
    ) -> Floats:
        """Return a random point at first, a warm one later."""
        chosen = self._random if pool.count(node) < self.switch_at else self._warm
        return chosen(node, candidates, pool, lp, rng)


START_POINTS = ("random", "warm", "hybrid")


def make_start_point(name: str, switch_at: int = SWITCH_AT) -> StartPoint:
    """Return a start strategy by name."""
    if name not in START_POINTS:
        raise unknown_name("start strategy", name, START_POINTS)
    strategies: dict[str, StartPoint] = {"random": RandomStart(), "warm": WarmStart(), "hybrid": Hybrid(switch_at)}
    return strategies[name]
