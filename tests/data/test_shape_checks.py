"""Findings about shapes: outliers, skew, tails, counts; each with the remedy that it names."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dagopt
from dagopt.data.shape_checks import shape_of


def codes(frame, **options):
    return {finding.code for finding in dagopt.examine(frame, **options).findings}


@pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_cauchy", "random"])
@pytest.mark.parametrize("rows", [30, 100, 2000])
def test_shapes_are_those_of_scipy(draw, rows):
    values = getattr(np.random.default_rng(rows), draw)(size=rows)
    shape = shape_of(values)
    assert shape.skew == pytest.approx(stats.skew(values))
    assert shape.skew_distance == pytest.approx(stats.skewtest(values).statistic)
    assert shape.tails == pytest.approx(stats.kurtosis(values))
    assert shape.tails_distance == pytest.approx(stats.kurtosistest(values).statistic)


def test_one_outlying_row_makes_an_edge_and_ranks_do_not():
    values = np.random.default_rng(3).normal(size=(300, 2))
    values[3] = 15
    frame = pd.DataFrame(values, columns=["a", "b"])
    (finding,) = dagopt.examine(frame).findings
    assert (finding.code, finding.columns) == ("outliers", ("a", "b"))
    assert "data row 4 lies" in finding.message
    assert dagopt.learn(frame, progress=False).graph.n_edges == 1
    assert dagopt.learn(frame.drop(index=3), progress=False).graph.n_edges == 0
    assert dagopt.learn(frame, transform="rank", progress=False).graph.n_edges == 0
    assert codes(frame, transform="rank") == set()


def test_an_outlying_row_that_hides_an_edge_is_found():
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    frame = pd.DataFrame({"a": a, "b": 0.6 * a + rng.normal(size=300)})
    frame.loc[10] = [40.0, -5.0]
    (finding,) = [one for one in dagopt.examine(frame).findings if one.code == "outliers"]
    assert "separates" in finding.message


def lognormal_chain(seed=1):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=1000)
    b = a + rng.normal(size=1000)
    return pd.DataFrame(np.exp(np.column_stack([a, b, b + rng.normal(size=1000)])), columns=list("abc"))


def test_a_lognormal_chain_has_a_false_edge_that_logarithms_and_ranks_remove():
    frame = lognormal_chain()
    finding = next(one for one in dagopt.examine(frame).findings if one.code == "skewed")
    assert finding.columns == ("a", "b", "c")
    assert finding.remedy == "use transform={'a': 'log', 'b': 'log', 'c': 'log'}"
    edges = {
        how: _skeleton(dagopt.learn(frame, transform=how, progress=False)) for how in (None, "log", "rank", "auto")
    }
    assert ("a", "c") in edges[None]
    assert edges["log"] == edges["rank"] == edges["auto"] == {("a", "b"), ("b", "c")}


def _skeleton(result):
    return {tuple(sorted(edge)) for edge in [*result.graph.directed_edges, *result.graph.undirected_edges]}


def test_heavy_tails_and_counts_with_zeros_are_found():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 3))).add_prefix("x")
    assert codes(frame) == set()
    assert codes(frame.assign(t=rng.standard_t(3, 500))) == {"heavy-tails"}
    visits = np.where(rng.random(500) < 0.4, 0, rng.poisson(12, 500))
    assert codes(frame.assign(visits=visits)) == {"counts"}


def test_numbers_stored_as_text_or_decimals_are_numbers():
    from decimal import Decimal

    rng = np.random.default_rng(0)
    a = rng.normal(size=200).round(3)
    frame = pd.DataFrame({"a": a, "b": (a + 0.5 * rng.normal(size=200)).round(3), "c": rng.normal(size=200).round(3)})
    plain = dagopt.learn(frame, progress=False)
    for stored in (frame.astype(str), frame.map(lambda value: Decimal(str(value))), frame.astype("string")):
        (finding,) = dagopt.examine(stored).findings
        assert (finding.code, finding.columns) == ("numbers-as-text", ("a", "b", "c"))
        result = dagopt.learn(stored, progress=False)
        assert result.score == plain.score
        assert result.graph.n_edges == 1
    codes_with_zeros = pd.Series([f"{k % 30:03d}" for k in range(200)])
    assert dagopt.as_table(frame.assign(zip=codes_with_zeros)).kind == "mixed"


def test_identifiers_indices_of_time_and_survival_times():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3))).add_prefix("x")
    assert codes(frame.assign(number=rng.permutation(200))) == {"identifier"}
    assert codes(frame.assign(customer_id=rng.integers(0, 10**6, 200))) == {"identifier"}
    assert codes(frame.assign(acid=rng.integers(0, 10**6, 200))) == set()
    assert codes(frame.assign(year=np.repeat(np.arange(1950, 2000), 4))) == {"time-index"}
    assert codes(frame.assign(income=np.sort(rng.integers(0, 30, 200)))) == set()
    survival = frame.assign(time=rng.exponential(size=200), status=rng.integers(0, 2, 200))
    assert "survival" in codes(survival, transform={"time": "log"})
    assert "survival" not in codes(survival.drop(columns="status"))


def test_codes_stored_as_floats_are_found():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3))).add_prefix("x").assign(job=rng.integers(1, 8, 300).astype(float))
    (finding,) = dagopt.examine(frame).findings
    assert (finding.code, finding.columns, finding.remedy) == (
        "few-values",
        ("job",),
        "use kind={'job': 'discrete'} if these are codes, kind={'job': 'ordinal'} if they have an order",
    )
