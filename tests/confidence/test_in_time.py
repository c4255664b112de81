"""Resampling of rows in time or in groups: blocks stay together, nothing looks ahead."""

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.confidence.cross_validation import _parts
from dagopt.data.resampling import block_length, resampled
from dagopt.errors import InputError


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    """Return two series of six units."""
    parts = [
        dagopt.simulate_series(2, 30, random_state=k).data.assign(unit=f"u{k}", year=np.arange(30)) for k in range(6)
    ]
    return pd.concat(parts, ignore_index=True)


def test_resamples_are_blocks_of_successive_rows() -> None:
    """Nearly all neighbours of a resample are neighbours in the series."""
    data = pd.DataFrame({"a": np.arange(1000.0), "b": np.random.default_rng(0).normal(size=1000)})
    table = dagopt.as_table(data, lags=1)
    drawn = resampled(table, np.random.default_rng(0), 999).values[:, 0]
    successive = np.diff(drawn) == 1
    assert len(drawn) == 999
    assert successive.mean() >= 1 - 1.2 / block_length(999)
    often = np.zeros(1001)
    for seed in range(300):
        rows = resampled(table, np.random.default_rng(seed), 999).values[:, 0].astype(int)
        often += np.bincount(rows, minlength=1001)
    share = often[1:1000] / 300
    assert share[:10].mean() == pytest.approx(1.0, abs=0.1)  # the first rows are as likely as others


def test_cross_validation_never_looks_ahead(panel) -> None:
    """Every part is later, in every unit, than what it is learned from."""
    table = dagopt.as_table(panel, lags=1, time="year", groups="unit")
    moment = np.tile(np.arange(29), 6)
    for part, rest in _parts(table, table.n_rows, 4, 0):
        assert moment[rest].max() < moment[part].min()


def test_the_held_out_score_is_that_of_the_present() -> None:
    """White noise with variance 1 has the held-out log-likelihood of white noise, whatever the lags."""
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(1200, 2)), columns=["a", "b"])
    found = dagopt.cross_validate(data, lags=2, folds=3)
    assert found.score == pytest.approx(-np.log(2 * np.pi) - 1, abs=0.1)
    levels = dagopt.cross_validate(data, lags=1, folds=3, discretize="quantile", bins=2)
    assert levels.score == pytest.approx(-2 * np.log(2), abs=0.05)


def test_the_bootstrap_knows_lags(panel) -> None:
    """Edges into the past have no confidence, those of the own past have much."""
    sure = dagopt.bootstrap(panel, 10, lags=1, time="year", groups="unit")
    assert sure.n_done == 10
    names = list(sure.names)
    shares = sure.essential.mean(axis=0)
    assert (shares[:, 2:] == 0).all()
    assert shares[names.index("x0(t-1)"), names.index("x0")] > 0.5
    assert sure.result.lags.count == 1


def test_the_summary_says_that_time_directs_edges() -> None:
    """Edges from the past are directed because of time, whatever their loss without them."""
    result = dagopt.learn(dagopt.simulate_series(3, 200, random_state=0).data, lags=1)
    assert "(directed: by time, or graphs with the edge reversed or left out lose more than" in result.summary()
    assert set(result.figures.told_edges) == {
        f"{a} -> {b}" for a, b in result.graph.directed_edges if a.endswith("(t-1)")
    }


def test_effects_over_resamples_are_those_of_each_resample() -> None:
    """Learning from the rows of each resample and asking for its effects gives the same percentiles."""
    made = dagopt.simulate_series(3, 200, random_state=4)
    sure = dagopt.bootstrap(made.data, 12, lags=1, random_state=5, n_jobs=1, progress=False)
    table = sure.result.problem.table
    found = []
    for k in range(12):
        rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(k,)))
        rows = resampled(table, rng, table.n_rows)
        one = dagopt.learn(rows, "exact", score="bic", progress=False)
        assert (one.cpdag_adjacency == sure.essential[k]).all()
        found.append(np.linalg.inv(np.eye(3) - dagopt.fit(rows, one.dag).network.weights[:3, :3]))
    effects = sure.effects("x1", steps=0).set_index("outcome")
    for j in range(3):
        own = [theta[1, j] for theta in found]
        assert effects.loc[f"x{j}", "low"] == pytest.approx(np.quantile(own, 0.025), abs=1e-9)
        assert effects.loc[f"x{j}", "high"] == pytest.approx(np.quantile(own, 0.975), abs=1e-9)
    later = sure.effects("x1", steps=3)
    fixed = sure.result.dynamics().effects("x1", steps=3)
    assert later["effect"].to_numpy() == pytest.approx(fixed["effect"].to_numpy())
    with pytest.raises(InputError, match="continuous series"):
        dagopt.bootstrap(made.data, 2, progress=False).effects("x1")
