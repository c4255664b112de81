"""Tests of ``method="branch-and-cut"`` against the subset recursion."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dagopt
from benchmarks.bounds_check import check
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families, Family
from dagopt.families.undominated import Listing, TooMany
from dagopt.graph.constraints import Constraints
from dagopt.lp.highs import LinearProgram, SolverError
from dagopt.methods.branch_and_cut import branch_and_cut as solve
from dagopt.methods.branch_and_cut.bound_parts import PricingTurns
from dagopt.methods.branch_and_cut.branch_and_cut import ROW_KINDS, _too_many, solve_branch_and_cut
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.likelihood_bound import likelihood_bound
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Stopped, Workers
from made_problems import gaussian_table, problem_of, quiet
from made_tables import mixed_table


@pytest.mark.parametrize(
    "seed", [*range(4, 10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 24))]
)
def test_no_bound_below_the_optimum_and_no_optimum_cut_off(seed):
    """Random problems of either kind, with knowledge, near ties, few and many rows, blind and stopped somewhere."""
    assert check(seed) == []


@pytest.mark.parametrize("without", [*ROW_KINDS, None])
def test_every_choice_of_rows_gives_the_optimum(without):
    """Each kind of row can be left out, and all of them."""
    problem = problem_of(gaussian_table(4, 8, rows=300, density=0.3))
    kinds = () if without is None else tuple(kind for kind in ROW_KINDS if kind != without)
    result = solve_branch_and_cut(problem, rows=kinds, **quiet())
    best = solve_exact(problem, **quiet())
    assert result.status == "optimal"
    assert result.score == pytest.approx(best.score, rel=1e-9)


@pytest.mark.parametrize("gain, improves", [(1e-7, False), (0.0, False), (1.0, True)])
def test_an_improvement_within_rounding_is_none(gain, improves):
    """What comes after a node may rest only on scores that differ by more than they are off."""
    problem = problem_of(gaussian_table(0, 3))
    families = Families.from_list(
        3, [Family(0, 0b010, gain), Family(0, 0b100, 0.0), Family(1, 0, 0.0), Family(2, 0, 0.0)]
    )
    run = solve._Run(problem, Deadline(), NoProgress(), solve.BranchAndCutOptions(), None)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        after = run.find_after(families, workers)
    assert after[:, 0].tolist() == [0, 0b010 if improves else 0, 0, 0]


def test_fourteen_columns_are_proven_over_all_dags():
    """The optimum is that of the recursion, the trace has bounds that never rise, and the details have the figures."""
    data, _ = dagopt.simulate(14, 2000, 0.5, 3)
    result = dagopt.learn(data, "branch-and-cut")
    best = dagopt.learn(data, "exact")
    assert (result.status, result.scope) == ("optimal", "all DAGs")
    assert result.score == pytest.approx(best.score, rel=1e-9)
    bounds = result.trace["bound"].dropna().to_numpy()
    assert (np.diff(bounds) <= 1e-6).all()
    assert bounds.min() >= best.score - 1e-3
    assert result.figures.n_sets > 0


@pytest.mark.parametrize("kinds", [ROW_KINDS, ("entropies",)])
def test_the_answer_does_not_depend_on_threads(kinds):
    """One thread and three give the same DAG and the same bound by the same nodes, LPs and cuts."""
    problem = problem_of(gaussian_table(7, 10, rows=1000, density=0.3))
    runs = [solve_branch_and_cut(problem, rows=kinds, n_jobs=n_jobs, **quiet()) for n_jobs in (1, 3)]
    for one in runs:
        assert one.status == "optimal"
        assert (one.adjacency == runs[0].adjacency).all()
        assert one.bound == runs[0].bound
        for figure in ("n_tree_nodes", "n_lps", "n_cuts"):
            assert getattr(one.figures, figure) == getattr(runs[0].figures, figure)
    assert kinds == ROW_KINDS or runs[0].figures.n_tree_nodes > 10  # so that several lanes were at work


def test_a_time_limit_gives_a_dag_and_a_bound():
    """Stopped before anything is listed, ``learn`` still has the bound of the likelihood."""
    data, _ = dagopt.simulate(12, 500, 1.0, 0)
    result = dagopt.learn(data, "branch-and-cut", time_limit=1e-6)
    assert result.status == "time_limit"
    assert result.bound >= dagopt.learn(data, "exact").score


def test_too_many_sets_are_priced():
    """With a small limit the answer has a bound that is better than that of the likelihood; the note says so."""
    problem = problem_of(gaussian_table(1, 8))
    result = solve_branch_and_cut(problem, max_sets=3, **quiet())
    assert "more than max_sets=3: they are priced instead of listed" in result.notes[0]
    assert result.score == problem.score.total(result.adjacency)
    best = solve_exact(problem, **quiet()).score
    assert best - 1e-6 <= result.bound < likelihood_bound(problem)


def test_few_sets_are_listed_where_memory_is_short(monkeypatch):
    """By default half of the free memory limits the listing."""
    monkeypatch.setattr(solve, "available_bytes", lambda: 6 * solve.BYTES_PER_SET)
    result = solve_branch_and_cut(problem_of(gaussian_table(1, 6)), **quiet())
    assert "more than max_sets=3: they are priced instead of listed" in result.notes[0]


@pytest.mark.parametrize(("needed", "n_calls"), [(1e12, 1), (20.0, 5)])
def test_a_hopeless_listing_is_given_up_at_the_first_look(monkeypatch, needed, n_calls):
    """One that may end goes on for a fifth of the time, with a look after every twentieth of what is left."""
    calls = []

    def run(self, workers):
        calls.append(workers.deadline.time_limit)
        now[0] += calls[-1]
        raise Stopped

    now = [0.0]
    monkeypatch.setattr(Listing, "run", run)
    monkeypatch.setattr(Listing, "seconds_left", lambda self, n_threads: needed)
    problem = problem_of(gaussian_table(1, 8))
    state = solve._Run(problem, Deadline(30.0, lambda: now[0]), NoProgress(), solve.BranchAndCutOptions(), None)
    with pytest.raises(TooMany), Workers(Deadline(), NoProgress(), 1) as workers:
        state.list_sets(workers)
    assert len(calls) == n_calls


def test_a_listing_that_is_later_than_expected_leaves_a_bound(monkeypatch):
    """Beyond its share of the time, the bound by pairs comes first."""
    now = [0.0]

    def run(self, workers):
        now[0] += workers.deadline.time_limit
        raise Stopped

    monkeypatch.setattr(Listing, "run", run)
    monkeypatch.setattr(Listing, "seconds_left", lambda self, n_threads: 0.1)
    problem = problem_of(gaussian_table(1, 8))
    result = solve_branch_and_cut(problem, deadline=Deadline(30.0, lambda: now[0]), progress=NoProgress())
    assert result.notes == ("stopped before all parent sets were listed",)
    assert result.certificate.source == "pairs"
    assert solve_exact(problem, **quiet()).score <= result.bound < likelihood_bound(problem)


def from_no_edges(problem, *others, **more):
    """In place of the order search: the DAG without edges, far below the optimum."""
    return np.zeros((problem.n_nodes, problem.n_nodes), dtype=np.int8), []


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(6))
def test_many_sets_that_are_listed_are_priced_first(seed, monkeypatch):
    """Pricing leaves some of them, with the optimum, also if the best DAG known is far below it."""
    problem = problem_of(gaussian_table(seed, 8, rows=[80, 300, 3000][seed % 3], density=0.4))
    monkeypatch.setattr(solve, "MANY_SETS", 0)
    if seed % 2:
        monkeypatch.setattr(solve, "order_incumbent", from_no_edges)
    result = solve_branch_and_cut(problem, **quiet())
    best = solve_exact(problem, **quiet())
    assert result.figures.n_pricing_rounds > 0
    assert result.status == "optimal"
    assert result.score == pytest.approx(best.score, rel=1e-9)
    assert result.bound >= best.score - 1e-6


@pytest.mark.parametrize("is_priced", [True, False])
def test_a_listing_of_many_sets_waits_for_pricing(is_priced, monkeypatch):
    """It goes on only if pricing leaves nothing; either way the optimum is proven."""
    listed, run = [], Listing.run

    def slow(self, workers):
        listed.append(self)
        if len(listed) == 1:
            raise Stopped
        return run(self, workers)

    monkeypatch.setattr(solve, "MANY_SETS", 0)
    monkeypatch.setattr(Listing, "run", slow)
    monkeypatch.setattr(Listing, "seconds_left", lambda self, n_threads: 5.0)
    monkeypatch.setattr(Listing, "n_likely", 1000.0)
    if not is_priced:
        monkeypatch.setattr(PricingTurns, "work", lambda self, clock: None)
    problem = problem_of(gaussian_table(1, 8, rows=300, density=0.4))
    result = solve_branch_and_cut(problem, **quiet())
    assert "which are many: they are priced instead of listed" in result.notes[0]
    assert len(listed) == (1 if is_priced else 2)
    assert result.status == "optimal"
    assert result.score == pytest.approx(solve_exact(problem, **quiet()).score, rel=1e-9)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (TooMany(5, 7.0), "5 undominated parent sets were found, out of about 7, more than max_sets=4"),
        (TooMany(3, 3.0), "3 undominated parent sets were found, which takes too long"),
    ],
)
def test_the_note_on_too_many_sets(found, said):
    """How many there are likely to be, and why they are not listed."""
    assert said in _too_many(found, 4, SimpleNamespace(has_many=False, is_priced=True, has_bounds=True))
    assert "max_parents=" in _too_many(found, 4, SimpleNamespace(has_many=False, is_priced=False, has_bounds=False))
    assert "pairs of columns" in _too_many(found, 4, SimpleNamespace(has_many=False, is_priced=False, has_bounds=True))


def test_sets_of_mixed_tables_that_are_too_many():
    """Their columns are priced: the answer is that of the search, and the bound that of pricing."""
    problem = Problem(table := mixed_table(1, 6), make_score(table), Constraints().resolve(table.names))
    result = solve_branch_and_cut(problem, max_sets=3, **quiet())
    assert "priced instead of listed" in result.notes[0]
    assert result.certificate.source == "pricing"
    assert result.bound >= solve_exact(problem, **quiet()).score


def test_the_tolerance_of_the_proof_is_in_the_bound():
    """What is better by a share of less than 1e-8 was not looked for."""
    result = solve_branch_and_cut(problem_of(gaussian_table(1, 6)), **quiet())
    assert result.status == "optimal"
    assert result.bound - result.score == pytest.approx(1e-8 * abs(result.score), rel=1e-3)


def test_a_start_is_never_lost():
    """The answer is at least as good as the start, also without time."""
    problem = problem_of(gaussian_table(2, 6))
    best = solve_exact(problem, **quiet())
    result = solve_branch_and_cut(problem, start=best.adjacency, **quiet(Deadline(1e-9)))
    assert result.score == pytest.approx(best.score)


def test_an_unknown_kind_of_rows_is_refused():
    """The error names the kinds."""
    with pytest.raises(InputError, match="entropies"):
        solve_branch_and_cut(problem_of(gaussian_table(0, 4)), rows=["entropy"], **quiet())


def test_knowledge_is_kept():
    """Required and forbidden edges and a limit for each column are in the answer, and in the words of the proof."""
    known = Constraints(required=[("V0", "V1")], forbidden=[("V2", "V3")], max_parents=2)
    problem = problem_of(gaussian_table(5, 8, rows=500), known)
    result = solve_branch_and_cut(problem, **quiet())
    best = solve_exact(problem, **quiet())
    assert result.score == pytest.approx(best.score, rel=1e-9)
    assert result.scope == best.scope
    assert problem.knowledge.allows_dag(result.adjacency)


@pytest.mark.few(5)
@pytest.mark.parametrize("max_sets", [400_000, 1], ids=["listed", "priced"])
@pytest.mark.parametrize("last", [1, 2, 4, 8, 16])
def test_an_lp_that_cannot_be_solved_ends_the_run_without_a_false_proof(last, max_sets, monkeypatch):
    """The best DAG so far comes back with a bound that holds, and is called optimal only if that was proven before."""
    problem = problem_of(gaussian_table(11, 8, rows=300, density=0.5))
    best = solve_exact(problem, **quiet())
    solve, solved = LinearProgram.solve_within, []

    def fails_after_some(self, seconds):
        solved.append(self)
        if len(solved) > last:
            raise SolverError("expected an optimal LP but HiGHS says Solve error")
        return solve(self, seconds)

    monkeypatch.setattr(LinearProgram, "solve_within", fails_after_some)
    result = solve_branch_and_cut(problem, max_sets=max_sets, rows=(), **quiet())
    assert result.score <= best.score + 1e-6
    assert result.bound is None or result.bound >= best.score - 1e-6
    if len(solved) > last:
        assert result.status == "converged" or result.bound - result.score < 1e-4
    assert result.status != "optimal" or result.score == pytest.approx(best.score, rel=1e-9)


def test_a_clock_that_stopped_the_lp_too_early_cuts_nothing_off(monkeypatch):
    """The LP's time runs on while kernels are compiled, the run's does not: the LP is then continued."""
    problem = problem_of(gaussian_table(4, 7, rows=300, density=0.5))
    solve, calls = LinearProgram.solve_within, []

    def too_early(self, seconds):
        calls.append(seconds)
        return solve(self, 0.0 if len(calls) % 2 else seconds)

    monkeypatch.setattr(LinearProgram, "solve_within", too_early)
    result = solve_branch_and_cut(problem, **quiet())
    assert result.status == "optimal"
    assert result.score == pytest.approx(solve_exact(problem, **quiet()).score, rel=1e-9)
