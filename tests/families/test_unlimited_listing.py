"""Tests of listing discrete parent sets of any size: against all subsets, complete or stopped early."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.data.table import as_table
from dagopt.deadline import Deadline
from dagopt.families import node_growth
from dagopt.families.listing import Candidates, candidate_pool
from dagopt.families.node_growth import NodeGrowth
from dagopt.graph.constraints import Constraints
from dagopt.methods.branch_and_cut import gobnilp
from dagopt.methods.exact.exact import solve_exact
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.base import pack_sets
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from every_dag import consistent_constraints, members, names_of

SCORES = ["bic", "aic", "ebic", "bdeu"]
ROUNDING = 1e-8


def discrete_table(n_nodes, n_rows, seed):
    """Return a table with 2 to 4 levels per column: they depend on earlier ones, or chance, or are constant."""
    rng = np.random.default_rng(seed)
    arity = rng.integers(2, 5, n_nodes)
    columns = np.zeros((n_rows, n_nodes), dtype=np.int64)
    for j in range(n_nodes):
        causes = rng.permutation(j)[: rng.integers(0, 4)]
        columns[:, j] = columns[:, causes].sum(axis=1) + (rng.random(n_rows) < rng.choice([0.02, 0.2, 0.5]))
        if rng.random() < 0.3:
            columns[:, j] += rng.integers(0, 4, n_rows)
        columns[:, j] %= arity[j]
    if seed % 5 == 0:
        columns[:, 0] = 0
    if seed % 7 == 0:
        columns[:, 1] = columns[:, 2]
    return as_table(pd.DataFrame(columns, columns=names_of(n_nodes)), kind="discrete")


def discrete_problem(score, n_nodes, n_rows, seed, constraints=None):
    """Return the problem of such a table."""
    table = discrete_table(n_nodes, n_rows, seed)
    knowledge = (constraints or Constraints()).resolve(table.names)
    return Problem(table, make_score(table, score), knowledge)


def all_scores(problem):
    """Return for each node the allowed sets and their scores, computed one by one."""
    n, score = problem.n_nodes, problem.score
    found = []
    for i in range(n):
        fits = [m for m in range(1 << n) if not m >> i & 1 and problem.knowledge.allows(i, members(m))]
        values = score.local_many([i] * len(fits), [members(m) for m in fits])
        found.append(dict(zip(fits, values.tolist(), strict=True)))
    return found


def as_dicts(pool):
    """Return the sets of each node of a pool and their scores."""
    own = map(pool.own, range(pool.n_nodes))
    return [dict(zip(pool.masks[k].tolist(), pool.score[k].tolist(), strict=True)) for k in own]


def best_subset(sets, mask, proper=False):
    """Return the best score of the subsets of a set."""
    return max((v for m, v in sets.items() if m & ~mask == 0 and not (proper and m == mask)), default=-np.inf)


def assert_lists_what_is_useful(problem, found):
    """Assert that scores are right, that every set that beats its subsets is found, and no set that they beat."""
    for own, everything in zip(found, all_scores(problem), strict=True):
        for mask, value in own.items():
            assert value == pytest.approx(everything[mask], abs=ROUNDING)
            assert value > best_subset(everything, mask, proper=True) - ROUNDING
        for mask, value in everything.items():
            assert mask in own or value <= best_subset(everything, mask, proper=True) + ROUNDING


@pytest.fixture(autouse=True, params=[0, 1 << 14], ids=["tails", "few sets"])
def few_sets(request, monkeypatch):
    """Run every test with the rule of tails from the first set on, and as usual: without it for so few sets."""
    monkeypatch.setattr(node_growth, "FEW_SETS", request.param)
    if request.param == 0:
        monkeypatch.setattr(node_growth, "ROWS_PER_CHILD", 1e9)
    return request.param


def grown(problem, most_sets=None, n_jobs=1):
    """Return the candidates after growing."""
    candidates = Candidates(problem.score, problem.knowledge)
    with Workers(Deadline(), NoProgress(), n_jobs) as workers:
        candidates.grow(workers, most_sets)
        candidates.bound_rest(workers)
    return candidates


@pytest.mark.few(12)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("n_nodes", "n_rows", "seed"), [(5, 40, 0), (7, 300, 1), (8, 1000, 7), (9, 120, 3)])
def test_all_useful_sets_of_any_size_are_listed(score, n_nodes, n_rows, seed):
    """Nothing that beats all its subsets is missing, whatever its size."""
    problem = discrete_problem(score, n_nodes, n_rows, seed)
    candidates = grown(problem)
    assert candidates.is_complete
    assert_lists_what_is_useful(problem, as_dicts(candidates.pool()))


@settings(max_examples=18, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    score=st.sampled_from(SCORES),
    n_rows=st.sampled_from([10, 60, 400]),
    seed=st.integers(0, 10_000),
    constraints=consistent_constraints(6),
)
def test_all_useful_sets_are_listed_with_knowledge(score, n_rows, seed, constraints):
    """Required parents, forbidden ones and limits are respected, and nothing useful among the rest is missing."""
    problem = discrete_problem(score, 6, n_rows, seed, constraints)
    assert_lists_what_is_useful(problem, as_dicts(grown(problem).pool()))


@settings(max_examples=18, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    score=st.sampled_from(SCORES),
    n_rows=st.sampled_from([20, 100, 500]),
    seed=st.integers(0, 10_000),
    most_sets=st.sampled_from([0, 2, 5, 12, 30]),
    most_stand_ins=st.sampled_from([1, 4, 15, 100]),
    constraints=consistent_constraints(6),
)
def test_stand_ins_cover_all_sets_that_are_not_listed(score, n_rows, seed, most_sets, most_stand_ins, constraints):
    """However early the listing ends, each allowed set has a subset in the relaxed pool that scores as much."""
    problem = discrete_problem(score, 6, n_rows, seed, constraints)
    relaxed = as_dicts(grown(problem, most_sets).relaxed_pool(most_stand_ins))
    for own, everything in zip(relaxed, all_scores(problem), strict=True):
        for mask, value in everything.items():
            assert best_subset(own, mask) >= value - ROUNDING


@pytest.mark.few(8)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", [10, 14])
def test_best_dag_over_the_listing_is_the_best_of_all(score, seed):
    """Cutting planes over the listing find the optimum of the recursion over all subsets, and claim all DAGs."""
    problem = discrete_problem(score, 9, 250, seed)
    best = solve_exact(problem, deadline=Deadline(), progress=NoProgress()).score
    found = gobnilp.solve_gobnilp(problem, deadline=Deadline(), progress=NoProgress())
    assert (found.status, found.certificate.scope) == ("optimal", "all DAGs")
    assert found.score == pytest.approx(best, abs=1e-6)
    assert found.bound >= best - ROUNDING


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", [1, 5])
@pytest.mark.parametrize("score", ["bic", "aic", "ebic"])
def test_rounds_with_stand_ins_end_at_the_same_optimum(score, seed, monkeypatch):
    """If few sets are listed at first, the bound holds after every round, and the end is the same."""
    problem = discrete_problem(score, 8, 300, seed)
    whole = gobnilp.solve_gobnilp(problem, deadline=Deadline(), progress=NoProgress())
    monkeypatch.setattr(gobnilp, "FIRST_SETS", 8)
    monkeypatch.setattr(gobnilp, "SETS_FACTOR", 2)
    monkeypatch.setattr(gobnilp, "STAND_INS", 3)
    found = gobnilp.solve_gobnilp(problem, deadline=Deadline(), progress=NoProgress())
    assert found.status == "optimal"
    assert found.score == pytest.approx(whole.score, abs=1e-6)
    monkeypatch.setattr(gobnilp, "BYTES_PER_SET", 1e30)  # no memory for a second round
    first = gobnilp.solve_gobnilp(problem, deadline=Deadline(), progress=NoProgress())
    assert first.score <= whole.score + 1e-6 <= first.bound + 2e-6
    assert first.status in ("optimal", "converged")


@pytest.mark.few(2)
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_listing_does_not_depend_on_the_number_of_threads(score):
    """With one thread and with two, and with a limit on the sets of a node, exactly the same sets are listed."""
    problem = discrete_problem(score, 8, 200, 6)
    for most_sets in (None, 10):
        one, two = (as_dicts(grown(problem, most_sets, n_jobs).relaxed_pool(20)) for n_jobs in (1, 2))
        assert one == two


def test_few_sets_are_scored_of_a_sparse_table():
    """The entropies of the parents end the listing: of 37 columns far fewer sets are scored than there are triples."""
    data, _ = dagopt.datasets.load("alarm", n_samples=200, random_state=0)
    table = as_table(data)
    problem = Problem(table, make_score(table, "bic"), Constraints().resolve(table.names))
    candidates = grown(problem)
    assert candidates.is_complete
    assert candidates.n_scored < 400_000


def test_required_limit_of_candidate_pool_is_unchanged():
    """The pool of a limited problem has the sets of the unlimited one up to the limit."""
    problem = discrete_problem("bic", 8, 400, 11)
    limited = discrete_problem("bic", 8, 400, 11, Constraints(max_parents=2))
    with Workers(Deadline(), NoProgress(), 1) as workers:
        small = as_dicts(candidate_pool(limited.score, limited.knowledge, workers))
    for own, everything in zip(small, as_dicts(grown(problem).pool()), strict=True):
        assert own == {mask: value for mask, value in everything.items() if mask.bit_count() <= 2}


@pytest.mark.few(8)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(2))
def test_the_kernel_that_extends_sets_agrees_with_arrays(score, seed):
    """The next level is the same from the compiled loop and from whole arrays, with required parents too."""
    constraints = Constraints(required=[("a", "c")] if seed % 2 else [])
    problem = discrete_problem(score, 7, 150, seed, constraints)
    growths = [NodeGrowth(problem.score, problem.knowledge, node, 0.0) for node in range(7)]
    n_sets = 0
    for growth in growths:
        while growth.level.size:
            for piece in growth.pieces():
                piece()
            growth._joints = problem.score.joints_of_sets(growth.rows)[0]
            growth.open()
            if growth.is_over:
                break
            for ours, theirs in zip(growth._extended(None), growth._extended_by_arrays(), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12)
            growth.extend()
            n_sets += len(growth.level)
    assert n_sets > 20


@pytest.mark.parametrize("seed", range(6))
def test_the_last_candidates_say_little(seed):
    """``last_first``: each, from the end on, leaves the least likelihood with those after it, until all explain all."""
    problem = discrete_problem("bic", 7, [30, 200, 1000][seed % 3], seed)
    rng = np.random.default_rng(seed)
    node = int(rng.integers(7))
    candidates = rng.permutation([j for j in range(7) if j != node])

    def likelihood(places):
        parents = sorted(int(candidates[k]) for k in places)
        return problem.score.local(node, parents) + problem.score.penalty(node, parents)

    last = problem.score.last_candidates(node, candidates).tolist()
    for k, place in enumerate(last):
        others = [j for j in range(6) if j not in last[:k]]
        least = min(likelihood([*last[:k], j]) for j in others)
        assert least == pytest.approx(likelihood([*last[:k], place]))
        assert least < 0
    assert all(likelihood([*last, j]) == pytest.approx(0, abs=1e-9) for j in range(6) if j not in last)


@pytest.mark.few(16)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(6))
def test_reaches_and_bounds_of_tails(score, seed):
    """Beyond its reach no extension of a set beats the floor, and none of all exceeds the bound; by all subsets."""
    problem = discrete_problem(score, 7, [30, 200, 1000][seed % 3], seed)
    rng = np.random.default_rng(seed)
    node = int(rng.integers(7))
    others = rng.permutation([j for j in range(7) if j != node])
    fixed, candidates = np.sort(others[: seed % 2]), others[seed % 2 :]
    everything = all_scores(problem)[node]
    own = sum(1 << int(j) for j in fixed)
    for size in (0, 1, 2):
        rows = list(combinations(range(len(candidates)), size))
        chosen = np.array(rows, dtype=np.int64).reshape(len(rows), size)
        sets = [[*fixed.tolist(), *candidates[row].tolist()] for row in chosen]
        _, pairs = problem.score.joints_of_sets(np.array([sorted([*one, node]) for one in sets]))
        floor = rng.choice(list(everything.values()), len(sets))
        about = (node, fixed, candidates, chosen, pairs)
        reach, _ = problem.score.reaches(*about, floor, np.full(len(sets), len(candidates)))
        _, ceiling = problem.score.reaches(*about, np.full(len(sets), -np.inf))
        for row, least, end, bound in zip(rows, floor, reach, ceiling, strict=True):
            mask, first = own | sum(1 << int(candidates[b]) for b in row), max(row, default=-1) + 1
            for b in range(first, len(candidates)):
                later = sum(1 << int(j) for j in candidates[b + 1 :])
                grown_sets = [m for m in everything if m & ~later == mask | 1 << int(candidates[b])]
                best = max(everything[m] for m in grown_sets)
                assert best <= bound + ROUNDING
                assert b < end or best <= least + ROUNDING


@pytest.mark.parametrize("ess", [0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("seed", range(4))
def test_bdeu_is_at_most_its_bounds(ess, seed):
    """For all sets and all their subsets: -log a times the configurations of the subset, whatever the prior."""
    table = discrete_table(5, [15, 80, 400, 40][seed], seed)
    score = make_score(table, "bdeu", equivalent_sample_size=ess)
    for node in range(5):
        sets = [members(m) for m in range(32) if not m >> node & 1]
        values = score.local_many([node] * len(sets), sets)
        flat, offsets = pack_sets(sets)
        _, bounds = score.local_and_bounds(np.full(len(sets), node), flat, offsets)
        for small, bound in zip(sets, bounds, strict=True):
            above = [v for one, v in zip(sets, values, strict=True) if set(small) <= set(one)]
            assert max(above) <= bound + ROUNDING


def test_a_node_with_too_many_sets_goes_on_with_those_within_reach(monkeypatch):
    """Where finding how far sets reach does not pay, it is found nevertheless if more sets grow than are allowed."""
    monkeypatch.setattr(node_growth, "MANY_SETS", 0)
    problem = discrete_problem("bic", 9, 100, 1)

    def levels(rows_per_child, most_sets):
        monkeypatch.setattr(node_growth, "ROWS_PER_CHILD", rows_per_child)
        sizes = []
        grown = node_growth.NodeGrowth.open
        monkeypatch.setattr(
            node_growth.NodeGrowth, "open", lambda self: (sizes.append(self.level.size), grown(self))[1]
        )
        candidates = Candidates(problem.score, problem.knowledge)
        with Workers(Deadline(), NoProgress(), 1) as workers:
            complete = candidates.grow(workers, most_sets)
        monkeypatch.setattr(node_growth.NodeGrowth, "open", grown)
        return complete, max(sizes)

    _, most = levels(1e9, None)
    assert levels(0, None)[1] > most
    assert levels(0, most)[0]
