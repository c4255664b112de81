"""Listed pricing and the Lagrangian bound: the least reduced cost over all parent sets up to a size, by brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.bits import mask_of, members
from dagopt.deadline import Deadline
from dagopt.families.families import Family
from dagopt.families.listing import candidate_pool
from dagopt.lp.restricted_master import reduced_cost
from dagopt.methods.cg_dca.dca_pricing import DcaPricer
from dagopt.methods.cg_dca.exhaustive_pricing import ExhaustivePricer
from dagopt.methods.cg_dca.listed_pricing import FAMILIES_PER_CALL, ListedPricer
from dagopt.methods.cg_dca.pool_bound import priced_bound
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_pricing import allowed_sets, made_master, made_problem

SEEDS = st.integers(0, 2**16)
KINDS = st.sampled_from(["gaussian", "discrete"])


def pricer_of(problem):
    """Return the listed pricer of a problem."""
    with Workers(Deadline(), NoProgress(), 1) as workers:
        return ListedPricer(candidate_pool(problem.score, problem.knowledge, workers), problem.knowledge)


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(2, 6), st.booleans())
def test_it_finds_the_least_reduced_cost(kind, seed, n, known):
    """It is the least over all allowed sets, and the families have the reduced costs and scores that they should."""
    problem = made_problem(kind, seed, n, known)
    _, lp = made_master(problem, seed)
    pricer = pricer_of(problem)
    for node in range(n):
        families, least, exact = pricer.price(node, lp, np.zeros(0), Deadline())
        costs = [
            reduced_cost(lp, Family(node, mask_of(own), problem.score.local(node, own)))
            for own in allowed_sets(problem, node)
        ]
        assert exact
        assert least == pytest.approx(min(*costs, 0.0), abs=1e-6)
        assert len(families) <= FAMILIES_PER_CALL
        for family in families:
            assert reduced_cost(lp, family) < 0
            assert family.score == pytest.approx(problem.score.local(node, members(family.mask)), abs=1e-8)


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(2, 6), st.booleans())
def test_the_bound_is_never_below_the_optimum(kind, seed, n, known):
    """With any families and clusters the bound holds, by listed and by exhaustive prices alike."""
    problem = made_problem(kind, seed, n, known)
    _, lp = made_master(problem, seed)
    bounds = [priced_bound(pricer, lp, Deadline())[0] for pricer in (pricer_of(problem), ExhaustivePricer(problem))]
    best = max(totals(problem))
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-5)
    assert bounds[0] >= best - 1e-6


def totals(problem):
    """Yield the scores of allowed DAGs: for every order the best allowed parents before each node."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = [int(v) for v in rng.permutation(problem.n_nodes)]
        own = [
            [set_ for set_ in allowed_sets(problem, node) if set(set_) <= set(order[:place])]
            for place, node in enumerate(order)
        ]
        if all(own):
            yield sum(
                max(problem.score.local(node, set_) for set_ in sets) for node, sets in zip(order, own, strict=True)
            )
    yield -np.inf  # where no order that was drawn allows a DAG


def test_no_bound_from_inexact_prices():
    """DCA's prices bound nothing."""
    problem = made_problem("gaussian", 0, 4, known=False)
    _, lp = made_master(problem, 0)

    class Started(DcaPricer):
        def price(self, node, lp, start, deadline):
            """Price from the middle of the cube."""
            return super().price(node, lp, np.full(3, 0.5), deadline)

    assert priced_bound(Started(problem), lp, Deadline()) == (np.inf, [])
