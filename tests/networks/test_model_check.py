"""Checks of residuals: against statsmodels and numpy, each failing where its part of the model is wrong."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dagopt
from dagopt.data.row_checks import ranks_of
from dagopt.errors import InputError
from dagopt.networks.model_check import check_model

matplotlib.use("Agg")


def linear(seed=0, n_rows=400):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n_rows))
    return pd.DataFrame({"a": a, "b": b, "c": a - 0.5 * b + rng.normal(size=n_rows)})


PARENTS = ((), (), (0, 1))


def checked(frame, parents=PARENTS):
    return check_model(dagopt.as_table(frame), parents)


def row(check, kind, parent="", to="c"):
    table = check.table
    return table[(table["check"] == kind) & (table["from"] == parent) & (table["to"] == to)].iloc[0]


def test_a_bend_is_the_f_test_of_added_functions():
    """The p-value is, up to the correction of the likelihood ratio, that of the F test by numpy."""
    frame = linear().assign(c=lambda f: f["c"] + 0.2 * f["a"] ** 2)
    design = np.column_stack([np.ones(400), frame["a"], frame["b"]])
    place = 2 * (ranks_of(frame["a"].to_numpy()) - 0.5) / 400 - 1
    more = np.column_stack([design, np.polynomial.legendre.legvander(place, 4)[:, 2:]])
    left, less = (np.linalg.lstsq(x, frame["c"], rcond=None)[1][0] for x in (design, more))
    found = row(checked(frame), "linear", "a")
    assert found["effect"] == pytest.approx(1 - less / left)
    f_value = (left - less) / 3 / (less / (400 - 6))
    assert np.log(found["p_value"]) == pytest.approx(np.log(stats.f.sf(f_value, 3, 394)), rel=0.02)


def test_variance_is_the_test_of_breusch_and_pagan():
    diagnostic = pytest.importorskip("statsmodels.stats.diagnostic")
    frame = linear()
    frame["c"] += frame["a"] * np.random.default_rng(1).normal(size=400) * 0.3
    design = np.column_stack([np.ones(400), frame["a"], frame["b"]])
    left = frame["c"] - design @ np.linalg.lstsq(design, frame["c"], rcond=None)[0]
    statistic, p_value, *_ = diagnostic.het_breuschpagan(left, design)
    found = row(checked(frame), "variance")
    assert found["effect"] * 400 == pytest.approx(statistic)
    assert found["p_value"] == pytest.approx(p_value)


def test_each_check_fails_where_its_part_is_wrong_and_no_other():
    rng = np.random.default_rng(5)
    noise = np.zeros(400)
    for t in range(1, 400):
        noise[t] = 0.6 * noise[t - 1] + rng.normal()
    a = linear()["a"]
    faults = {
        "linear": linear().assign(c=lambda f: f["c"] + f["a"] ** 2),
        "normal": linear().assign(c=a + rng.standard_t(2, 400)),
        "variance": linear().assign(c=a + np.exp(0.4 * a) * rng.normal(size=400)),
        "serial": linear().assign(c=a + noise),
    }
    assert checked(linear()).failed.empty
    for kind, frame in faults.items():
        failed = checked(frame).failed
        assert kind in set(failed["check"]), kind
        assert set(failed["to"]) == {"c"}
        assert (failed["remedy"] != "").all()


def test_the_result_says_what_does_not_fit(tmp_path):
    frame = linear().assign(c=lambda f: f["c"] + f["a"] ** 2)
    result = dagopt.learn(frame, progress=False, constraints={"required": [("a", "c")]})
    assert "a -> c: curved" in result.summary()
    assert "score='basis'" in str(result.check())
    page = result.report(tmp_path / "report.html").read_text()
    assert "The residuals" in page
    assert "curved" in page
    result.save(tmp_path / "result.json")
    assert dagopt.Result.load(tmp_path / "result.json").misfits == result.misfits
    assert len(result.check().plot().axes) >= 1
    fits = dagopt.learn(linear(), progress=False)
    assert fits.misfits == {}
    assert "misfit" not in fits.summary()
    assert str(fits.check()).startswith("all ")


def test_mixed_and_discrete_tables():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 300)
    frame = pd.DataFrame({"g": pd.Series(group).map({0: "a", 1: "b", 2: "c"}), "x": group + rng.normal(size=300)})
    assert checked(frame, ((), (0,))).failed.empty
    assert checked(frame.assign(x=group + np.where(group == 2, 6, 1) * rng.normal(size=300)), ((), (0,))).misfits
    levels = dagopt.as_table(frame, discretize="quantile")
    assert str(check_model(levels, ((), (0,)))) == "nothing to check: the graph has no continuous column"


def test_a_covariance_has_no_residuals():
    result = dagopt.learn(covariance=np.eye(2) + 0.5, n_samples=100, progress=False)
    with pytest.raises(InputError, match="residuals need rows"):
        result.check()
