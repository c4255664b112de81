"""The rule of ``auto``: exact while it fits, else CG-DCA, within a minute unless told otherwise."""

import math

import numpy as np
import pytest

import dagopt
from dagopt.graph.order import is_acyclic
from dagopt.knowledge import Constraints
from dagopt.methods import auto
from dagopt.methods.exact.solve import estimate_exact
from dagopt.problem import Problem
from dagopt.scores.build import make_score


def problem_of(n_nodes, score="bic", discrete=False):
    """Return a problem of so many columns."""
    rng = np.random.default_rng(0)
    values = rng.integers(2, size=(60, n_nodes)).astype(str) if discrete else rng.normal(size=(60, n_nodes))
    table = dagopt.as_table(values)
    return Problem(table, make_score(table, score), Constraints().resolve(table.names))


@pytest.mark.parametrize(
    ("n_nodes", "score", "discrete", "seconds", "expected"),
    [
        (12, "bic", False, math.inf, "exact"),
        (12, "bic", True, math.inf, "exact"),
        (12, "bic", False, 1e-6, "cg-dca"),
        (40, "bic", False, math.inf, "cg-dca"),
        (40, "bic", True, math.inf, "cg-dca"),
        (40, "bdeu", True, math.inf, "cg-dca"),
        (40, "bge", False, math.inf, "order"),
        (200, "bic", False, math.inf, "cg-dca"),
    ],
)
def test_the_choice(n_nodes, score, discrete, seconds, expected):
    """Exact while the estimate fits memory and time, else CG-DCA, or order search where DCA cannot take the score."""
    problem = problem_of(n_nodes, score, discrete)
    method, why = auto.choose(problem, estimate_exact(problem, 4 << 30, 1), seconds)
    assert method == expected
    assert ("would take" in why) == (method != "exact")


@pytest.mark.parametrize("discrete", [False, True])
def test_what_does_not_fit_is_searched(monkeypatch, discrete):
    """The result says what was chosen and why, has a DAG, and ends when the default time is over."""
    monkeypatch.setattr(auto, "PATIENCE", 1e-3)
    problem = problem_of(14, discrete=discrete)
    result = dagopt.learn(problem.table, progress=False)
    assert result.method == "cg-dca"
    assert result.notes[0].startswith("auto chose cg-dca: the proven optimum would take")
    assert result.status == "time_limit"
    assert "time_limit= gives more" in result.notes[-1]
    assert is_acyclic(result.adjacency)
    assert result.score == pytest.approx(dagopt.score(problem.table, result.dag), abs=1e-6)


def test_a_start_is_passed_on(monkeypatch):
    """Whatever is chosen, the answer is at least as good as the DAG that is given."""
    data, _ = dagopt.simulate(8, 500, 1.0, 0)
    best = dagopt.learn(data, "exact")
    for patience in (60.0, 1e-3):
        monkeypatch.setattr(auto, "PATIENCE", patience)
        assert dagopt.learn(data, start=best.dag).score == pytest.approx(best.score, abs=1e-6)
