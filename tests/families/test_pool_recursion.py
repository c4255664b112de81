"""Tests of pools of parent sets and of the best DAG over one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.jkl import read_jkl, write_jkl
from dagopt.families.listing import candidate_pool
from dagopt.graph.constraints import Constraints
from dagopt.methods.exact.exact import solve_given_pool
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from every_dag import make_problem, masks_of, names_of, parent_sets


@st.composite
def pools(draw, min_nodes=1, max_nodes=5):
    """Draw a pool with some sets of each node; scores have ties, and a node may have no set at all."""
    n = draw(st.integers(min_nodes, max_nodes))
    masks, scores = [], []
    for i in range(n):
        own = draw(st.sets(st.integers(0, (1 << n) - 1).map(lambda m, i=i: m & ~(1 << i)), max_size=10))
        masks.append(sorted(own))
        scores.append(draw(st.lists(st.integers(-20, 20).map(float), min_size=len(own), max_size=len(own))))
    return Families.from_masks(names_of(n), masks, scores)


def best_total(pool):
    """Return the best score of a DAG whose parent sets are all in the pool, or -inf."""
    n = pool.n_nodes
    table = np.full((n, 1 << n), -np.inf)
    for i in range(n):
        table[i, pool.masks[pool.own(i)]] = pool.score[pool.own(i)]
    return sum(table[i, parent_sets(n)[:, i]] for i in range(n)).max()


def solve(pool, **options):
    """Return the result of the method under test."""
    return solve_given_pool(pool, deadline=Deadline(), progress=NoProgress(), **options)


def as_sets(pool):
    """Return the candidates of each node as a dictionary."""
    own = map(pool.own, range(pool.n_nodes))
    return [dict(zip(pool.masks[k].tolist(), pool.score[k].tolist(), strict=True)) for k in own]


# --- the pool -------------------------------------------------------------------------------------------------


def test_pool_is_sorted_and_has_each_set_once():
    """Candidates come from the best down, equals by smaller sets, and a set given twice keeps its best score."""
    pool = Families.from_masks("abc", [[6, 0, 2, 6, 4], [], [3]], [[1.0, 1.0, 5.0, 7.0, 1.0], [], [0.0]])
    assert pool.masks[pool.own(0)].tolist() == [6, 2, 0, 4]
    assert pool.score[pool.own(0)].tolist() == [7.0, 5.0, 1.0, 1.0]
    assert (pool.n_nodes, len(pool)) == (3, 5)


def test_pool_refuses_a_node_as_its_own_parent():
    """A set with the node itself is refused by name."""
    with pytest.raises(dagopt.InputError, match="'b' contains 'b' itself"):
        Families.from_masks("ab", [[0], [2]], [[0.0], [0.0]])


def test_sets_of_more_than_62_nodes_are_no_single_integers():
    """A pool of 63 nodes has words; asking for single integers is refused."""
    names = [f"x{k}" for k in range(130)]
    pool = Families.from_masks(names, [[0, 1 << 129]] * 129 + [[0, 3]], [[0.0, 1.0]] * 130)
    assert pool.words[pool.own(0)].tolist() == [[0, 0, 2], [0, 0, 0]]
    assert pool.to_local_scores().scores[129] == [((0, 1), 1.0), ((), 0.0)]
    with pytest.raises(dagopt.InputError, match=r"at most 62 nodes .* got 130"):
        _ = pool.masks


@settings(deadline=None)
@given(pool=pools())
def test_without_dominated_keeps_what_no_subset_equals(pool):
    """A set stays if and only if each of its proper subsets in the pool scores less."""
    for before, after in zip(as_sets(pool), as_sets(pool.without_dominated()), strict=True):
        expected = {m: s for m, s in before.items() if all(t < s for o, t in before.items() if o != m and o & ~m == 0)}
        assert after == expected


@given(pool=pools(min_nodes=3), limit=st.integers(1, 3))
def test_allowed_by_keeps_what_knowledge_allows(pool, limit):
    """A set stays if and only if knowledge allows it."""
    known = Constraints([("a", "b")], [("c", "a")], max_parents=limit).resolve(pool.names)
    for i, (before, after) in enumerate(zip(as_sets(pool), as_sets(pool.allowed_by(known)), strict=True)):
        assert after == {m: s for m, s in before.items() if known.allows(i, [b for b in range(8) if m >> b & 1])}


@settings(deadline=None)
@given(pool=pools())
def test_pool_survives_a_jkl_file(pool, tmp_path_factory):
    """Writing a pool to a file and reading it gives the same sets and the same scores, to the last bit."""
    path = tmp_path_factory.mktemp("jkl") / "pool.jkl"
    write_jkl(pool.to_local_scores(), path)
    back = Families.from_local_scores(read_jkl(path))
    assert back.names == pool.names
    assert as_sets(back) == as_sets(pool)


# --- the best DAG over it -------------------------------------------------------------------------------------


@settings(max_examples=75, deadline=None)
@given(pool=pools())
def test_best_dag_over_a_pool(pool):
    """The best DAG whose parent sets are all candidates is found; where there is none, the error says so."""
    expected = best_total(pool)
    if expected == -np.inf:
        with pytest.raises(dagopt.InputError, match="no DAG can be made of the candidate parent sets"):
            solve(pool)
        return
    result = solve(pool)
    assert result.score == result.bound == expected
    assert (result.status, result.certificate.scope, result.method) == ("optimal", "the given pool", "exact")
    for own, mask in zip(as_sets(pool), masks_of(result.adjacency), strict=True):
        assert mask in own
    assert expected == sum(own[m] for own, m in zip(as_sets(pool), masks_of(result.adjacency), strict=True))


def test_pool_of_a_problem_gives_its_optimum(tmp_path):
    """Candidates of a problem, written to a file and read again, have the problem's best DAG."""
    problem = make_problem("bdeu", 14, 2)
    with Workers(Deadline(), NoProgress(), 2) as workers:
        pool = candidate_pool(problem.score, problem.knowledge, workers)
    write_jkl(pool.to_local_scores(), tmp_path / "pool.jkl")
    read = Families.from_local_scores(read_jkl(tmp_path / "pool.jkl"))
    result = solve(read)
    assert result.score == solve(pool, n_jobs=1).score
    assert result.score == pytest.approx(problem.score.total(result.adjacency), rel=1e-12)


def test_cyclic_pool_has_no_dag():
    """Two nodes that each need the other have no DAG."""
    with pytest.raises(dagopt.InputError, match="add the empty set"):
        solve(Families.from_masks("ab", [[2], [1]], [[0.0], [0.0]]))


def test_pool_that_does_not_fit_is_refused():
    """The error has the memory that is needed and the limit."""
    with pytest.raises(dagopt.InputError, match=r"needs 8\.4 MB but the memory limit is 1\.0 MB; raise memory_limit="):
        solve(Families.from_masks(names_of(20), [[0]] * 20, [[0.0]] * 20), memory_limit=10**6)


def test_stopped_pool_run_proves_nothing():
    """A run over a pool that is stopped says so and gives no score and no bound."""
    deadline = Deadline()
    deadline.interrupt()
    result = solve_given_pool(
        Families.from_masks("ab", [[0], [0]], [[0.0], [0.0]]), deadline=deadline, progress=NoProgress()
    )
    assert (result.status, result.score, result.bound) == ("interrupted", None, None)
