"""Lists, counts, ranges and posteriors against brute force over all DAGs and all orders of up to five columns.

    python -m benchmarks.near_check [--tables 500] [--first 0] [--seconds 3600]

Table k is Gaussian (BIC, BGe), discrete (BIC, BDeu) or mixed by turns, with two to five columns, every other one with
required and forbidden edges and a limit on parents. The local scores of the oracle are those of ``hunt/truth.py`` in
extended precision, without code of the library; effects of Gaussian columns are those of least squares, of discrete
columns standardised probabilities, counted here. Compared are, by the recursion and by cutting planes:

- the DAGs within a limit, their number, their losses, and the losses of their parent sets;
- the parent sets of a cause within the limit, and the range of its effect;
- the exact probability of every parent set of the cause and of every edge.

The limit is drawn so that no loss is within 1e-6 of it. Losses are compared relative to the best score, ranges and
probabilities as they are. The output has how many comparisons were made and the largest difference of each kind; the
exit code is 1 if one is above 1e-9 or a list differs.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections import Counter, defaultdict
from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd

import dagopt
from dagopt.networks.effects.estimates import estimate
from hunt import others
from hunt.near import by_cutting_planes, drawn_knowledge, mask_of_parents
from hunt.tables import NAMES
from hunt.truth import Known, Local, Real, all_dags, all_local, bdeu, bge, bits, gaussian, log_sum, multinomial

ALLOWED = 1e-9
KINDS = ("Gaussian, BIC", "Gaussian, BGe", "discrete, BIC", "discrete, BDeu", "mixed")


@cache
def dags_of(n: int) -> np.ndarray:
    """Return the parents of every node in every DAG, as bits of ``[dag, node]``."""
    return np.array(list(all_dags(n)))


def drawn(kind: str, n: int, rng: np.random.Generator) -> others.Case:
    """Return a table and the score of every family."""
    rows = int(rng.integers(40, 150))
    if kind == "mixed":
        while True:
            case = others.DRAWN[0](rng)
            numbers = [column for column in case.data.values() if not isinstance(column, list)]
            if case.n <= n and all(np.abs(column).max() < 1e3 for column in numbers):
                return case
    if kind.startswith("Gaussian"):
        values = others._numbers(rng, rows, n)
        frame = pd.DataFrame(values, columns=list(NAMES[:n]))
        if kind.endswith("BGe"):
            return others.Case(kind, frame, all_local(bge(values, Real(1.0))[0], n), n, {"score": "bge"})
        penalty = float(np.round(rng.exponential(2.0) + 0.2, 3))
        return others.Case(
            kind, frame, all_local(gaussian(values, Real(penalty), "paper")[0], n), n, {"score": penalty}
        )
    arity = [int(size) for size in rng.integers(2, 4, n)]
    codes = np.zeros((rows, n), dtype=np.int64)
    for j in range(n):
        copied = codes[:, rng.integers(0, max(j, 1))] % arity[j]
        codes[:, j] = np.where((j > 0) & (rng.random(rows) < 0.6), copied, rng.integers(0, arity[j], rows))
        codes[: arity[j], j] = np.arange(arity[j])
    frame = pd.DataFrame({NAMES[j]: [f"L{code}" for code in codes[:, j]] for j in range(n)})
    if kind.endswith("BDeu"):
        local, options = bdeu(codes, arity, Real(2.0)), {"score": "bdeu", "equivalent_sample_size": 2.0}
    else:
        penalty = float(np.round(rng.exponential(1.0) + 0.2, 3))
        local, options = multinomial(codes, arity, Real(penalty)), {"score": penalty}
    return others.Case(kind, frame, all_local(local, n), n, options)


def limit_near(losses: np.ndarray, wanted: float) -> float:
    """Return a limit near the wanted one that is not within 1e-6 of a loss."""
    while np.abs(losses - wanted).min() < 1e-6:
        wanted += 1.1e-6
    return wanted


def effects(case: others.Case, table: object, x: int, y: int, parents: list[int]) -> np.ndarray:
    """Return the effects of x on y given parents, in the order of ``estimate``, with code of this file."""
    if case.kind.startswith("Gaussian"):
        values = case.data.to_numpy()
        design = np.column_stack([np.ones(len(values)), values[:, [x, *parents]]])
        return np.linalg.lstsq(design, values[:, y], rcond=None)[0][1:2]
    if case.kind.startswith("discrete"):
        codes = case.data.map(lambda level: int(level[1:])).to_numpy()
        strata = Counter(map(tuple, codes[:, parents].tolist()))
        n_x, n_y = codes[:, x].max() + 1, codes[:, y].max() + 1
        whole = np.array([[np.mean(codes[codes[:, x] == a, y] == b) for b in range(n_y)] for a in range(n_x)])
        means = np.zeros((n_x, n_y))
        for stratum, count in strata.items():
            inside = (codes[:, parents] == stratum).all(axis=1)
            for a in range(n_x):
                rows = codes[inside & (codes[:, x] == a), y]
                share = [np.mean(rows == b) for b in range(n_y)] if len(rows) else whole[a]
                means[a] += count / len(codes) * np.array(share)
        return (means[1:] - means[0]).ravel()
    return estimate(table, x, y, parents, 0.95)["effect"].to_numpy()


def posterior(local: Local, n: int, known: Known, prior: str, x: int) -> tuple[dict[int, float], np.ndarray]:
    """Return the probability of every parent set of a node and of every edge, by all orders of the columns."""
    sets, edges, weights = defaultdict(list), defaultdict(list), []
    for order in permutations(range(n)):
        before, logs, own = 0, [], []
        for i in order:
            inside = {
                mask: local[i, mask] - (np.log(Real(math.comb(n - 1, mask.bit_count()))) if prior == "fair" else 0)
                for mask in range(1 << n)
                if not mask & ~before and known.allows(i, mask)
            }
            total = log_sum(list(inside.values()))
            logs.append(total)
            own += [(i, mask, weight - total) for mask, weight in inside.items()]
            before |= 1 << i
        whole = sum(logs, Real(0))
        if not np.isfinite(whole):
            continue
        weights.append(whole)
        for i, mask, share in own:
            if i == x:
                sets[mask].append(whole + share)
            for j in bits(mask):
                edges[j, i].append(whole + share)
    total = log_sum(weights)
    found = np.zeros((n, n))
    for (j, i), logs in edges.items():
        found[j, i] = float(np.exp(log_sum(logs) - total))
    return {mask: float(np.exp(log_sum(logs) - total)) for mask, logs in sets.items()}, found


def check(number: int, counts: Counter[str], worst: dict[str, float]) -> None:
    """Check one table; raise ``AssertionError`` if a list differs."""
    rng = np.random.default_rng([number, 34])
    kind, n = KINDS[number % len(KINDS)], int(rng.choice([2, 3, 4, 5, 5, 5]))
    case = drawn(kind, n, rng)
    n = case.n
    known, asked = Known(), {}
    while number // len(KINDS) % 2 and n > 2 and not asked:
        known, asked = drawn_knowledge(rng, n)
    dags = dags_of(n)
    local = np.full((n, 1 << n), -np.inf, dtype=Real)
    for (i, mask), score in case.local.items():
        local[i, mask] = score if known.allows(i, mask) else -np.inf
    scores = sum(local[i, dags[:, i]] for i in range(n))
    kept = np.isfinite(scores)
    dags, scores = dags[kept], scores[kept]
    losses = (scores.max() - scores).astype(np.float64)
    scale = max(float(np.abs(scores).max()), 1.0)
    result = dagopt.learn(case.data, "exact", progress=False, constraints=asked, **case.options)
    counts[f"tables: {kind}"] += 1
    counts["tables with knowledge"] += bool(asked)
    within = limit_near(losses, float(rng.choice([0.0001, 0.7, 2.0, 5.0])))
    inside = losses <= within
    least = {(i, int(mask)): losses[dags[:, i] == mask].min() for i in range(n) for mask in np.unique(dags[:, i])}
    x, y = map(int, rng.permutation(n)[:2])

    def note(what: str, difference: float) -> None:
        counts[what] += 1
        worst[what] = max(worst[what], float(difference))

    for cutting in (False, True):
        with by_cutting_planes(cutting):
            found = result.rivals(within, progress=False)
            effect = result.effect(result.names[x], result.names[y], within=within)
        told = {tuple(map(int, dag)): float(loss) for dag, loss in zip(found.parents, found.losses, strict=True)}
        true = {tuple(map(int, dag)): loss for dag, loss in zip(dags[inside], losses[inside], strict=True)}
        assert found.count == len(told) == len(true), (kind, found.count, len(told), len(true))
        assert told.keys() == true.keys(), kind
        note("lists: losses of DAGs", max(abs(told[dag] - true[dag]) for dag in true) / scale)
        said = zip(found.family_node.tolist(), found.family_parents.tolist(), found.family_loss.tolist(), strict=True)
        families = {(i, mask): loss for i, mask, loss in said}
        near = {family: loss for family, loss in least.items() if loss <= within}
        assert families.keys() == near.keys(), kind
        note("lists: losses of parent sets", max(abs(families[one] - near[one]) for one in near) / scale)
        sets = [mask for i, mask in near if i == x]
        assert {mask_of_parents(one, result.names) for one in effect.table["parents"]} == set(sets), kind
        own = np.array([
            effects(case, result.problem.table, x, y, bits(mask)) if not mask >> y & 1 else np.zeros(len(effect.ranges))
            for mask in sets
        ])  # fmt: skip
        both = np.stack([own.min(axis=0), own.max(axis=0)])
        note("ranges of effects", np.abs(effect.ranges[["lowest", "highest"]].to_numpy().T - both).max())
    prior = str(rng.choice(["fair", "uniform"]))
    shares, edges = posterior(case.local, n, known, prior, x)
    mixture = result.effect_posterior(result.names[x], result.names[y], prior=prior, progress=False).table
    rows = mixture.drop_duplicates("parents")
    for parents, share in zip(rows["parents"], rows["probability_of_parents"], strict=True):
        note("posterior: parent sets", abs(share - shares[mask_of_parents(parents, result.names)]))
    exact = dagopt.edge_posterior(case.data, prior=prior, progress=False, constraints=asked, **case.options)
    note("posterior: edges", np.abs(exact.probabilities - edges).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600.0, help="tables begun by then count")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # what the doctor says of such small tables
    counts: Counter[str] = Counter()
    worst: dict[str, float] = defaultdict(float)
    wrong, start = 0, time.perf_counter()
    for number in range(asked.first, asked.first + asked.tables):
        if time.perf_counter() - start > asked.seconds:
            break
        try:
            check(number, counts, worst)
        except AssertionError as error:
            wrong += 1
            print(f"table {number}: a list differs: {error}", flush=True)
        except dagopt.InputError as error:
            counts[f"refused: {str(error)[:60]}"] += 1
    print("| what | number | largest difference |\n|---|---|---|")
    for what, number in sorted(counts.items()):
        print(f"| {what} | {number} | {f'{worst[what]:.1e}' if what in worst else ''} |")
    return int(wrong > 0 or any(value > ALLOWED for value in worst.values()))


if __name__ == "__main__":
    sys.exit(main())
