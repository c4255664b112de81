"""What is known about order, paths and edges, on tables of every kind, against all DAGs in extended precision.

``before=``, ``ancestors=`` and ``edge_prior=``, alone and with required edges, forbidden ones and limits. Every
method runs on tables of up to five columns of the kinds of ``others``. Its graph must obey, its score must be that of
its graph, its bound must not be below the best of all DAGs that obey, and what it calls optimal must be that.
Probabilities of edges, summed up and sampled, are compared with the sum over all orders that are allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

import dagopt
from hunt import others
from hunt.claims import RELATIVE, watched
from hunt.record import Wrong
from hunt.tables import NAMES
from hunt.truth import Known, Local, Real, all_dags, bits, edge_probabilities, is_dag, parents_of

METHODS = ("auto", "exact", "branch-and-cut", "gobnilp", "cg-dca", "order", "hc", "tabu", "mmhc")
OWN_LIMIT = 3  # parents that gobnilp allows unless all columns are discrete
SAMPLED = 0.06  # error of a sampled probability whose chains are said to agree
MOST_ODDS = 700.0  # log-odds that an edge may have


@dataclass(frozen=True, eq=False)
class Told:
    """What is known, by position: conditions on parent sets, pairs of the order, paths, and log-odds of edges."""

    sets: Known
    before: tuple[tuple[int, int], ...]
    ancestors: tuple[tuple[int, int], ...]
    odds: tuple[tuple[int, int, float], ...]

    def asked(self) -> dict[str, Any]:
        """Return it as ``learn`` takes it."""

        def named(pairs: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
            return [(NAMES[a], NAMES[b]) for a, b in pairs]

        rows = [(NAMES[a], NAMES[b], value) for a, b, value in self.odds]
        frame = pd.DataFrame(rows, columns=["from", "to", "log_odds"]) if rows else None
        return {
            "required": named(self.sets.required),
            "forbidden": named(self.sets.forbidden),
            "max_parents": self.sets.max_parents,
            "before": named(self.before),
            "ancestors": named(self.ancestors),
            "edge_prior": frame,
        }

    def believed(self, local: Local) -> Local:
        """Return local scores with the log-odds of their edges."""
        odds = {(a, b): Real(value) for a, b, value in self.odds}
        return {
            (i, mask): value + sum((odds.get((j, i), Real(0)) for j in bits(mask)), Real(0))
            for (i, mask), value in local.items()
        }


@cache
def dags_and_paths(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the parents of every DAG as bits, ``[dag, node]``, and between which nodes paths lead."""
    dags = np.array(list(all_dags(n)), dtype=np.int64)
    reach = (dags[:, np.newaxis, :] >> np.arange(n)[:, np.newaxis] & 1) == 1
    for k in range(n):
        reach |= reach[:, :, [k]] & reach[:, [k], :]
    return dags, reach


def allowed(told: Told, n: int) -> np.ndarray:
    """Say which of all DAGs obey."""
    dags, reach = dags_and_paths(n)
    fits = np.array([[told.sets.allows(i, mask) for mask in range(1 << n)] for i in range(n)])
    obeys = np.ones(len(dags), dtype=bool)
    for i in range(n):
        obeys &= fits[i, dags[:, i]]
    for a, b in told.ancestors:
        obeys &= reach[:, a, b]
    together = reach.copy()  # paths that follow edges or the order
    for a, b in told.before:
        together[:, a, b] = True
    for k in range(n):
        together |= together[:, :, [k]] & together[:, [k], :]
    return obeys & ~together[:, range(n), range(n)].any(axis=1)


def totals(local: Local, n: int) -> np.ndarray:
    """Return the score of every DAG."""
    dags, _ = dags_and_paths(n)
    table = np.array([[local.get((i, mask), Real(-np.inf)) for mask in range(1 << n)] for i in range(n)])
    total = np.zeros(len(dags), dtype=Real)
    for i in range(n):
        total += table[i, dags[:, i]]
    return total


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    rng = np.random.default_rng([seed, number, 13])
    case = others.DRAWN[number % len(others.DRAWN)](rng)
    told = drawn(rng, case.n)
    counts[f"tables: {case.kind}"] += 1
    try:
        _check_all(case, told, rng, counts)
    except Exception as error:  # whatever it is, it is a finding
        again = f"python -m hunt knowing --seed {seed} --only {number}"
        return f"{case.kind}, {told}: {type(error).__name__}: {error}\n{again}"
    return None


def drawn(rng: np.random.Generator, n: int) -> Told:
    """Draw knowledge that some order of the columns obeys, apart from limits."""
    order = [int(k) for k in rng.permutation(n)]
    pairs = list(combinations(order, 2))

    def some(most: int) -> tuple[tuple[int, int], ...]:
        return tuple(pairs[k] for k in rng.permutation(len(pairs))[: int(rng.integers(0, most + 1))])

    required = some(1) if rng.random() < 0.3 else ()
    every = [(a, b) for a in range(n) for b in range(n) if a != b and (a, b) not in required]
    forbidden = tuple(every[k] for k in rng.permutation(len(every))[: int(rng.integers(0, 3))])
    limit = int(rng.integers(1, n)) if rng.random() < 0.3 else None
    before = some(3) if rng.random() < 0.6 else ()
    ancestors = some(2) if rng.random() < 0.6 else ()
    odds = []
    if rng.random() < 0.6:
        for k in rng.permutation(len(every))[: int(rng.integers(1, 5))]:
            value = float(rng.choice([rng.normal() * 3, rng.normal() * 100, MOST_ODDS, -MOST_ODDS]))
            odds.append((*every[k], float(np.clip(value, -MOST_ODDS, MOST_ODDS))))
    return Told(Known(required, forbidden, (), limit), before, ancestors, tuple(odds))


def _check_all(case: others.Case, told: Told, rng: np.random.Generator, counts: Counter[str]) -> None:
    local = told.believed(case.local)
    total, obeys = totals(local, case.n), allowed(told, case.n)
    for key in ("before", "ancestors", "odds"):
        counts[f"with {key}"] += bool(getattr(told, key))
    for method in METHODS:
        _check(case, told, method, total, obeys, counts)
    if not told.ancestors and case.unit == 1.0:
        _check_posterior(case, told, local, rng, counts)


def _check(
    case: others.Case, told: Told, method: str, total: np.ndarray, obeys: np.ndarray, counts: Counter[str]
) -> None:
    """Check the graph, the score, the bound and the claim of one method."""
    try:
        with watched():
            result = dagopt.learn(case.given(), method, progress=False, constraints=told.asked(), **case.options)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts[f"runs: {method}"] += 1
    dags, _ = dags_and_paths(case.n)
    same = np.flatnonzero((dags == np.array(parents_of(result.adjacency))).all(axis=1))
    if not is_dag(result.adjacency) or not obeys[same].any():
        raise Wrong(f"{method}: the graph {parents_of(result.adjacency)} does not obey")
    if result.score is None:
        return
    true, best = total[same[0]], total[obeys].max()
    slack = RELATIVE * max(abs(float(true)), case.unit) + result.details.get("rounding", 0.0)
    if not abs(float(true) - result.score) <= slack:
        raise Wrong(f"{method}: says its DAG scores {result.score!r} but it scores {float(true)!r}")
    for one in (result.limited, result if result.bound is not None else None):
        if one is None:
            continue
        own = obeys
        if result.limited is not None:
            own = obeys & (np.bitwise_count(dags).max(axis=1) <= OWN_LIMIT)
        counts["bounds"] += 1
        most = total[own].max()
        if float(most - Real(one.bound)) > 1e-15 * max(abs(float(most)), case.unit):
            raise Wrong(f"{method}: no DAG over {one.scope} is said to exceed {one.bound!r}, but one has {most!r}")
    if result.status == "optimal":
        counts["proofs"] += 1
        if float(best - true) > 2 * result.details.get("rounding", 0.0) + RELATIVE * max(abs(float(best)), case.unit):
            raise Wrong(f"{method}: says {result.score!r} is optimal but {float(best)!r} is there")


def _check_posterior(
    case: others.Case, told: Told, local: Local, rng: np.random.Generator, counts: Counter[str]
) -> None:
    """Compare the probabilities of edges with the sum over all orders that are allowed."""
    prior = str(rng.choice(["fair", "uniform"]))
    try:
        with watched():
            found = dagopt.edge_posterior(case.given(), prior=prior, progress=False, constraints=told.asked(),
                                          **case.options)  # fmt: skip
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts["posteriors"] += 1
    right = edge_probabilities(local, case.n, told.sets, prior, told.before).astype(np.float64)
    if not np.abs(found.probabilities - right).max() <= 1e-6:
        raise Wrong(f"edges have the probabilities {right.tolist()} but {found.probabilities.tolist()} are said")
    if not told.before and rng.random() < 0.5:
        with watched():
            walked = dagopt.edge_posterior(
                case.given(), prior=prior, progress=False, constraints=told.asked(), method="sampled", time_limit=20,
                n_jobs=1, random_state=int(rng.integers(1000)), **case.options,
            )  # fmt: skip
        counts[f"sampled posteriors: {walked.status}"] += 1
        if walked.status == "done" and not np.abs(walked.probabilities - right).max() <= SAMPLED:
            raise Wrong(
                f"edges have the probabilities {right.tolist()} but {walked.probabilities.tolist()} are sampled"
            )
