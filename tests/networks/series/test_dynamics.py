"""Effects after some moments, forecasts and simulation, against formulas worked out another way."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.networks.series.responses import responses


@pytest.fixture(scope="module")
def learned():
    """Return a result over two lags, and the network behind its series."""
    made = dagopt.simulate_series(4, 800, lags=2, random_state=3)
    return dagopt.learn(made.data, lags=2), made


def test_responses_are_zero_where_no_path_leads() -> None:
    """Rounding would leave 1e-17 there, now and then: a share of effects that are not zero must not count it."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        inner = np.triu(rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.4), 1)
        weights = np.stack([inner, rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.2)])
        names = [(i, t) for t in range(4) for i in range(6)]
        paths = nx.DiGraph()
        paths.add_nodes_from(names)
        for m in (0, 1):
            paths.add_edges_from(
                ((i, t), (j, t + m)) for i, j in np.argwhere(weights[m] != 0) for t in range(4 - m)
            )  # fmt: skip
        theta = responses(weights, 3)
        for i in range(6):
            leads = {(i, 0)} | nx.descendants(paths, (i, 0))
            assert all((theta[t, i, j] != 0) == ((j, t) in leads) for j, t in names)


def test_responses_are_those_of_a_simulated_shock(learned) -> None:
    """A shock of one unit without noise gives the responses, moment by moment."""
    _, made = learned
    weights = made.weights
    theta = responses(weights, 6)
    for i in range(4):
        values = np.zeros((9, 4))
        for t in range(2, 9):
            shock = np.eye(4)[i] * (t == 2)
            values[t] = (shock + values[t - 1] @ weights[1] + values[t - 2] @ weights[2]) @ np.linalg.inv(
                np.eye(4) - weights[0]
            )
        assert np.allclose(theta[:, i], values[2:])


def test_standard_errors_are_those_of_numerical_derivatives(learned) -> None:
    """The delta method with derivatives by finite differences gives the same errors."""
    dynamics = learned[0].dynamics()
    found = dynamics.effects("x0", "x1", steps=4)
    weights, step = dynamics.weights, 1e-6
    variance = np.zeros(5)
    for b, equation in enumerate(dynamics._equations):
        slopes = np.zeros((5, len(equation.lag)))
        for c, (m, a) in enumerate(zip(equation.lag, equation.series, strict=True)):
            more = weights.copy()
            more[m, a, b] += step
            slopes[:, c] = (responses(more, 4)[:, 0, 1] - responses(weights, 4)[:, 0, 1]) / step
        variance += np.einsum("kc,cd,kd->k", slopes, equation.covariance, slopes)
    assert np.allclose(found["standard_error"], np.sqrt(variance), atol=1e-5)
    assert (found["low"] <= found["effect"]).all()


def test_forecasts_are_those_of_the_window_network(learned) -> None:
    """One moment ahead, mean and variance are those of the fitted network given the past."""
    result, made = learned
    fitted, last = result.fit(), made.data.iloc[[-1, -2]].to_numpy()
    evidence = {f"x{j}(t-{k})": last[k - 1, j] for k in (1, 2) for j in range(4)}
    forecast = result.predict(steps=1).set_index("series")
    for j in range(4):
        told = fitted.query(f"x{j}", evidence)
        assert forecast.loc[f"x{j}", "mean"] == pytest.approx(told.mean)
        assert forecast.loc[f"x{j}", "high"] - told.mean == pytest.approx(1.959964 * told.std, rel=1e-4)
    again = result.predict(steps=3, data=made.data.tail(5))
    pd.testing.assert_frame_equal(again, result.predict(steps=3))


def test_drawn_forecasts_agree_with_the_formula(learned) -> None:
    """Many drawn futures have the mean and the spread of the formula."""
    dynamics = learned[0].dynamics()
    exact = dynamics.predict(steps=3)
    past = next(iter(dynamics._last_past().values()))
    drawn = dynamics._drawn_forecast(past, 3, 0.95, np.random.default_rng(0), 20_000)
    spread = (exact["high"] - exact["low"]) / 3.92
    assert (np.abs(drawn["mean"] - exact["mean"]) < 0.05 * spread).all()
    assert np.allclose((drawn["high"] - drawn["low"]) / 3.92, spread, rtol=0.05)


def test_simulated_series_have_the_same_network(learned) -> None:
    """Learning from a simulation of the learned network finds its strong edges again."""
    result, _ = learned
    again = dagopt.learn(result.dynamics().simulate(4000, 1), lags=2)
    strong = np.abs(result.dynamics().weights) > 0.2
    assert (again.graph.by_lag[1:][strong[1:]] == 1).all()


def test_held_series_stay_where_they_are(learned) -> None:
    """A series that is set from outside keeps its value, and its effects are in the others' means."""
    dynamics = learned[0].dynamics()
    held = dynamics.simulate(4000, 0, do={"x0": 5.0})
    assert (held["x0"] == 5.0).all()


def test_discrete_series_are_forecast_by_levels() -> None:
    """A sticky binary series is forecast to stay; units are forecast one by one."""
    rng = np.random.default_rng(0)
    parts = []
    for k in range(2):
        flips = rng.random((400, 2)) < [0.1, 0.4]
        values = np.cumsum(flips, axis=0) % 2
        parts.append(pd.DataFrame(np.where(values, "on", "off"), columns=["a", "b"]).assign(unit=f"u{k}"))
    data = pd.concat(parts, ignore_index=True)
    result = dagopt.learn(data, lags=1, groups="unit")
    forecast = result.predict(steps=1)
    own = forecast[(forecast["series"] == "a")].set_index("unit")
    for k, part in enumerate(parts):
        assert own.loc[f"u{k}", "level"] == part["a"].iloc[-1]
        assert own.loc[f"u{k}", "probability"] == pytest.approx(0.9, abs=0.05)
    with pytest.raises(InputError, match="continuous series"):
        _ = result.dynamics().weights


def test_graphs_are_folded_and_unrolled(learned) -> None:
    """Folded, an edge has its lag; unrolled, the window repeats at every moment."""
    graph = learned[0].graph
    folded = graph.folded()
    assert set(folded) == {"x0", "x1", "x2", "x3"}
    assert sorted(data["lag"] for *_, data in folded.edges(data=True)) == sorted(graph.edges["lag"])
    window = graph.unrolled()
    assert set(window.directed_edges) >= set(graph.directed_edges)
    longer = graph.unrolled(5)
    assert longer.n_nodes == 20
    assert longer.is_dag
    assert longer.adjacency[-4:, -4:].sum() == graph.by_lag[0].sum() == longer.adjacency[:4, :4].sum()


def test_results_in_time_are_saved(learned, tmp_path) -> None:
    """A saved result knows its lags."""
    result, _ = learned
    result.save(tmp_path / "r.json")
    again = dagopt.Result.load(tmp_path / "r.json")
    assert again.lags.series == result.lags.series
    assert again.graph.edges.equals(result.graph.edges)
    assert again.summary().splitlines()[0] == result.summary().splitlines()[0]


def test_other_results_say_what_they_lack() -> None:
    """A result without lags has no dynamics."""
    data, _ = dagopt.simulate(n_nodes=3, n_samples=100, random_state=0)
    with pytest.raises(InputError, match="lags=1"):
        dagopt.learn(data).dynamics()
