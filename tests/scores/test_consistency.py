"""What all scores share: every way to ask gives one answer, equivalent DAGs one total, order of columns none."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dagopt.data.table import ContinuousTable, as_table
from dagopt.errors import InputError
from dagopt.scores import make_score
from dagopt.scores.base import pack_sets

SCORES = {
    "gaussian bic": ("continuous", {"score": "bic"}),
    "gaussian bic of bnlearn": ("continuous", {"score": "bic", "convention": "bnlearn"}),
    "gaussian aic": ("continuous", {"score": "aic"}),
    "bge": ("continuous", {"score": "bge", "equivalent_sample_size": 2.0}),
    "multinomial bic": ("discrete", {"score": "bic"}),
    "multinomial bic of bnlearn": ("discrete", {"score": "bic", "convention": "bnlearn"}),
    "multinomial loglik": ("discrete", {"score": "loglik"}),
    "gaussian ebic": ("continuous", {"score": "ebic"}),
    "multinomial ebic": ("discrete", {"score": "ebic"}),
    "bdeu": ("discrete", {"score": "bdeu", "equivalent_sample_size": 3.0}),
}


def _values(kind, n, seed, n_samples=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n)) @ (np.eye(n) + np.triu(rng.normal(size=(n, n)), 1))
    if kind == "continuous":
        return X
    cuts = rng.integers(2, 5, n)
    return np.stack([np.floor(X[:, j] * cuts[j] / 2).clip(-1, cuts[j] - 2).astype(int) for j in range(n)], axis=1)


def _score(name, n=5, seed=0, order=None):
    kind, options = SCORES[name]
    values = _values(kind, n, seed)
    return make_score(as_table(values if order is None else values[:, order]), **options)


@pytest.fixture(params=SCORES, scope="module")
def score(request):
    """Return each score on five columns."""
    return _score(request.param)


def _families(n):
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for mask in range(1 << len(others)):
            yield i, naive.members(mask, others)


def test_local_is_a_difference_of_joints_less_the_penalty(score):
    """local(i, J) = joint(J + i) - joint(J) - penalty(i, J), which the exact solver rests on."""
    n = score.n_nodes
    joint = score.all_joints(range(n))
    for i, J in _families(n):
        mask = sum(1 << j for j in J)
        expected = joint[mask | 1 << i] - joint[mask] - score.penalty(i, J)
        assert score.local(i, J) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_penalty_grows_with_the_set(score):
    """More parents never cost less, whatever the score."""
    for i, J in _families(score.n_nodes):
        for j in J:
            assert score.penalty(i, J) >= score.penalty(i, [k for k in J if k != j]) - 1e-12


def test_local_many_is_local_of_each(score):
    """Many sets in one call give what each gives alone, and no set gives nothing."""
    pairs = list(_families(score.n_nodes))
    many = score.local_many([i for i, _ in pairs], [J for _, J in pairs])
    np.testing.assert_allclose(many, [score.local(i, J) for i, J in pairs], rtol=1e-12)
    assert score.local_many([], []).shape == (0,)


def test_the_order_of_parents_does_not_matter(score):
    """A set has one value to the last bit, in whatever order and type its members come."""
    assert score.local(0, [3, 1, 2]) == score.local(0, (1, 2, 3)) == score.local(0, np.array([2, 3, 1]))
    assert score.local(0, {1, 2, 3}) == score.local_many([0], [[2, 1, 3]])[0]


def test_chains_are_locals_of_prefixes(score):
    """``chain`` and ``joint_chain`` have the local score and the joint of every prefix, also of an empty order."""
    n = score.n_nodes
    joint = score.all_joints(range(n))
    for node, *order in itertools.islice(itertools.permutations(range(n)), 0, None, 7):
        prefixes = [order[:k] for k in range(n)]
        expected = [score.local(node, J) for J in prefixes]
        np.testing.assert_allclose(score.chain(node, order), expected, rtol=1e-9, atol=1e-9)
        expected = [joint[sum(1 << j for j in J)] for J in prefixes]
        np.testing.assert_allclose(score.joint_chain(order), expected, rtol=1e-9, atol=1e-9)
    assert score.chain(0, []) == pytest.approx([score.local(0)])
    assert score.joint_chain([]) == pytest.approx([joint[0]])


def test_additions_and_removals_are_locals_of_neighbours(score):
    """One more and one fewer parent give the local score of that set, and NaN where there is no such step."""
    n = score.n_nodes
    for i, J in _families(n):
        added, removed = score.additions(i, J), score.removals(i, J)
        for j in range(n):
            if j in J:
                expected = score.local(i, [k for k in J if k != j])
                assert removed[j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
                assert np.isnan(added[j])
            elif j == i:
                assert np.isnan(added[j])
                assert np.isnan(removed[j])
            else:
                assert added[j] == pytest.approx(score.local(i, [*J, j]), rel=1e-9, abs=1e-9)
                assert np.isnan(removed[j])


def test_subsets_are_locals_at_their_masks(score):
    """Bit b of the index says whether ``candidates[b]`` is a parent, in the order given."""
    for node in range(score.n_nodes):
        candidates = [j for j in (3, 0, 4, 2, 1) if j != node]
        expected = [score.local(node, naive.members(mask, candidates)) for mask in range(1 << len(candidates))]
        np.testing.assert_allclose(score.subsets(node, candidates), expected, rtol=1e-9, atol=1e-9)
    assert score.subsets(0, []) == pytest.approx([score.local(0)])


@pytest.mark.parametrize("low_bits", [0, 1, 3, 5])
def test_potentials_differ_by_local_scores(score, low_bits):
    """The table of the exact solver, filled block by block, has local(i, J) = F[J + i] - F[J] for all sets."""
    n = score.n_nodes
    potential = np.full(1 << n, np.nan)
    for high in range(1 << (n - low_bits)):
        score.fill_potentials(high, low_bits, potential[high << low_bits : (high + 1) << low_bits])
    for i, J in _families(n):
        mask = sum(1 << j for j in J)
        assert potential[mask | 1 << i] - potential[mask] == pytest.approx(score.local(i, J), rel=1e-9, abs=1e-8)


def _bounds(score):
    """Return every set's local score and bound as the score gives them."""
    pairs = list(_families(score.n_nodes))
    flat, offsets = pack_sets([J for _, J in pairs])
    values, bounds = score.local_and_bounds(np.array([i for i, _ in pairs]), flat, offsets)
    return pairs, values, bounds


def test_bounds_hold_for_all_supersets(score):
    """No superset of a set, nor the set itself, scores above the bound that would prune it."""
    pairs, values, bounds = _bounds(score)
    np.testing.assert_allclose(values, [score.local(i, J) for i, J in pairs], rtol=1e-12)
    for (i, J), bound in zip(pairs, bounds, strict=True):
        supersets = [value for (k, K), value in zip(pairs, values, strict=True) if k == i and set(J) <= set(K)]
        assert max(supersets) <= bound + 1e-8


def test_bounds_hold_with_fewer_rows_than_columns(rng):
    """Bounds are numbers also where the largest sets have no unbiased variance and cost infinitely much."""
    score = make_score(as_table(rng.normal(size=(4, 5))), convention="bnlearn")
    _, values, bounds = _bounds(score)
    assert np.isinf(values).any()
    assert not np.isnan(bounds).any()
    assert (values <= bounds + 1e-8).all()


def test_too_many_candidates_for_all_subsets(score):
    """More candidates than memory holds subsets of are refused with the number."""
    with pytest.raises(InputError, match="at most 26 candidates for all subsets but got 27"):
        score.subsets(0, range(1, 28))


def test_totals_and_tables_are_sums_of_locals(score):
    """The total, the scores by node and the table agree with the local scores of the parent sets."""
    adjacency = np.triu(np.ones((5, 5)), 1)
    locals_ = [score.local(i, range(i)) for i in range(5)]
    assert score.total(adjacency) == pytest.approx(sum(locals_))
    np.testing.assert_allclose(score.per_node(adjacency != 0), locals_)
    table = score.table(adjacency)
    assert list(table.index) == list(score.names)
    assert table.loc["X2", "parents"] == "X0, X1"
    np.testing.assert_allclose(table["score"], locals_)
    np.testing.assert_allclose(table["empty"], [score.local(i) for i in range(5)])
    np.testing.assert_allclose(table["gain"], table["score"] - table["empty"])


@pytest.mark.parametrize("name", SCORES)
def test_markov_equivalent_dags_have_one_score(name):
    """All DAGs on four nodes with equal skeleton and colliders have equal totals, and some others differ."""
    score = _score(name, n=4)
    totals = {}
    for adjacency in naive.all_dags(4):
        totals.setdefault(naive.v_structures(adjacency), []).append(score.total(adjacency))
    assert len(totals) == 185  # classes of the 543 DAGs on four nodes
    assert sum(len(group) for group in totals.values()) == 543
    for group in totals.values():
        np.testing.assert_allclose(group, group[0], rtol=1e-10)
    assert np.ptp([group[0] for group in totals.values()]) > 1.0


@pytest.mark.parametrize("name", SCORES)
def test_one_edge_has_no_direction(name):
    """A -> B and B -> A have one score in both conventions."""
    score = _score(name, n=2, seed=3)
    forth, back = score.total(np.array([[0, 1], [0, 0]])), score.total(np.array([[0, 0], [1, 0]]))
    assert forth == pytest.approx(back, rel=1e-12)


@pytest.mark.parametrize("name", SCORES)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_the_order_of_columns_does_not_matter(name, data):
    """A DAG with its columns in another order has the same score at every node."""
    n = 5
    seed = data.draw(st.integers(0, 1000))
    order = data.draw(st.permutations(range(n)))
    adjacency = np.triu(np.array(data.draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))).reshape(n, n), 1)
    plain = _score(name, n, seed).per_node(adjacency)
    moved = _score(name, n, seed, order).per_node(adjacency[np.ix_(order, order)])
    np.testing.assert_allclose(moved, plain[order], rtol=1e-9, atol=1e-9)


def test_bnlearn_convention_differs_by_a_function_of_the_size():
    """The two conventions differ by an amount that depends on the number of parents alone."""
    paper, bnlearn = _score("gaussian bic"), _score("gaussian bic of bnlearn")
    by_size = {}
    for i, J in _families(5):
        by_size.setdefault(len(J), []).append(bnlearn.local(i, J) - paper.local(i, J))
    for size, differences in by_size.items():
        np.testing.assert_allclose(differences, differences[0], rtol=1e-8)
        left = 80 - size - 1
        expected = -np.log(80) - 40 * np.log(80 / left) + (size + 1) / 2
        assert differences[0] == pytest.approx(expected, rel=1e-8)


def test_names_and_sizes_come_from_the_table():
    """A score knows its columns, its rows and what its number means."""
    table = ContinuousTable(("a", "b"), _values("continuous", 2, 0))
    score = make_score(table, "bic", convention="bnlearn")
    assert (score.names, score.n_nodes, score.n_samples) == (("a", "b"), 2, 80)
    assert "bnlearn" in score.label
