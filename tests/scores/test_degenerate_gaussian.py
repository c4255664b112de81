"""The score of mixed tables: regressions of indicators, one submodular set function, Gaussian without levels."""

import itertools

import numpy as np
import pytest

import dagopt
import naive
from dagopt.data.columns import Column, columns_from_frame
from dagopt.data.mixed import MixedTable
from dagopt.data.table import ContinuousTable
from dagopt.scores.build import make_score
from dagopt.scores.conditional_gaussian import ConditionalGaussianScore
from dagopt.scores.degenerate_gaussian import DegenerateGaussianScore
from dagopt.scores.gaussian import GaussianScore
from made_tables import mixed_frame, mixed_table


def _families(n):
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for mask in range(1 << len(others)):
            yield i, naive.members(mask, others)


@pytest.mark.parametrize("seed", range(3))
def test_local_scores_are_regressions_of_indicators(seed):
    """Each family by least squares on dummy columns, another level left out."""
    frame = mixed_frame(seed)
    score = DegenerateGaussianScore(MixedTable(tuple(columns_from_frame(frame))), 2.5, 1.5)
    for i, J in _families(5):
        assert score.local(i, J) == pytest.approx(naive.degenerate_local(frame, i, J, 2.5, 1.5), abs=1e-4)


def test_without_levels_it_is_the_gaussian_score():
    """On continuous columns alone the two scores are one."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4)) * [1, 10, 100, 0.1]
    names = ("a", "b", "c", "d")
    columns = tuple(Column(name, "continuous", values[:, j]) for j, name in enumerate(names))
    ours = DegenerateGaussianScore(MixedTable(columns), 2.0)
    theirs = GaussianScore(ContinuousTable(names, values), 2.0)
    for i, J in _families(4):
        assert ours.local(i, J) == pytest.approx(theirs.local(i, J), rel=1e-10)


def test_every_way_to_ask_gives_one_answer():
    """Chains, additions, many sets, subsets and potentials are the local scores."""
    score = DegenerateGaussianScore(mixed_table(4), 2.5, 0.7)
    n = score.n_nodes
    potential = np.empty(1 << n)
    score.fill_potentials(0, n, potential)
    halves = np.empty((4, 1 << (n - 2)))
    for high in range(4):
        score.fill_potentials(high, n - 2, halves[high])
    np.testing.assert_allclose(halves.ravel(), potential, rtol=1e-9)
    joint = score.all_joints(range(n))
    pairs = list(_families(n))
    many = score.local_many([i for i, _ in pairs], [J for _, J in pairs])
    for (i, J), value in zip(pairs, many, strict=True):
        mask = sum(1 << j for j in J)
        expected = score.local(i, J)
        assert value == pytest.approx(expected, rel=1e-10)
        assert potential[mask | 1 << i] - potential[mask] == pytest.approx(expected, abs=1e-6)
        assert joint[mask | 1 << i] - joint[mask] - score.penalty(i, J) == pytest.approx(expected, abs=1e-6)
        added = score.additions(i, J)
        for j in range(n):
            if j != i and j not in J:
                assert added[j] == pytest.approx(score.local(i, [*J, j]), rel=1e-9)
            else:
                assert np.isnan(added[j])
    np.testing.assert_allclose(score.chain(2, [0, 3, 1]), [score.local(2, [0, 3, 1][:k]) for k in range(4)], rtol=1e-9)
    np.testing.assert_allclose(score.joint_chain([3, 0, 1]), joint[[0, 8, 9, 11]], rtol=1e-9)
    np.testing.assert_allclose(score.subsets(4, [1, 3]), [score.local(4, J) for J in ([], [1], [3], [1, 3])], rtol=1e-9)


def test_log_dets_of_groups_are_submodular():
    """What CG-DCA rests on: minus the joint has decreasing differences over sets of columns."""
    joint = DegenerateGaussianScore(mixed_table(7, rows=60), 1.0).all_joints(range(5))
    for a, b in itertools.product(range(32), repeat=2):
        assert -joint[a] - joint[b] >= -joint[a | b] - joint[a & b] - 1e-6


def test_bounds_hold_for_all_supersets():
    """No superset of a set scores above its bound."""
    score = DegenerateGaussianScore(mixed_table(1), 2.5)
    for i, J in _families(5):
        _, bound = score.local_and_bounds(np.array([i]), np.array(J, dtype=np.int64), np.array([0, len(J)]))
        rest = [j for j in range(5) if j != i and j not in J]
        for mask in range(1 << len(rest)):
            assert score.local(i, J + naive.members(mask, rest)) <= bound[0] + 1e-6


def test_the_names_and_order_of_levels_do_not_matter():
    """Another first level, and so another one left out, gives the same scores."""
    frame = mixed_frame(3)
    other = frame.replace({"V1": {"low": "z", "mid": "y", "top": "x"}, "V3": {"low": "m"}})
    ours, theirs = (DegenerateGaussianScore(MixedTable(tuple(columns_from_frame(f))), 2.5) for f in (frame, other))
    for i, J in _families(5):
        assert ours.local(i, J) == pytest.approx(theirs.local(i, J), rel=1e-9)


def test_levels_that_others_determine_keep_a_score():
    """A copy of a discrete column, and a number that levels decide, have finite scores that join them."""
    frame = mixed_frame(2).assign(
        copy=lambda f: f["V1"] + "!", value=lambda f: f["V1"].map({"low": 1.5, "mid": 2.5, "top": 9.5})
    )
    score = DegenerateGaussianScore(MixedTable(tuple(columns_from_frame(frame))), 2.5)
    for i, J in _families(7):
        assert np.isfinite(score.local(i, J))
    assert score.local(5, [1]) > score.local(5, []) + 100
    assert score.local(6, [1]) > score.local(6, []) + 100


def test_missing_cells_go_through_em():
    """With cells missing at random the scores are near those of the complete rows, scaled to the rows that count."""
    frame = mixed_frame(5, rows=4000)
    holes = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.05)
    whole, part = (MixedTable(tuple(columns_from_frame(f))) for f in (frame, holes))
    assert part.n_samples == pytest.approx(0.95**2 * 4000, rel=0.01)
    np.testing.assert_allclose(np.abs(part.embedding.matrix), np.abs(whole.embedding.matrix), atol=0.06)


@pytest.mark.parametrize("seed", range(2))
def test_the_conditional_gaussian_is_a_gaussian_per_configuration(seed):
    """Potentials group by group, and minus infinity where a configuration is too rare."""
    frame = mixed_frame(seed, rows=400)
    score = ConditionalGaussianScore(MixedTable(tuple(columns_from_frame(frame))), 2.0)
    finite = 0
    for i, J in _families(5):
        names = [f"V{j}" for j in J]
        words = [name for name in [f"V{i}", *names] if frame[name].dtype != float]
        rarest = min(frame.groupby(words, observed=True).size()) if words else len(frame)
        numbers = 1 + len(J) - len(words)
        if numbers and rarest < numbers + 5:
            assert score.local(i, J) == -np.inf
            continue
        finite += 1
        expected = naive.conditional_potential(frame, [f"V{i}", *names], 2.0) - naive.conditional_potential(
            frame, names, 2.0
        )
        assert score.local(i, J) == pytest.approx(expected, abs=1e-6)
    assert finite > 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_binary", [True, False], ids=["two levels", "more levels"])
def test_the_form_of_blocks_is_the_score(is_binary):
    """Gains of parents are log-determinants of the form less its costs; with two levels it is the plain one."""
    data = dagopt.simulate(6, 300, 1.5, random_state=2).data
    for name in ("X1", "X4"):
        cuts = [0.5] if is_binary else [0.3, 0.6]
        data[name] = [f"L{k}" for k in np.searchsorted(np.quantile(data[name], cuts), data[name])]
    score = make_score(dagopt.as_table(data), score="ebic")
    form = score.block_likelihood
    assert all(node.is_plain == is_binary for node in form.nodes)
    rng = np.random.default_rng(0)
    for i in range(6):
        own = form.nodes[i]
        columns = [list(range(own.starts[j], own.starts[j + 1])) for j in range(6)]
        for _ in range(8):
            chosen = [j for j in range(6) if j != i and rng.random() < 0.5]
            given = [c for j in chosen for c in columns[j]]
            sets = (given + columns[i], given, columns[i])
            both, alone, first = (np.linalg.slogdet(own.matrix[np.ix_(k, k)])[1] for k in sets)
            gain = -own.half * (both - alone - first) - own.costs[len(chosen)] - own.edges[chosen].sum()
            assert score.local(i, chosen) - score.local(i) == pytest.approx(gain, abs=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_table_of_two_levels_is_proven_as_by_the_recursion():
    """Branch and cut with the plain form finds the optimum of exact."""
    data = dagopt.simulate(7, 400, 1.5, random_state=5).data
    data["X2"] = np.where(data["X2"] > 0, "high", "low")
    best, found = (dagopt.learn(data, method, progress=False) for method in ("exact", "branch-and-cut"))
    assert found.status == "optimal"
    assert found.score == pytest.approx(best.score, abs=1e-6)
