"""Tests of the parent sets in DAGs near the best by branch and cut: against the recursion."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.methods.branch_and_cut import near_parents as module
from dagopt.methods.branch_and_cut.near_parents import near_parents
from dagopt.methods.branch_and_cut.tree import Outcome
from dagopt.methods.exact.near_families import near_families
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from every_dag import make_problem, members


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["multinomial", "bdeu", "gaussian", "bge"])
@pytest.mark.parametrize("known", [Constraints(), Constraints([("a", "b")], [("d", "e")], [["f"], ["g", "a"]], 3)])
def test_the_sets_are_those_of_the_recursion(kind, known):
    """Parent sets and losses are those of the tables, on seven columns, with and without constraints."""
    problem = make_problem(kind, 7, 4, known)
    empty = problem.knowledge.must.astype(np.int8)
    for node in (0, 3):
        with Workers(Deadline(), NoProgress(), 1) as workers:
            found = near_parents(problem, node, 2.0, empty, workers)
            exact = near_families(problem, 2.0, workers, nodes=[node])
        expected = {tuple(members(mask)): loss for mask, loss in zip(exact.masks.tolist(), exact.loss, strict=True)}
        told = dict(zip(found.sets, found.losses, strict=True))
        assert told.keys() == expected.keys()
        assert found.n_undecided == 0
        for parents, loss in expected.items():
            assert told[parents] == pytest.approx(loss, abs=1e-6)
        assert (np.diff(found.losses) > -1e-9).all()


@pytest.mark.parametrize("solved", [0, 2])
def test_sets_that_are_not_ruled_out_in_time_stay(solved, monkeypatch):
    """When the time is over, everything that a bound does not rule out is kept: the true sets are among them."""
    problem = make_problem("gaussian", 6, 3)
    calls = []
    true = module.best_over_families

    def stopping(families, start, deadline, **more):
        calls.append(start)
        found = true(families, start, deadline, **more)
        if len(calls) <= solved:
            return found
        return Outcome(found.chosen, found.score, found.bound + 0.5, "time_limit", 1, 0, 0, found.bound)

    empty = np.zeros((6, 6), dtype=np.int8)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        expected = near_parents(problem, 0, 3.0, empty, workers)
        monkeypatch.setattr(module, "best_over_families", stopping)
        found = near_parents(problem, 0, 3.0, empty, workers)
    assert len(expected.sets) > 2
    assert set(expected.sets) <= set(found.sets)
    assert found.n_undecided == len(found.sets) - solved
    for parents, loss in zip(found.sets, found.losses, strict=True):
        if parents in expected.sets:
            assert loss <= expected.losses[expected.sets.index(parents)] + 1e-6
