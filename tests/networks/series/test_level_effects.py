"""Effects after some moments of series with levels, against sums over all paths and against the linear formula."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.networks.series import level_effects as module
from dagopt.networks.series.responses import responses

STEPS = 2


def two_levels(n_moments: int = 600, seed: int = 0) -> pd.DataFrame:
    """Return a series of rain, and of umbrellas that follow it within the moment, with three levels."""
    rng = np.random.default_rng(seed)
    rain, seen = 0, []
    for _ in range(n_moments):
        rain = int(rng.random() < (0.8 if rain else 0.25))
        seen.append((["dry", "wet"][rain], ["none", "some", "many"][int(rng.binomial(2, 0.8 if rain else 0.2))]))
    return pd.DataFrame(seen, columns=["rain", "umbrellas"])


@pytest.fixture(scope="module")
def learned():
    return dagopt.learn(two_levels(), lags=1, progress=False)


def by_all_paths(result, cause: int, value: int) -> list[list[dict[int, float]]]:
    """Return the probabilities of levels at each step, summed over all paths one by one."""
    network = result.dynamics().fitted.network
    table = result.problem.table
    arity = [len(network.levels[j]) for j in range(2)]
    rows = np.repeat(table.codes[2:].T, table.weights, axis=0).tolist()
    found = [[dict.fromkeys(range(arity[j]), 0.0) for j in range(2)] for _ in range(STEPS + 1)]

    def chance(j: int, present: tuple[int, ...], past: tuple[int, ...]) -> float:
        cells = (*present, *past)
        return float(network.tables[j][tuple(cells[k] for k in network.parents[j])][present[j]])

    for past in {tuple(row) for row in rows}:
        share = rows.count(list(past)) / len(rows)
        for path in product(product(*map(range, arity)), repeat=STEPS + 1):
            if path[0][cause] != value:
                continue
            weight, before = share, past
            for step, present in enumerate(path):
                for j in range(2):
                    weight *= 1.0 if step == 0 and j == cause else chance(j, present, before)
                before = present
            for step, present in enumerate(path):
                for j in range(2):
                    found[step][j][present[j]] += weight
    return found


@pytest.mark.parametrize("cause", ["rain", "umbrellas"])
def test_sums_are_those_over_all_paths(learned, cause) -> None:
    """The chain's effects are differences of probabilities summed over every path."""
    dynamics = learned.dynamics()
    k = dynamics.names.index(cause)
    levels = dynamics.fitted.network.levels_of(k)
    frame = dynamics.effects(cause, steps=STEPS)
    assert set(frame["to"]) == set(levels[1:])
    assert (frame["simulation_error"] == 0).all()
    for code, to in enumerate(levels[1:], start=1):
        low, high = by_all_paths(learned, k, 0), by_all_paths(learned, k, code)
        for one in frame[frame["to"] == to].itertuples():
            j = dynamics.names.index(one.outcome)
            own = dynamics.fitted.network.levels_of(j).index(one.level)
            assert one.effect == pytest.approx(high[one.step][j][own] - low[one.step][j][own], abs=1e-12)


def test_draws_agree_with_sums(learned, monkeypatch) -> None:
    """Drawn futures differ from the sums by what their own standard error allows, and so do the standard errors."""
    dynamics = learned.dynamics()
    exact = dynamics.effects("rain", steps=3, change=("dry", "wet"))
    monkeypatch.setattr(module, "MOST_CELLS", 0)
    drawn = dynamics.effects("rain", steps=3, change=("dry", "wet"), n_draws=20_000)
    assert list(exact["level"]) == list(drawn["level"])
    away = np.abs(exact["effect"] - drawn["effect"])
    assert (away <= 4.5 * drawn["simulation_error"] + 1e-12).all()
    assert (drawn["simulation_error"] < 0.01).all()
    moved = exact["standard_error"] > 0.01
    assert moved.any()
    ratio = drawn["standard_error"][moved] / exact["standard_error"][moved]
    assert ((ratio > 0.5) & (ratio < 2)).all()


def test_standard_errors_are_those_of_the_counts() -> None:
    """A series that depends on itself alone: the effect after one moment is a difference of two shares."""
    data = two_levels()[["rain"]].assign(coin=np.random.default_rng(1).choice(["a", "b"], 600))
    result = dagopt.learn(data, lags=1, constraints={"forbidden": [("coin", "rain"), ("rain", "coin")]}, progress=False)
    found = result.dynamics().effects("rain", "rain", steps=1).query("level == 'wet' and step == 1").iloc[0]
    now, before = (data["rain"] == "wet").to_numpy()[1:], (data["rain"] == "wet").to_numpy()[:-1]
    shares, counts = [now[before == k].mean() for k in (0, 1)], [(before == k).sum() for k in (0, 1)]
    assert found["effect"] == pytest.approx(shares[1] - shares[0])
    expected = np.sqrt(sum(p * (1 - p) / count for p, count in zip(shares, counts, strict=True)))
    assert found["standard_error"] == pytest.approx(expected, rel=0.15)
    assert found["low"] < found["effect"] < found["high"]


def test_linear_parts_of_mixed_networks_follow_the_formula(monkeypatch) -> None:
    """Between continuous series of a mixed table the effects are those of linear dynamics, without noise."""
    monkeypatch.setattr(module, "REFITS", 12)
    rng = np.random.default_rng(2)
    values = np.zeros((400, 2))
    for t in range(1, 400):
        values[t, 0] = 0.6 * values[t - 1, 0] + rng.normal()
        values[t, 1] = 0.5 * values[t, 0] + 0.4 * values[t - 1, 1] + rng.normal()
    data = pd.DataFrame(values, columns=["x", "y"]).assign(coin=rng.choice(["a", "b"], 400))
    result = dagopt.learn(data, lags=1, progress=False)
    dynamics = result.dynamics()
    network = dynamics.fitted.network
    weights = np.zeros((2, 2, 2))
    for j in range(2):
        for k, parent in enumerate(network.parents[j]):
            assert parent % 3 < 2  # the coin is no parent
            weights[parent // 3, parent % 3, j] = network.coefficients[j][0, 1 + k]
    found = dynamics.effects("x", "y", steps=3, n_draws=50)
    assert found["effect"].to_numpy() == pytest.approx(responses(weights, 3)[:, 0, 1], abs=1e-9)
    assert (found["simulation_error"] < 1e-9).all()
    assert (found["standard_error"] > 0.005).all()
    twice = dynamics.effects("x", "y", steps=1, change=(0.0, 2.0), n_draws=50)
    assert twice["effect"].tolist() == pytest.approx([2 * one for one in found["effect"][:2]])
    coin = dynamics.effects("coin", "y", steps=1, n_draws=50)
    assert (coin["effect"] == 0).all()


def test_the_next_moment_can_be_asked_about(learned) -> None:
    """A query has the last moment as evidence, and takes more; units are named."""
    dynamics = learned.dynamics()
    last = two_levels().iloc[-1]
    given = {"rain(t-1)": last["rain"], "umbrellas(t-1)": last["umbrellas"]}
    assert dynamics.query("rain").tolist() == dynamics.fitted.query("rain", given).tolist()
    more = dynamics.query("rain", {"umbrellas": "many"})
    assert more["wet"] > dynamics.query("rain")["wet"]
    other = dynamics.query("rain", data=pd.DataFrame({"rain": ["wet"], "umbrellas": ["many"]}))
    assert other.tolist() == dynamics.fitted.query("rain", {"rain(t-1)": "wet", "umbrellas(t-1)": "many"}).tolist()
    units = pd.concat([two_levels(100, k).assign(who=f"u{k}") for k in range(2)])
    both = dagopt.learn(units, lags=1, groups="who", progress=False).dynamics()
    with pytest.raises(InputError, match="unit="):
        both.query("rain")
    assert both.query("rain", unit="u1").sum() == pytest.approx(1)
    with pytest.raises(InputError, match="unit"):
        both.query("rain", unit="u7")


def test_wrong_changes_are_refused(learned) -> None:
    """Two values, and levels that exist."""
    with pytest.raises(InputError, match="two values"):
        learned.dynamics().effects("rain", change="wet")
    with pytest.raises(InputError, match="level"):
        learned.dynamics().effects("rain", change=("dry", "hail"))
