"""Places of many points: isotonic regression against scikit-learn, and bends against the linear program."""

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

import dagopt
from dagopt.report import layout
from dagopt.report.settling import isotonic


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_regression_is_that_of_scikit_learn(seed):
    """The same fit for random values and weights."""
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=40), rng.uniform(0.1, 3, 40)
    np.testing.assert_allclose(isotonic(values, weights), isotonic_regression(values, sample_weight=weights), atol=1e-9)


def _bend(found):
    return sum(np.abs(np.diff(route[:, 0])).sum() for route in found.routes.values())


def test_sweeps_bend_edges_hardly_more_than_the_program(monkeypatch):
    """The total bend is within a tenth, and no two nodes overlap."""
    adjacency = dagopt.graph.dag.as_graph(dagopt.simulate(60, 10, 1.5, random_state=2).dag).adjacency
    widths = np.linspace(30, 90, 60)
    best = layout.layered_layout(adjacency, widths)
    monkeypatch.setattr(layout, "MOST_POINTS", 0)
    found = layout.layered_layout(adjacency, widths)
    assert _bend(best) != _bend(found) < 1.1 * _bend(best)
    for k, (x, y) in enumerate(found.centres):
        for j in range(k):
            apart = abs(x - found.centres[j, 0]) >= (widths[k] + widths[j]) / 2
            assert apart or abs(y - found.centres[j, 1]) >= found.node_height
