"""Pricing with rows of log-determinants: coefficients, Proposition 1 with rows, DCA and the exact search."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.bits import mask_of, members
from dagopt.deadline import Deadline
from dagopt.families.family_pool import Family
from dagopt.kernels.gaussian.row_chains import RowTerms, row_chain
from dagopt.lp import pricing as duals
from dagopt.lp.pricing import Pricing
from dagopt.lp.restricted_master import MasterSolution
from dagopt.methods.cg_dca.bases import base_of_chain
from dagopt.methods.cg_dca.dca_pricing import DcaPricer
from dagopt.methods.cg_dca.row_phase import dual_point
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_masters import at, direct_local, subsets
from made_pricing import allowed_sets, made_master, made_problem
from made_rows import coefficient, h, made_rows, random_correlation

SEEDS = st.integers(0, 2**16)


def made(seed, n, known, score_share=True):
    """Return a problem, a master with rows, and a solution with random duals for them."""
    problem = made_problem("gaussian", seed, n, known)
    master, lp = made_master(problem, seed)
    rows = made_rows(master, problem.score, seed)
    master.add_rows(rows)
    rng = np.random.default_rng(seed)
    duals = rng.random(len(rows)) * problem.score.n_samples / rows[0].origin.scale * (0.8 if score_share else 2.0)
    solution = MasterSolution(
        lp.value, lp.values, lp.node_duals + rng.normal(), 3 * rng.random(len(master.clusters)), tuple(rows), duals
    )
    return problem, master, solution


def remainder(problem, master, lp, node, parents):
    """Return the score of a family less its rows, by definition."""
    left = direct_local(problem, node, parents)
    for cluster, dual in zip(master.clusters, lp.cluster_duals, strict=True):
        left -= dual * bool(node in cluster and cluster & set(parents))
    return left - sum(d * coefficient(row, node, parents) for row, d in zip(lp.rows, lp.row_duals, strict=True))


@settings(deadline=None, max_examples=25)
@given(SEEDS, st.integers(1, 7), st.integers(1, 4))
def test_the_chain_of_rows_is_that_of_log_determinants(seed, n, count):
    """Σ w h along an order, against determinants."""
    rng = np.random.default_rng(seed)
    matrices = np.array([random_correlation(rng, n) for _ in range(count)])
    weights, order = rng.random(count), rng.permutation(n)
    expected = [sum(w * h(m, order[:k]) for w, m in zip(weights, matrices, strict=True)) for k in range(n + 1)]
    np.testing.assert_allclose(row_chain(RowTerms(matrices, weights), order), expected, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(SEEDS, st.integers(2, 6), st.booleans(), st.booleans())
def test_the_reduced_cost_with_rows_is_its_definition(seed, n, known, share):
    """Z = g - f, and the master's, equal λ_i minus the remainder for every set of candidates."""
    problem, master, lp = made(seed, n, known, share)
    pricer = DcaPricer(problem)
    for node in range(n):
        cost = pricer.reduced_cost(node, master, lp)
        for chosen in subsets(range(cost.size)):
            parents = [int(j) for j in (*cost.base, *cost.candidates[list(chosen)])]
            expected = lp.node_duals[node] - remainder(problem, master, lp, node, parents)
            family = Family(node, mask_of(parents), problem.score.local(node, parents))
            assert cost.value(chosen) == pytest.approx(expected, abs=1e-4)
            assert master.reduced_cost(family, lp) == pytest.approx(expected, abs=1e-4)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(3, 6), st.booleans())
def test_both_parts_stay_submodular(seed, n, known):
    """Gains of g and of f diminish, for all A ⊆ B and v, with rows of any multiplier."""
    problem, master, lp = made(seed, n, known, score_share=False)
    pricer = DcaPricer(problem)
    for node in range(n):
        cost = pricer.reduced_cost(node, master, lp)
        for chain in (cost.g, cost.f):
            table = {frozenset(chosen): at(chain, chosen, cost.size) for chosen in subsets(range(cost.size))}
            scale = max(map(abs, table.values())) + 1
            for big in table:
                for small in map(frozenset, subsets(sorted(big))):
                    for v in set(range(cost.size)) - big:
                        gains = table[small | {v}] - table[small], table[big | {v}] - table[big]
                        assert gains[0] >= gains[1] - 1e-9 * scale


@settings(deadline=None, max_examples=15)
@given(SEEDS, st.integers(3, 7), st.booleans())
def test_the_compiled_parts_agree_with_the_chains(seed, n, known):
    """The greedy base and the minimiser with rows, against the chain of values and all subsets."""
    problem, master, lp = made(seed, n, known)
    rng = np.random.default_rng(seed)
    for node in range(n):
        cost = DcaPricer(problem).reduced_cost(node, master, lp)
        if not cost.size:
            continue
        linear, order = rng.normal(scale=20, size=cost.size), rng.permutation(cost.size)
        base, least, _ = cost.g.base(order, linear)
        slow, slow_least, _ = base_of_chain(cost.g, order, linear)
        np.testing.assert_allclose(base, slow, atol=1e-6)
        assert least == pytest.approx(slow_least, abs=1e-6)
        found = cost.g.minimiser(linear, order, 1e-7)
        every = {
            chosen: at(cost.g, chosen, cost.size) - linear[list(chosen)].sum() for chosen in subsets(range(cost.size))
        }
        assert every[tuple(sorted(found.tolist()))] == pytest.approx(min(every.values()), abs=1e-5)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(3, 6), st.booleans(), st.sampled_from(["kelley", "min-norm"]))
def test_dca_with_rows_finds_true_negative_families(seed, n, known, step):
    """What it returns has the negative reduced cost of the definition, and never less than the least of all sets."""
    problem, master, lp = made(seed, n, known)
    pricer, rng = DcaPricer(problem, step), np.random.default_rng(seed)
    for node in range(n):
        every = [
            lp.node_duals[node] - remainder(problem, master, lp, node, parents)
            for parents in allowed_sets(problem, node)
        ]
        families, least, _ = pricer.price(node, master, lp, rng.random(len(pricer.candidates(node))), Deadline())
        assert least >= min(*every, 0.0) - 1e-4
        for family in families:
            cost = lp.node_duals[node] - remainder(problem, master, lp, node, members(family.mask))
            assert cost < 0
            assert cost >= least - 1e-4


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(3, 6), st.booleans())
def test_the_exact_bound_is_the_lagrangian_of_all_sets(seed, n, known):
    """Σ λ b + Σ max over all allowed sets of the remainder, by brute force."""
    problem, master, lp = made(seed, n, known)
    point = dual_point(master, lp)
    largest = [
        max(remainder(problem, master, lp, node, parents) for parents in allowed_sets(problem, node))
        for node in range(n)
    ]
    uppers = [len(cluster) - 1 for cluster in master.clusters]
    expected = float(lp.cluster_duals @ uppers + lp.row_duals @ [row.upper for row in lp.rows] + sum(largest))
    with Workers(Deadline(), NoProgress(), 1) as workers:
        least = np.full(n, -1e9)
        bound, found = Pricing(problem.score, problem.knowledge, 10**6).all_nodes(point, least, 5, workers)
    assert bound >= expected - 1e-6
    assert bound == pytest.approx(expected, abs=1e-3)
    for node, one in enumerate(found):
        best = max(remainder(problem, master, lp, node, np.flatnonzero(row).tolist()) for row in one.members)
        assert best == pytest.approx(largest[node], abs=1e-4)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(4, 7), st.booleans())
def test_searches_that_are_cut_short_still_give_a_bound(seed, n, known):
    """With a few steps before the limits rise, and at a deadline that is over: never below that of all sets."""
    problem, master, lp = made(seed, n, known)
    point = dual_point(master, lp)
    expected = point.constant + sum(
        max(remainder(problem, master, lp, node, parents) for parents in allowed_sets(problem, node))
        for node in range(n)
    )
    least = np.full(n, -1e9)
    with patch.multiple(duals, FIRST_STEPS=3, STEPS_PER_PIECE=1):
        for seconds in (None, 1e-9):
            with Workers(Deadline(seconds), NoProgress(), 1) as workers:
                bound, _ = Pricing(problem.score, problem.knowledge, 5).all_nodes(point, least, 2, workers)
            assert bound >= expected - 1e-6
    with Workers(Deadline(), NoProgress(), 2) as workers:
        climbed = Pricing(problem.score, problem.knowledge, 5).climb(point, least, 10, 20, workers)
    for node, one in enumerate(climbed):
        for row in one.members:
            parents = np.flatnonzero(row).tolist()
            assert tuple(parents) in {tuple(sorted(own)) for own in allowed_sets(problem, node)}
            assert remainder(problem, master, lp, node, parents) <= one.most + 1e-4
