"""Better parents: sets that help only together, nested sets as plain regressions give them, what is never broken."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.graph.order import is_acyclic
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.orders.better_parents import BetterParents, nested_sets
from dagopt.scores.build import make_score
from made_problems import discrete_table, gaussian_table, permuted, problem_of, problems, quiet


def cancelling(seed=0, rows=200, **constraints):
    """Return a problem whose last column has two parents that are worth nothing alone."""
    rng = np.random.default_rng(seed)
    a, noise = rng.normal(size=(2, rows))
    b = -a + 0.1 * noise  # so that a + b is nearly all noise of its own
    y = 10 * (a + b) + 0.5 * rng.normal(size=rows)
    table = ContinuousTable(("a", "b", "y"), np.column_stack([a, b, y]))
    return problem_of(table, Constraints(**constraints))


def test_parents_that_help_only_together_are_found():
    """From a DAG in which y has no parents, the best set of two is found; hill climbing stays where it is."""
    problem = cancelling(forbidden=[("y", "a"), ("y", "b")])
    begin = np.zeros((3, 3), dtype=np.int8)
    begin[0, 1] = 1
    score = problem.score
    assert max(score.local(2, [0]), score.local(2, [1])) < score.local(2, []) < score.local(2, [0, 1]) - 50
    climbed = solve_hc(problem, **quiet()).adjacency
    assert not climbed[:, 2].any()
    found = BetterParents(problem).improve(begin, Deadline())
    assert found[:, 2].tolist() == [1, 1, 0]
    assert found[:, :2].tolist() == begin[:, :2].tolist()


@pytest.mark.parametrize("kind", ["bic", "bge"])
@pytest.mark.parametrize("must", [[], [3]])
def test_nested_sets_are_those_of_plain_regressions(kind, must):
    """Each step leaves out the column whose removal raises the residual variance least."""
    table = gaussian_table(5, 8, rows=300)
    own = make_score(table, kind).block_likelihood.nodes[2]
    free = np.array([j for j in range(8) if j != 2 and j not in must])
    sets = nested_sets(own, 2, np.array(must, dtype=np.int64), free)
    assert [len(some) for some in sets] == list(range(len(free), -1, -1))

    def residual(parents):
        inside = own.matrix[np.ix_(parents, parents)]
        return own.matrix[2, 2] - own.matrix[2, parents] @ np.linalg.solve(inside, own.matrix[parents, 2])

    for larger, smaller in pairwise(sets):
        losses = [residual([*must, *(j for j in larger if j != gone)]) for gone in larger]
        assert set(larger) - set(smaller) == {larger[int(np.argmin(losses))]}


def test_blocks_are_left_out_as_a_whole():
    """On a mixed table the sets are sets of columns of the table, each one smaller than the last."""
    import dagopt

    data = dagopt.simulate(7, 300, 1.5, 2, kind="mixed").data
    result = dagopt.learn(data, "hc", progress=False)
    own = result.problem.score.block_likelihood.nodes[0]
    sets = nested_sets(own, 0, np.empty(0, dtype=np.int64), np.arange(1, 7))
    assert [len(some) for some in sets] == [6, 5, 4, 3, 2, 1, 0]
    assert all(set(small) < set(large) for large, small in pairwise(sets))


def test_a_column_that_others_determine_gives_no_sets():
    """A singular matrix has no inverse; exchanges are tried all the same."""
    own = make_score(gaussian_table(0, 4), "bic").block_likelihood.nodes[0]
    own.matrix[1] = own.matrix[2]
    own.matrix[:, 1] = own.matrix[:, 2]
    assert nested_sets(own, 0, np.empty(0, dtype=np.int64), np.array([1, 2, 3])) == []


@settings(max_examples=20, deadline=None)
@given(problem=problems())
def test_the_score_never_falls_and_knowledge_holds(problem):
    """Whatever the table and the knowledge, from the DAG of a climb."""
    dag = solve_hc(problem, **quiet()).adjacency
    found = BetterParents(problem).improve(dag, Deadline())
    assert is_acyclic(found)
    assert problem.knowledge.allows_dag(found)
    assert problem.score.total(found) >= problem.score.total(dag) - 1e-9


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(8)), seed=st.integers(0, 50))
def test_the_order_of_the_columns_does_not_matter(order, seed):
    """The same DAG for any order of the columns."""
    problem = problem_of(gaussian_table(seed, 8, rows=60))
    other = permuted(problem, list(order))
    empty = np.zeros((8, 8), dtype=np.int8)
    found, again = (BetterParents(one).improve(empty, Deadline()) for one in (problem, other))
    assert (again == found[np.ix_(order, order)]).all()


def test_what_was_in_vain_is_not_tried_again(monkeypatch):
    """A second look at the same DAG asks for no score."""
    problem = problem_of(discrete_table(1, 6))
    parents = BetterParents(problem)
    dag = parents.improve(np.zeros((6, 6), dtype=np.int8), Deadline())
    while (again := parents.improve(dag, Deadline())).tolist() != dag.tolist():
        dag = again
    monkeypatch.setattr(type(problem.score), "local_packed", None)
    assert parents.improve(dag, Deadline()).tolist() == dag.tolist()


def test_nothing_happens_after_the_deadline():
    """The DAG comes back as it was."""
    problem = cancelling()
    over = Deadline()
    over.interrupt()
    assert not BetterParents(problem).improve(np.zeros((3, 3), dtype=np.int8), over).any()
