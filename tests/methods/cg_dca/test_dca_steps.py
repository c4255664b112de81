"""Algorithm 1: it never rises, it ends, and it returns the sets it came through."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.methods.cg_dca.algorithm1 import CONVEX_STEPS, MOST_STEPS, dca
from dagopt.methods.cg_dca.lovasz import decreasing_order, extension, subgradient
from made_masters import at, close, made_cost, minimum, subsets, whole_order

SEEDS = st.integers(0, 2**16)
KINDS = st.sampled_from(["gaussian", "discrete"])
STEPS = st.sampled_from(sorted(CONVEX_STEPS))
EPSILON = 1e-6


@settings(deadline=None, max_examples=30)
@given(KINDS, STEPS, SEEDS, st.integers(1, 8), st.integers(0, 2), st.sampled_from(["inside", "corner"]))
def test_it_never_rises_and_returns_what_it_saw(kind, step, seed, size, n_base, where):
    """Inequality (4) holds from points and corners of the cube, and each visited set has its own reduced cost."""
    made = made_cost(kind, seed, size + n_base + 1, n_base)
    cost, rng = made.cost, np.random.default_rng(seed)
    start = rng.random(size) if where == "inside" else rng.integers(0, 2, size).astype(float)
    visited, values = dca(cost, start, CONVEX_STEPS[step], EPSILON)
    order = decreasing_order(start)
    assert close(values[0], extension(start, order, cost.g(order) - cost.f(order)), 1e3)
    if where == "corner":
        assert close(values[0], made.direct(np.flatnonzero(start)), 1e3)
    assert (np.diff(values) <= EPSILON).all()
    assert len(values) <= MOST_STEPS
    assert abs(values[-1] - values[-2]) < EPSILON
    assert len(visited) == len(values) - 1
    for (positions, value), expected in zip(visited, values[1:], strict=True):
        assert (np.diff(positions) > 0).all()
        assert value == expected
        assert close(value, made.direct(positions), 1e3)


@settings(deadline=None, max_examples=15)
@given(KINDS, STEPS, SEEDS, st.integers(1, 6))
def test_every_step_minimises_the_convex_model(kind, step, seed, size):
    """Each visited set minimises g - <y, x> over all sets, y a subgradient of f at the set before."""
    cost = made_cost(kind, seed, size + 1).cost
    start = np.random.default_rng(seed).random(size)
    visited, _ = dca(cost, start, CONVEX_STEPS[step], EPSILON)
    order = decreasing_order(start)
    for positions, _ in visited:
        slope = subgradient(order, cost.f(order))
        value = at(cost.g, positions, size) - slope[positions].sum()
        assert value == pytest.approx(minimum(cost.g, slope), abs=1e-6)
        order = whole_order(positions, size)


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(1, 7))
def test_both_convex_steps_reach_as_low(kind, seed, size):
    """From the best corner neither step leaves its value: it is the minimum of z over all sets."""
    made = made_cost(kind, seed, size + 1)
    least = min(subsets(range(size)), key=made.cost.value)
    start = np.zeros(size)
    start[list(least)] = 1.0
    for step in CONVEX_STEPS.values():
        _, values = dca(made.cost, start, step, EPSILON)
        assert values[-1] == pytest.approx(made.direct(least), abs=1e-6)
