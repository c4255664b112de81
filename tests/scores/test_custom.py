"""Scores of one's own in every method: a function, a sub-class, a factory; against brute force over all DAGs."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.methods.exact.edge_regret import edge_regrets
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores import FunctionScore, Score
from dagopt.scores.build import make_score
from dagopt.scores.custom import is_made_from_table
from every_dag import continuous_table, discrete_table, parent_sets, totals

N = 5


class Directed(Score):
    """BIC with a price on edges against the order of names: equivalent DAGs have different scores."""

    def __init__(self, table):
        self.names, self.n_samples = table.names, table.n_samples
        self.label = "directed BIC"
        self._bic = make_score(table)

    def local(self, node, parents=()):
        """Return BIC less 1.5 per parent with a later name."""
        parents = list(parents)
        return self._bic.local(node, parents) - 1.5 * sum(self.names[j] > self.names[node] for j in parents)


class PlainBic(Score):
    """BIC without any of its fast parts."""

    is_score_equivalent = True

    def __init__(self, table):
        self.names, self.n_samples = table.names, table.n_samples
        self.label = "plain BIC"
        self._bic = make_score(table)

    def local(self, node, parents=()):
        """Return BIC."""
        return self._bic.local(node, parents)


@pytest.fixture(params=["continuous", "discrete"])
def table(request):
    """Return a small table of either kind."""
    return continuous_table(N, 3) if request.param == "continuous" else discrete_table(N, 3)


def best(score, constraints=None):
    """Return the best score of all DAGs."""
    return totals(score, (constraints or Constraints()).resolve(score.names)).max()


EXACT = [("exact", {}), ("exact", {"max_parents": 2}), ("gobnilp", {"max_parents": 4}), ("auto", {})]


@pytest.mark.few(8)
@pytest.mark.parametrize(("method", "options"), EXACT)
@pytest.mark.parametrize("kind", [Directed, PlainBic])
def test_proofs_with_a_score_of_your_own(table, method, options, kind):
    """Methods that prove find the best DAG of brute force."""
    result = dagopt.learn(table, method, score=kind, **options)
    expected = best(kind(table), Constraints(max_parents=options.get("max_parents")))
    assert result.status == "optimal"
    assert result.score == pytest.approx(expected, abs=1e-7)
    assert result.score_label == kind(table).label


@pytest.mark.few(12)
@pytest.mark.parametrize("method", ["order", "hc", "tabu", "cg-dca", "mmhc", "pc"])
@pytest.mark.parametrize("kind", [Directed, PlainBic])
def test_searches_with_a_score_of_your_own(table, method, kind):
    """Searches return a DAG with its own score, never above the best; order search and CG-DCA find the best here."""
    result = dagopt.learn(table, method, score=kind)
    most = best(kind(table))
    if result.graph.is_dag:
        assert result.score == pytest.approx(kind(table).total(result.adjacency), abs=1e-9)
        assert result.score <= most + 1e-7
    if method in ("order", "cg-dca"):
        assert result.score == pytest.approx(most, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_order_search_obeys_knowledge(seed):
    """With required and forbidden edges, and a limit, the generic order search stays inside and is near the best."""
    table = continuous_table(N, seed)
    known = Constraints(required=[("a", "c")], forbidden=[("b", "d"), ("d", "b")], max_parents=2)
    result = dagopt.learn(table, "order", score=Directed, constraints=known)
    assert known.resolve(table.names).allows_dag(result.adjacency)
    assert result.score == pytest.approx(best(Directed(table), known), abs=1e-7)


def test_generic_and_compiled_order_search_agree(table):
    """Without its fast parts BIC leads to a DAG of the same score."""
    fast, slow = (dagopt.learn(table, "order", score=score) for score in ("bic", PlainBic))
    assert slow.score == pytest.approx(fast.score, abs=1e-7)


def test_a_plain_function_gets_names(table):
    """A function of two arguments is called with names, parents in column order, and its values are maximised."""
    bic = make_score(table)
    seen = set()

    def mine(node, parents):
        assert isinstance(parents, tuple)
        assert list(parents) == sorted(parents, key=table.names.index)
        seen.add((node, parents))
        return bic.local(table.names.index(node), [table.names.index(name) for name in parents])

    result = dagopt.learn(table, "exact", score=mine)
    assert result.score == pytest.approx(best(bic), abs=1e-7)
    assert "mine" in result.score_label
    assert ("a", ()) in seen
    assert {node for node, _ in seen} == set(table.names)


def test_factories_and_instances(table):
    """A function of the table makes the score; a score of these columns is taken as it is."""
    expected = best(Directed(table))
    for score in (lambda table: Directed(table), Directed(table), Directed):
        assert dagopt.learn(table, "exact", score=score).score == pytest.approx(expected, abs=1e-7)


def test_which_scores_follow_the_rows():
    """Names, penalties, classes and functions of the table can be made for other rows; the others cannot."""
    table = continuous_table(3, 0)
    assert all(map(is_made_from_table, ["bic", 2.0, Directed, lambda table: Directed(table)]))
    assert not any(map(is_made_from_table, [Directed(table), lambda node, parents: 0.0, max]))


def test_edge_probabilities_with_a_score_of_your_own():
    """The sums over orders agree with brute force over orders for a score that tells directions."""
    table = continuous_table(4, 1, n_samples=20)
    score = Directed(table)
    weights = np.zeros((4, 4))
    total = 0.0
    for order in permutations(range(4)):
        choices = [
            {own: np.exp(score.local(v, own)) for size in range(k + 1) for own in combinations(order[:k], size)}
            for k, v in enumerate(order)
        ]
        weight = np.prod([sum(own.values()) for own in choices])
        total += weight
        for v, own in zip(order, choices, strict=True):
            for parents, value in own.items():
                weights[list(parents), v] += weight * value / sum(own.values())
    found = dagopt.edge_posterior(table, score=Directed, prior="uniform")
    np.testing.assert_allclose(found.probabilities, weights / total, atol=1e-9)


@pytest.mark.parametrize("limit", [None, 2])
def test_edge_regrets_with_a_score_of_your_own(table, limit):
    """The best scores with and without each edge agree with brute force, by tables and by lists of parent sets."""
    known = Constraints(max_parents=limit).resolve(table.names)
    problem = Problem(table, Directed(table), known)
    found = edge_regrets(problem, Deadline(), NoProgress())
    scores, parents = totals(problem.score, known), parent_sets(N)
    for i in range(N):
        for j in range(N):
            if i != j:
                has = (parents[:, i] >> j & 1).astype(bool)
                assert found.include[j, i] == pytest.approx(scores[has].max(), abs=1e-7)
                assert found.exclude[j, i] == pytest.approx(scores[~has].max(), abs=1e-7)


@pytest.mark.parametrize("method", ["exact", "gobnilp"])
def test_best_classes_of_a_score_that_tells_equivalent_dags_apart_are_dags(method):
    """The best DAGs are those of all DAGs; a score that equivalent DAGs share has classes."""
    table = continuous_table(4, 2)
    result = dagopt.learn(table, method, score=Directed, n_best=6, max_parents=3)
    expected = np.sort(totals(Directed(table), dagopt.Constraints(max_parents=3).resolve(table.names)))[::-1][:6]
    found = result.figures.best_classes
    assert [one["score"] for one in found] == pytest.approx(expected, abs=1e-7)
    assert len({one["adjacency"].tobytes() for one in found}) == 6
    assert all(np.array_equal(one["adjacency"], one["cpdag"]) for one in found)
    assert any("optimal DAG is" in note for note in result.notes)
    plain, fast = (dagopt.learn(table, "exact", score=score, n_best=3) for score in (PlainBic, "bic"))
    scores = [[one["score"] for one in result.details["best_classes"]] for result in (plain, fast)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-7)


def test_generic_parts_agree_with_fast_ones(table):
    """Every generic part of the base class gives what the library's own parts give."""
    plain, fast = PlainBic(table), make_score(table)
    for node, parents in ((0, [2, 1]), (3, []), (4, [0, 1, 2, 3])):
        others = [j for j in range(N) if j != node]
        np.testing.assert_allclose(plain.additions(node, parents), fast.additions(node, parents))
        np.testing.assert_allclose(plain.removals(node, parents), fast.removals(node, parents))
        np.testing.assert_allclose(plain.chain(node, others), fast.chain(node, others))
        np.testing.assert_allclose(plain.subsets(node, others), fast.subsets(node, others))
    for score in (plain, Directed(table)):
        for node in range(N):
            potential = np.empty(1 << N)
            for high in range(4):
                score.fill_potentials(high, N - 2, potential[high << N - 2 : (high + 1) << N - 2], node)
            for mask in range(1 << N):
                if not mask >> node & 1:
                    members = [j for j in range(N) if mask >> j & 1]
                    gained = potential[mask | 1 << node] - potential[mask]
                    assert gained == pytest.approx(score.local(node, members), abs=1e-8)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda node, parents: "high", r"score\('a', \(\)\) returned 'high'"),
        (lambda node, parents: float("nan"), "returned nan"),
        (lambda node, parents: -np.inf, "finite score of 'a' without parents but got -inf"),
        (lambda table: 3.0, "to return a Score when called with the table but got 3.0"),
        (lambda a, b, c: 0.0, "needs 3 arguments"),
        (lambda: 0.0, "needs 0 arguments"),
    ],
)
def test_what_is_no_score(score, message):
    """Errors name the call and what came of it."""
    with pytest.raises(InputError, match=message):
        make_score(continuous_table(3, 0), score)


def test_a_score_of_other_columns_is_refused():
    """The error names both sets of columns."""
    with pytest.raises(InputError, match="columns 'a', 'b', 'c', 'd' but got one of 'a', 'b', 'c'"):
        make_score(continuous_table(4, 0), Directed(continuous_table(3, 0)))


def test_minus_infinity_rules_a_set_out():
    """Sets that score minus infinity are in no answer."""
    table = continuous_table(4, 5)
    bic = make_score(table)
    index = table.names.index
    score = FunctionScore(
        table, lambda node, parents: -np.inf if len(parents) > 1 else bic.local(index(node), map(index, parents))
    )
    for method in ("exact", "order", "hc"):
        assert dagopt.learn(table, method, score=score).adjacency.sum(axis=0).max() <= 1


def test_bootstrap_makes_the_score_of_each_resample():
    """A class is made for each resample; a fixed function cannot follow the rows, and the error says what to give."""
    table = continuous_table(4, 6)
    plain, fast = (dagopt.bootstrap(table, 4, score=score, method="hc") for score in (PlainBic, "bic"))
    np.testing.assert_array_equal(plain.essential, fast.essential)
    with pytest.raises(InputError, match="score= to be computed from the rows"):
        dagopt.bootstrap(table, 4, score=lambda node, parents: 0.0, method="hc")
