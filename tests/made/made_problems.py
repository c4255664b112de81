"""Small problems, with and without knowledge, and what every answer must satisfy."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dagopt.data.table import ContinuousTable, DiscreteTable
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.graph.knowledge import Knowledge
from dagopt.graph.order import is_acyclic
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score


def quiet(deadline=None):
    """Return the two arguments that every method needs."""
    return {"deadline": deadline or Deadline(), "progress": NoProgress()}


def gaussian_table(seed, n, rows=80, density=0.5):
    """Return data of a random linear network."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), k=1)
    X = rng.normal(size=(rows, n)) @ np.linalg.inv(np.eye(n) - weights)
    return ContinuousTable(tuple(f"V{k}" for k in range(n)), np.ascontiguousarray(X[:, rng.permutation(n)]))


def discrete_table(seed, n, rows=80):
    """Return data of a random chain of levels."""
    rng = np.random.default_rng(seed)
    arity = rng.integers(2, 4, n)
    codes = np.zeros((n, rows), dtype=np.int64)
    for j in range(n):
        copied = codes[rng.integers(0, j)] if j else codes[0]
        codes[j] = np.where(rng.random(rows) < 0.5, copied, rng.integers(0, arity[j], rows)) % arity[j]
    levels = tuple(tuple(str(level) for level in range(a)) for a in arity)
    return DiscreteTable.from_codes(tuple(f"V{k}" for k in range(n)), levels, codes)


def problem_of(table, constraints=None, score="bic"):
    """Return the problem of a table."""
    return Problem(table, make_score(table, score), (constraints or Constraints()).resolve(table.names))


def permuted(problem, order):
    """Return the same problem with its columns in another order."""
    table, known = problem.table, problem.knowledge
    names = tuple(table.names[j] for j in order)
    if isinstance(table, ContinuousTable):
        other = ContinuousTable(names, np.ascontiguousarray(table.values[:, order]))
    else:
        levels = tuple(table.levels[j] for j in order)
        other = DiscreteTable(names, levels, np.ascontiguousarray(table.codes[order]), table.weights)
    grid = np.ix_(order, order)
    knowledge = Knowledge(known.must[grid], known.may[grid], known.at_most[order])
    return Problem(other, make_score(other, "bic"), knowledge)


@st.composite
def constraints_of(draw, n):
    """Draw knowledge about n columns that does not contradict itself."""
    order = draw(st.permutations(range(n)))
    pairs = [(f"V{order[a]}", f"V{order[b]}") for a in range(n) for b in range(a + 1, n)]
    required = draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True))
    forbidden = draw(st.lists(st.sampled_from(pairs + [pair[::-1] for pair in pairs]), max_size=6, unique=True))
    most = draw(st.none() | st.integers(2, n))
    return Constraints(required=required, forbidden=[e for e in forbidden if e not in required], max_parents=most)


@st.composite
def problems(draw, max_nodes=6):
    """Draw a problem of either kind of data, with knowledge."""
    n = draw(st.integers(2, max_nodes))
    seed = draw(st.integers(0, 10**6))
    table = draw(st.sampled_from([gaussian_table, discrete_table]))(seed, n)
    return problem_of(table, draw(constraints_of(n)))


def assert_valid(problem, result):
    """Check that a result is a DAG within the knowledge, with its own score."""
    assert result.adjacency.dtype == np.int8
    assert is_acyclic(result.adjacency)
    assert problem.knowledge.allows_dag(result.adjacency)
    assert result.score == problem.score.total(result.adjacency)
    assert result.bound is None


def neighbours(dag):
    """Yield every DAG that one addition, deletion or reversal of an edge leads to."""
    for i, j in np.argwhere(~np.eye(len(dag), dtype=bool)):
        if dag[j, i]:
            continue
        changes = [(0, 0), (0, 1)] if dag[i, j] else [(1, 0)]
        for forward, backward in changes:
            changed = dag.copy()
            changed[i, j], changed[j, i] = forward, backward
            if is_acyclic(changed):
                yield changed


def stopped_after(looks):
    """Return a deadline that is over at the given look at the clock."""
    count = iter(range(10**9))
    return Deadline(looks + 0.5, clock=lambda: float(next(count)))


class LooksLeft(Deadline):
    """A deadline that is over after so many looks at whether it is, however often the clock is read besides."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    @property
    def reason(self):
        """Count."""
        self.looks -= 1
        return "time_limit" if self.looks < 0 else None
