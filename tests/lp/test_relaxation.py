"""Tests of the LP of branch and cut: what it does with other families is what a new LP would do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from dagopt.bits import members
from dagopt.deadline import Deadline
from dagopt.families.undominated import scored
from dagopt.lp import relaxation
from dagopt.lp.highs import LinearProgram, LinearSolution
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.restricted_master import reduced_cost
from dagopt.lp.rows.clusters import cluster_row, pair_rows
from dagopt.lp.rows.rewriting import Renumbering
from made_masters import gaussian_table, problem_of
from made_pools import random_pool
from made_pricing import made_master
from made_rows import coefficient, made_rows


def solved(lp):
    """Return the bound of all families."""
    return lp.solve(np.ones(len(lp.families.node), dtype=np.bool_), Deadline()).bound


def cut(families, places, rows):
    """Return rows over some of the families."""
    found = []
    for row in rows:
        inside = np.isin(row.families, places)
        found.append(replace(row, families=np.searchsorted(places, row.families[inside]), values=row.values[inside]))
    return found


def place_among(some, others):
    """Return where each of some places is among others, both in increasing order; -1 where it is not."""
    return np.where(np.isin(some, others), np.searchsorted(others, some), -1)


def made(seed):
    """Return random numbers, families, their rows of pairs, and which families have no parents."""
    rng = np.random.default_rng(seed)
    families = random_pool(rng, 7, 30).without_dominated()
    return rng, families, pair_rows(families), ~families.words.any(axis=1)


@pytest.mark.parametrize("at_once", [1, 10_000])
@pytest.mark.parametrize("seed", range(6))
def test_fewer_families_are_those_of_a_new_lp(seed, at_once, monkeypatch):
    """After families are forgotten, all in the LP or only some, the bound is that of an LP over the others."""
    monkeypatch.setattr(relaxation, "ALL_AT_ONCE", at_once)
    rng, families, rows, empty = made(seed)
    lp = Relaxation(families, (), families.offsets[:-1], 1000)
    lp.add(rows)
    solved(lp)
    kept = np.flatnonzero((rng.random(len(empty)) < 0.6) | empty)
    fewer = families.only(kept)
    lp.change(Renumbering(fewer, place_among(np.arange(len(families)), kept)))
    anew = Relaxation(fewer, (), fewer.offsets[:-1], 1000)
    anew.add(cut(families, kept, rows))
    assert solved(lp) == pytest.approx(solved(anew), rel=1e-9)


@pytest.mark.parametrize("at_once", [1, 10_000])
@pytest.mark.parametrize("seed", range(6))
def test_more_families_are_those_of_a_new_lp(seed, at_once, monkeypatch):
    """After families are added and others lost, some of them better than all before, the bound is that of a new LP."""
    monkeypatch.setattr(relaxation, "ALL_AT_ONCE", at_once)
    rng, families, rows, empty = made(seed)
    before, after = (np.flatnonzero((rng.random(len(empty)) < share) | empty) for share in (0.3, 0.8))
    few, many = families.only(before), families.only(after)
    lp = Relaxation(few, (), few.offsets[:-1], 1000)
    lp.add(cut(families, before, rows))
    solved(lp)
    place = place_among(before, after)
    assert (place < 0).any()
    lp.change(Renumbering(many, place))
    anew = Relaxation(many, (), many.offsets[:-1], 1000)
    anew.add(cut(families, after, rows))
    assert solved(lp) == pytest.approx(solved(anew), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_an_lp_continues_where_another_stood(seed, monkeypatch):
    """With the rows and the basis of another LP, the bound is the same, after no more than one LP."""
    monkeypatch.setattr(relaxation, "ALL_AT_ONCE", 1)
    families = random_pool(np.random.default_rng(seed), 7, 30).without_dominated()
    rows = pair_rows(families)
    lp = Relaxation(families, (), families.offsets[:-1], 1000)
    other = lp.twin()
    lp.add(rows)
    expected = solved(lp)
    other.add(rows[1:3])
    solved(other)
    before = other.n_solved
    other.load(lp.start())
    assert sorted(map(id, other.rows)) == sorted(map(id, lp.rows))
    assert solved(other) == pytest.approx(expected, rel=1e-9)
    assert other.n_solved == before + 1


def test_pair_rows_end_when_it_gets_late():
    """Those made before are returned: each is valid on its own."""
    families = random_pool(np.random.default_rng(3), 7, 30).without_dominated()
    rows = pair_rows(families)
    answers = iter([False, False])
    some = pair_rows(families, lambda: next(answers, True))
    assert [row.families.tolist() for row in some] == [row.families.tolist() for row in rows[:2]]
    assert len(rows) > 2


@pytest.mark.few(8)
@pytest.mark.parametrize("join", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_rows_of_log_determinants(seed, join):
    """The bound is scipy's value with rows of all kinds and families that come after them, and holds for each."""
    n = 3 + seed % 4
    problem = problem_of(gaussian_table(seed, n))
    master, lp = made_master(problem, seed)
    first = lp.families
    rows = [*made_rows(first, problem.score, seed), *(cluster_row(first, cluster) for cluster in master.clusters)]
    one = Relaxation(first, (), np.arange(len(first)), 1000)
    one.add(rows)
    solved(one)
    rng = np.random.default_rng(seed)
    node = rng.integers(n, size=10)
    more = scored(problem.score, node, (rng.random((10, n)) < 0.5) & (np.arange(n) != node[:, None]))
    families = first.joined(more)
    one.change(Renumbering(families, families.where(len(first))), join=join)
    answer = linprog(
        -families.score,
        A_ub=[[coefficient(row, f.node, members(f.mask)) for f in families] for row in rows],
        b_ub=[row.upper for row in rows],
        A_eq=[(families.node == i).astype(float) for i in range(n)],
        b_eq=np.ones(n),
        method="highs-ipm",
    )
    point = one.solve(np.ones(len(families), dtype=np.bool_), Deadline())
    assert point.bound == pytest.approx(-answer.fun, abs=1e-4)
    assert all(reduced_cost(point, family) >= -1e-4 for family in families)


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_holds_for_any_multipliers_of_the_solver(seed, monkeypatch):
    """An LP that returns arbitrary numbers, negative ones too, as a simplex within its tolerances may.

    No family is better than that of a DAG, so that the bound of no multipliers is tight.
    """
    rng, families, _, _ = made(seed)
    chosen = families.along(rng.permutation(7))
    families = families.only(families.score <= families.score[chosen][families.node])
    best = families.ceiling()
    lp = Relaxation(families, pair_rows(families), None, 100)
    size = float(np.abs(families.score).max())

    def scripted(program, seconds):
        scale = size * 10.0 ** rng.uniform(-4, 0)
        values = rng.normal(size=program.n_columns)
        return LinearSolution(0.0, values, scale * rng.normal(size=program.n_rows), values)

    monkeypatch.setattr(LinearProgram, "solve_within", scripted)
    for _ in range(20):
        assert lp.solve(np.ones(len(families), dtype=np.bool_), Deadline(), np.inf).bound >= best - 1e-9 * size
