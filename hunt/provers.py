"""Tables of 6 to 14 columns on which one part of a prover decides, against the recursion over all subsets.

Small tables are often solved before the part that is to be tested has its say. So here sets are not listed, searches
begin far from the best DAG, LP points are not rounded to DAGs, and sizes at which a part begins are small. What is
claimed must hold nevertheless; the truth is ``method="exact"``, which ``claims`` holds against extended precision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

import dagopt
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.learning.posing import pose
from dagopt.methods.branch_and_cut import branch_and_cut, gobnilp, pair_bound, suffix_search
from dagopt.methods.branch_and_cut.branch_and_cut import ROW_KINDS
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from hunt.claims import watched
from hunt.record import Wrong
from hunt.truth import is_dag

RELATIVE = 1e-7  # of a score: above the tolerance of a proof, 1e-8
LEAST_BOUND = 1e-10  # of a score, by which a bound may be below the best one, which has a rounding error itself


@dataclass(frozen=True, eq=False)
class Case:
    """A table as ``learn`` takes it, and what else it takes."""

    data: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)

    def best(self) -> dagopt.Result:
        """Return the best of all allowed DAGs, by the recursion."""
        with watched():
            return dagopt.learn(self.data, "exact", progress=False, **self.options)


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    part = PARTS[number % len(PARTS)]
    rng = np.random.default_rng([seed, number, 9])
    counts[f"cases: {part.__name__[1:]}"] += 1
    try:
        part(rng, counts)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
    except Exception as error:  # whatever it is, it is a finding
        again = f"python -m hunt provers --seed {seed} --only {number}"
        return f"{part.__name__[1:]}: {type(error).__name__}: {error}\n{again}"
    return None


# --- tables ---------------------------------------------------------------------------------------------------


def numbers(rng: np.random.Generator, least: int = 6, most: int = 13) -> Case:
    """Draw a linear network, sparse or dense, with few or many rows, and a penalty per edge."""
    n, rows = int(rng.integers(least, most)), int(rng.choice([40, 200, 2000]))
    share, strength = float(rng.choice([0.2, 0.5, 0.9])), float(rng.choice([0.2, 0.6, 1.5]))
    most_parents = int(rng.choice([2, 3, 4, n]))  # with three strong ones, no set of two leaves little information
    values = np.zeros((rows, n))
    for j in range(n):
        drawn = rng.random(j) < share if most_parents == n else rng.permutation(j) < most_parents
        weights = strength * rng.uniform(0.5, 1.5, j) * rng.choice([-1.0, 1.0], j) * drawn
        values[:, j] = values[:, :j] @ weights + rng.normal(size=rows)
    values /= values.std(axis=0)
    data = {f"X{j}": values[:, k] for j, k in enumerate(rng.permutation(n))}
    penalty: Any = rng.choice(["bic", "bic", "aic", "number"])
    options = {"score": float(rng.uniform(0.2, 8.0)) if penalty == "number" else str(penalty)}
    return Case(data, options | ({"convention": "bnlearn"} if rng.random() < 0.2 else {}))


def levels(rng: np.random.Generator, most: int = 10) -> Case:
    """Draw a network of two to four levels per column."""
    n, rows = int(rng.integers(5, most)), int(rng.choice([60, 300, 2000]))
    arity = rng.integers(2, 5, n)
    codes = np.zeros((rows, n), dtype=np.int64)
    for j in range(n):
        chosen = rng.choice(j, size=min(j, int(rng.integers(0, 4))), replace=False) if j else []
        mixed = (codes[:, chosen] * rng.integers(1, 5, len(chosen))).sum(axis=1)
        codes[:, j] = np.where(rng.random(rows) < 0.7, mixed, rng.integers(0, 9, rows)) % arity[j]
    data = {f"X{j}": [f"L{code}" for code in codes[:, k]] for j, k in enumerate(rng.permutation(n))}
    if rng.random() < 0.4:
        size = float(10.0 ** rng.uniform(-3, 6))
        return Case(data, {"score": "bdeu", "equivalent_sample_size": size})
    return Case(data, {"score": str(rng.choice(["bic", "aic"]))})


def blocks(rng: np.random.Generator) -> Case:
    """Draw a table whose score is of blocks: levels among numbers, polynomials, BGe, or rows that set columns."""
    case = numbers(rng, 5, 9)
    data, names, rows = dict(case.data), list(case.data), len(next(iter(case.data.values())))
    penalty = float(rng.choice([1.0, 3.0, 8.0]))
    kind = str(rng.choice(["mixed", "bge", "basis", "interventions", "mixed interventions"]))
    if kind.startswith("mixed"):
        for name in names[: int(rng.integers(1, len(names)))]:
            cuts = np.quantile(data[name], np.linspace(0, 1, int(rng.integers(3, 6)))[1:-1])
            data[name] = [f"L{code}" for code in np.digitize(data[name], cuts)]
    if kind.endswith("interventions"):
        target = np.where(rng.random(rows) < 0.7, -1, rng.integers(0, len(names), rows))
        return Case(data, {"score": penalty, "interventions": [None if t < 0 else names[t] for t in target]})
    if kind == "bge":
        return Case(data, {"score": "bge", "equivalent_sample_size": float(10.0 ** rng.uniform(-2, 3))})
    return Case(data, {"score": "basis", "degree": 2} if kind == "basis" else {"score": penalty})


def knowledge(rng: np.random.Generator, case: Case) -> Case:
    """Add forbidden and required edges that one order of the columns obeys, and sometimes a limit."""
    names = list(case.data)
    order = [names[k] for k in rng.permutation(len(names))]
    pairs = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :]]
    required = [pair for pair in pairs if rng.random() < 0.04]
    taken = set(required)
    forbidden = [(a, b) for a in names for b in names if a != b and (a, b) not in taken and rng.random() < 0.15]
    known: dict[str, Any] = {"required": required, "forbidden": forbidden}
    if rng.random() < 0.4:
        most = max([sum(b == name for _, b in required) for name in names] + [int(rng.integers(1, 4))])
        known["max_parents"] = most
    return Case(case.data, {**case.options, "constraints": known})


# --- far starts -----------------------------------------------------------------------------------------------


@contextmanager
def far_starts(rng: np.random.Generator) -> Iterator[None]:
    """Let branch and cut begin with the required edges alone, and most times without DAGs near LP points."""

    def no_search(problem: Any, *arguments: Any, **options: Any) -> tuple[Any, list[Any]]:
        return problem.knowledge.must.astype(np.int8), []

    near = (lambda families, values: None) if rng.random() < 0.7 else Families.near
    with patch.object(branch_and_cut, "order_incumbent", no_search), patch.object(Families, "near", near):
        yield


def _check(case: Case, result: dagopt.Result, best: dagopt.Result, how: str, counts: Counter[str]) -> None:
    """Check the graph, the bound and the claim of a result against the best DAG."""
    counts[f"runs: {result.method}"] += 1
    size = max(abs(best.score), 1.0)
    if not is_dag(result.adjacency):
        raise Wrong(f"{how}: a graph with a cycle")
    if result.score > best.score + RELATIVE * size:
        raise Wrong(f"{how}: a DAG of {result.score!r} is said to be there, but the best has {best.score!r}")
    if result.bound is None:
        return
    counts["bounds"] += 1
    if result.bound < best.score - LEAST_BOUND * size:
        raise Wrong(f"{how}: no DAG is said to exceed {result.bound!r}, but one has {best.score!r}; {case.options}")
    if result.status == "optimal":
        counts["proofs"] += 1
        if best.score - result.score > RELATIVE * size + 2 * result.details.get("rounding", 0.0):
            raise Wrong(f"{how}: {result.score!r} is said to be optimal, but {best.score!r} is there; {case.options}")


def _learned(case: Case, method: str, **options: Any) -> dagopt.Result:
    with watched():
        return dagopt.learn(case.data, method, progress=False, time_limit=20, n_jobs=1, **case.options, **options)


# --- parts ----------------------------------------------------------------------------------------------------


def _rows(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Check listed sets, one kind of rows or all kinds, and branching."""
    case = numbers(rng, 6, 12) if rng.random() < 0.7 else levels(rng, 8)
    if rng.random() < 0.3:
        case = knowledge(rng, case)
    best = case.best()
    for kinds in ([str(rng.choice(ROW_KINDS))], ["last-node", "symmetry"], list(ROW_KINDS)):
        with far_starts(rng):
            result = _learned(case, "branch-and-cut", rows=kinds)
        _check(case, result, best, f"rows {kinds}", counts)


def _blocks(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Check scores of blocks: which sets are listed, the rows over their columns, and branching."""
    case = blocks(rng)
    if rng.random() < 0.3:
        case = knowledge(rng, case)
    best = case.best()
    for kinds in ([str(rng.choice(ROW_KINDS))], list(ROW_KINDS)):
        with far_starts(rng):
            result = _learned(case, "branch-and-cut", rows=kinds)
        _check(case, result, best, f"blocks, rows {kinds}", counts)


def _priced(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Check sets that are priced, because few may be listed."""
    case = numbers(rng, 6, 11) if rng.random() < 0.5 else blocks(rng)
    if rng.random() < 0.3:
        case = knowledge(rng, case)
    best = case.best()
    kinds = [kind for kind in ROW_KINDS if rng.random() < 0.6]
    with far_starts(rng):
        result = _learned(case, "branch-and-cut", rows=kinds, max_sets=int(rng.choice([1, 5, 40, 200])))
    _check(case, result, best, f"priced, rows {kinds}", counts)


def _suffixes(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Check the search from the end of the order: a start far away, small tables for its bound."""
    case = numbers(rng, 6, 12) if rng.random() < 0.5 else blocks(rng)
    best = case.best()
    problem, _ = pose(case.data, **case.options)
    score = problem.score
    tolerance = 1e-8 * max(abs(best.score), 1.0)
    with patch.object(suffix_search, "FEWEST_NODES", 2), Workers(Deadline(20), NoProgress(), 1) as workers:
        costs = suffix_search.suited(score, problem.knowledge, tolerance)
        if costs is None:
            return
        n = problem.n_nodes
        start = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.3]), 1).astype(np.int8)
        told: list[float] = []
        bits = int(rng.integers(1, n))
        search = suffix_search.SuffixSearch(score, costs, start, tolerance, workers, bits, told.append)
        with patch.object(suffix_search, "BUDGET", int(rng.choice([0, 30, 1200]))):
            search.run()
    counts["searches from the end"] += 1
    least = best.score - LEAST_BOUND * max(abs(best.score), 1.0)
    if min([search.bound, *told]) < least:
        raise Wrong(f"a search from the end: bound {min([search.bound, *told])!r}, but a DAG has {best.score!r}")
    if search.finished and score.total(search.dag) < best.score - 4 * search.tolerance:
        raise Wrong(f"a search from the end ends with {score.total(search.dag)!r}, but a DAG has {best.score!r}")


def _pairs(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Check the bound by pairs, with parent sets up to a small size in its first rows."""
    case = numbers(rng, 5, 12) if rng.random() < 0.5 else blocks(rng)
    best = case.best()
    problem, _ = pose(case.data, **case.options)
    score, form = problem.score, problem.score.block_likelihood
    if form is None or not form.is_searchable or not form.has_one_matrix:
        return
    n = problem.n_nodes
    dag = np.triu(rng.random((n, n)) < 0.3, k=1).astype(np.int8)
    told: list[float] = []
    sizes = {"FIRST_SIZE": int(rng.integers(0, 3)), "MOST_SIZE": int(rng.integers(0, 9)), "LEAST_EXCESS": 0.005}
    some_pairs = patch.multiple(pair_bound, **sizes, WIDTH=int(rng.choice([2, 5, 35])))
    with some_pairs, Workers(Deadline(10), NoProgress(), 1) as workers:
        pairs = pair_bound.PairBound(score, dag, workers, told.append)
        pairs.run()
    counts["bounds by pairs"] += 1
    if min([pairs.bound, *told]) < best.score - LEAST_BOUND * max(abs(best.score), 1.0):
        raise Wrong(f"bound by pairs {min([pairs.bound, *told])!r}, but a DAG has {best.score!r}; {sizes}")


def _stand_ins(rng: np.random.Generator, counts: Counter[str]) -> None:
    """List few parent sets of discrete tables at first, so that stand-ins bound the others."""
    case = levels(rng, 10)
    if rng.random() < 0.3:
        case = knowledge(rng, case)
    case = Case(case.data, {**case.options, "max_parents": len(case.data) - 1})  # or gobnilp has limits of its own
    best = case.best()
    sizes = {"FIRST_SETS": int(rng.choice([1, 60, 400])), "STAND_INS": int(rng.choice([1, 5, 700]))}
    with patch.multiple(gobnilp, **sizes):
        result = _learned(case, "gobnilp", restarts=0, local_size=int(rng.choice([0, 4, 10])))
    _check(case, result, best, f"stand-ins, {sizes}", counts)


def _searches(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Check the bounds of methods that search: of the likelihood, of the pool; and what ``auto`` claims."""
    case = numbers(rng, 6, 12) if rng.random() < 0.6 else levels(rng, 9)
    if rng.random() < 0.4:
        case = knowledge(rng, case)
    best = case.best()
    for method in ("hc", "order", "cg-dca", "auto"):
        _check(case, _learned(case, method) if method != "hc" else _climbed(case), best, method, counts)


def _climbed(case: Case) -> dagopt.Result:
    with watched():
        return dagopt.learn(case.data, "hc", progress=False, **case.options)


PARTS: tuple[Callable[[np.random.Generator, Counter[str]], None], ...] = (
    _rows, _priced, _suffixes, _pairs, _stand_ins, _searches, _blocks
)  # fmt: skip
