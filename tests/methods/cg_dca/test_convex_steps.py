"""Kelley's cutting planes, the minimum-norm point and its kernel minimise exactly: brute force is the judge."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dagopt.data.table import ContinuousTable
from dagopt.lp.highs import LinearProgram
from dagopt.methods.cg_dca.bases import SetFunction
from dagopt.methods.cg_dca.gaussian_cost import GaussianCost
from dagopt.methods.cg_dca.kelley import KelleyCuts
from dagopt.methods.cg_dca.lovasz import subgradient
from dagopt.methods.cg_dca.minimum_norm import min_norm, min_norm_of_chains
from dagopt.methods.cg_dca.reduced_cost import ChainMemory
from made_masters import at, gaussian_table, made_cost, minimum, problem_of

SEEDS = st.integers(0, 2**16)
KINDS = st.sampled_from(["gaussian", "discrete"])
LINEAR = st.sampled_from(["random", "tight", "zero", "whole"])
TOLERANCE = 1e-7


def kelley(g, linear, start, tolerance):
    """Minimise by cutting planes for one linear term."""
    return KelleyCuts(g, len(linear))(linear, start, tolerance)


def plain_kelley(g, linear, start, tolerance):
    """Minimise with one cut per round, as in the paper."""
    return KelleyCuts(g, len(linear), cuts_per_round=1)(linear, start, tolerance)


METHODS = {
    "kelley": kelley,
    "plain kelley": plain_kelley,
    "min-norm of chains": min_norm_of_chains,
    "min-norm": min_norm,
}


def linear_of(kind, chain, size, rng):
    """Return a linear term: random, the steps of g along an order (many ties at the minimum), or an extreme."""
    if kind == "zero":
        return np.zeros(size)
    if kind == "whole":
        return np.full(size, 1e4)
    steps = subgradient(order := rng.permutation(size), chain(order))
    return steps if kind == "tight" else steps + rng.normal(size=size) * rng.choice([0.1, 5.0, 50.0])


def assert_all_find_the_minimum(chain, linear, start, methods=METHODS):
    """Check that the set of each method has the least value over all subsets."""
    least = minimum(chain, linear)
    scale = np.abs(chain(np.arange(len(linear)))).max() + np.abs(linear).sum()
    for name, method in methods.items():
        chosen = method(chain, linear, start, TOLERANCE)
        assert len(set(chosen.tolist())) == len(chosen), name
        assert at(chain, chosen, len(linear)) - linear[chosen].sum() <= least + TOLERANCE + 1e-11 * scale, name


@settings(deadline=None, max_examples=40)
@given(KINDS, LINEAR, SEEDS, st.integers(1, 8), st.integers(0, 2))
@example("gaussian", "tight", 0, 8, 0)
@example("discrete", "tight", 0, 7, 2)
def test_all_equal_brute_force(kind, of_linear, seed, size, n_base):
    """On g of both data kinds, with clusters, required parents and ties, every method finds the minimum."""
    rng = np.random.default_rng(seed)
    cost = made_cost(kind, seed, size + n_base + 1, n_base, n_clusters=int(rng.integers(0, 9))).cost
    linear = linear_of(of_linear, cost.g, size, rng)
    assert_all_find_the_minimum(cost.g, linear, rng.random(size))


@settings(deadline=None, max_examples=15)
@given(SEEDS, LINEAR)
def test_large_values_do_no_harm(seed, of_linear):
    """With the numbers of 20,000 rows the same holds: ends are told apart at the size of the numbers."""
    rng = np.random.default_rng(seed)
    cost = made_cost("gaussian", seed, 7, rows=20_000).cost
    assert_all_find_the_minimum(cost.g, linear_of(of_linear, cost.g, 6, rng), rng.random(6))


def cut_function(weights):
    """Return the chain of a graph's cut, which is symmetric: every minimiser has a twin."""

    def chain(order):
        inside = np.zeros(len(weights), dtype=bool)
        values = [0.0]
        for j in order:
            inside[j] = True
            values.append(float(weights[np.ix_(inside, ~inside)].sum()))
        return np.array(values)

    return SetFunction(chain)


@settings(deadline=None, max_examples=18)
@given(SEEDS, st.integers(2, 8))
def test_any_submodular_function(seed, size):
    """A graph's cut with whole weights, full of ties and not monotone, is minimised as well."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.integers(0, 4, (size, size)), k=1).astype(float)
    linear = rng.integers(-4, 5, size).astype(float)
    start = rng.integers(0, 2, size).astype(float)
    methods = {"kelley": kelley, "min-norm of chains": min_norm_of_chains}
    assert_all_find_the_minimum(cut_function(weights + weights.T), linear, start, methods)


@settings(deadline=None, max_examples=15)
@given(KINDS, SEEDS)
def test_kept_cuts_serve_other_linear_terms(kind, seed):
    """One set of cutting planes, used for several linear terms in turn, finds each minimum."""
    rng = np.random.default_rng(seed)
    cost = made_cost(kind, seed, 7).cost
    minimise = KelleyCuts(cost.g, cost.size)
    for of_linear in ("random", "tight", "zero", "random"):
        linear = linear_of(of_linear, cost.g, cost.size, rng)
        chosen = minimise(linear, rng.random(cost.size), TOLERANCE)
        value = at(cost.g, chosen, cost.size) - linear[chosen].sum()
        assert value == pytest.approx(minimum(cost.g, linear), abs=1e-6)


@pytest.mark.parametrize("cuts", [1, 2, 3])
def test_a_round_adds_as_many_cuts_as_asked_for(cuts, monkeypatch):
    """The LP has one row for the start and so many for each later round."""
    rows, seen = [0], []
    add, solve = LinearProgram.add_row, LinearProgram.solve_within

    def add_and_count(program, *facts):
        rows[0] += 1
        return add(program, *facts)

    def solve_and_note(program, seconds):
        seen.append(rows[0])
        return solve(program, seconds)

    monkeypatch.setattr(LinearProgram, "add_row", add_and_count)
    monkeypatch.setattr(LinearProgram, "solve_within", solve_and_note)
    cost = made_cost("gaussian", 5, 9).cost
    linear = linear_of("random", cost.g, cost.size, np.random.default_rng(5))
    KelleyCuts(cost.g, cost.size, cuts)(linear, np.full(cost.size, 0.5), TOLERANCE)
    assert len(seen) > 2
    np.testing.assert_array_equal(seen, 1 + cuts * np.arange(len(seen)))


@pytest.mark.parametrize("method", [kelley, min_norm_of_chains])
def test_few_chains_are_enough(method):
    """Both end by their bounds, not at the limit on steps: a few chains an element do."""
    rng = np.random.default_rng(5)
    cost = made_cost("gaussian", 5, 16, rows=500).cost
    calls = itertools.count()

    def chain(order):
        next(calls)
        return cost.g(order)

    method(SetFunction(chain), linear_of("random", cost.g, cost.size, rng), rng.random(cost.size), TOLERANCE)
    assert next(calls) <= 20 * cost.size


def test_columns_that_repeat_each_other():
    """Two equal columns leave log-determinants at their floor, and the methods still agree."""
    table = gaussian_table(2, 6)
    values = np.ascontiguousarray(table.values[:, [0, 1, 2, 3, 4, 1]])
    problem = problem_of(ContinuousTable(table.names, values))
    nothing = np.zeros((0, 6), dtype=bool)
    cost = GaussianCost(ChainMemory(problem.score), 0, np.arange(1, 6), np.arange(0), 0.0, nothing, np.zeros(0))
    linear = subgradient(np.arange(5), cost.f(np.arange(5)))
    assert_all_find_the_minimum(cost.g, linear, np.full(5, 0.5))


@pytest.mark.parametrize("seed", range(2))
def test_costs_beyond_the_digits_of_an_lp(seed, monkeypatch):
    """A product of the arities of 28 columns is 1e12; the LP, whose solver gives up on that, gets smaller costs."""
    given = []
    set_costs = LinearProgram.set_costs
    monkeypatch.setattr(LinearProgram, "set_costs", lambda *args: (given.append(args[2]), set_costs(*args)))
    cost = made_cost("discrete", seed, 28, 0, n_clusters=3).cost
    rng = np.random.default_rng(seed)
    for _ in range(3):
        order = rng.permutation(cost.size)
        linear = subgradient(order, cost.f(order))
        assert linear.min() < -1e8
        chosen = kelley(cost.g, linear, np.full(cost.size, 0.5), TOLERANCE)
        value = at(cost.g, chosen, cost.size) - linear[chosen].sum()
        reached = min_norm_of_chains(cost.g, np.maximum(linear, -1e6), np.full(cost.size, 0.5), TOLERANCE)
        assert value <= at(cost.g, reached, cost.size) - linear[reached].sum() + 1e-4
    assert np.abs(given).max() < 1e6
