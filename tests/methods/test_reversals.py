"""Tests of what a reversed edge loses."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.methods import alternatives
from every_dag import parent_sets, totals


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
@pytest.mark.parametrize("seed", range(6))
def test_losses_are_those_over_every_dag(kind, seed):
    """A loss is the best score minus that of the best of all DAGs that have the edge reversed, or do not have it."""
    data = dagopt.simulate(n_nodes=4, n_samples=60, degree=1, random_state=seed, kind=kind).data
    result = dagopt.learn(data, "exact")
    words = result.directions()
    figures, score, known = result.figures, result.problem.score, result.problem.knowledge
    parents, scores = parent_sets(4), totals(score, known)
    cheaper = None if score.at_half_cost() is None else totals(score.at_half_cost(), known)
    place = {name: k for k, name in enumerate(result.names)}
    for (a, b), word in words.items():
        forward = parents[:, place[b]] >> place[a] & 1 == 1
        backward = parents[:, place[a]] >> place[b] & 1 == 1
        lost = result.score - scores[backward].max()
        if word == "open":
            assert lost == pytest.approx(0, abs=1e-6)
            continue
        without = result.score - scores[~forward & ~backward].max()
        edge = f"{a} -> {b}"
        assert figures.reversal_loss[edge] == pytest.approx(lost, abs=1e-6)
        assert figures.removal_loss[edge] == pytest.approx(without, abs=1e-6)
        holds = True
        if cheaper is not None:
            half = cheaper[forward].max() - cheaper[backward].max()
            assert figures.half_cost_loss[edge] == pytest.approx(half, abs=1e-6)
            holds = half > 0
        assert word == ("directed" if min(lost, without) > 3.0 and holds else "leaning")
    assert figures.reversal_proven or not figures.reversal_loss


@pytest.mark.parametrize("kind", ["discrete", "mixed"])
def test_half_the_cost_is_half_the_penalty(kind):
    """The log-likelihood and the cost of edges stay."""
    table = dagopt.as_table(dagopt.simulate(4, 80, 1, 0, kind=kind).data)
    score, free = dagopt.make_score(table, "ebic"), dagopt.make_score(table, "loglik")
    for node, parents in ((0, ()), (1, (0,)), (3, (0, 1, 2))):
        edges = score.edge_cost * len(parents)
        fit, full = free.local(node, parents), score.local(node, parents)
        assert score.at_half_cost().local(node, parents) == pytest.approx((full + edges + fit) / 2 - edges)


def test_an_edge_that_the_user_directs_is_directed():
    """A forbidden reverse leaves nothing to lean."""
    data = dagopt.simulate(n_nodes=5, n_samples=300, degree=2, random_state=1).data
    free = dagopt.learn(data, "exact")
    a, b = free.graph.directed_edges[0]
    told = dagopt.learn(data, "exact", constraints={"forbidden": [(b, a)]})
    assert told.directions().get((a, b), "directed") == "directed"


def test_searched_losses_are_no_less_than_exact_ones():
    """A search can miss the best reversed graph, so that its losses are upper bounds."""
    data = dagopt.simulate(n_nodes=9, n_samples=200, degree=2, random_state=3).data
    best, searched = (dagopt.learn(data, method) for method in ("exact", "order"))
    assert set(best.directions()) == set(best.graph.directed_edges)
    assert set(searched.directions()) == set(searched.graph.directed_edges)
    exact = best.figures.reversal_loss
    assert np.isfinite(list(searched.figures.reversal_loss.values())).all()
    for edge in set(exact) & set(searched.figures.reversal_loss):
        assert searched.figures.reversal_loss[edge] >= exact[edge] - 1e-6


def figures_of(data):
    """Return the figures of a result whose directions were asked for."""
    result = dagopt.learn(data, "exact")
    result.directions()
    return result.figures


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_search_alone_bounds_the_losses_of_the_recursion(kind, monkeypatch):
    """Without the recursion the losses come from searches, and none is below the proven one."""
    data = dagopt.simulate(n_nodes=7, n_samples=300, degree=2, random_state=2, kind=kind).data
    exact = figures_of(data)
    monkeypatch.setattr(alternatives, "_is_exact", lambda *given: False)
    searched = figures_of(data)
    assert exact.reversal_proven
    assert not searched.reversal_proven
    assert set(searched.removal_loss) == set(searched.reversal_loss) == set(exact.reversal_loss)
    assert set(searched.half_cost_loss) == set(exact.half_cost_loss)
    for edge, loss in exact.removal_loss.items():
        assert searched.removal_loss[edge] >= loss - 1e-6
        assert searched.reversal_loss[edge] >= exact.reversal_loss[edge] - 1e-6
