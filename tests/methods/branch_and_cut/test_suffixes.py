"""Tests of the search from the end of the order against the subset recursion."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import dagopt
from dagopt.bits import mask_of
from dagopt.data.table import ContinuousTable
from dagopt.deadline import FOREVER, Deadline
from dagopt.graph.constraints import Constraints
from dagopt.methods.branch_and_cut import suffix_bound
from dagopt.methods.branch_and_cut import suffix_search as suffixes
from dagopt.methods.branch_and_cut.branch_and_cut import solve_branch_and_cut
from dagopt.methods.branch_and_cut.order_costs import order_costs
from dagopt.methods.branch_and_cut.suffix_bound import SuffixBound, _LeastCosts
from dagopt.methods.branch_and_cut.suffix_search import SuffixSearch, suited
from dagopt.methods.exact.exact import solve_exact
from dagopt.progress import NoProgress
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Stopped, Workers
from made_problems import gaussian_table, problem_of, quiet
from made_tables import mixed_frame

TOLERANCE = 1e-6


def search(problem, dag, bits=suffixes.PATTERN_BITS, deadline=None, n_jobs=1):
    """Run the search of a problem from a DAG."""
    with Workers(deadline or Deadline(), NoProgress(), n_jobs) as workers:
        found = SuffixSearch(problem.score, order_costs(problem.score), dag, TOLERANCE, workers, bits)
        found.run()
    return found


def empty(problem):
    """Return the DAG without edges."""
    return np.zeros((problem.n_nodes, problem.n_nodes), dtype=np.int8)


@pytest.mark.few(10)
@pytest.mark.parametrize("bits", [1, 3, 12])
@pytest.mark.parametrize("seed", range(10))
def test_the_best_dag_is_found_from_any_start(seed, bits):
    """From the empty DAG, with little data and much, with tables of a part of the nodes and of all."""
    n, rows = 4 + seed % 6, [30, 300, 3000][seed % 3]
    problem = problem_of(gaussian_table(seed, n, rows=rows, density=0.2 + 0.15 * (seed % 4)))
    best = solve_exact(problem, **quiet()).score
    found = search(problem, empty(problem), bits)
    assert found.finished
    assert problem.score.total(found.dag) == pytest.approx(best, abs=1e-5)
    assert best - 1e-9 <= found.bound <= best + 1e-3
    assert found.root_bound >= best


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(6))
def test_the_best_dag_is_confirmed(seed):
    """Started from the optimum nothing better is found, and few states are kept."""
    problem = problem_of(gaussian_table(seed, 9, rows=1000, density=0.4))
    best = solve_exact(problem, **quiet())
    found = search(problem, best.adjacency)
    assert found.finished
    assert np.array_equal(found.dag, best.adjacency)
    assert best.score <= found.bound <= best.score + 1e-3
    assert found.n_states < search(problem, empty(problem)).n_states


def test_the_bound_is_told_as_it_falls():
    """Once for every size of states, never below the optimum."""
    problem = problem_of(gaussian_table(3, 8, rows=300, density=0.4))
    best = solve_exact(problem, **quiet()).score
    told = []
    with Workers(Deadline(), NoProgress(), 1) as workers:
        SuffixSearch(
            problem.score, order_costs(problem.score), empty(problem), TOLERANCE, workers, tell=told.append
        ).run()
    assert len(told) > 2
    assert told == sorted(told, reverse=True)
    assert told[-1] >= best - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_near_ties_are_not_lost(seed):
    """Columns that are nearly copies of each other have nearly equal scores; the best is still found."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(200, 7))
    values[:, 3:] = values[:, :4] + 0.05 * rng.normal(size=(200, 4))
    problem = problem_of(dagopt.as_table(values))
    best = solve_exact(problem, **quiet()).score
    found = search(problem, empty(problem), 4)
    assert found.finished
    assert problem.score.total(found.dag) == pytest.approx(best, abs=1e-5)


def test_the_answer_does_not_depend_on_the_threads():
    """One thread and two, the same DAG, bound and number of states."""
    problem = problem_of(gaussian_table(3, 10, rows=500, density=0.4))
    one, two = (search(problem, empty(problem), 4, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.dag, two.dag)
    assert (one.bound, one.n_states) == (two.bound, two.n_states)


class Ticks:
    """A clock that advances by one each time it is read."""

    now = 0

    def __call__(self):
        self.now += 1
        return float(self.now)


@pytest.mark.parametrize("seconds", [2, 20, 60, 150])
def test_a_search_that_is_stopped_has_a_bound(seconds):
    """Wherever it is stopped, no bound is below the optimum."""
    problem = problem_of(gaussian_table(5, 10, rows=500, density=0.4))
    best = solve_exact(problem, **quiet()).score
    found = search(problem, empty(problem), 4, Deadline(float(seconds), clock=Ticks()))
    assert not found.finished
    assert found.bound >= best - 1e-9
    assert found.bound < np.inf


def test_few_states_and_vertices_between_two_looks_change_nothing(monkeypatch):
    """Also where one state, or one vertex of a tree, takes so long that the clock is looked at after each."""
    problem = problem_of(gaussian_table(5, 9, rows=500, density=0.4))
    whole = search(problem, empty(problem), 4)
    monkeypatch.setattr(suffixes, "VERTICES_PER_LOOK", 0)
    monkeypatch.setattr(suffixes, "PRODUCTS_PER_LOOK", 0)
    ticks = Ticks()
    pieces = search(problem, empty(problem), 4, Deadline(1e9, clock=ticks))
    assert ticks.now > 2 * whole.n_states
    assert (pieces.bound, pieces.n_states) == (whole.bound, whole.n_states)
    assert np.array_equal(pieces.dag, whole.dag)


def test_the_tables_of_the_bound_are_left_at_the_deadline():
    """No further set is enumerated, however many were asked for."""
    costs = order_costs(problem_of(gaussian_table(3, 9, rows=500, density=0.6)).score)
    table = _LeastCosts(costs, 0, np.arange(1, 4), np.arange(4, 9))
    asked, given = [], table._given
    table._given = lambda chosen: asked.append(chosen) or given(chosen)
    with pytest.raises(Stopped):
        table.refine(np.arange(8) * 30 * costs.unit, 1000, Deadline(3.0, clock=Ticks()))
    assert len(asked) == 2


def test_a_search_that_does_not_fit_is_given_up(monkeypatch):
    """With room for few states the bound holds and nothing is claimed."""
    problem = problem_of(gaussian_table(5, 10, rows=500, density=0.4))
    best = solve_exact(problem, **quiet()).score
    monkeypatch.setattr(suffixes, "available_bytes", lambda: 20_000)
    found = search(problem, empty(problem), 4)
    assert not found.finished
    assert found.bound >= best - 1e-9


def cost_of_set(problem, nodes):
    """Return the least cost of an order of some nodes, by trying all orders and all parent sets."""
    score, matrix = problem.score, problem.score.correlation

    def fit(i, others):
        both = [np.linalg.slogdet(matrix[np.ix_(k, k)])[1] for k in (list(others), [*others, i])]
        return -0.5 * score.n_samples * (both[1] - both[0])

    def cost(i, before):
        sets = (one for k in range(len(before) + 1) for one in combinations(before, k))
        return fit(i, before) - max(fit(i, one) - score.costs[len(one)] for one in sets)

    return min(sum(cost(i, order[:k]) for k, i in enumerate(order)) for order in permutations(nodes))


@pytest.mark.parametrize("bits", [2, 4])
def test_the_bound_of_a_set_holds_for_any_weights(bits):
    """For weights of any sign the bound of a set is not above its least cost; tuned, it is not below zero."""
    problem = problem_of(gaussian_table(2, 5, rows=400, density=0.6))
    best = solve_exact(problem, **quiet()).adjacency
    sets = [one for k in (2, 3, 4, 5) for one in combinations(range(5), k)]
    keys = np.array([mask_of(one) for one in sets], dtype=np.uint64)
    costs = np.array([cost_of_set(problem, one) for one in sets])
    rng = np.random.default_rng(0)
    for budget in (0, 2, 1000):
        weights = SuffixBound(order_costs(problem.score), best, bits)
        with Workers(Deadline(), NoProgress(), 1) as workers:
            weights.tabulate(workers, budget)
        assert (weights.bound(keys) <= costs + 1e-6).all()
        assert weights.bound(keys[-1:]) >= 0.0
        for _ in range(5):
            change = rng.normal(size=(5, 5)) * 3 * weights._paired
            kappa = rng.normal(size=weights.weights.kappa.shape) * 3
            kappa[:, 0] = 0.0
            weights.weights = weights.weights._replace(pairs=change + change.T, kappa=kappa)
            weights._update()
            assert (weights.bound(keys) <= costs + 1e-6).all()


@pytest.mark.parametrize("kept", [1, 500])
@pytest.mark.parametrize("budget", [0, 1, 4, 10_000])
def test_least_costs_hold_for_sets_that_are_not_enumerated(budget, kept, monkeypatch):
    """Copies of a hidden column cost several edges to explain, and the column itself, which waits, only one."""
    monkeypatch.setattr(suffix_bound, "MOST_WAITING", kept)
    rng = np.random.default_rng(3)
    hubs = rng.normal(size=(3, 500))
    copies = hubs[0] + 0.7 * rng.normal(size=(4, 500))
    node = hubs[0] + 0.5 * rng.normal(size=500)
    names = tuple(f"X{j}" for j in range(8))
    costs = order_costs(problem_of(ContinuousTable(names, np.vstack([node, copies, hubs]).T)).score)
    inside, outside = np.arange(1, 5), np.arange(5, 8)
    table = _LeastCosts(costs, 0, inside, outside)
    true = np.full(16, np.inf)
    for k in range(4):
        for chosen in combinations(outside.tolist(), k):
            fit, best = table._given(chosen)
            np.minimum(true, table._price(chosen) + fit - best, out=true)
    assert (true < table._least - costs.unit).any()  # what waits decides
    table.refine(np.full(16, 3 * costs.unit), budget, FOREVER)
    assert (table.bound() <= true + 1e-6).all()


def test_branch_and_cut_takes_it_for_dense_tables(monkeypatch):
    """If there are too many sets to list, the search proves the best DAG, and the note says how."""
    monkeypatch.setattr(suffixes, "FEWEST_NODES", 5)
    problem = problem_of(gaussian_table(1, 9, density=0.5))
    result = solve_branch_and_cut(problem, max_sets=3, **quiet())
    best = solve_exact(problem, **quiet()).score
    assert result.status == "optimal"
    assert result.score == pytest.approx(best, abs=1e-6)
    assert best <= result.bound <= best + 1e-3
    assert result.figures.n_states > 0
    assert "from its end" in result.notes[0]


@pytest.mark.parametrize("constraints", [Constraints(max_parents=2), Constraints(forbidden=[("V0", "V1")])])
def test_it_applies_only_without_knowledge(constraints):
    """Parent limits and forbidden edges are left to pricing."""
    problem = problem_of(gaussian_table(0, 20, rows=100))
    assert suited(problem.score, problem.knowledge, 1.0) is not None
    assert suited(problem.score, constraints.resolve(problem.names), 1.0) is None


def test_it_applies_only_if_every_parent_costs_the_same():
    """The penalty of bnlearn's convention is not linear."""
    problem = problem_of(gaussian_table(0, 20, rows=100))
    other = GaussianScore(problem.table, 1.0, "bnlearn")
    assert suited(other, problem.knowledge, 1.0) is None


def problem_of_kind(kind, seed, n=6, rows=200):
    """Return a problem whose nodes are blocks, or have matrices of their own."""
    rng = np.random.default_rng(seed)
    data = mixed_frame(seed, n, rows) if kind.startswith("mixed") else dagopt.simulate(n, rows, 2.0, seed).data
    options = {"score": "basis" if kind == "basis" else "bic"}
    if "told" in kind:
        names = list(data.columns)
        options["interventions"] = rng.choice([None, None, names[0], names[1], f"{names[2]},{names[3]}"], rows).tolist()
    return dagopt.learn(data, "hc", progress=False, **options).problem


@pytest.mark.few(8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bits", [2, 12])
@pytest.mark.parametrize("kind", ["mixed", "basis", "numbers, told", "mixed, told"])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_and_matrices_of_nodes_are_searched_too(kind, seed, bits):
    """From the empty DAG and from the best one: the same DAG as by the recursion, and no bound below it."""
    problem = problem_of_kind(kind, seed)
    costs = order_costs(problem.score)
    assert costs.is_lack == ("told" not in kind)
    best = solve_exact(problem, **quiet())
    for start in (empty(problem), best.adjacency):
        found = search(problem, start, bits)
        assert found.finished
        assert problem.score.total(found.dag) == pytest.approx(best.score, abs=1e-5)
        assert best.score - 1e-9 <= found.bound <= best.score + 1e-3
        assert found.root_bound >= best.score - 1e-9


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["mixed", "numbers, told"])
def test_a_stopped_search_of_blocks_has_a_bound(kind):
    """Wherever it is stopped, no bound is below the optimum."""
    problem = problem_of_kind(kind, 1)
    best = solve_exact(problem, **quiet()).score
    for seconds in (2, 20, 60):
        assert search(problem, empty(problem), 3, Deadline(float(seconds), clock=Ticks())).bound >= best - 1e-9


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["mixed", "basis", "numbers, told", "mixed, told"])
def test_the_cost_of_a_dag_is_what_its_score_lacks(kind):
    """Costs of two DAGs differ by the difference of their scores."""
    problem = problem_of_kind(kind, 2)
    costs, rng = order_costs(problem.score), np.random.default_rng(0)
    first = empty(problem)
    for _ in range(5):
        dag = np.triu(rng.random(first.shape) < 0.4, 1).astype(np.int8)
        lost = problem.score.total(first) - problem.score.total(dag)
        assert costs.of_dag(dag) - costs.of_dag(first) == pytest.approx(lost, abs=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_scores_that_are_no_likelihood_less_costs_have_no_such_costs():
    """BGe has terms of the parents' own matrix, and local scores without data have no matrix."""
    table = gaussian_table(0, 5)
    assert order_costs(problem_of(table, score="bge").score) is None
    assert order_costs(problem_of(table, score=lambda node, parents: -float(len(parents))).score) is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["mixed", "numbers, told"])
def test_branch_and_cut_takes_it_for_blocks(kind, monkeypatch):
    """If there are too many sets to list, the search proves the best DAG of other kinds of tables too."""
    monkeypatch.setattr(suffixes, "FEWEST_NODES", 5)
    problem = problem_of_kind(kind, 0)
    result = solve_branch_and_cut(problem, max_sets=3, **quiet())
    best = solve_exact(problem, **quiet()).score
    assert result.status == "optimal"
    assert result.score == pytest.approx(best, abs=1e-6)
    assert best <= result.bound <= best + 1e-3
    assert "from its end" in result.notes[0]


def test_branch_and_cut_bounds_nothing_where_no_part_can():
    """A discrete table with more sets than may be listed has no bound by pairs or prices, and no error."""
    data = dagopt.datasets.load("asia", n_samples=200, random_state=0)[0]
    result = dagopt.learn(data, "branch-and-cut", max_sets=3, progress=False)
    assert result.status == "converged"
    assert result.bound >= dagopt.learn(data, "exact", progress=False).score
