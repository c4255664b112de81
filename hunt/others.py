"""Tables of other kinds against extended precision: mixed columns, interventions, missing cells, your own scores.

Every method runs on each table; graph, score, bound and claim of optimality are held against the best of all DAGs, as
in ``claims``; so are the best classes and regrets of ``exact``. ``branch-and-cut`` runs once more with few parent sets
listed, so that they are priced and pairs give bounds, and once by the search from the end of the order, both from the
DAG without edges. Scores are
numbers, the cost of one parameter, so that nothing depends on how rows are counted. ``benchmarks.kinds_check`` makes
the same comparisons on many tables of each kind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.special import ndtri

import dagopt
from dagopt.methods.branch_and_cut import suffix_search as suffixes
from hunt.claims import RELATIVE, Wrong, check_graph, watched
from hunt.provers import far_starts
from hunt.tables import NAMES
from hunt.truth import (
    Known,
    Local,
    Real,
    all_local,
    best_score,
    bge,
    bits,
    classes_of,
    dags_of,
    gaussian,
    multinomial,
    parents_of,
    residual,
    score_of,
    triangle,
)

NOISE = 1e-8  # relative variance that the embedding of levels adds, by definition
METHODS = ("auto", "exact", "branch-and-cut", "gobnilp", "order", "hc", "tabu", "cg-dca")
NOT_TAKEN = {("hc", "n_jobs"), ("tabu", "n_jobs")}  # methods without threads
SHORT = 1.0  # seconds for a proof by a part that is forced; stopped there, its bound must hold
SPARE = 5  # rows that a cell of the conditional Gaussian has beyond its continuous columns


@dataclass(frozen=True, eq=False)
class Case:
    """A table as ``learn`` takes it, what else it takes, and the score of every family."""

    kind: str
    data: Any  # or a function that returns it, for what can be read only once
    local: Local
    n: int
    options: dict[str, Any] = field(default_factory=dict)
    unit: float = 1.0  # a usual score: differences are relative to it
    told: frozenset[tuple[int, int]] = frozenset()  # pairs of columns, both ways, whose edge has its direction told

    def given(self) -> Any:
        """Return the data for one run."""
        return self.data() if callable(self.data) else self.data


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    rng = np.random.default_rng([seed, number, 5])
    case = DRAWN[number % len(DRAWN)](rng)
    try:
        compare(case, rng, counts)
    except Exception as error:  # whatever it is, it is a finding
        return f"{type(error).__name__}: {error}\npython -m hunt others --seed {seed} --only {number}"
    return None


def compare(case: Case, rng: np.random.Generator, counts: Counter[str], methods: tuple[str, ...] = METHODS) -> None:
    """Check all that is said about a table; raise ``Wrong`` for a claim that does not hold."""
    counts[f"tables: {case.kind}"] += 1
    results = {method: _check(case, method, counts) for method in methods}
    for way in WAYS:
        with _forced(way, rng):
            few = int(rng.integers(1, 3 * case.n))
            _check(case, "branch-and-cut", counts, way, max_sets=few, n_jobs=1, restarts=1, time_limit=SHORT)
    dags = dags_of(case.n)
    table = np.full((case.n, 1 << case.n), -np.inf, dtype=Real)
    for (i, mask), score in case.local.items():
        table[i, mask] = score
    scores = sum(table[i, dags[:, i]] for i in range(case.n))
    _check_classes(case, scores, counts, int(rng.integers(2, 12)))
    _check_regrets(case, results["exact"], scores, counts)


WAYS = ("few sets", "from the end")


@contextmanager
def _forced(way: str, rng: np.random.Generator) -> Iterator[None]:
    """Let the search from the end begin with any number of columns, or with none; the proof has to find the DAG."""
    fewest = 2 if way == "from the end" else suffixes.MOST_NODES + 1
    with patch.object(suffixes, "FEWEST_NODES", fewest), far_starts(rng):
        yield


def _check(case: Case, method: str, counts: Counter[str], way: str = "", **more: Any) -> dagopt.Result | None:
    """Check one run; return its result, None if the table is refused."""
    options = {name: value for name, value in (case.options | more).items() if (method, name) not in NOT_TAKEN}
    try:
        with watched():
            result = dagopt.learn(case.given(), method, progress=False, **options)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return None
    name = f"{method}, {way}" if way else method
    counts[f"runs: {name}"] += 1
    if way == "from the end" and any("from its end" in note for note in result.notes):
        counts["searches from the end"] += 1
    has_limit = method == "gobnilp" and "levels" not in case.kind  # of its own, unless all columns are discrete
    known = Known(max_parents=min(3, case.n - 1)) if has_limit else Known()
    check_graph(result, known)
    true = float(score_of(case.local, result.adjacency))
    slack = RELATIVE * max(abs(true), case.unit) + result.details.get("rounding", 0.0)
    if not abs(true - result.score) <= slack:
        raise Wrong(f"{name}, {case.kind}: says its DAG scores {result.score!r} but it scores {true!r}")
    if result.bound is None:
        return result
    counts["bounds"] += 1
    best = float(best_score(case.local, case.n, Known() if result.scope == "all DAGs" else known))
    if best > result.bound + 1e-13 * max(abs(best), case.unit):
        raise Wrong(f"{name}, {case.kind}: says no DAG over {result.scope} exceeds {result.bound!r}, one has {best!r}")
    if result.status == "optimal":
        counts["proofs"] += 1
        if best - true > slack + (result.bound - result.score):
            raise Wrong(f"{name}, {case.kind}: says {result.score!r} is optimal but {best!r} is there")
    return result


def _check_classes(case: Case, scores: np.ndarray, counts: Counter[str], wanted: int) -> None:
    """Check the best classes against all DAGs."""
    try:
        with watched():
            result = dagopt.learn(case.given(), "exact", progress=False, **case.options, n_best=wanted)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts["n_best"] += 1
    dags, told = dags_of(case.n), np.zeros((case.n, case.n), dtype=bool)
    for edge in case.told:
        told[edge] = True
    own = np.array([sum(1 << int(j) for j in np.flatnonzero(told[:, i])) for i in range(case.n)])
    names = np.column_stack([classes_of(case.n), dags & own])
    _, name = np.unique(names, axis=0, return_inverse=True)
    best = np.full(int(name.max()) + 1, -np.inf)
    np.maximum.at(best, name, scores.astype(np.float64))
    true = np.sort(best[np.isfinite(best)])[::-1][:wanted]
    found = result.details["best_classes"]
    place = {tuple(dag): int(own) for dag, own in zip(dags.tolist(), name, strict=True)}
    if len({place[tuple(parents_of(one["adjacency"]))] for one in found}) != len(true):
        raise Wrong(f"{case.kind}: n_best={wanted} gives {len(found)} classes where there are {len(true)}")
    slack = RELATIVE * max(abs(true[0]), case.unit) + 2 * result.details.get("rounding", 0.0)
    if max(abs(one["score"] - value) for one, value in zip(found, true, strict=True)) > slack:
        raise Wrong(f"{case.kind}: n_best={wanted} gives {[one['score'] for one in found]} but there are {true}")


def _check_regrets(case: Case, result: dagopt.Result | None, scores: np.ndarray, counts: Counter[str]) -> None:
    """Check what the score loses without each edge, by the result of ``exact``."""
    if result is None or not result.adjacency.any():
        return
    with watched():
        table = result.regrets(method="exact", progress=False, n_jobs=case.options.get("n_jobs"))
    counts["regrets"] += 1
    dags, best = dags_of(case.n), scores.max()
    slack = 1e-7 * max(abs(float(best)), case.unit) + 2 * result.details.get("rounding", 0.0)
    for row in table.to_dict(orient="records"):
        a, b = NAMES.index(row["from"]), NAMES.index(row["to"])
        lost = float(best - scores[dags[:, b] >> a & 1 == 0].max())
        if np.isfinite(lost) and not abs(row["without"] - lost) <= slack:
            raise Wrong(f"{case.kind}: without {(a, b)} {row['without']!r} is lost, not {lost!r}")


def _numbers(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), 1)
    values = np.zeros((rows, n))
    for j in range(n):
        values[:, j] = values @ weights[:, j] + rng.normal(size=rows)
    return values


def log_det_of(matrix: np.ndarray) -> Real:
    """Return the logarithm of a determinant, by elimination."""
    left, total = matrix.copy(), Real(0)
    for k in range(len(left)):
        total += np.log(left[k, k])
        left[k + 1 :, k + 1 :] -= np.outer(left[k + 1 :, k], left[k, k + 1 :]) / left[k, k]
    return total


def _embedded(rng: np.random.Generator, values: np.ndarray) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Cut some columns into levels; return the table, and each column as numbers or indicators of its levels."""
    data: dict[str, Any] = {}
    embedded: list[np.ndarray] = []
    for j in range(values.shape[1]):
        if j == 0 or (j > 1 and rng.random() < 0.5):
            codes = np.digitize(
                values[:, j], np.quantile(values[:, j], np.linspace(0, 1, int(rng.integers(3, 5)))[1:-1])
            )
            data[NAMES[j]] = [f"L{code}" for code in codes]
            embedded.append(np.stack([codes == level for level in np.unique(codes)[1:]], axis=1).astype(np.float64))
        else:
            if rng.random() < 0.5:  # such as dates and ids
                values[:, j] += 10.0 ** rng.uniform(3, 14)
            data[NAMES[j]] = values[:, j]
            embedded.append(values[:, [j]])
    return data, embedded


def degenerate(embedded: list[np.ndarray], data: dict[str, Any], penalty: float) -> Callable[[int, int], Real]:
    """Return the Gaussian likelihood of indicators and numbers, one parameter per pair of them."""
    rows, sizes = len(embedded[0]), [block.shape[1] for block in embedded]
    two_pi = 8 * np.arctan(Real(1))

    def log_det(chosen: list[int]) -> Real:
        groups = [embedded[j].astype(Real) for j in chosen]
        if not groups:
            return Real(0)
        columns = np.concatenate([group - group.sum(axis=0) / rows for group in groups], axis=1)
        columns = columns - columns.sum(axis=0) / rows  # what the first means have left
        products, at = columns.T @ columns / rows, 0
        for j, group in zip(chosen, groups, strict=True):
            own = slice(at, at := at + group.shape[1])
            products[own, own] *= 1 if isinstance(data[NAMES[j]], np.ndarray) else 1 + Real(NOISE)
        return log_det_of(products)

    def local(node: int, mask: int) -> Real:
        parents = bits(mask)
        fit = log_det(sorted([*parents, node])) - log_det(parents)
        constant = sizes[node] * (1 + np.log(two_pi))
        return -Real(rows) / 2 * (constant + fit) - Real(penalty) * sizes[node] * sum(sizes[j] for j in parents)

    return local


def _mixed(rng: np.random.Generator) -> Case:
    """Mix columns of numbers and of levels."""
    rows, n = int(rng.integers(60, 200)), int(rng.integers(2, 6))
    values, penalty = _numbers(rng, rows, n), float(np.round(rng.exponential(3.0) + 0.1, 3))
    data, embedded = _embedded(rng, values)
    return Case("mixed columns", data, all_local(degenerate(embedded, data, penalty), n), n, {"score": penalty})


def _mixed_interventions(rng: np.random.Generator) -> Case:
    """Set columns of a mixed table in some rows: each column has the rows that do not set it."""
    rows, n = int(rng.integers(80, 200)), int(rng.integers(2, 5))
    values, penalty = _numbers(rng, rows, n), float(np.round(rng.exponential(3.0) + 0.1, 3))
    target = np.where(rng.random(rows) < 0.6, -1, rng.integers(0, n, rows))
    data, embedded = _embedded(rng, values)
    parts = [degenerate([block[target != j] for block in embedded], data, penalty) for j in range(n)]
    named = [None if t < 0 else NAMES[t] for t in target]
    local = all_local(lambda node, mask: parts[node](node, mask), n)
    options = {"score": penalty, "interventions": named}
    return Case("mixed columns, interventions", data, local, n, options, told=_told(target, n))


def _basis(rng: np.random.Generator) -> Case:
    """Take powers of columns: the likelihood of polynomials with variance 1, a product of degrees per edge."""
    rows, n, degree = int(rng.integers(60, 200)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    values = _numbers(rng, rows, n)
    values[:, 0] = np.sign(values[:, 0]) * np.abs(values[:, 0]) ** float(rng.choice([1.0, 1.5]))
    values[:, n - 1] += 0.5 * values[:, 0] ** 2
    values += np.where(rng.random(n) < 0.3, 10.0 ** rng.uniform(2, 6), 0.0)
    near = values.astype(Real) - values.astype(Real).mean(axis=0)
    near /= np.sqrt((near**2).mean(axis=0))
    penalty, two_pi = np.log(Real(rows)) / 2, 8 * np.arctan(Real(1))

    def log_det(members: list[int]) -> Real:
        if not members:
            return Real(0)
        powers = np.column_stack([near[:, j] ** k for j in members for k in range(1, degree + 1)])
        lengths = np.abs(np.diag(triangle(powers - powers.mean(axis=0)))[: len(members) * degree])
        return 2 * np.log(lengths).sum()

    def local(node: int, mask: int) -> Real:
        parents = bits(mask)
        fit = log_det([*parents, node]) - log_det(parents) - log_det([node])
        cost = penalty * degree**2 * len(parents)
        return -Real(rows) / 2 * (degree * (1 + np.log(two_pi)) + fit) - cost

    data = {NAMES[j]: values[:, j] for j in range(n)}
    options = {"score": "basis", "degree": degree, "kind": "continuous"}
    return Case("polynomials", data, all_local(local, n), n, options)


def _ranks(rng: np.random.Generator) -> Case:
    """Replace numbers by the normal scores of their ranks, which do not depend on how they are bent."""
    rows, n = int(rng.integers(40, 200)), int(rng.integers(2, 6))
    values, penalty = _numbers(rng, rows, n), float(np.round(rng.exponential(3.0) + 0.1, 3))
    places = values.argsort(axis=0).argsort(axis=0) + 1
    data = {NAMES[j]: np.exp(values[:, j]) for j in range(n)}
    local, _ = gaussian(ndtri(places / (rows + 1)), Real(penalty), "paper")
    return Case("ranks", data, all_local(local, n), n, {"score": penalty, "transform": "rank"})


def _interventions(rng: np.random.Generator) -> Case:
    """Set columns in some rows: a local score counts the rows that do not set the column."""
    rows, n = int(rng.integers(60, 160)), int(rng.integers(2, 6))
    values, penalty = _numbers(rng, rows, n), float(np.round(rng.exponential(3.0) + 0.1, 3))
    target = np.where(rng.random(rows) < 0.5, -1, rng.integers(0, n, rows))
    for j in range(n):
        values[target == j, j] = rng.normal(size=int((target == j).sum())) * 3
    named = [None if t < 0 else NAMES[t] for t in target]
    data: dict[str, Any] = {NAMES[j]: values[:, j] for j in range(n)}
    options: dict[str, Any] = {"score": penalty, "interventions": named}
    kind = str(rng.choice(["numbers", "levels", "BGe"]))
    if kind == "numbers":
        parts = [gaussian(values[target != j], Real(penalty), "paper")[0] for j in range(n)]
    elif kind == "levels":
        codes = (values > 0).astype(np.int64)
        codes[: 2 * n, :] = np.arange(2 * n)[:, None] % 2  # both levels occur in all rows that count for a column
        target[: 2 * n], named[: 2 * n] = -1, [None] * (2 * n)
        data = {NAMES[j]: [f"L{code}" for code in codes[:, j]] for j in range(n)}
        parts = [multinomial(codes[target != j], [2] * n, Real(penalty)) for j in range(n)]
    else:
        options["score"] = "bge"
        parts = [bge(values[target != j], Real(1))[0] for j in range(n)]
    local = all_local(lambda node, mask: parts[node](node, mask), n)
    return Case(f"interventions, {kind}", data, local, n, options, told=_told(target, n))


def _told(target: np.ndarray, n: int) -> frozenset[tuple[int, int]]:
    """Return the pairs of columns of which some row sets one: rows set one column at most."""
    return frozenset((a, b) for a in range(n) for b in range(n) if {a, b} & set(target.tolist()))


def _missing(rng: np.random.Generator) -> Case:
    """Make holes: rows with one are left out, or the hole is a level."""
    rows, n = int(rng.integers(60, 160)), int(rng.integers(2, 6))
    penalty = float(np.round(rng.exponential(3.0) + 0.1, 3))
    holes = rng.random((rows, n)) < 0.05
    values = _numbers(rng, rows, n)
    if rng.random() < 0.5:
        data = {NAMES[j]: np.where(holes[:, j], np.nan, values[:, j]) for j in range(n)}
        local, _ = gaussian(values[~holes.any(axis=1)], Real(penalty), "paper")
        return Case("missing numbers", data, all_local(local, n), n, {"score": penalty, "missing": "drop"})
    codes = np.digitize(values, [-0.5, 0.5])
    levels = {NAMES[j]: [None if hole else f"L{c}" for hole, c in zip(holes[:, j], codes[:, j], strict=True)]
              for j in range(n)}  # fmt: skip
    how = str(rng.choice(["drop", "level"]))
    used = codes[~holes.any(axis=1)] if how == "drop" else np.where(holes, 3, codes)
    arity = [len(np.unique(column)) for column in used.T]
    local = multinomial(used, arity, Real(penalty))
    return Case(f"missing levels, {how}", levels, all_local(local, n), n, {"score": penalty, "missing": how})


def _cells(rng: np.random.Generator) -> Case:
    """Fit a Gaussian in each configuration of the discrete columns."""
    rows, n = int(rng.integers(80, 300)), int(rng.integers(3, 6))
    values, penalty = _numbers(rng, rows, n), np.log(Real(rows)) / 2
    levels = [j < 2 and (j == 0 or rng.random() < 0.5) for j in range(n)]
    if rng.random() < 0.3:
        values[:, n - 1] = values[:, n - 2] + 10.0 ** rng.uniform(-5, -1) * rng.normal(size=rows)
    data: dict[str, Any] = {}
    for j in range(n):
        if levels[j]:
            codes = np.digitize(values[:, j], np.quantile(values[:, j], [0.4, 0.7][: int(rng.integers(1, 3))]))
            data[NAMES[j]] = [f"L{code}" for code in codes]
        else:
            values[:, j] += float(rng.choice([0.0, 10.0 ** rng.uniform(2, 9)]))
            data[NAMES[j]] = values[:, j]
    two_pi = 8 * np.arctan(Real(1))

    def potential(members: list[int]) -> Real:
        words = [data[NAMES[j]] for j in members if levels[j]]
        numbers = [j for j in members if not levels[j]]
        cells = list(zip(*words, strict=True)) if words else [()] * rows
        size, total = len(numbers), Real(0)
        for cell, count in Counter(cells).items():
            if size and count < size + SPARE:
                return Real(-np.inf)
            own = values[[one == cell for one in cells]][:, numbers].astype(Real)
            for _ in range(2):
                own = own - own.sum(axis=0) / count
            lengths = np.abs(np.diag(triangle(own))[:size])  # products would lose half of the digits of near copies
            fit = size * (1 + np.log(two_pi)) + 2 * np.log(lengths).sum() - size * np.log(Real(count))
            total += Real(count) * np.log(Real(count) / rows) - Real(count) / 2 * fit
        configurations = math.prod(len(set(one)) for one in words)
        return total - penalty * (configurations * (1 + Real(size * (size + 3)) / 2) - 1)

    def local(node: int, mask: int) -> Real:
        together = potential(sorted([*bits(mask), node]))
        return together - potential(bits(mask)) if np.isfinite(together) else Real(-np.inf)

    return Case("conditional Gaussian", data, all_local(local, n), n, {"score": "cg"})


def _own(rng: np.random.Generator) -> Case:
    """Draw the score of every family: numbers of any size, with ties."""
    n, size = int(rng.integers(2, 6)), float(10.0 ** rng.choice([-150, -6, 0, 3, 12]))
    drawn = all_local(lambda node, mask: Real(int(rng.integers(-40, 60)) * size), n)
    names = NAMES[:n]

    def score(node: str, parents: Any) -> float:
        return float(drawn[names.index(node), sum(1 << names.index(one) for one in parents)])

    data = {name: rng.normal(size=20) for name in names}
    everything = frozenset((a, b) for a in range(n) for b in range(n))
    return Case(f"own scores of {size:.0e}", data, drawn, n, {"score": score}, size, everything)


def _weights(rng: np.random.Generator) -> Case:
    """Count rows more than once, or by survey weights, which count as many rows as the effective sample size."""
    rows, n = int(rng.integers(30, 120)), int(rng.integers(2, 6))
    values, penalty = _numbers(rng, rows, n), float(np.round(rng.exponential(3.0) + 0.1, 3))
    times = rng.integers(1, 6, rows)
    options: dict[str, Any] = {"score": penalty, "weights": times}
    if rng.random() < 0.3:
        codes = np.digitize(np.repeat(values, times, axis=0), [-0.5, 0.5])
        local = all_local(multinomial(codes, [len(np.unique(column)) for column in codes.T], Real(penalty)), n)
        once = np.digitize(values, [-0.5, 0.5])
        return Case("weights of levels", {NAMES[j]: [f"L{c}" for c in once[:, j]] for j in range(n)}, local, n, options)
    values += np.where(rng.random(n) < 0.3, 10.0 ** rng.uniform(2, 12), 0.0)
    data = {NAMES[j]: values[:, j] for j in range(n)}
    if rng.random() < 0.5:
        local, _ = gaussian(np.repeat(values, times, axis=0), Real(penalty), "paper")
        return Case("weights of numbers", data, all_local(local, n), n, options)
    weights = rng.uniform(0.2, 3.0, rows)
    exact, shares = values.astype(Real), weights.astype(Real) / weights.astype(Real).sum()
    near = exact - shares @ exact
    near -= shares @ near
    factor, counted = triangle(np.sqrt(shares)[:, None] * near), np.round(1 / (shares**2).sum())
    log_two_pi = np.log(8 * np.arctan(Real(1)))

    def survey(node: int, mask: int) -> Real:
        left = residual(factor, node, bits(mask))
        return -counted / 2 * (1 + log_two_pi + np.log(left)) - Real(penalty) * mask.bit_count()

    return Case("survey weights", data, all_local(survey, n), n, options | {"weights": weights})


def _parts(rng: np.random.Generator) -> Case:
    """Read a table once, in parts of random sizes: numbers far from zero, levels, or both."""
    rows, n = int(rng.integers(60, 200)), int(rng.integers(2, 6))
    values, penalty = _numbers(rng, rows, n), float(np.round(rng.exponential(3.0) + 0.1, 3))
    kind = str(rng.choice(["numbers", "levels", "both"]))
    if kind == "both":
        data, embedded = _embedded(rng, values)
        local = degenerate(embedded, data, penalty)
    elif kind == "levels":
        codes = np.digitize(values, [-0.5, 0.5])
        data = {NAMES[j]: [f"L{c}" for c in codes[:, j]] for j in range(n)}
        local = multinomial(codes, [len(np.unique(column)) for column in codes.T], Real(penalty))
    else:
        values += np.where(rng.random(n) < 0.3, 10.0 ** rng.uniform(2, 12), 0.0)
        data = {NAMES[j]: values[:, j] for j in range(n)}
        local, _ = gaussian(values, Real(penalty), "paper")
    frame, ends = pd.DataFrame(data), [0, *sorted(rng.integers(0, rows, int(rng.integers(1, 5))).tolist()), rows]
    parts = [frame.iloc[a:b] for a, b in pairwise(ends) if a < b]
    return Case(f"{kind} in parts", lambda: iter(parts), all_local(local, n), n, {"score": penalty})


DRAWN = (
    _mixed, _interventions, _missing, _cells, _own, _mixed_interventions, _basis, _ranks, _weights, _parts
)  # fmt: skip
