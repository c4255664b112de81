"""Tests of all DAGs near the best by components: against the recursion over all sets, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.knowledge import Constraints
from dagopt.methods.branch_and_cut import near_components
from dagopt.methods.branch_and_cut.near_components import joined_dags
from dagopt.methods.exact.near_dags import NearDags
from dagopt.methods.exact.near_families import near_families
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from every_dag import make_problem


def both(problem, within):
    """Return the DAGs by components and by the recursion."""
    empty = problem.knowledge.must.astype(np.int8)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        joined = joined_dags(problem, within, empty, workers)
        whole = NearDags(near_families(problem, within, workers), workers).build()
        return joined, whole


def assert_same(joined, whole):
    """Assert that numbers, DAGs, losses and families agree."""
    assert joined.families.best == pytest.approx(whole.families.best, rel=1e-9)
    assert joined.losses[1] == whole.losses[1]
    np.testing.assert_allclose(joined.losses[0], whole.losses[0], atol=1e-6)
    ours, theirs = (set(map(tuple, one.listed(10**6)[0].tolist())) for one in (joined, whole))
    assert ours == theirs
    assert len(ours) == joined.losses[1]
    np.testing.assert_array_equal(joined.families.node, whole.families.node)
    np.testing.assert_array_equal(joined.families.masks, whole.families.masks)
    np.testing.assert_allclose(joined.families.loss, whole.families.loss, atol=1e-6)


@pytest.mark.parametrize("kind", ["multinomial", "bdeu", "gaussian", "bge"])
@pytest.mark.parametrize("known", [Constraints(), Constraints([("a", "b")], [("d", "e")], [["f"], ["g", "a"]], 3)])
def test_the_dags_are_those_of_the_recursion(kind, known):
    """On seven columns the DAGs, their losses and their parent sets are those of the tables."""
    assert_same(*both(make_problem(kind, 7, 4, known), 1.5))


def test_independent_parts_are_combined():
    """Two groups of columns without edges between them are two components, whose DAGs are combined."""
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=(60, 1)) + 2 * rng.normal(size=(60, 4)) for _ in range(2))
    table = ContinuousTable(tuple("abcdefgh"), np.concatenate([left, right], axis=1))
    forbidden = [(a, b) for a in "abcd" for b in "efgh"] + [(b, a) for a in "abcd" for b in "efgh"]
    problem = Problem(table, make_score(table, score="bic"), Constraints(forbidden=forbidden).resolve(table.names))
    joined, whole = both(problem, 2.0)
    assert len(joined._components) >= 2
    assert_same(joined, whole)
    some, losses = joined.listed(10)  # and those that tie with the tenth
    assert 10 <= len(some) < joined.losses[1]
    np.testing.assert_allclose(losses, joined.losses[0][: len(losses)], atol=1e-9)


def test_too_large_a_component_is_told(monkeypatch):
    """Columns whose directions depend on each other must not be too many."""
    monkeypatch.setattr(near_components, "LARGEST", 2)
    problem = make_problem("gaussian", 7, 4)
    with pytest.raises(InputError, match="depend on each other"), Workers(Deadline(), NoProgress(), 1) as workers:
        joined_dags(problem, 3.0, np.zeros((7, 7), dtype=np.int8), workers)
