"""Tests of all DAGs within some points of the best: against all DAGs on up to five nodes, and a published count."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.learning.posing import pose
from dagopt.methods.exact import near_dags, near_families
from dagopt.methods.exact.near_dags import NearDags, TooManySteps
from dagopt.methods.exact.subset_dp import Plan
from dagopt.progress import NoProgress
from dagopt.workers import Stopped, Workers
from every_dag import make_problem, parent_sets, problems, totals

WINE = Path(__file__).parents[4] / "shared" / "bench" / "uci" / "wine.csv.gz"


def workers(n_jobs=1):
    """Return threads without a clock."""
    return Workers(Deadline(), NoProgress(), n_jobs)


def near(problem, within):
    """Return the diagram, by the way that is chosen."""
    with workers() as threads:
        return NearDags(near_families.near_families(problem, within, threads), threads).build()


def by_way(problem, within, way, monkeypatch):
    """Return the diagram by tables or by lists."""
    ends = {
        "tables": partial(near_families._tabled, plan=Plan(problem.n_nodes, 0, 0, 0.0)),
        "lists": near_families._listed,
    }[way]
    monkeypatch.setattr(near_families, "_tabled", lambda *given, plan=None: ends(*given))
    monkeypatch.setattr(near_families, "_listed", ends)
    return near(problem, within)


def limit_between(scores, within):
    """Return a number of points near the wanted one that no DAG's loss is close to."""
    losses = np.unique(np.round(scores.max() - scores[np.isfinite(scores)], 9))
    above = losses[losses > within]
    below = losses[losses <= within].max()
    return float((below + above[0]) / 2) if len(above) else within + 1.0


# --- brute force ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["tables", "lists"])
@settings(max_examples=20, deadline=None)
@given(problem=problems(min_nodes=1), within=st.sampled_from([0.0, 0.5, 2.0, 5.0, 40.0]))
def test_the_dags_are_those_of_brute_force(way, problem, within):
    """Every DAG within the limit is listed once, with its loss; so is every parent set, with its least loss."""
    scores, parents = totals(problem.score, problem.knowledge), parent_sets(problem.n_nodes)
    limit = limit_between(scores, within)
    inside = scores >= scores.max() - limit
    with pytest.MonkeyPatch.context() as patch:
        found = by_way(problem, limit, way, patch)
    losses, count = found.losses
    assert count == inside.sum()
    np.testing.assert_allclose(losses, np.sort(scores.max() - scores[inside]), atol=1e-9 * abs(scores.max()))
    masks, listed = found.listed(count)
    np.testing.assert_allclose(listed, losses, atol=1e-9 * abs(scores.max()))
    assert set(map(tuple, masks.tolist())) == set(map(tuple, parents[inside].tolist()))
    assert len(masks) == count
    families = found.families
    told = {(int(i), int(j)): loss for i, j, loss in zip(families.node, families.masks, families.loss, strict=True)}
    expected: dict[tuple[int, int], float] = {}
    for i in range(problem.n_nodes):
        for mask in np.unique(parents[inside, i]):
            expected[i, int(mask)] = scores.max() - scores[parents[:, i] == mask].max()
    assert told.keys() == expected.keys()
    np.testing.assert_allclose([told[key] for key in expected], list(expected.values()), atol=1e-9 * abs(scores.max()))


def test_the_best_come_first():
    """With fewer DAGs asked for, the best are listed."""
    found = near(make_problem("gaussian", 6, 3), 4.0)
    losses, count = found.losses
    assert count > 50
    _, some = found.listed(20)
    assert 20 <= len(some) < count
    np.testing.assert_allclose(some, losses[: len(some)], atol=1e-9)


def test_constraints_beyond_five_columns():
    """On eight columns, tables and lists agree under constraints, and every listed DAG is allowed and acyclic."""
    known = Constraints([("a", "b")], [("d", "e")], [["f"], ["g", "a"]], 3)
    problem = make_problem("bdeu", 8, 5, known)
    lists = []
    for way in ("tables", "lists"):
        with pytest.MonkeyPatch.context() as patch:
            lists.append(by_way(problem, 2.0, way, patch).listed(10_000)[0])
    np.testing.assert_array_equal(np.unique(lists[0], axis=0), np.unique(lists[1], axis=0))
    assert len(lists[0]) > 10
    for masks in lists[0][:50]:
        dag = (masks[None, :] >> np.arange(8)[:, None] & 1).astype(np.int8)
        assert problem.knowledge.allows_dag(dag)
        assert not np.linalg.matrix_power(dag.astype(np.int64), 8).any()


# --- published ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not WINE.exists(), reason="the shared instances are not here")
def test_wine_has_the_published_number():
    """308 DAGs of the wine data are within a Bayes factor of 3 of the best (eBNSL, AAAI 2019)."""
    problem, _ = pose(WINE, score="bic")
    found = near(problem, math.log(3))
    assert found.families.best == pytest.approx(-1258.4459, abs=1e-4)
    assert found.losses[1] == 308


# --- limits ---------------------------------------------------------------------------------------------------


def test_too_many_to_count_gives_a_lower_limit(monkeypatch):
    """Above the limit on what is counted, the number returned is not above the true one."""
    problem = make_problem("gaussian", 6, 3)
    count = near(problem, 6.0).losses[1]
    monkeypatch.setattr(near_dags, "MOST_COUNTED", count // 3)
    losses, at_least = near(problem, 6.0).losses
    assert losses is None
    assert count // 12 <= at_least <= count


def test_too_large_a_diagram_is_said(monkeypatch):
    """A diagram above its limit ends the work."""
    monkeypatch.setattr(near_dags, "MOST_STEPS", 10)
    with pytest.raises(TooManySteps):
        near(make_problem("gaussian", 6, 3), 4.0)


def test_the_clock_counts():
    """No time, no answer."""
    with pytest.raises(Stopped), Workers(Deadline(1e-9), NoProgress(), 1) as threads:
        near_families.near_families(make_problem("gaussian", 6, 3), 4.0, threads)


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf, "3", True])
def test_a_wrong_limit_is_refused(wrong):
    """The limit is a number of points."""
    with pytest.raises(InputError, match="within="):
        near_families.checked_within(wrong)
