"""Structural EM: nearer to the complete data than dropping rows, unbiased filling, same seed same answer."""

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data.columns import columns_from_frame
from dagopt.data.incomplete import IncompleteLevels
from dagopt.errors import InputError
from dagopt.methods.structural_em import imputed


def _holes(frame, share, seed):
    return frame.astype(object).mask(np.random.default_rng(seed).random(frame.shape) < share)


def test_cells_are_filled_in_proportion():
    """Among missing cells of one parent level, the levels occur as often as the network says."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 20_000)
    b = np.where(rng.random(20_000) < 0.8, a, 1 - a)
    frame = pd.DataFrame({"a": a, "b": b}).astype(str)
    frame.loc[rng.random(20_000) < 0.3, "b"] = None
    data = IncompleteLevels.of(columns_from_frame(frame))
    codes = data.first_completion()
    result = dagopt.learn(data.table(codes), "exact")
    for _ in range(8):
        codes = imputed(data, codes, result)
    hidden = data.columns[1].missing
    for level in (0, 1):
        rows = hidden & (data.columns[0].values == level)
        assert np.mean(codes[1, rows] == level) == pytest.approx(0.8, abs=0.02)
    assert data.table(codes).n_samples == 20_000
    np.testing.assert_array_equal(codes[1, ~hidden], data.columns[1].values[~hidden])


def test_em_is_nearer_to_the_complete_data_than_dropping_rows():
    """Over a few draws of a network, with a seventh of the cells removed at random."""
    far = {"em": 0, "drop": 0}
    for seed in range(5):
        frame, _ = dagopt.simulate(8, 1000, 1.2, seed, kind="discrete", levels=2)
        whole = dagopt.learn(frame)
        for missing in far:
            result = dagopt.learn(_holes(frame, 0.15, seed), missing=missing)
            far[missing] += dagopt.compare(whole.dag, result.dag).shd
    assert far["em"] < far["drop"]


def test_what_the_result_says():
    """Cells, rows and rounds are in the notes; the answer is repeatable; the table behind it is complete."""
    frame, _ = dagopt.datasets.load("asia", n_samples=400, random_state=0)
    holes = _holes(frame, 0.05, 1)
    one, two = (dagopt.learn(holes, missing="em") for _ in range(2))
    np.testing.assert_array_equal(one.adjacency, two.adjacency)
    assert one.details["missing_cells"] == int(holes.isna().sum().sum())
    assert "structural EM" in one.notes[0]
    assert one.problem.table.n_samples == 400


def test_levels_of_their_own():
    """missing='level' makes a level of what is missing."""
    frame, _ = dagopt.datasets.load("asia", n_samples=200, random_state=0)
    table = dagopt.as_table(_holes(frame, 0.05, 1), missing="level")
    assert all("missing" in levels for levels in table.levels)


def test_what_needs_a_network_says_so():
    """A table alone cannot be imputed, and numbers have no level for missing."""
    frame, _ = dagopt.datasets.load("asia", n_samples=200, random_state=0)
    with pytest.raises(InputError, match="needs a network"):
        dagopt.as_table(_holes(frame, 0.05, 1), missing="em")
    with pytest.raises(InputError, match="column 'b' is continuous"):
        dagopt.as_table(pd.DataFrame({"a": ["x", None, "y"], "b": [0.5, None, 1.5]}), missing="level")
