"""Tests of what a reversed edge loses."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from every_dag import parent_sets, totals


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
@pytest.mark.parametrize("seed", range(6))
def test_losses_are_those_over_every_dag(kind, seed):
    """The loss of a reversed edge is the best score minus that of the best of all DAGs that have the reverse."""
    data = dagopt.simulate(n_nodes=4, n_samples=60, degree=1, random_state=seed, kind=kind).data
    result = dagopt.learn(data, "exact")
    parents, scores = parent_sets(4), totals(result.problem.score, result.problem.knowledge)
    place = {name: k for k, name in enumerate(result.names)}
    for (a, b), word in result.directions().items():
        best = scores[parents[:, place[a]] >> place[b] & 1 == 1].max()
        loss = result.score - best
        if word == "open":
            assert loss == pytest.approx(0, abs=1e-6)
        else:
            assert result.figures.reversal_loss[f"{a} -> {b}"] == pytest.approx(loss, abs=1e-6)
            assert word == ("directed" if loss > 3.0 else "leaning")
    assert result.figures.reversal_proven or not result.figures.reversal_loss


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
