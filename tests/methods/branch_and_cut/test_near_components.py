"""Tests of all DAGs near the best by components: against the recursion over all sets, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.methods.branch_and_cut import left_families, near_components
from dagopt.methods.branch_and_cut.left_families import LeftFamilies
from dagopt.methods.branch_and_cut.near_components import joined_dags
from dagopt.methods.branch_and_cut.near_parents import near_parents
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


@pytest.mark.few(4)
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
    assert len(joined._parts[0].components) >= 2
    assert_same(joined, whole)
    some, losses = joined.listed(10)
    assert len(some) == 10 < joined.losses[1]
    np.testing.assert_allclose(losses, joined.losses[0][: len(losses)], atol=1e-9)


@pytest.mark.parametrize("kind", ["bdeu", "gaussian"])
def test_large_components_are_split(kind, monkeypatch):
    """DAGs with an edge and without it are found apart, and together they are those of the recursion."""
    monkeypatch.setattr(near_components, "LARGEST", 3)
    joined, whole = both(make_problem(kind, 7, 4), 2.0)
    assert len(joined._parts) > 1
    assert_same(joined, whole)
    assert joined.number == (whole.losses[1], True)


def test_more_than_can_be_combined_are_counted(monkeypatch):
    """The last list of losses is counted without being combined, so the number is exact where a list is too long."""
    problem = make_problem("gaussian", 7, 4)
    _, whole = both(problem, 2.0)
    monkeypatch.setattr(near_components, "LARGEST", 3)
    monkeypatch.setattr(near_components, "MOST_COUNTED", whole.losses[1] // 2)
    joined, _ = both(problem, 2.0)
    assert joined.losses[0] is None
    assert joined.losses[1] <= whole.losses[1]
    assert joined.number[0] == whole.losses[1]


def test_what_is_not_excluded_is_told(monkeypatch):
    """Where the parts are too many, every family of a near DAG is among those left, with a lower limit on its loss."""
    monkeypatch.setattr(near_components, "LARGEST", 2)
    monkeypatch.setattr(near_components, "MOST_PARTS", 1)
    problem = make_problem("gaussian", 7, 4)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        with pytest.raises(near_components.Undecided) as raised:
            joined_dags(problem, 3.0, np.zeros((7, 7), dtype=np.int8), workers)
        exact = near_families(problem, 3.0, workers)
    left = raised.value.families
    told = {(int(i), int(mask)): loss for i, mask, loss in zip(left.node, left.masks, left.loss, strict=True)}
    for i, mask, loss in zip(exact.node, exact.masks, exact.loss, strict=True):
        assert told[int(i), int(mask)] <= loss + 1e-6
    assert raised.value.bound >= exact.best - 1e-6 >= left.best - 2e-6


def test_the_answer_does_not_depend_on_the_threads(monkeypatch):
    """Families are probed in several LPs at the same time; bounds, DAGs and losses are the same to the last bit."""
    monkeypatch.setattr(left_families, "LEAST_PROBES", 2)
    monkeypatch.setattr(left_families, "TURN", 1)
    monkeypatch.setattr(left_families, "ROUNDS_BACK", 0)  # so that probing has something to do
    problem = make_problem("gaussian", 7, 4)
    empty = problem.knowledge.must.astype(np.int8)
    counts, probers = [], LeftFamilies._probers

    def counted(left, places):
        found = probers(left, places)
        counts.append(len(found))
        return found

    monkeypatch.setattr(LeftFamilies, "_probers", counted)
    runs = []
    for threads in (1, 2, 16):
        with Workers(Deadline(), NoProgress(), threads) as workers:
            joined = joined_dags(problem, 1.5, empty, workers)
            near = near_parents(problem, 0, 1.5, empty, workers)
        facts = (joined.families.masks, joined.families.loss, *joined.listed(1000))
        runs.append(([one.tobytes() for one in facts], near.sets, near.losses))
    assert max(counts) > 3
    assert runs[0] == runs[1] == runs[2]
    with Workers(Deadline(), NoProgress(), 1) as workers:
        assert_same(joined, NearDags(near_families(problem, 1.5, workers), workers).build())
