"""Pricing: what DCA returns is negative, allowed and scored right; what exhaustive pricing returns is the least."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.bits import mask_of, members
from dagopt.deadline import Deadline, Stopped
from dagopt.errors import InputError
from dagopt.families.families import Family
from dagopt.graph.constraints import Constraints
from dagopt.lp.restricted_master import RestrictedMaster, reduced_cost
from dagopt.methods.cg_dca import dca_pricing
from dagopt.methods.cg_dca.algorithm2 import first_families
from dagopt.methods.cg_dca.dca_pricing import DcaPricer
from dagopt.methods.cg_dca.exhaustive_pricing import FAMILIES_PER_CALL, ExhaustivePricer
from made_masters import direct_local, problem_of, subsets, table_of
from made_pricing import allowed_sets, made_master, made_problem
from made_problems import LooksLeft

SEEDS = st.integers(0, 2**16)
KINDS = st.sampled_from(["gaussian", "discrete"])
STEPS = st.sampled_from(["kelley", "min-norm"])
TOLERANCE = 1e-6


@settings(deadline=None, max_examples=20)
@given(KINDS, STEPS, SEEDS, st.integers(2, 7), st.booleans())
def test_columns_of_dca_are_negative_and_allowed(kind, step, seed, n, known):
    """Each has the negative reduced cost that the master gives it, the score of the rows, and allowed parents."""
    problem = made_problem(kind, seed, n, known)
    _, lp = made_master(problem, seed)
    pricer, rng = DcaPricer(problem, step), np.random.default_rng(seed)
    for node in range(n):
        start = rng.random(len(pricer.candidates(node)))
        families, least, _ = pricer.price(node, lp, start, Deadline())
        costs = [reduced_cost(lp, family) for family in families]
        assert (np.array(costs) < 0).all()
        assert least == pytest.approx(min(costs, default=0.0), abs=1e-5)
        for family in families:
            parents = members(family.mask)
            assert family.node == node
            assert problem.knowledge.allows(node, parents)
            assert family.score == pytest.approx(direct_local(problem, node, parents), abs=1e-6)


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(2, 6), st.booleans())
def test_exhaustive_pricing_finds_the_least(kind, seed, n, known):
    """Its reduced cost is the least over all allowed sets, its families the negative ones from the least up."""
    problem = made_problem(kind, seed, n, known)
    _, lp = made_master(problem, seed)
    pricer = ExhaustivePricer(problem)
    for node in range(n):
        every = [
            reduced_cost(lp, Family(node, mask_of(parents), direct_local(problem, node, parents)))
            for parents in allowed_sets(problem, node)
        ]
        families, least, exact = pricer.price(node, lp, np.zeros(0), Deadline())
        assert exact
        assert least == pytest.approx(min(*every, 0.0), abs=1e-6)
        found = [reduced_cost(lp, family) for family in families]
        negative = sorted(cost for cost in every if cost < -2 * TOLERANCE)[:FAMILIES_PER_CALL]
        np.testing.assert_allclose(found[: len(negative)], negative, atol=1e-6)
        for family in families:
            assert problem.knowledge.allows(node, members(family.mask))
            assert family.score == pytest.approx(direct_local(problem, node, members(family.mask)), abs=1e-6)


@settings(deadline=None, max_examples=15)
@given(KINDS, STEPS, SEEDS, st.integers(2, 6), st.booleans())
def test_dca_never_finds_less_than_the_least(kind, step, seed, n, known):
    """The exhaustive pricer's reduced cost bounds what DCA finds from anywhere, and DCA does not call it exact."""
    problem = made_problem(kind, seed, n, known)
    _, lp = made_master(problem, seed)
    dca, exhaustive, rng = DcaPricer(problem, step), ExhaustivePricer(problem), np.random.default_rng(seed)
    for node in range(n):
        size = len(dca.candidates(node))
        np.testing.assert_array_equal(dca.candidates(node), exhaustive.candidates(node))
        _, least, _ = exhaustive.price(node, lp, np.zeros(0), Deadline())
        _, found, exact = dca.price(node, lp, rng.integers(0, 2, size).astype(float), Deadline())
        assert found >= least - 1e-5
        assert exact == (size == 0)


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(3, 6))
def test_the_reduced_cost_of_dca_is_the_masters(kind, seed, n):
    """Z = g - f under the LP's duals equals the master's reduced cost for every set of candidates."""
    problem = made_problem(kind, seed, n, True)
    _, lp = made_master(problem, seed)
    pricer = DcaPricer(problem)
    for node in range(n):
        cost = pricer.reduced_cost(node, lp)
        for chosen in subsets(range(cost.size)):
            parents = [*cost.base, *cost.candidates[list(chosen)]]
            family = Family(node, mask_of(parents), problem.score.local(node, parents))
            assert cost.value(chosen) == pytest.approx(reduced_cost(lp, family), abs=1e-5)


def test_all_sets_on_the_way_are_columns():
    """Where DCA takes several steps, the sets before the last are returned too."""
    problem = made_problem("gaussian", 3, 7, False)
    master = RestrictedMaster(7)
    master.add_families(first_families(problem.score.local, problem.knowledge.must))
    lp = master.solve()
    pricer, rng = DcaPricer(problem), np.random.default_rng(0)
    most = 0
    for _ in range(20):
        for node in range(7):
            families = pricer.price(node, lp, rng.random(6), Deadline()).families
            most = max(most, len({family.mask for family in families}))
    assert most >= 2


@pytest.mark.parametrize("orders", [1, 3])
def test_a_start_with_ties_is_tried_in_so_many_orders(orders, monkeypatch):
    """Where DCA finds nothing, as many runs are made as asked for; without ties there is one."""
    problem = made_problem("gaussian", 3, 6, False)
    _, lp = made_master(problem, 3)
    runs = []

    def in_vain(cost, start, *facts):
        runs.append(start)
        return [], []

    monkeypatch.setattr(dca_pricing, "dca", in_vain)
    pricer = DcaPricer(problem, rng=np.random.default_rng(0), tie_orders=orders)
    pricer.price(0, lp, np.zeros(5), Deadline())
    assert len(runs) == orders
    pricer.price(0, lp, np.linspace(0.0, 1.0, 5), Deadline())
    assert len(runs) == orders + 1


def test_what_is_forgotten_is_computed_again():
    """After forgetting, the pricer goes the way of a new one to the last digit."""
    problem = made_problem("discrete", 3, 6, False)
    _, lp = made_master(problem, 3)
    rng = np.random.default_rng(0)
    used, fresh = DcaPricer(problem), DcaPricer(problem)
    for node in range(6):
        used.price(node, lp, rng.random(5), Deadline())
    used.forget()
    start = rng.random(5)
    assert used.price(0, lp, start, Deadline()) == fresh.price(0, lp, start, Deadline())
    (of_used,), (of_fresh,) = used._memories.values(), fresh._memories.values()
    assert (of_used.hits, of_used.misses) == (of_fresh.hits, of_fresh.misses)


def test_a_node_without_candidates_has_nothing_to_price():
    """A node whose parents are all settled is priced exactly, and nothing is found."""
    table = table_of("gaussian", 0, 3)
    problem = problem_of(table, Constraints(forbidden=[("V1", "V0"), ("V2", "V0")]))
    _, lp = made_master(problem, 0)
    assert DcaPricer(problem).price(0, lp, np.zeros(0), Deadline()) == ([], 0.0, True)


def test_wrong_parts_are_refused():
    """An unknown convex step is named; too many candidates for exhaustive pricing are counted."""
    problem = problem_of(table_of("gaussian", 0, 3))
    with pytest.raises(InputError, match=r"'kelley'.*'min-norm'"):
        DcaPricer(problem, "newton")
    with pytest.raises(InputError, match=r"2\^21 parent sets.*pricing='dca'"):
        ExhaustivePricer(problem_of(table_of("gaussian", 0, 22)))


def test_shortening_a_set_looks_at_the_clock():
    """A set of many parents, of which few are allowed, is shortened value by value, each after a look at the clock."""
    looks = []

    class Counting:
        def value(self, chosen):
            looks.append(len(chosen))
            return float(len(chosen))

    positions = np.arange(1000)
    with pytest.raises(Stopped):
        dca_pricing._shortened(Counting(), positions, 2, LooksLeft(50))
    assert len(looks) == 50
    looks.clear()
    shorter, value = dca_pricing._shortened(Counting(), positions[:6], 2, LooksLeft(1000))
    assert (len(shorter), value, len(looks)) == (2, 2.0, 6 + 5 + 4 + 3 + 1)
