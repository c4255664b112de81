"""Scores of blocks as scores of their columns: every DAG, and the bounds that come of it."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.scores.degenerate_gaussian import DegenerateGaussianScore
from every_dag import parent_sets
from made_tables import mixed_frame, mixed_table


@pytest.mark.parametrize("edge_penalty", [0.0, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_no_dag_over_blocks_scores_more_than_its_columns(seed, edge_penalty):
    """Over all DAGs of four columns; without a price of edges, the scores are the same."""
    score = DegenerateGaussianScore(mixed_table(seed, 4, 120), 2.0, edge_penalty)
    wide = score.by_columns
    assert len(wide.within) > 4
    known = dagopt.Constraints().resolve(score.names)
    for masks in parent_sets(4)[::7]:
        dag = np.array([[mask >> i & 1 for mask in masks] for i in range(4)], dtype=np.int8)
        columns = wide.dag(dag)
        assert wide.knowledge(known).allows_dag(columns)
        own, bound = score.total(dag), wide.score.total(columns) + wide.constant
        assert own <= bound
        if not edge_penalty:
            assert own == pytest.approx(bound, abs=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["bic", "ebic", "basis"])
def test_too_many_sets_to_list_leave_a_bound_by_columns(kind):
    """It is above the optimum, and below that of the saturated likelihood."""
    frame = mixed_frame(2, 7, 300)
    best = dagopt.learn(frame, "exact", score=kind, progress=False)
    found = dagopt.learn(frame, "branch-and-cut", score=kind, max_sets=8, time_limit=60, progress=False)
    plain = dagopt.learn(frame, "hc", score=kind, progress=False)
    assert found.certificate.source in ("pricing", "pairs")
    assert best.score <= found.bound < plain.bound
    assert any("priced instead of listed" in note for note in found.notes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_interventions_with_too_many_sets_to_list_leave_a_bound(kind):
    """Each column is priced with the rows that do not set it; what is left may be listed if columns are no blocks."""
    frame = dagopt.simulate(6, 400, 1.5, 3).data if kind == "numbers" else mixed_frame(2, 6, 400)
    names = list(frame.columns)
    drawn = np.random.default_rng(0).integers(-6, len(names), len(frame))
    told = {"interventions": [None if j < 0 else names[j] for j in drawn], "progress": False}
    best = dagopt.learn(frame, "exact", **told)
    found = dagopt.learn(frame, "branch-and-cut", max_sets=8, time_limit=30, **told)
    plain = dagopt.learn(frame, "hc", **told)
    assert best.score - 1e-6 <= found.bound < plain.bound
    assert found.figures.n_pricing_rounds > 0
