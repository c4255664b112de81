"""Stable PC: the true class from a perfect oracle, bnlearn's graphs from data, knowledge, threads and stops."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.bits import Marks
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph import Graph
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import cpdag, extend_pdag, meek_closure, random_member
from dagopt.graph.metrics import compare
from dagopt.methods.independence import stable_pc
from dagopt.methods.independence.independence_test import Search, Separation
from dagopt.methods.independence.orientation import propagate
from dagopt.methods.independence.skeleton import learn_skeleton
from dagopt.methods.independence.stable_pc import solve_pc
from dagopt.methods.independence.tests import make_test
from dagopt.progress import NoProgress
from dagopt.workers import ordered_map, thread_count
from made_problems import (
    constraints_of,
    discrete_table,
    gaussian_table,
    permuted,
    problem_of,
    problems,
    quiet,
    stopped_after,
)
from oracle import Oracle


@st.composite
def true_dags(draw, max_nodes=8):
    """Draw a DAG whose order is not that of its columns."""
    n = draw(st.integers(2, max_nodes))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    order = rng.permutation(n)
    dag = np.zeros((n, n), dtype=np.int8)
    dag[np.ix_(order, order)] = np.triu(rng.random((n, n)) < draw(st.floats(0.1, 0.6)), k=1)
    return dag


def never():
    return None


def check_knowledge(problem, result):
    """Check that a PDAG has what is required, directed, and nothing that is not allowed."""
    pdag, known = result.adjacency, problem.knowledge
    directed = (pdag == 1) & (pdag.T == 0)
    assert (directed | ~known.must).all()
    assert (known.may | (pdag == 0)).all()
    assert (directed.sum(axis=0) <= known.at_most).all()
    dag = extend_pdag(pdag)
    assert (result.score is None) == (dag is None)
    if dag is not None:
        assert known.allows_dag(dag)


@settings(max_examples=30, deadline=None)
@given(true_dags())
def test_a_perfect_oracle_gives_the_essential_graph(dag):
    """With d-separation for a test, the answer is the essential graph of the true DAG."""
    problem = problem_of(gaussian_table(0, len(dag)))
    result = solve_pc(problem, **quiet(), test=Oracle(dag), n_jobs=1)
    assert np.array_equal(result.adjacency, cpdag(dag))
    assert result.figures.left_out == 0
    assert result.status == "converged"
    assert result.bound is None


@settings(max_examples=20, deadline=None)
@given(true_dags(max_nodes=6))
def test_true_knowledge_with_an_oracle_directs_what_it_compels(dag):
    """Required edges of the true DAG are directed, and everything they compel."""
    names = [f"V{k}" for k in range(len(dag))]
    edges = [(names[i], names[j]) for i, j in np.argwhere(dag)]
    problem = problem_of(gaussian_table(0, len(dag)), Constraints(required=edges[:2]))
    expected = cpdag(dag)
    for a, b in edges[:2]:
        expected[names.index(b), names.index(a)] = 0
    result = solve_pc(problem, **quiet(), test=Oracle(dag), n_jobs=1)
    assert np.array_equal(result.adjacency, meek_closure(expected))


@settings(max_examples=20, deadline=None)
@given(true_dags(), st.integers(0, 99))
def test_propagation_is_meeks_closure_where_nothing_contradicts(dag, seed):
    """On a class with directions that a member has, the rules of PC and Meek's closure agree."""
    member = random_member(dag, seed)
    pdag = cpdag(dag)
    for i, j in np.argwhere(np.triu(pdag & pdag.T))[:2]:
        tail, head = (i, j) if member[i, j] else (j, i)
        pdag[head, tail] = 0
    marks = Marks(pdag)
    propagate(marks, np.full(len(dag), len(dag)), never)
    assert np.array_equal(marks.to_adjacency(), meek_closure(pdag))


@settings(max_examples=20, deadline=None)
@given(problems())
def test_knowledge_is_honoured(problem):
    """Required edges are there and directed, forbidden ones are not, parents are few enough."""
    check_knowledge(problem, solve_pc(problem, **quiet(), alpha=0.3, n_jobs=1))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.data())
def test_a_parent_limit_is_kept_on_dense_graphs(seed, data):
    """Where tests leave too many parents, the weakest edges go, and a note says so."""
    known = Constraints(max_parents=data.draw(st.integers(1, 2)), tiers=[["V0", "V1", "V2", "V3"], ["V4", "V5"]])
    problem = problem_of(gaussian_table(seed, 6, rows=400, density=0.9), known)
    check_knowledge(problem, solve_pc(problem, **quiet(), n_jobs=1))


@settings(max_examples=18, deadline=None)
@given(problems(max_nodes=7), st.randoms(use_true_random=False))
def test_the_order_of_the_columns_does_not_matter(problem, random):
    """Permuted columns give the same PDAG, contradictions included."""
    order = list(range(problem.n_nodes))
    random.shuffle(order)
    here = solve_pc(problem, **quiet(), alpha=0.2, n_jobs=1)
    there = solve_pc(permuted(problem, order), **quiet(), alpha=0.2, n_jobs=1)
    assert np.array_equal(there.adjacency, here.adjacency[np.ix_(order, order)])
    assert there.figures.separating_sets == here.figures.separating_sets


def test_separated_pairs_are_those_without_an_edge():
    """The separating sets are a mapping with one entry per pair that is not joined; other pairs have none."""
    problem = problem_of(gaussian_table(1, 7))
    result = solve_pc(problem, **quiet())
    sets, joined = result.figures.separating_sets, result.adjacency | result.adjacency.T
    apart = {(i, j) for i, j in combinations(range(7), 2) if not joined[i, j]}
    assert len(sets) == len(apart) > 0
    assert {frozenset(map(problem.names.index, pair)) for pair in sets} == {frozenset(pair) for pair in apart}
    assert any(sets.values())
    i, j = map(int, np.argwhere(joined)[0])
    with pytest.raises(KeyError):
        sets[problem.names[i], problem.names[j]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [gaussian_table, discrete_table])
def test_the_best_separator_has_the_largest_p_value(make, seed):
    """No set of as many neighbours at the end of the level before has a larger p-value than the best separator."""
    problem = problem_of(make(seed, 6, rows=200))
    test = make_test(problem.table)
    result = solve_pc(problem, **quiet(), alpha=0.2, max_given=1, separator="best")
    marginal = solve_pc(problem, **quiet(), alpha=0.2, max_given=0).adjacency
    joined = marginal | marginal.T
    for (x, y), chosen in result.figures.separating_sets.items():
        i, j = (problem.names.index(name) for name in (x, y))
        near = [k for k in range(6) if k not in (i, j) and (joined[k, i] or joined[k, j])]
        if len(chosen) == 1:
            (by,) = (problem.names.index(name) for name in chosen)
            assert test.p_value(i, j, [by]) == pytest.approx(max(test.p_value(i, j, [k]) for k in near))


@pytest.mark.parametrize("name", ["lucas", "alarm"])
def test_discrete_sets_are_no_farther_from_the_truth_than_bnlearn(shared, shared_set, name):
    """By default the SHD is at most that of R bnlearn; by its rules, the first set in column order, the same."""
    table, true = shared_set(name)
    runs = json.loads((shared / "anchors" / "datasets.json").read_text())["runs"]
    (bar,) = (run["shd"] for run in runs if run["alg"] == "pc" and run["name"].startswith(name))
    problem = problem_of(table)
    assert compare(Graph(solve_pc(problem, **quiet()).adjacency, problem.names), true).shd <= bar
    as_there = solve_pc(problem, **quiet(), separator="first", ties="columns")
    assert compare(Graph(as_there.adjacency, problem.names), true).shd == bar


@pytest.mark.parametrize("table", [gaussian_table(5, 14, 200, 0.4), discrete_table(5, 10, 200)])
def test_the_number_of_threads_does_not_matter(table, monkeypatch):
    """One thread and three give the same graph, sets and number of tests."""
    monkeypatch.setattr("dagopt.methods.independence.skeleton.FEWEST_IN_THREADS", 1)
    one, three = (solve_pc(problem_of(table), **quiet(), alpha=0.2, n_jobs=jobs) for jobs in (1, 3))
    assert np.array_equal(one.adjacency, three.adjacency)
    assert one.figures.known() == three.figures.known()


def test_a_graph_that_no_dag_extends_says_so(paper_instances):
    """Contradictory directions leave no DAG: the score is None and a note tells why."""
    record, table, _ = next(
        drawn for drawn in paper_instances if drawn[0]["d"] == 2.0 and extend_pdag(published_pdag(drawn[0])) is None
    )
    result = solve_pc(problem_of(table), **quiet())
    assert result.score is None
    assert any("no DAG extends" in note for note in result.notes)
    assert np.array_equal(result.adjacency, published_pdag(record))


def published_pdag(record):
    pdag = np.zeros((record["n"], record["n"]), dtype=np.int8)
    pdag[tuple(np.array(record["bnlearn_pc"]["edges"]).T)] = 1
    return pdag


def test_the_published_graphs_are_found(paper_instances):
    """The PDAG is bnlearn's on the paper's instances."""
    for record, table, _ in paper_instances:
        result = solve_pc(problem_of(table), **quiet(), n_jobs=1)
        assert np.array_equal(result.adjacency, published_pdag(record))


def test_a_smaller_largest_set_leaves_more_edges():
    """Without sets of two, what only they separate stays joined; the trace stops at that level."""
    problem = problem_of(gaussian_table(7, 10, rows=500))
    limited, free = (solve_pc(problem, **quiet(), max_given=most) for most in (1, None))
    assert limited.trace["level"].tolist() == [0, 1]
    assert ((limited.adjacency | limited.adjacency.T) >= (free.adjacency | free.adjacency.T)).all()


@pytest.mark.parametrize("looks", [1, 4, 10, 16])
@pytest.mark.parametrize("table", [gaussian_table(4, 8, density=0.9), discrete_table(4, 6)])
def test_a_stopped_run_returns_a_valid_graph(looks, table):
    """Whenever the clock runs out, the answer keeps to the knowledge and says why the run ended."""
    problem = problem_of(table, Constraints(required=[("V0", "V1")], forbidden=[("V2", "V3"), ("V3", "V2")]))
    result = solve_pc(problem, **quiet(stopped_after(looks)), n_jobs=1)
    check_knowledge(problem, result)
    assert result.status == "time_limit"


@pytest.mark.parametrize("option", [{"alpha": 2}, {"max_given": -1}, {"n_jobs": 0}, {"test": "x"}, {"separator": "x"}])
def test_bad_options_are_named(option):
    """An option that cannot be used is named in one line."""
    with pytest.raises(InputError, match=next(iter(option))) as caught:
        solve_pc(problem_of(gaussian_table(0, 4)), **quiet(), **option)
    assert "\n" not in str(caught.value)


def test_threads_answer_in_order():
    """Answers come in the order of the questions, and all processors are used unless told otherwise."""
    assert list(ordered_map(lambda k: k * k, range(20), 3)) == [k * k for k in range(20)]
    assert thread_count(None) == thread_count(-1) >= 1


def test_two_columns_are_enough():
    """The smallest table has one pair: joined without a direction, or not."""
    result = solve_pc(problem_of(gaussian_table(1, 2, density=1.0)), **quiet())
    assert np.array_equal(result.adjacency, result.adjacency.T)


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_one_way_edges_are_directed_first(data):
    """Edges that tiers allow one way only never point back."""
    n = data.draw(st.integers(3, 6))
    problem = problem_of(gaussian_table(data.draw(st.integers(0, 99)), n), data.draw(constraints_of(n)))
    result = solve_pc(problem, **quiet(), alpha=0.5, n_jobs=1)
    assert not (result.adjacency.astype(bool) & ~problem.knowledge.may).any()


@pytest.mark.parametrize(("most", "says"), [(0, "too dense"), (100, "stopped before")])
def test_a_stopped_run_does_not_score_a_dense_graph(most, says, monkeypatch):
    """It would take long to look for a DAG of it; a graph with few edges is scored."""
    monkeypatch.setattr(stable_pc, "MOST_DIRECTED", most)
    result = solve_pc(problem_of(gaussian_table(4, 8)), **quiet(stopped_after(1)), n_jobs=1)
    assert result.status == "time_limit"
    assert (result.score is None) == (most == 0)
    assert any(says in note for note in result.notes)


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_part_of_a_level_is_begun_after_the_stop(jobs):
    """The parts that are left when time is up cost nothing: there may be many pairs in each."""
    begun = []

    class Interrupting:
        n_nodes = 100

        def separate(self, pairs, adjacent, size, alpha, stop, best=False):
            begun.append(len(pairs))
            deadline.interrupt()
            return Separation(np.full(len(pairs), np.nan), np.zeros((len(pairs), size), dtype=np.int64), 1, False)

    deadline = Deadline()
    none, every = np.zeros((100, 100), dtype=bool), ~np.eye(100, dtype=bool)
    search = Search(Interrupting(), 0.05, deadline, NoProgress(), n_jobs=jobs)
    skeleton = learn_skeleton(search, none, every)
    assert skeleton.reason == "interrupted"
    assert 1 <= len(begun) <= jobs
    assert learn_skeleton(search, none, every).levels == []
    assert len(begun) <= jobs
