"""Rows in time, against extended precision: lagged columns made by plain loops, and all orders of the present.

Two or three series of one or more units, whose rows are shuffled and have gaps; numbers far from zero, levels or both.
Graph, score, bound and claim of every method are held against the best dynamic network, and so are rivals, regrets and
probabilities of edges. Sometimes edges within a moment are not allowed, or some are required, forbidden or believed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

import dagopt
from hunt import others
from hunt.claims import RELATIVE, watched
from hunt.record import Wrong
from hunt.truth import Known, Real, bdeu, bge, bits, gaussian, log_sum, multinomial, parents_of

METHODS = ("auto", "exact", "branch-and-cut", "gobnilp", "order", "hc", "tabu", "cg-dca")
SLACK = 1e-7  # of a score, in what is lost without edges and in lists of rivals


@dataclass(frozen=True, eq=False)
class Case:
    """Series as ``learn`` takes them, and the score of every family of the present."""

    kind: str
    data: pd.DataFrame
    names: tuple[str, ...]  # of the lagged columns
    n_series: int
    local: dict[tuple[int, int], Real]
    known: Known
    options: dict[str, Any]
    within: bool

    def allows(self, node: int, mask: int) -> bool:
        """Say whether a present column may have these parents."""
        present = (1 << self.n_series) - 1
        return self.known.allows(node, mask) and (self.within or not mask & present)


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    rng = np.random.default_rng([seed, number, 15])
    case = drawn(rng)
    counts[f"tables: {case.kind}"] += 1
    try:
        for method in METHODS:
            _check(case, method, counts)
        _check_posterior(case, rng, counts)
        _check_near(case, rng, counts)
    except Exception as error:  # whatever it is, it is a finding
        again = f"python -m hunt series --seed {seed} --only {number}"
        return f"{case.kind}, {case.options}: {type(error).__name__}: {error}\n{again}"
    return None


# --- tables ---------------------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator) -> Case:
    """Draw series, their scores and what is known about them."""
    series, lags = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    if series == 3:
        lags = 1
    kind = str(rng.choice(["numbers", "BGe", "levels", "BDeu", "both"]))
    frame, runs = _moments(rng, series)
    values = frame[[f"s{j}" for j in range(series)]].to_numpy()
    is_level = [kind in ("levels", "BDeu") or (kind == "both" and j == 0) for j in range(series)]
    codes = np.digitize(values, [-0.7, 0.7])
    values = values + np.where(rng.random(series) < 0.3, 10.0 ** rng.uniform(2, 12), 0.0)
    for j in range(series):
        frame[f"s{j}"] = [f"L{code}" for code in codes[:, j]] if is_level[j] else values[:, j]
    lagged = _lagged(np.where(is_level, codes, values), runs, lags)
    penalty = float(np.round(rng.exponential(3.0) + 0.1, 3))
    levels = [np.unique(codes[:, j]) if is_level[j] else None for j in range(series)]  # also of moments without a past
    score, options = _scored(kind, lagged, levels * (lags + 1), penalty, rng)
    names = tuple(f"s{j}" if lag == 0 else f"s{j}(t-{lag})" for lag in range(lags + 1) for j in range(series))
    size = len(names)
    local = {(i, mask): score(i, mask) for i in range(series) for mask in range(1 << size) if not mask >> i & 1}
    known, asked = _known(rng, names, series)
    within = bool(rng.random() < 0.8)
    options |= {"lags": lags, "time": "t", "groups": "unit", "constraints": asked}
    if not within:
        options["within"] = False
    order = rng.permutation(len(frame))
    return Case(f"{kind}, {lags} lags", frame.iloc[order].reset_index(drop=True), names, series, local, known, options,
                within)  # fmt: skip


def _moments(rng: np.random.Generator, series: int) -> tuple[pd.DataFrame, list[list[int]]]:
    """Return rows in order of unit and time, and the rows of each run without a gap."""
    weights = rng.normal(size=(series, series)) * (rng.random((series, series)) < 0.5) * 0.4
    inner = np.triu(rng.normal(size=(series, series)) * (rng.random((series, series)) < 0.5), 1)
    rows: list[dict[str, Any]] = []
    runs: list[list[int]] = []
    for unit in range(int(rng.integers(1, 4))):
        state, time, own = rng.normal(size=series), int(rng.integers(-5, 5)), list[int]()
        for _ in range(int(rng.integers(40, 90))):
            state = weights @ state + rng.normal(size=series)
            state = state + state @ inner
            if own and rng.random() < 0.04:  # a moment is missing
                runs.append(own)
                own, time = [], time + int(rng.integers(1, 3))
            own.append(len(rows))
            rows.append({"unit": f"u{unit}", "t": time} | {f"s{j}": state[j] for j in range(series)})
            time += 1
        runs.append(own)
    return pd.DataFrame(rows), runs


def _lagged(values: np.ndarray, runs: list[list[int]], lags: int) -> np.ndarray:
    """Return one row per moment whose past is known: the present, one moment before, and so on."""
    found = [
        np.concatenate([values[run[k - lag]] for lag in range(lags + 1)]) for run in runs for k in range(lags, len(run))
    ]
    return np.array(found)


def _scored(
    kind: str, lagged: np.ndarray, levels: list[Any], penalty: float, rng: np.random.Generator
) -> tuple[Callable[[int, int], Real], dict[str, Any]]:
    """Return the score of a family, and what asks for it."""
    if kind == "numbers":
        return gaussian(lagged, Real(penalty), "paper")[0], {"score": penalty}
    if kind == "BGe":
        return bge(lagged, Real(1))[0], {"score": "bge"}
    if kind == "both":
        embedded, data = [], {}
        for j, column in enumerate(lagged.T):
            embedded.append(column[:, None] if levels[j] is None else column[:, None] == levels[j][1:])
            data[others.NAMES[j]] = column if levels[j] is None else column.tolist()
        return others.degenerate(embedded, data, penalty), {"score": penalty}
    codes = lagged.astype(np.int64)
    arity = [len(one) for one in levels]
    if kind == "BDeu":
        size = float(10.0 ** rng.uniform(-2, 6))
        return bdeu(codes, arity, Real(size)), {"score": "bdeu", "equivalent_sample_size": size}
    return multinomial(codes, arity, Real(penalty)), {"score": penalty}


def _known(rng: np.random.Generator, names: tuple[str, ...], series: int) -> tuple[Known, dict[str, Any]]:
    """Draw edges from the past that are required or forbidden, most times none, and sometimes a limit."""
    if rng.random() < 0.5:
        return Known(), {}
    edges = [(a, b) for a in range(series, len(names)) for b in range(series)]
    chosen = [edges[k] for k in rng.permutation(len(edges))[:3]]
    required, forbidden = tuple(chosen[: int(rng.integers(0, 2))]), tuple(chosen[1 : int(rng.integers(1, 4))])
    limit = int(rng.integers(1, len(names) - 1)) if rng.random() < 0.4 else None
    asked: dict[str, Any] = {
        "required": [(names[a], names[b]) for a, b in required],
        "forbidden": [(names[a], names[b]) for a, b in forbidden],
    }
    return Known(required, forbidden, (), limit), asked | ({} if limit is None else {"max_parents": limit})


# --- truth ----------------------------------------------------------------------------------------------------


def _sets(case: Case, node: int, first: int) -> Iterator[int]:
    """Yield the allowed parent sets of a present column among the past and the present columns before it."""
    size, present = len(case.names), (1 << case.n_series) - 1
    for mask in range(1 << size):
        if not mask & present & ~first and case.allows(node, mask):
            yield mask


def best(case: Case, without: tuple[int, int] | None = None) -> Real:
    """Return the best score of the present given the past, perhaps without one edge."""
    found = Real(-np.inf)
    for order in permutations(range(case.n_series)):
        total, first = Real(0), 0
        for i in order:
            fits = [
                case.local[i, mask]
                for mask in _sets(case, i, first)
                if without is None or i != without[1] or not mask >> without[0] & 1
            ]
            total += max(fits, default=Real(-np.inf))
            first |= 1 << i
        found = max(found, total)
    return found


def own_score(case: Case, adjacency: np.ndarray) -> Real:
    """Return the score of a dynamic network; raise ``Wrong`` if it is none, or not allowed."""
    masks = parents_of(adjacency)
    if any(masks[case.n_series :]):
        raise Wrong(f"an edge leads into the past: {masks}")
    left = (1 << case.n_series) - 1
    while left:
        free = [i for i in bits(left) if not masks[i] & left]
        if not free:
            raise Wrong(f"a cycle within a moment: {masks}")
        left &= ~sum(1 << i for i in free)
    for i in range(case.n_series):
        if not case.allows(i, masks[i]):
            raise Wrong(f"{case.names[i]} has the parents {masks[i]:b} against the constraints")
    return sum((case.local[i, masks[i]] for i in range(case.n_series)), Real(0))


# --- checks ---------------------------------------------------------------------------------------------------


def _learned(case: Case, method: str, counts: Counter[str]) -> dagopt.Result | None:
    try:
        with watched():
            return dagopt.learn(case.data, method, progress=False, **case.options)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return None


def _check(case: Case, method: str, counts: Counter[str]) -> None:
    """Check the graph, the score, the bound and the claim of one method."""
    result = _learned(case, method, counts)
    if result is None:
        return
    counts[f"runs: {method}"] += 1
    if tuple(result.names) != case.names:
        raise Wrong(f"{method}: the columns are {result.names}, not {case.names}")
    true, most = own_score(case, result.adjacency), best(case)
    slack = RELATIVE * max(abs(float(true)), 1.0) + result.details.get("rounding", 0.0)
    if not abs(float(true) - result.score) <= slack:
        raise Wrong(f"{method}: says its graph scores {result.score!r} but it scores {float(true)!r}")
    if result.bound is None:
        return
    counts["bounds"] += 1
    if float(most - Real(result.bound)) > 1e-15 * max(abs(float(most)), 1.0):
        raise Wrong(f"{method}: none is said to exceed {result.bound!r}, but one has {most!r}")
    if result.status == "optimal":
        counts["proofs"] += 1
        if float(most - true) > slack + (result.bound - result.score):
            raise Wrong(f"{method}: says {result.score!r} is optimal but {float(most)!r} is there")


def _check_posterior(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Compare the probabilities of edges with the sum over all orders of the present, the past being first."""
    prior = str(rng.choice(["fair", "uniform"]))
    size = len(case.names)
    try:
        with watched():
            found = dagopt.edge_posterior(case.data, prior=prior, progress=False, **case.options)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts["posteriors"] += 1
    wholes, shares = [], []
    for order in permutations(range(case.n_series)):
        whole, first, own = Real(0), 0, np.zeros((size, size), dtype=Real)
        for i in order:
            weights = {
                mask: case.local[i, mask]
                - (np.log(Real(math.comb(size - 1, mask.bit_count()))) if prior == "fair" else 0)
                for mask in _sets(case, i, first)
            }
            total = log_sum(list(weights.values()))
            whole += total
            for mask, weight in weights.items():
                own[bits(mask), i] += np.exp(weight - total)
            first |= 1 << i
        wholes.append(whole)
        shares.append(own)
    total = log_sum(wholes)
    right = sum(np.exp(whole - total) * own for whole, own in zip(wholes, shares, strict=True))
    if not np.abs(found.probabilities - np.asarray(right, dtype=np.float64)).max() <= 1e-6:
        raise Wrong(f"edges have the probabilities {right} but {found.probabilities} are said")


def _check_near(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Compare what is lost without each edge, and the list of all networks within some points, with all of them."""
    result = _learned(case, "exact", counts)
    if result is None:
        return
    most = best(case)
    slack = SLACK * max(abs(float(most)), 1.0) + 2 * result.details.get("rounding", 0.0)
    if result.adjacency.any():
        with watched():
            table = result.regrets(method="exact", progress=False)
        counts["regrets"] += 1
        for row in table.to_dict(orient="records"):
            edge = case.names.index(row["from"]), case.names.index(row["to"])
            lost = float(most - best(case, edge))
            if np.isfinite(lost) and not abs(row["without"] - lost) <= slack:
                raise Wrong(f"without {edge} {row['without']!r} is said to be lost, not {lost!r}")
    within = float(rng.choice([0.5, 2.0]))
    try:
        with watched():
            rivals = result.rivals(within, progress=False)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts["lists of rivals"] += 1
    listed = {tuple(map(int, dag))[: case.n_series]: float(loss)
              for dag, loss in zip(rivals.parents, rivals.losses, strict=True)}  # fmt: skip
    true = _within(case, most, within + 2 * slack)
    for networks, others_, how in ((true, listed, "is missing"), (listed, true, "is listed")):
        for network, loss in networks.items():
            if loss < within - slack and not abs(others_.get(network, np.inf) - loss) <= slack:
                raise Wrong(f"rivals within {within}: {network}, which loses {loss!r}, {how}")


def _within(case: Case, most: Real, within: float) -> dict[tuple[int, ...], float]:
    """Return all networks within some points of the best one, and what they lose."""
    found: dict[tuple[int, ...], float] = {}
    for order in permutations(range(case.n_series)):
        options, first = [], 0
        for i in order:
            options.append(sorted(((case.local[i, mask], mask) for mask in _sets(case, i, first)), reverse=True))
            first |= 1 << i
        rest = [sum((one[0][0] for one in options[k:]), Real(0)) if all(options) else Real(-np.inf)
                for k in range(len(order) + 1)]  # fmt: skip

        def grow(k: int, total: Real, masks: dict[int, int], options: Any = options, rest: Any = rest,
                 order: Any = order) -> None:  # fmt: skip
            if k == len(order):
                found[tuple(masks[i] for i in range(case.n_series))] = float(most - total)
                return
            for value, mask in options[k]:
                if float(most - total - value - rest[k + 1]) > within:
                    break
                grow(k + 1, total + value, {**masks, order[k]: mask})

        if all(options):
            grow(0, Real(0), {})
    return found
