"""The compiled minimum-norm point: its twin of chains, brute force, and vertices along the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.kernels.gaussian import min_norm as kernels
from dagopt.methods.cg_dca.lovasz import subgradient
from dagopt.methods.cg_dca.minimum_norm import min_norm_of_chains
from made_masters import at, close, made_cost, minimum

SEEDS = st.integers(0, 2**16)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(1, 8), st.integers(0, 2), st.booleans(), st.sampled_from(["paper", "bnlearn"]))
def test_it_equals_its_twin_and_brute_force(seed, size, n_base, tight, convention):
    """On g with clusters and required parents minus a linear term, with ties or without, all three agree."""
    rng = np.random.default_rng(seed)
    cost = made_cost("gaussian", seed, size + n_base + 1, n_base, convention=convention).cost
    linear = subgradient(order := rng.permutation(size), cost.g(order))
    linear = linear if tight else linear + rng.normal(size=size) * 20
    start = rng.random(size)
    chosen = kernels.min_norm_gaussian(cost.form, linear, np.argsort(-start, kind="stable"), 1e-7)
    twin = min_norm_of_chains(cost.g, linear, start, 1e-7)
    least = minimum(cost.g, linear)
    for found in (chosen, twin):
        assert at(cost.g, found, size) - linear[found].sum() == pytest.approx(least, abs=1e-6)


@settings(deadline=None, max_examples=18)
@given(SEEDS, st.integers(1, 8), st.integers(0, 2))
def test_a_greedy_base_is_the_subgradient(seed, size, n_base):
    """The vertex of an order is the steps of g - linear along it, with the least prefix and its length."""
    rng = np.random.default_rng(seed)
    cost = made_cost("gaussian", seed, size + n_base + 1, n_base, n_clusters=8).cost
    form, linear, order = cost.form, rng.normal(size=size) * 30, rng.permutation(size)
    vertex, least, length = kernels.greedy_base(form, linear, order)
    values = cost.g(order)
    np.testing.assert_allclose(vertex, subgradient(order, values) - linear, atol=1e-7)
    prefixes = values - values[0] - np.concatenate([[0.0], np.cumsum(linear[order])])
    assert close(least, prefixes.min(), 1e3)
    assert close(prefixes[length], prefixes.min(), 1e3)


@settings(deadline=None, max_examples=18)
@given(SEEDS, st.integers(1, 5))
def test_the_affine_minimiser_is_orthogonal(seed, count):
    """Its weights sum to 1, and the point is orthogonal to every direction within the affine hull."""
    vertices = np.random.default_rng(seed).normal(size=(count, 7)) * 100
    target = np.zeros(count)
    kernels._affine_minimiser(vertices @ vertices.T, count, target)
    assert target.sum() == pytest.approx(1.0)
    point = target @ vertices
    np.testing.assert_allclose((vertices - vertices[0]) @ point, 0.0, atol=1e-6)


def test_many_candidates_come_to_the_end():
    """At 40 candidates the answer bounds itself: no set is below the negative part of the twin's own bound."""
    rng = np.random.default_rng(1)
    cost = made_cost("gaussian", 1, 41, rows=400, n_clusters=30).cost
    linear = subgradient(order := rng.permutation(40), cost.f(order))
    start = rng.random(40)
    chosen = kernels.min_norm_gaussian(cost.form, linear, np.argsort(-start, kind="stable"), 1e-7)
    twin = min_norm_of_chains(cost.g, linear, start, 1e-7)
    value = [at(cost.g, found, 40) - linear[found].sum() for found in (chosen, twin)]
    assert value[0] == pytest.approx(value[1], abs=1e-6)
