"""MINLP pricing: exhaustive pricing as the judge, bounds that hold, and the big numbers of the program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.bits import members
from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.lp.restricted_master import reduced_cost
from dagopt.methods.cg_dca.exhaustive_pricing import ExhaustivePricer
from dagopt.methods.cg_dca.minlp_pricing import GAP, MinlpPricer, Regression
from dagopt.methods.cg_dca.minlp_program import SAFETY, PricingOutcome
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_masters import direct_local, gaussian_table, problem_of, subsets, table_of
from made_pricing import made_master, made_problem

SEEDS = st.integers(0, 2**16)
TOLERANCE = 1e-6


def residual(correlation, node, parents):
    """Return coefficients and residual variance of a regression by its normal equations."""
    parents = list(parents)
    covariances = correlation[parents, node]
    b = np.linalg.solve(correlation[np.ix_(parents, parents)], covariances)
    return b, 1.0 - covariances @ b


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 7), st.integers(0, 2), st.floats(1e-4, 1.0))
def test_no_coefficient_is_beyond_its_bound(seed, n, n_base, noise):
    """For every set of candidates; the variances are those without and with all of them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3 * n, n))
    rows[:, -1] = noise * rows[:, -1] + rows[:, :-1] @ rng.normal(size=n - 1)  # from loosely to closely dependent
    correlation = np.corrcoef(rows.T)
    node, *others = (int(j) for j in rng.permutation(n))
    base, candidates = others[: min(n_base, n - 2)], others[min(n_base, n - 2) :]
    regression = Regression.of(correlation, node, np.array(base, dtype=int), np.array(candidates))
    assert regression.variance == pytest.approx(residual(correlation, node, base)[1], rel=1e-6)
    assert regression.least_variance == pytest.approx(residual(correlation, node, others)[1], rel=1e-4)
    bounds = dict(zip(candidates, regression.coefficient_bounds(), strict=True))
    for chosen in subsets(candidates):
        b, variance = residual(correlation, node, [*base, *chosen])
        assert variance >= regression.least_variance * (1 - 1e-4)
        for j, coefficient in zip(chosen, b[len(base) :], strict=True):
            assert abs(coefficient) <= bounds[j] * (1 + 1e-6)


@settings(deadline=None, max_examples=12)
@given(SEEDS, st.integers(4, 6), st.booleans(), st.sampled_from(["paper", "bnlearn"]))
def test_the_least_reduced_cost_is_that_of_all_sets(seed, n, known, convention):
    """Exhaustive pricing has the same least reduced cost; the bound is below it by little; families are as they say."""
    table, knowledge = gaussian_table(seed, n, 80), made_problem("gaussian", seed, n, known).knowledge
    problem = Problem(table, make_score(table, convention=convention), knowledge)
    _, lp = made_master(problem, seed)
    minlp, exhaustive = MinlpPricer(problem), ExhaustivePricer(problem)
    for node in range(n):
        np.testing.assert_array_equal(minlp.candidates(node), exhaustive.candidates(node))
        least = exhaustive.price(node, lp, np.zeros(0), Deadline()).reduced_cost
        (families, found, exact), lower = minlp.prove(node, lp, Deadline())
        assert exact
        assert found == pytest.approx(least, abs=GAP)
        assert least - 10 * GAP <= lower <= least + 1e-9
        costs = [reduced_cost(lp, family) for family in families]
        assert all(cost < -TOLERANCE for cost in costs)
        assert min(costs, default=0.0) == pytest.approx(found, abs=1e-9 if families else GAP)
        for family in families:
            parents = members(family.mask)
            assert family.node == node
            assert problem.knowledge.allows(node, parents)
            assert family.score == pytest.approx(direct_local(problem, node, parents), abs=1e-6)
    assert (minlp.solved, minlp.stopped) == (n - sum(len(minlp.candidates(i)) == 0 for i in range(n)), 0)


def test_the_protocol_gives_what_is_proven():
    """``price`` is the part of ``prove`` that the loop wants."""
    problem = problem_of(table_of("gaussian", 4, 4, 80))
    _, lp = made_master(problem, 4)
    pricer = MinlpPricer(problem)
    for node in range(4):
        assert pricer.price(node, lp, np.zeros(3), Deadline()) == pricer.prove(node, lp, Deadline())[0]


def test_a_coarse_gap_gives_a_lower_bound():
    """With a gap of 5 the bound may be that much too low, but never too high."""
    problem = problem_of(table_of("gaussian", 7, 6, 200))
    _, lp = made_master(problem, 7)
    exhaustive = ExhaustivePricer(problem)
    for node in range(6):
        least = exhaustive.price(node, lp, np.zeros(0), Deadline()).reduced_cost
        priced, lower = MinlpPricer(problem, gap=5.0).prove(node, lp, Deadline())
        assert least - 5.0 - 10 * SAFETY <= lower <= least
        assert priced.reduced_cost <= least + 5.0


@pytest.mark.parametrize("failed", [False, True])
def test_what_is_stopped_is_not_exact_and_its_bound_holds(monkeypatch, failed):
    """Out of time at once, or with a program that failed, the bound is that of all candidates at no cost."""
    problem = problem_of(table_of("gaussian", 3, 8, 500))
    _, lp = made_master(problem, 3)
    exhaustive, pricer = ExhaustivePricer(problem), MinlpPricer(problem, seconds=None if failed else 1e-9)
    if failed:
        monkeypatch.setattr(
            "dagopt.methods.cg_dca.minlp_pricing.solve_pricing", lambda *given: PricingOutcome([], -np.inf, False)
        )
    least = [exhaustive.price(i, lp, np.zeros(0), Deadline()).reduced_cost for i in range(8)]
    node = int(np.argmin(least))
    priced, lower = pricer.prove(node, lp, Deadline())
    assert not priced.exact
    assert pricer.stopped == 1
    assert -np.inf < lower <= least[node]


def test_a_node_without_candidates_has_nothing_to_price():
    """A node whose parents are all settled is priced exactly, without a program."""
    problem = problem_of(table_of("gaussian", 0, 3), Constraints(forbidden=[("V1", "V0"), ("V2", "V0")]))
    _, lp = made_master(problem, 0)
    pricer = MinlpPricer(problem)
    priced, lower = pricer.prove(0, lp, Deadline())
    assert priced == ([], pytest.approx(0.0, abs=1e-6), True)
    assert lower == pytest.approx(0.0, abs=1e-6)
    assert pricer.solved == 0


def test_sets_that_cost_infinitely_much_are_left_out():
    """Under bnlearn's convention six rows allow four parents, not five; the limit on parents allows three of them."""
    table = ContinuousTable(tuple("abcde"), np.random.default_rng(0).normal(size=(6, 5)))
    problem = problem_of(table, Constraints(max_parents=3), convention="bnlearn")
    _, lp = made_master(problem, 0)
    exhaustive, minlp = ExhaustivePricer(problem), MinlpPricer(problem)
    for node in range(5):
        least = exhaustive.price(node, lp, np.zeros(0), Deadline()).reduced_cost
        assert minlp.prove(node, lp, Deadline()).priced.reduced_cost == pytest.approx(least, abs=GAP)


def test_problems_that_do_not_fit_are_refused():
    """Discrete data, BGe, and columns that others determine: each error says what to do."""
    with pytest.raises(InputError, match=r"multinomial.*method='cg-dca' or 'exact'"):
        MinlpPricer(problem_of(table_of("discrete", 0, 3)))
    with pytest.raises(InputError, match=r"BGe.*score='bic'"):
        MinlpPricer(problem_of(table_of("gaussian", 0, 3), score="bge"))
    rows = np.random.default_rng(0).normal(size=(50, 3))
    for noise, left in ((1e-5, r"'V\d' keeps [0-9.]+e-1\d"), (0.0, r"'V0' keeps 0\.0e\+00|keeps [0-9.]+e-\d+")):
        near = np.column_stack([rows, rows.sum(axis=1) + noise * np.random.default_rng(1).normal(size=50)])
        with pytest.raises(InputError, match=rf"{left}.*leave it out.*method='exact'"):
            MinlpPricer(problem_of(ContinuousTable(("V0", "V1", "V2", "V3"), near)))
