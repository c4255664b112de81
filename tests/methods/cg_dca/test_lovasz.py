"""The Lovász extension: equal on sets, convex where the function is submodular, rounded without loss."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.methods.cg_dca.lovasz import decreasing_order, extension, subgradient
from made_masters import at, close, made_cost, subsets

SEEDS = st.integers(0, 2**16)
KINDS = st.sampled_from(["gaussian", "discrete"])


def extended(chain, point):
    """Return h^L at a point."""
    order = decreasing_order(point)
    return extension(point, order, chain(order))


def random_point(rng, size):
    """Return a point of the cube; some coordinates are equal, or at an end."""
    return np.where(rng.random(size) < 0.4, rng.choice([0.0, 0.25, 1.0], size), rng.random(size))


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(2, 6))
def test_it_equals_the_function_on_sets(kind, seed, n):
    """At 0/1 points the extension of g, of f and of any set function is the function."""
    cost = made_cost(kind, seed, n).cost
    noise = np.random.default_rng(seed).normal(size=2 ** (n - 1))

    def anything(order):
        return noise[np.concatenate([[0], np.cumsum(1 << order)])]

    for chain in (cost.g, cost.f, anything):
        for chosen in subsets(range(cost.size)):
            point = np.zeros(cost.size)
            point[list(chosen)] = 1.0
            assert close(extended(chain, point), at(chain, chosen, cost.size), 1e3)


def test_it_follows_the_definition_between_sets():
    """At (0.7, 0.2) it is 0.3 h(∅) + 0.5 h({0}) + 0.2 h({0, 1})."""
    chain = np.array([1.0, 10.0, 100.0])
    point = np.array([0.7, 0.2])
    assert np.isclose(extension(point, decreasing_order(point), chain), 0.3 * 1 + 0.5 * 10 + 0.2 * 100)
    np.testing.assert_array_equal(subgradient(np.array([1, 0]), chain), [90.0, 9.0])


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(2, 7), st.integers(0, 2))
def test_it_is_convex_for_submodular_functions(kind, seed, n, n_base):
    """Along random segments the extensions of g and f lie below their chords, and above their tangents."""
    cost = made_cost(kind, seed, n + n_base, n_base).cost
    rng = np.random.default_rng(seed)
    for chain in (cost.g, cost.f):
        x, y = random_point(rng, cost.size), random_point(rng, cost.size)
        at_x, at_y = extended(chain, x), extended(chain, y)
        slack = 1e-9 * (abs(at_x) + abs(at_y) + 1e3)
        for t in (0.1, 0.5, 0.8):
            assert extended(chain, (1 - t) * x + t * y) <= (1 - t) * at_x + t * at_y + slack
        order = decreasing_order(x)
        assert at_y >= at_x + subgradient(order, chain(order)) @ (y - x) - slack


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(1, 7))
def test_the_best_prefix_is_never_worse(seed, size):
    """Rounding a point to the best prefix of its order loses nothing, for any set function."""
    rng = np.random.default_rng(seed)
    point, chain = random_point(rng, size), rng.normal(size=size + 1)
    order = decreasing_order(point)
    assert chain.min() <= extension(point, order, chain) + 1e-12


def test_the_order_is_decreasing_and_stable():
    """Equal coordinates keep their own order, so that one point has one order."""
    np.testing.assert_array_equal(decreasing_order(np.array([0.5, 1.0, 0.5, 0.0, 1.0])), [1, 4, 0, 2, 3])
