"""Tests of the best DAGs with and without each edge: against all DAGs, and against solving for each edge."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.methods.exact import edge_regret, subset_dp
from dagopt.methods.exact.edge_ends import TableEnds
from dagopt.methods.exact.edge_regret import edge_regrets, estimate_edge_regrets
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.exact.subset_dp import Plan
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from every_dag import SCORES, make_problem, parent_sets, problems, totals


def regrets(problem, **options):
    """Return the regrets by the way that is chosen."""
    return edge_regrets(problem, Deadline(), NoProgress(), **options)


def by_tables(problem, high_bits=0, n_jobs=1):
    """Return the regrets by tables, with some variables blocked."""
    workers = Workers(Deadline(), NoProgress(), n_jobs)
    n = problem.n_nodes

    def ends():
        both = TableEnds(problem.score, problem.knowledge, Plan(n, high_bits, 0, 0.0), workers)
        both.fill()
        return both.opt, both.rest, partial(edge_regret._compare_all, both.potentials, problem.knowledge, workers)

    return edge_regret._collected(n, range(n), ends, workers)


def by_lists(problem, n_jobs=1):
    """Return the regrets by listed parent sets."""
    workers = Workers(Deadline(), NoProgress(), n_jobs)
    n = problem.n_nodes
    return edge_regret._collected(n, range(n), partial(edge_regret._ends_of_lists, problem, workers), workers)


def brute_force(scores, n):
    """Return the best scores with and without each edge, ``scores`` being those of all DAGs."""
    include, exclude = np.full((2, n, n), np.nan)
    for i in range(n):
        for j in (j for j in range(n) if j != i):
            has = (parent_sets(n)[:, i] >> j & 1) == 1
            include[j, i], exclude[j, i] = scores[has].max(), scores[~has].max()
    return include, exclude


def solved(problem, edge, present):
    """Return the best score with an edge required or forbidden, by the exact method, -inf where that is impossible."""
    j, i = edge
    known = problem.knowledge
    may, must = known.may.copy(), known.must.copy()
    if present:
        if not may[j, i] or must[i, j]:
            return -np.inf
        must[j, i] = True
        may[i, j] = False
        if must[:, i].sum() > known.at_most[i]:
            return -np.inf
    else:
        if must[j, i]:
            return -np.inf
        may[j, i] = False
    changed = replace(problem, knowledge=replace(known, may=may, must=must))
    return solve_exact(changed, deadline=Deadline(), progress=NoProgress()).score


def assert_same(found, include, exclude, best):
    """Assert that all figures agree to rounding."""
    np.testing.assert_allclose(found.include, include, rtol=1e-10)
    np.testing.assert_allclose(found.exclude, exclude, rtol=1e-10)
    assert found.best == pytest.approx(best, rel=1e-10)


# --- brute force ----------------------------------------------------------------------------------------------


@settings(max_examples=18, deadline=None)
@given(problem=problems(min_nodes=1))
def test_every_way_agrees_with_all_dags(problem):
    """Tables, blocked tables, lists and the way that is chosen agree with all DAGs on up to five nodes."""
    n = problem.n_nodes
    scores = totals(problem.score, problem.knowledge)
    include, exclude = brute_force(scores, n)
    for found in (
        *(by_tables(problem, high_bits) for high_bits in range(min(3, n - 1) + 1)),
        by_lists(problem),
        regrets(problem),
    ):
        assert_same(found, include, exclude, scores.max())


@pytest.mark.parametrize("kind", SCORES)
def test_the_optimum_shows(kind):
    """The edges of the best DAG are in a DAG as good as it, and those it lacks can be left out at no loss."""
    problem = make_problem(kind, 9, 1)
    found = regrets(problem)
    best = solve_exact(problem, deadline=Deadline(), progress=NoProgress())
    assert found.best == pytest.approx(best.score, rel=1e-12)
    has = best.adjacency == 1
    apart = ~has & ~np.eye(9, dtype=bool)
    assert (found.include[has] == found.best).all()
    assert (found.exclude[apart] == found.best).all()
    assert np.nanmax(found.include) <= found.best
    assert np.isnan(np.diag(found.include)).all()


# --- solving for each edge ------------------------------------------------------------------------------------


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", ["gaussian", "multinomial", "bge", "bdeu"])
@pytest.mark.parametrize(
    "known",
    [
        Constraints(),
        Constraints(max_parents=2),
        Constraints([("a", "b"), ("c", "b")], [("d", "e")], [["f"], ["g", "a"]], 3),
    ],
)
def test_figures_are_those_of_the_exact_method(kind, known):
    """Requiring or forbidding an edge and solving again gives the same figure, on eight columns."""
    problem = make_problem(kind, 8, 2, known)
    found = regrets(problem)
    for i, j in ((0, 1), (1, 0), (3, 4), (6, 5), (7, 2), (2, 7), (4, 6)):
        for present, figure in ((True, found.include[j, i]), (False, found.exclude[j, i])):
            assert figure == pytest.approx(solved(problem, (j, i), present), rel=1e-10)


@pytest.mark.parametrize("known", [Constraints(), Constraints([("a", "c")], [("c", "d")], [["b"], ["e", "f"]], 3)])
def test_ways_agree_on_more_columns(known):
    """On fourteen columns, where tables are closed in several steps, all ways agree whatever is blocked."""
    problem = make_problem("gaussian", 14, 7, known)
    first = by_tables(problem)
    ways = [by_tables(problem, high_bits) for high_bits in (1, 3)]
    if not problem.knowledge.is_free:
        ways.append(by_lists(problem))
    for other in ways:
        assert_same(other, first.include, first.exclude, first.best)


@pytest.mark.parametrize("high_bits", [0, 2])
def test_rows_change_nothing(high_bits, monkeypatch):
    """Tables of several rows give the same best DAGs before and after every set, in the order of the sets."""
    problem = make_problem("gaussian", 10, 4)
    tables = []
    for place_bits in (13, 6):
        monkeypatch.setattr(subset_dp, "PLACE_BITS", place_bits)
        with Workers(Deadline(), NoProgress(), 2) as workers:
            both = TableEnds(problem.score, problem.knowledge, Plan(10, high_bits, 0, 0.0), workers)
            both.fill()
        tables.append((both.opt, both.rest))
    np.testing.assert_array_equal(tables[0], tables[1])


@pytest.mark.parametrize("way", [by_tables, by_lists])
def test_the_same_bits_for_any_number_of_threads(way):
    """One, two and three threads give the same figures to the last bit."""
    problem = make_problem("bge", 14, 3, Constraints(max_parents=2))
    first = way(problem, n_jobs=1)
    for n_jobs in (2, 3):
        other = way(problem, n_jobs=n_jobs)
        np.testing.assert_array_equal(first.include, other.include)
        np.testing.assert_array_equal(first.exclude, other.exclude)


def test_only_what_is_asked_for():
    """With a list of edges the edges into their heads are computed, and the rest is NaN."""
    problem = make_problem("gaussian", 7, 5)
    full, some = regrets(problem), regrets(problem, edges=[(0, 3), (2, 3), (4, 1)])
    asked = np.isin(np.arange(7), (1, 3))
    np.testing.assert_array_equal(some.include[:, asked], full.include[:, asked])
    np.testing.assert_array_equal(some.exclude[:, asked], full.exclude[:, asked])
    assert np.isnan(some.include[:, ~asked]).all()
    assert some.best == full.best
    assert np.isnan(regrets(problem, edges=[]).include).all()


# --- not joined -----------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(problem=problems(min_nodes=2))
def test_apart_agrees_with_all_dags(problem):
    """Tables, blocked tables and lists find the best DAG that does not join two nodes, on up to five nodes."""
    n = problem.n_nodes
    scores, parents = totals(problem.score, problem.knowledge), parent_sets(n)
    expected = np.full((n, n), np.nan)
    for j in range(n):
        for i in (i for i in range(n) if i != j):
            expected[j, i] = scores[((parents[:, i] >> j | parents[:, j] >> i) & 1) == 0].max()
    for found in (by_tables(problem), by_tables(problem, min(2, n - 1)), by_lists(problem), regrets(problem)):
        np.testing.assert_allclose(found.apart, expected, rtol=1e-10)


@pytest.mark.parametrize("known", [Constraints(), Constraints([("a", "c")], [("c", "d")], [["b"], ["e", "f"]], 3)])
def test_apart_is_what_solving_again_finds(known):
    """On fourteen columns, where the tables are cut into chunks, so do runs with both edges forbidden."""
    problem = make_problem("gaussian", 14, 7, known)
    found = regrets(problem)
    for j, i in ((0, 1), (12, 13), (5, 13), (2, 9)):
        may = problem.knowledge.may.copy()
        may[j, i] = may[i, j] = False
        apart = replace(problem, knowledge=replace(problem.knowledge, may=may))
        again = solve_exact(apart, deadline=Deadline(), progress=NoProgress())
        assert found.apart[j, i] == found.apart[i, j] == pytest.approx(again.score, rel=1e-10)


def test_required_edges_are_never_absent():
    """A required edge cannot be left out or turned around, and its nodes are joined in every DAG."""
    problem = make_problem("gaussian", 5, 0, Constraints([("a", "b")]))
    found = regrets(problem)
    assert found.include[0, 1] == found.best
    assert found.exclude[0, 1] == found.include[1, 0] == -np.inf
    assert found.apart[0, 1] == -np.inf


# --- limits ---------------------------------------------------------------------------------------------------


def test_too_large_problems_are_refused():
    """The error has figures; with enough memory, the tables stay within the estimate."""
    problem = make_problem("gaussian", 18, 0)
    with pytest.raises(InputError, match=r"about .* memory limit is 1\.0 MB; .*columns="):
        regrets(problem, memory_limit="1MB")
    full = estimate_edge_regrets(problem, 1 << 40, 1)
    less = estimate_edge_regrets(problem, full.n_bytes // 2, 1)
    assert less.fits
    assert less.n_bytes <= full.n_bytes // 2


@pytest.mark.parametrize("edges", [[(0, 9)], [(0, 1, 2)], [("a", "b")], [(-1, 0)]])
def test_strange_edges_are_refused(edges):
    """Edges are pairs of positions."""
    with pytest.raises(InputError, match=r"positions 0 to 3"):
        regrets(make_problem("gaussian", 4, 0), edges=edges)


def test_a_deadline_leaves_nan():
    """What is not computed in time is NaN, and the reason is told."""
    deadline = Deadline()
    deadline.interrupt()
    found = edge_regrets(make_problem("gaussian", 9, 0), deadline, NoProgress())
    assert found.stopped == "interrupted"
    assert np.isnan(found.best)
    assert np.isnan(found.include).all()


def test_stopping_between_nodes_keeps_the_others():
    """Nodes that were done before the deadline keep their figures."""
    problem = make_problem("gaussian", 9, 0)
    full = regrets(problem)
    deadline = Deadline()

    class Stopping(NoProgress):
        def update(self, phase, fraction=None, **facts):
            if phase == "edges" and fraction > 0.5:
                deadline.interrupt()

    found = edge_regrets(problem, deadline, Stopping())
    done = ~np.isnan(found.include)
    assert done.any()
    assert not done[:, -1].any()
    np.testing.assert_array_equal(found.include[done], full.include[done])
    assert found.best == full.best
