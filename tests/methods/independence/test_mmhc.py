"""MMPC and MMHC: true neighbours from an oracle, knowledge, order of the columns, threads, stops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_stable_pc import true_dags

from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.graph.metrics import compare
from dagopt.methods.independence.independence_test import Search
from dagopt.methods.independence.mmhc import solve_mmhc
from dagopt.methods.independence.mmpc import _Target, learn_candidates
from dagopt.methods.independence.tests import make_test
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_problems import (
    assert_valid,
    discrete_table,
    gaussian_table,
    neighbours,
    permuted,
    problem_of,
    problems,
    quiet,
    stopped_after,
)
from oracle import Oracle


def candidates(test, **options):
    none = np.zeros((test.n_nodes, test.n_nodes), dtype=bool)
    return learn_candidates(Search(test, 0.05, **quiet(), **options), none, ~none)


@settings(max_examples=20, deadline=None)
@given(true_dags(max_nodes=7))
def test_an_oracle_leaves_all_true_neighbours(dag):
    """No set separates true neighbours, so with d-separation all of them are candidates of each other."""
    found = candidates(Oracle(dag)).joined
    assert np.array_equal(found, found.T)
    assert (found | ~(dag | dag.T).astype(bool)).all()


def test_symmetry_drops_one_sided_candidates():
    """A pair is joined only if each is a candidate of the other."""
    test = make_test(gaussian_table(2, 10, rows=300, density=0.6))
    alone = np.zeros((10, 10), dtype=bool)
    for target in range(10):
        grown = _Target(test, target, math.log(0.05), 10, lambda: None)
        grown.run(np.zeros(10, dtype=bool), np.ones(10, dtype=bool))
        alone[target, grown.chosen] = True
    found = candidates(test)
    assert np.array_equal(found.joined, alone & alone.T)
    assert found.n_one_sided == np.triu(alone ^ alone.T).sum()


@settings(max_examples=18, deadline=None)
@given(problems())
def test_knowledge_is_honoured(problem):
    """The DAG has all required edges and none that is forbidden."""
    assert_valid(problem, solve_mmhc(problem, **quiet(), restarts=2, n_jobs=1))


def test_only_candidates_are_joined_and_no_move_among_them_helps():
    """Every edge joins candidates, and the DAG is a local optimum among such DAGs."""
    problem = problem_of(gaussian_table(6, 8, rows=300))
    result = solve_mmhc(problem, **quiet(), n_jobs=1)
    allowed = candidates(make_test(problem.table), max_given=3).joined
    assert (allowed | (result.adjacency == 0)).all()
    within = [dag for dag in neighbours(result.adjacency) if (allowed | (dag == 0)).all()]
    assert max(map(problem.score.total, within)) <= result.score + 2e-8


@settings(max_examples=15, deadline=None)
@given(problems(max_nodes=6), st.randoms(use_true_random=False))
def test_the_order_of_the_columns_does_not_matter(problem, random):
    """Permuted columns give the same DAG."""
    order = list(range(problem.n_nodes))
    random.shuffle(order)
    here = solve_mmhc(problem, **quiet(), restarts=2, n_jobs=1)
    there = solve_mmhc(permuted(problem, order), **quiet(), restarts=2, n_jobs=1)
    assert np.array_equal(there.adjacency, here.adjacency[np.ix_(order, order)])


def test_the_order_does_not_matter_where_p_values_are_all_zero(paper_instances):
    """On the paper's instances most p-values are exactly 0; reversed columns still give the same DAG."""
    for record, table, _ in paper_instances[3::24]:
        problem = problem_of(table)
        order = np.arange(record["n"])[::-1]
        here = solve_mmhc(problem, **quiet(), n_jobs=1)
        there = solve_mmhc(permuted(problem, order), **quiet(), n_jobs=1)
        assert np.array_equal(there.adjacency, here.adjacency[np.ix_(order, order)])


@pytest.mark.parametrize("table", [gaussian_table(5, 12, 200, 0.4), discrete_table(5, 8, 200)])
def test_the_number_of_threads_does_not_matter(table):
    """One thread and three give the same DAG and number of tests."""
    one, three = (solve_mmhc(problem_of(table), **quiet(), n_jobs=jobs) for jobs in (1, 3))
    assert np.array_equal(one.adjacency, three.adjacency)
    assert one.figures.known() == three.figures.known()


@pytest.mark.parametrize("looks", [1, 20, 60, 200])
def test_a_stopped_run_returns_a_valid_dag(looks):
    """Whenever the clock runs out, the answer is valid and says why the run ended."""
    problem = problem_of(gaussian_table(4, 8, density=0.8), Constraints(required=[("V0", "V1")]))
    result = solve_mmhc(problem, **quiet(stopped_after(looks)), restarts=100, n_jobs=1)
    assert_valid(problem, result)
    assert result.status == "time_limit"


def test_the_published_results_are_reached(paper_instances):
    """Over a third of the cells, mean SHD and score with bnlearn's convention are no worse than bnlearn's."""
    cells = {}
    for record, table, true in paper_instances:
        if record["n"] != 15:
            continue
        problem = Problem(table, make_score(table, convention="bnlearn"), Constraints().resolve(table.names))
        published = np.zeros((15, 15), dtype=np.int8)
        published[tuple(np.array(record["bnlearn_mmhc"]["edges"]).T)] = 1
        result = solve_mmhc(problem, **quiet(), n_jobs=1)
        row = [result.score, problem.score.total(published)]
        row += [compare(result.adjacency, true).shd, record["bnlearn_mmhc"]["shd"]]
        cells.setdefault((record["N"], record["d"]), []).append(row)
    assert len(cells) == 8
    for rows in cells.values():
        ours, theirs, our_shd, their_shd = np.mean(rows, axis=0)
        assert ours >= theirs - 1e-6 * abs(theirs)
        assert our_shd <= their_shd


@pytest.mark.parametrize("option", [{"alpha": 0}, {"max_given": 1.5}, {"tabu": 0}, {"perturb": 0}, {"n_jobs": "all"}])
def test_bad_options_are_named(option):
    """An option that cannot be used is named."""
    with pytest.raises(InputError, match=next(iter(option))):
        solve_mmhc(problem_of(gaussian_table(0, 4)), **quiet(), **option)
