"""Rows in CG-DCA: a bound that is never below the optimum, whenever it is stopped, and far below the likelihood's."""

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.lp.highs import SolverError
from dagopt.lp.relaxation import Relaxation
from dagopt.methods.cg_dca.cg_dca import solve_cg_dca
from dagopt.methods.cg_dca.cg_dca_options import CgDcaOptions, PaperOptions
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.likelihood_bound import likelihood_bound
from dagopt.progress import NoProgress
from made_problems import gaussian_table, problem_of, quiet

KNOWN = Constraints(required=[("V0", "V1")], forbidden=[("V2", "V3"), ("V4", "V0")], max_parents=2)


class StopsAt(NoProgress):
    """Ends a run at its n-th report on the bound."""

    def __init__(self, deadline, count):
        self.deadline, self.left = deadline, count

    def update(self, phase, fraction=None, **facts):
        """Count the reports on the bound, and interrupt at the last."""
        self.left -= phase == "bound"
        if self.left <= 0:
            self.deadline.interrupt()


@pytest.mark.few(6)
@pytest.mark.parametrize("constraints", [None, Constraints(max_parents=2), KNOWN])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_between_the_optimum_and_the_likelihood(seed, constraints):
    """Over few and many rows of data, with knowledge and limits, and the score is the optimum."""
    rows = [20, 100, 500, 2000, 10000, 50][seed]
    problem = problem_of(gaussian_table(seed, 5 + seed % 3, rows=rows, density=0.4), constraints)
    best = solve_exact(problem, **quiet())
    result = solve_cg_dca(problem, **quiet())
    assert result.bound >= best.score - 1e-9 * abs(best.score)
    assert result.bound <= likelihood_bound(problem) + 1e-3
    assert result.score == pytest.approx(best.score, abs=1e-6)
    assert result.scope == best.scope
    if result.status == "optimal":
        assert result.bound - result.score <= 1e-3


@pytest.mark.few(6)
@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_holds_whenever_the_run_is_stopped(seed, count):
    """Also from a DAG far below the optimum, after any number of rounds."""
    problem = problem_of(gaussian_table(20 + seed, 7, rows=300, density=0.4), KNOWN if seed % 2 else None)
    best = solve_exact(problem, **quiet())
    deadline = Deadline()
    options = {"order_start": False, "order_again": False, "max_passes": 1, "init": "random", "random_state": seed}
    result = solve_cg_dca(problem, deadline=deadline, progress=StopsAt(deadline, count), **options)
    assert result.bound is None or result.bound >= best.score - 1e-9 * abs(best.score)
    assert problem.knowledge.allows_dag(result.adjacency)
    assert result.score <= best.score + 1e-6


@pytest.mark.parametrize(
    ("n", "degree", "seed"), [(10, 0.5, 0), (12, 1.0, 1), pytest.param(12, 1.0, 2, marks=pytest.mark.slow)]
)
def test_rows_close_most_of_the_gap_and_keep_the_answer(n, degree, seed):
    """The same DAG as without them, never worse, and a bound that is several times as close."""
    data, _ = dagopt.simulate(n, 5000, degree, seed)
    without = dagopt.learn(data, "cg-dca", rows=())
    result = dagopt.learn(data, "cg-dca")
    assert result.score >= without.score - 1e-9 * abs(without.score)
    assert result.bound - result.score < 0.4 * (without.bound - without.score)
    assert result.bound >= dagopt.learn(data, "exact").score - 1e-9 * abs(result.score)
    assert result.details["row_rounds"] > 0
    assert result.trace["phase"].iloc[-1] == "bound"


def test_threads_do_not_change_the_bound():
    """The same bound to the last digit for any number of threads."""
    data, _ = dagopt.simulate(10, 1000, 1.0, 4)
    one, two = (dagopt.learn(data, "cg-dca", n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.bound == two.bound
    np.testing.assert_array_equal(one.adjacency, two.adjacency)


def test_a_time_limit_leaves_time_for_the_bound():
    """A loop that would take longer ends early, the result says so, and the bound is better than the likelihood's."""
    data, _ = dagopt.simulate(14, 2000, 2.0, 0)
    slow = {"order_start": False, "convex_step": "kelley", "init": "random"}
    result = dagopt.learn(data, "cg-dca", time_limit=0.8, **slow)
    assert result.bound >= dagopt.learn(data, "exact").score - 1e-6
    assert result.status in ("time_limit", "converged")


@pytest.mark.few(3)
@pytest.mark.parametrize("convention", ["paper", "bnlearn"])
@pytest.mark.parametrize("kinds", [["entropies"], ["matrices"], []])
def test_kinds_of_rows(convention, kinds):
    """Each alone gives a valid bound; without any there is that of the likelihood, or of clusters."""
    data, _ = dagopt.simulate(7, 400, 1.0, 5)
    best = dagopt.learn(data, "exact", convention=convention).score
    result = dagopt.learn(data, "cg-dca", rows=kinds, convention=convention)
    assert result.bound >= best - 1e-9 * abs(best)
    assert ("row_rounds" in result.details) == bool(kinds)


def test_the_paper_has_clusters_only():
    """The preset has no further rows, and its runs end with an integer phase, as those without rows do."""
    assert PaperOptions().rows == ()
    assert CgDcaOptions().rows == ("entropies", "matrices")
    data, _ = dagopt.simulate(6, 300, 1.0, 1)
    paper = dagopt.learn(data, "cg-dca-paper")
    assert set(paper.trace["phase"]) <= {"families", "rows", "integer"}
    assert "row_rounds" not in paper.details


def test_discrete_and_mixed_scores_have_clusters_only():
    """Rows of log-determinants are for Gaussian likelihoods; others run as before."""
    data, _ = dagopt.datasets.load("asia", n_samples=300, random_state=1)
    assert "row_rounds" not in dagopt.learn(data, "cg-dca").details


def test_a_wrong_kind_is_refused():
    """The error lists the kinds."""
    data, _ = dagopt.simulate(4, 50, 1.0, 1)
    with pytest.raises(dagopt.InputError, match="rows= to be some of 'entropies', 'matrices' but got 'symmetry'"):
        dagopt.learn(data, "cg-dca", rows=["symmetry"])


@pytest.mark.parametrize("last", [0, 1, 3])
def test_an_lp_with_rows_that_cannot_be_solved_keeps_the_answer(last, monkeypatch):
    """The phase ends with its bound, at least as good as the likelihood's, and the DAG of the loop is not lost."""
    problem = problem_of(gaussian_table(3, 7, rows=300, density=0.4))
    solve, solved = Relaxation.solve, []

    def fails(self, *facts, **more):
        if any(row.kind != "cluster" for row in self.rows):
            solved.append(self)
            if len(solved) > last:
                raise SolverError("expected an optimal LP but HiGHS says Solve error")
        return solve(self, *facts, **more)

    monkeypatch.setattr(Relaxation, "solve", fails)
    result = solve_cg_dca(problem, **quiet())
    best = solve_exact(problem, **quiet())
    assert len(solved) > last
    assert result.score == pytest.approx(best.score, abs=1e-6)
    assert best.score - 1e-6 <= result.bound <= likelihood_bound(problem) + 1e-3
