"""Additions and removals of parents over counts: by bits, by rows and in sparse tables, all against local scores."""

import numpy as np
import pytest

from dagopt.data.table import DiscreteTable
from dagopt.graph.constraints import Constraints
from dagopt.kernels.orders import counts as kernels
from dagopt.methods.orders.grown import CountOrders
from dagopt.problem import Problem
from dagopt.scores.build import make_score


def scored(score, rows, n, arity, seed=0):
    """Return a score of random codes that hang together, and the tuple of the kernels."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, arity + 1, n)
    codes = rng.integers(0, 10**6, (n, rows))
    for j in range(1, n):
        codes[j] = np.where(rng.random(rows) < 0.6, codes[j - 1], codes[j])
    codes %= levels[:, None]
    names = tuple(f"V{k}" for k in range(n))
    table = DiscreteTable.from_codes(names, tuple(tuple(map(str, range(a))) for a in levels), codes)
    problem = Problem(table, make_score(table, score), Constraints().resolve(names))
    orders = CountOrders(problem)
    return problem.score, orders._counts


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu"])
@pytest.mark.parametrize(
    ("rows", "arity", "words"),
    [(500, 3, 3), (500, 3, 0), (60, 12, 0), (2000, 2, 10**6), (20, 3, 3)],
    ids=["bits", "rows", "sparse", "bits alone", "repeated rows"],
)
def test_additions_are_local_scores(score, rows, arity, words, monkeypatch):
    """Whichever way a table is counted, helpful additions have their local scores, and all others -inf."""
    n = 6
    made, counts = scored(score, rows, n, arity)
    additions = getattr(kernels.additions, "py_func", kernels.additions)
    monkeypatch.setattr(kernels, "WORDS_PER_ROW", words)
    for v, parents in [(0, []), (1, [0]), (2, [1, 3]), (5, [0, 2, 4]), (3, [0, 1, 2, 4])]:
        chosen = np.array(parents, dtype=np.int64)
        candidates = np.array([x for x in range(n) if x != v], dtype=np.int64)
        values = np.empty(len(candidates))
        own = additions(counts, v, chosen, candidates, 1e-7, values)
        assert own == pytest.approx(made.local(v, parents), abs=1e-8)
        for x, value in zip(candidates.tolist(), values.tolist(), strict=True):
            true = -np.inf if x in parents else made.local(v, [*parents, x])
            if true > own + 1e-6:
                assert value == pytest.approx(true, abs=1e-8)
            elif true < own - 1e-6:
                assert value == -np.inf


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_removals_and_local_scores(score):
    """Scores with one parent less, and of any set, are those of the score."""
    made, counts = scored(score, 200, 5, 3, seed=1)
    for v, parents in [(0, [1]), (2, [0, 4]), (4, [0, 1, 2, 3])]:
        chosen = np.array(parents, dtype=np.int64)
        values = np.empty(len(parents))
        kernels.removals(counts, v, chosen, values)
        for k, value in enumerate(values):
            assert value == pytest.approx(made.local(v, [p for p in parents if p != parents[k]]), abs=1e-8)
        assert kernels.local_score(counts, v, chosen) == pytest.approx(made.local(v, parents), abs=1e-8)
