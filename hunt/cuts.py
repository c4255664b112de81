"""Branch and cut over random pools, and small sizes of its parts, so that small instances go through all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.clusters import ClusterRows, pair_rows
from dagopt.lp.rows.row import Point, Row
from dagopt.methods.branch_and_cut import gobnilp, lane
from dagopt.methods.branch_and_cut import prefix_search as prefixes
from dagopt.progress import NoProgress
from hunt.record import Wrong
from hunt.truth import bits, is_dag, parents_of

MOST_NODES = 9


class _Late(ClusterRows):
    """Clusters, but none the first time, so that the search over prefixes begins from a weak bound."""

    def separate(self, point: Point) -> list[Row]:
        """Return no rows at first."""
        if not hasattr(self, "_asked"):
            self._asked = True
            return []
        return super().separate(point)


@contextmanager
def few_cuts(wanted: bool) -> Iterator[None]:
    """Hold clusters back at the root."""
    with patch.object(gobnilp, "ClusterRows", _Late if wanted else ClusterRows):
        yield


@contextmanager
def small_parts(rng: np.random.Generator, counts: Counter[str]) -> Iterator[None]:
    """Make groups, chunks and layers of the search over prefixes small, and count the searches."""

    class Counted(prefixes.PrefixSearch):
        def run(self) -> np.ndarray | None:
            found = super().run()
            counts["switches: searches over prefixes"] += 1
            counts["switches: ended by prefixes"] += self.finished
            return found

    sizes = {
        "FORESEEN_FROM": int(rng.choice([0, 3, 20_000])),
        "GROUP": int(rng.integers(2, 6)),
        "CHUNK": int(rng.integers(1, 5)),
    }
    with patch.multiple(prefixes, **sizes), patch.object(gobnilp, "PrefixSearch", Counted):
        yield


@dataclass(frozen=True)
class _Drawn:
    """A pool with whole numbers as scores, so that sums are exact and many DAGs are tied."""

    sets: list[dict[int, int]]  # for each node the score of every parent set, as bits

    @property
    def n(self) -> int:
        return len(self.sets)

    def best(self) -> int:
        """Return the best score of a DAG: the best sink of every set of nodes."""
        best: list[int | None] = [0] + [None] * ((1 << self.n) - 1)
        for whole in range(1, 1 << self.n):
            for i in bits(whole):
                rest = whole & ~(1 << i)
                fits = [score for mask, score in self.sets[i].items() if not mask & ~rest]
                before = best[rest]
                if fits and before is not None:
                    total = before + max(fits)
                    here = best[whole]
                    best[whole] = total if here is None else max(here, total)
        assert best[-1] is not None
        return best[-1]

    def pool(self) -> Families:
        names = [f"X{j}" for j in range(self.n)]
        return Families.from_masks(
            names, [list(own) for own in self.sets], [[float(v) for v in own.values()] for own in self.sets]
        )


def _draw(rng: np.random.Generator) -> _Drawn:
    """Draw a pool of which one order at least makes a DAG; some nodes have no empty set."""
    n = int(rng.integers(3, MOST_NODES + 1))
    order, spread = rng.permutation(n), int(rng.choice([2, 10, 1000]))
    must = rng.random() < 0.4
    sets: list[dict[int, int]] = [{} for _ in range(n)]
    for place, node in enumerate(map(int, order)):
        first = int(order[rng.integers(0, place)]) if must and place and rng.random() < 0.3 else None
        sets[node][0 if first is None else 1 << first] = -int(rng.integers(0, spread))
        for _ in range(int(rng.integers(0, 25))):
            others = rng.choice([j for j in range(n) if j != node], size=int(rng.integers(1, min(5, n))), replace=False)
            mask = sum(1 << int(j) for j in others) | (0 if first is None else 1 << first)
            sets[node][mask] = int(rng.integers(-spread, 2 * spread))
    return _Drawn(sets)


def check_pool(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Draw a pool; check the search over prefixes alone, and branch and cut with it, against the best score."""
    drawn = _draw(rng)
    best = drawn.best()
    families = drawn.pool().without_dominated()
    with small_parts(rng, counts):
        _check_prefixes(drawn, families, best, rng)
        counts["switches: pools"] += 1
        for few in (True, False):
            with few_cuts(few), patch.object(lane, "TRIED_AGAIN", float(rng.choice([0.0, 0.9]))):
                asked = {"restarts": 0, "local_size": int(rng.choice([0, 4])), "n_jobs": 1}
                result = gobnilp.solve_pool_by_cuts(drawn.pool(), deadline=Deadline(), progress=NoProgress(), **asked)
            if result.status != "optimal" or result.score != best or result.bound < best:
                raise Wrong(f"the best DAG of {drawn} scores {best}, not {result.score}, bound {result.bound}")
            _check_dag(drawn, result.adjacency, best)


def _check_prefixes(drawn: _Drawn, families: Families, best: int, rng: np.random.Generator) -> None:
    """Check the search from scores below, at and above the best, with weak and strong bounds."""
    lp = Relaxation(families, (), families.offsets[:-1], 100)
    if rng.random() < 0.6:
        lp.add(pair_rows(families))
    point = lp.solve(np.ones(len(families.node), dtype=np.bool_), Deadline())
    if point is None:
        raise Wrong(f"the LP of {drawn} has no point")
    for _ in range(int(rng.integers(0, 4))):
        lp.add(ClusterRows(3).separate(point))
        point = lp.solve(np.ones(len(families.node), dtype=np.bool_), Deadline()) or point
    for known in (best - int(rng.integers(1, 50)), best - 1, best, best + 1):
        alive = point.bound + point.excess >= known - 1e-9 * max(abs(known), 1)
        jobs = int(rng.integers(1, 4))
        with ThreadPoolExecutor(jobs) as threads:
            search = prefixes.PrefixSearch(point, alive, float(known), Deadline(), threads, jobs)
            chosen = search.run()
        if not search.finished:
            raise Wrong(f"the search over prefixes of {drawn} from {known} was given up")
        if (chosen is None) != (known >= best):
            raise Wrong(f"the search over prefixes of {drawn} from {known} finds {chosen}, but the best is {best}")
        if chosen is not None:
            _check_dag(drawn, families.adjacency(chosen), best)


def _check_dag(drawn: _Drawn, adjacency: np.ndarray, best: int) -> None:
    """Check that a graph is a DAG of the pool with the best score."""
    masks = parents_of(adjacency)
    known = all(mask in own for mask, own in zip(masks, drawn.sets, strict=True))
    if not is_dag(adjacency) or not known or sum(drawn.sets[i][mask] for i, mask in enumerate(masks)) != best:
        raise Wrong(f"{masks} is no best DAG of {drawn}")
