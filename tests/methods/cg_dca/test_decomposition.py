"""Propositions 1 and 2: g and f are submodular, and their difference is the reduced cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.errors import InputError
from dagopt.methods.cg_dca.decomposition import decomposed
from dagopt.methods.cg_dca.gaussian_cost import GaussianCost
from dagopt.methods.cg_dca.multinomial_cost import MultinomialCost
from dagopt.methods.cg_dca.reduced_cost import ChainMemory
from dagopt.scores.build import make_score
from made_masters import at, close, discrete_table, gaussian_table, made_cost, problem_of, subsets

KINDS = st.sampled_from(["gaussian", "discrete"])
SEEDS = st.integers(0, 2**16)


def values_of(chain, size):
    """Return a set function as a table from sets to values."""
    return {frozenset(chosen): at(chain, chosen, size) for chosen in subsets(range(size))}


def assert_submodular(table, size, scale):
    """Check diminishing returns for all A ⊆ B and v outside B."""
    for big in table:
        for small in map(frozenset, subsets(sorted(big))):
            for v in set(range(size)) - big:
                gain_small = table[small | {v}] - table[small]
                gain_big = table[big | {v}] - table[big]
                assert gain_small >= gain_big - 1e-9 * scale


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(2, 6), st.integers(0, 2), st.integers(0, 1), st.sampled_from(["bic", "aic", "loglik"]))
def test_g_and_f_are_submodular(kind, seed, n, n_base, n_left_out, score):
    """Gains diminish over all A ⊆ B and v, with required parents and clusters of every place."""
    n = max(n, n_base + n_left_out + 2)
    cost = made_cost(kind, seed, n, n_base, n_left_out, score=score).cost
    for chain in (cost.g, cost.f):
        table = values_of(chain, cost.size)
        assert_submodular(table, cost.size, max(map(abs, table.values())) + 1)


@settings(deadline=None, max_examples=15)
@given(SEEDS, st.integers(2, 5), st.integers(0, 1))
def test_the_convention_of_bnlearn_keeps_both_submodular(seed, n, n_base):
    """A penalty that grows faster than the number of parents belongs to f, not to g."""
    made = made_cost("gaussian", seed, n + n_base, n_base, rows=12, convention="bnlearn")
    for chain in (made.cost.g, made.cost.f):
        table = values_of(chain, made.cost.size)
        assert_submodular(table, made.cost.size, max(map(abs, table.values())) + 1)
    for chosen in subsets(range(made.cost.size)):
        assert close(made.cost.value(chosen), made.direct(chosen), 1e3)


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(2, 6), st.integers(0, 2), st.integers(0, 2))
def test_the_difference_is_the_reduced_cost(kind, seed, n, n_base, n_left_out):
    """G - f is -score + λ_i + Σ λ_C computed from the rows, for every set and however it is asked for."""
    n = max(n, n_base + n_left_out + 2)
    made = made_cost(kind, seed, n, n_base, n_left_out)
    cost = made.cost
    for chosen in subsets(range(cost.size)):
        expected = made.direct(chosen)
        along = at(cost.g, chosen, cost.size) - at(cost.f, chosen, cost.size)
        assert close(along, expected, 1e3)
        assert close(cost.value(chosen), expected, 1e3)


@settings(deadline=None, max_examples=20)
@given(KINDS, SEEDS, st.integers(3, 6))
def test_values_do_not_depend_on_the_order(kind, seed, n):
    """A set has one value of g and of f, whichever order leads to it."""
    cost = made_cost(kind, seed, n, 1).cost
    rng = np.random.default_rng(seed)
    order = rng.permutation(cost.size)
    half = cost.size // 2
    other = np.concatenate([rng.permutation(order[:half]), rng.permutation(order[half:])])
    for chain in (cost.g, cost.f):
        assert close(chain(order)[half], chain(other)[half], 1e3)


def test_a_cluster_that_no_candidate_meets_costs_nothing():
    """The dual of a cluster whose other members are forbidden parents is in no set, not even in the full one."""
    made = made_cost("gaussian", 1, 5, n_left_out=2, n_clusters=0)
    outside = sorted(set(range(5)) - {made.cost.node, *made.cost.candidates.tolist()})
    row = np.zeros((1, 5), dtype=bool)
    row[0, outside] = True
    with_cluster = type(made.cost)(
        made.cost.memory, made.cost.node, made.cost.candidates, made.cost.base, made.cost.node_dual, row, np.ones(1)
    )
    order = np.arange(made.cost.size)
    np.testing.assert_allclose(with_cluster.g(order), made.cost.g(order))
    assert with_cluster.value([0]) == pytest.approx(made.cost.value([0]))


@pytest.mark.parametrize("table", [gaussian_table(3, 5), discrete_table(3, 5)])
def test_remembered_chains_are_the_same(table):
    """A memory returns what the score returns, also when the sets were met along another order."""
    score = problem_of(table).score
    memory = ChainMemory(score)
    orders = [np.array(order) for order in ([0, 1, 2, 3], [0, 1], [1, 0, 2], [0, 1, 2, 3], [], [3, 4])]
    for order in orders:
        np.testing.assert_allclose(memory.chain(order), score.joint_chain(order), rtol=1e-12, atol=1e-12)


class CountedScore:
    """A score that counts how often a chain is asked for."""

    logdets = None

    def __init__(self, score):
        self.score, self.calls = score, 0

    def joint_chain(self, order, deadline):
        """Return the chain of the score."""
        self.calls += 1
        return self.score.joint_chain(order, deadline)


def test_memory_spares_the_counting_of_rows():
    """A chain whose sets are all known is not computed again; a full memory is emptied, never wrong."""
    score = CountedScore(problem_of(discrete_table(4, 5)).score)
    memory = ChainMemory(score, most=8)
    for order in ([0, 1, 2], [0, 1, 2], [0, 1], [1, 0]):
        memory.chain(np.array(order))
    assert (score.calls, memory.hits, memory.misses) == (2, 2, 2)
    for order in ([4, 3, 2], [3, 1, 0, 2], [0, 1, 2]):
        np.testing.assert_allclose(memory.chain(np.array(order)), score.score.joint_chain(order))
        assert len(memory._known) <= 8


@pytest.mark.parametrize(("table", "name"), [(gaussian_table(1, 3), "bge"), (discrete_table(1, 3), "bdeu")])
def test_other_scores_are_refused(table, name):
    """A score that is no penalised likelihood has no such decomposition, and the error says what to choose."""
    with pytest.raises(InputError, match="penalised likelihood") as caught:
        decomposed(make_score(table, name))
    assert "\n" not in str(caught.value)
    expected = GaussianCost if table.kind == "continuous" else MultinomialCost
    assert decomposed(make_score(table, "aic"))[1] is expected
