"""Small random problems on which every bound and every proof is compared with the subset recursion.

Each problem is solved by ``branch-and-cut``: as usual; *blind*, where it begins at the worst DAG that knowledge allows
and learns of better ones from integer LP points alone, so that rows that cut off the optimum would show; and with a
clock that stops it somewhere, where the bound must hold all the same. Gaussian problems are then solved in these ways
once more: with so few sets to list that they are priced; with all of them listed, but priced before the tree; and those
without knowledge also by the search from the end of the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from unittest.mock import patch

import numpy as np

from dagopt.data.columns import Column
from dagopt.data.table import ContinuousTable, DiscreteTable, MixedTable, Table
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.graph.order import is_acyclic
from dagopt.lp.rows.row import Point
from dagopt.methods.branch_and_cut import branch_and_cut as method
from dagopt.methods.branch_and_cut import suffix_search as suffixes
from dagopt.methods.branch_and_cut import tree as branch_and_cut
from dagopt.methods.branch_and_cut.lane import Best, Lane
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.likelihood_bound import likelihood_bound
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.result import Result
from dagopt.scores.build import make_score
from dagopt.scores.gaussian import GaussianScore

__all__ = ["Blind", "check", "made_problem"]

SCORES = (
    {"score": "bic"},
    {"score": "aic"},
    {"score": "bic", "convention": "bnlearn"},
    {"score": 0.05},
    {"score": "bge"},
)
MIXED_SCORES = ({"score": "bic"}, {"score": "aic"}, {"score": "ebic"}, {"score": 0.05})
DISCRETE_SCORES = ({"score": "bic"}, {"score": "aic"}, {"score": "bdeu"})
ROWS = (16, 40, 200, 5000)
SECONDS = 2.0  # if nearly every DAG is nearly as good, a proof takes longer


class Blind(Lane):
    """A lane that knows of better DAGs only from integer LP points."""

    def _round(self, point: Point) -> None:
        families, values = self.families, point.values
        taken = families.taken(values)
        whole = (np.abs(values - np.round(values)) < 1e-6).all()
        if whole and is_acyclic(families.adjacency(taken)) and families.total(taken) > self.best.score:
            self.best = Best(families.place[taken], families.total(taken), families.adjacency(taken))


def made_problem(seed: int) -> Problem:
    """Return a random problem of 3 to 8 columns: all kinds of data, some near ties, some knowledge."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    rows = int(rng.choice(ROWS))
    kind = rng.random()
    if kind < 0.5:
        table: Table = _continuous(rng, n, rows)
        options = SCORES[rng.integers(len(SCORES))]
    elif kind < 0.7:
        table = _mixed(rng, n, max(rows, 40))
        options = MIXED_SCORES[rng.integers(len(MIXED_SCORES))]
    else:
        table = _discrete(rng, n, min(rows, 500))
        options = DISCRETE_SCORES[rng.integers(len(DISCRETE_SCORES))]
    knowledge = _knowledge(rng, n, rows).resolve(table.names)
    return Problem(table, make_score(table, **options), knowledge)  # type: ignore[arg-type]


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"V{k}" for k in range(n))


def _continuous(rng: np.random.Generator, n: int, rows: int) -> ContinuousTable:
    """Return data of a random network; sometimes with a near copy of a column, or with all weights equal."""
    strength = rng.choice([0.1, 0.5, 1.0])
    weights = np.triu(rng.normal(size=(n, n)) * strength * (rng.random((n, n)) < rng.random()), k=1)
    if rng.random() < 0.3:
        weights = np.where(weights != 0, strength, 0.0)
    values = rng.normal(size=(rows, n)) @ np.linalg.inv(np.eye(n) - weights)
    if rng.random() < 0.2:
        values[:, 0] = values[:, 1] + 10.0 ** -rng.integers(1, 4) * rng.normal(size=rows)
    return ContinuousTable(_names(n), np.ascontiguousarray(values[:, rng.permutation(n)]))


def _discrete(rng: np.random.Generator, n: int, rows: int) -> DiscreteTable:
    """Return levels that are copied from column to column with some noise."""
    arity = rng.integers(2, 4, n)
    codes = np.zeros((n, rows), dtype=np.int64)
    noise = rng.choice([0.05, 0.3, 0.7])
    for j in range(n):
        copied = codes[rng.integers(0, j)] if j else codes[0]
        codes[j] = np.where(rng.random(rows) < noise, rng.integers(0, arity[j], rows), copied) % arity[j]
        codes[j, : arity[j]] = np.arange(arity[j])
    levels = tuple(tuple(str(level) for level in range(a)) for a in arity)
    return DiscreteTable.from_codes(_names(n), levels, codes)


def _mixed(rng: np.random.Generator, n: int, rows: int) -> MixedTable:
    """Return a continuous table some of whose columns are cut into two to four levels."""
    values = _continuous(rng, n, rows).values
    columns = []
    for j in range(n):
        if rng.random() < 0.5:
            cuts = np.quantile(values[:, j], np.sort(rng.uniform(0.2, 0.8, int(rng.integers(1, 4)))))
            codes = np.unique(np.searchsorted(cuts, values[:, j]), return_inverse=True)[1]
            levels = tuple(str(level) for level in range(int(codes.max()) + 1))
            columns.append(Column(f"V{j}", "discrete", codes, levels))
        else:
            columns.append(Column(f"V{j}", "continuous", values[:, j]))
    return MixedTable(tuple(columns))


def _knowledge(rng: np.random.Generator, n: int, rows: int) -> Constraints:
    """Return no knowledge, one parent limit, or required and forbidden edges and a limit."""
    kind = rng.random()
    most = min(n - 1, rows - 3)
    if kind < 0.4:
        return Constraints(max_parents=None if rows > 2 * n else most)
    if kind < 0.6:
        return Constraints(max_parents=int(rng.integers(0, most + 1)))
    order = [f"V{k}" for k in rng.permutation(n)]
    forward = [(order[a], order[b]) for a in range(n) for b in range(a + 1, n)]
    required = [forward[k] for k in rng.choice(len(forward), min(len(forward), int(rng.integers(0, 3))), replace=False)]
    both = [edge for pair in forward for edge in (pair, pair[::-1]) if edge not in required]
    forbidden = [both[k] for k in rng.choice(len(both), min(len(both) // 2, int(rng.integers(0, 7))), replace=False)]
    limit = int(rng.integers(2, most + 1)) if most >= 2 and rng.random() < 0.5 else most
    return Constraints(required=required, forbidden=forbidden, max_parents=max(limit, 2))


def _solve(problem: Problem, deadline: Deadline, blind: bool, max_sets: int) -> Result:
    """Solve a problem; if blind, from the required edges only."""
    options = {"deadline": deadline, "progress": NoProgress(), "n_jobs": 1, "restarts": 1, "max_sets": max_sets}
    if not blind:
        return method.solve_branch_and_cut(problem, **options)  # type: ignore[arg-type]
    worst = problem.knowledge.must.astype(np.int8)
    with (
        patch.object(branch_and_cut, "Lane", Blind),
        patch.object(method.PricedRoot, "_round", lambda self, values: None),
        patch.object(method, "order_incumbent", lambda *args, **kwargs: (worst, [])),
        patch.object(method.Families, "start", lambda self, dag: self.inside(dag)),
    ):
        return method.solve_branch_and_cut(problem, **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Ticks:
    """A clock that advances by one each time it is read."""

    counts: list[int]

    def __call__(self) -> float:
        self.counts[0] += 1
        return float(self.counts[0])


def check(seed: int) -> list[str]:
    """Return what is wrong with the answers to one random problem, normally nothing."""
    problem = made_problem(seed)
    best = solve_exact(problem, deadline=Deadline(), progress=NoProgress(), n_jobs=1, device="cpu").score
    assert best is not None
    near = 2e-8 * max(abs(best), 1.0)
    wrong = []
    bound = likelihood_bound(problem)
    if bound is not None and bound < best - near:
        wrong.append(f"likelihood {bound} below {best}")
    rng = np.random.default_rng(seed)
    stop, few = int(rng.integers(5, 400)), int(rng.choice([1, 3 * problem.n_nodes, 10 * problem.n_nodes]))
    kinds = ("", ", priced", ", priced first", ", from the end") if isinstance(problem.score, GaussianScore) else ("",)
    for name, kind in product(("usual", "blind", "stopped"), kinds):
        deadline = Deadline(float(stop), clock=_Ticks([0])) if name == "stopped" else Deadline(SECONDS)
        with (
            patch.object(suffixes, "FEWEST_NODES", 2 if kind == ", from the end" else suffixes.FEWEST_NODES),
            patch.object(method, "MANY_SETS", 0 if kind == ", priced first" else method.MANY_SETS),
        ):
            is_listed = kind in ("", ", priced first")
            result = _solve(problem, deadline, name == "blind", 10**6 if is_listed else few)
        name += kind
        assert result.score is not None
        if not problem.knowledge.allows_dag(result.adjacency) or not is_acyclic(result.adjacency):
            wrong.append(f"{name}: not an allowed DAG")
        if result.score > best + near or (result.status == "optimal" and result.score < best - near):
            wrong.append(f"{name}: {result.status} {result.score} but the optimum is {best}")
        bounds = [result.bound, result.figures.root_bound, *result.trace["bound"]]
        if any(one is not None and one < best - near for one in bounds):
            wrong.append(f"{name}: a bound below the optimum")
    return [f"problem {seed}: {one}" for one in wrong]
