"""Tests of questions averaged over all graphs that fit nearly as well: against asking every one of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from every_dag import continuous_table, discrete_table


@pytest.mark.parametrize("do", [None, {"a": "1"}])
def test_levels_are_averaged_over_all_dags(do):
    """The average, the lowest and the highest are those of all listed DAGs, each fitted and asked."""
    result = dagopt.learn(discrete_table(4, 3, 200), "exact", progress=False)
    rivals = result.rivals(2.0, progress=False)
    given = {"c": "0"}
    found = rivals.query("b", given, do=do, most=10_000, equivalent_sample_size=1.0)
    answers = []
    for rank in range(rivals.count):
        dag = dagopt.Graph(rivals.adjacency(rank), rivals.names)
        network = dagopt.fit(result.problem.table, dag, equivalent_sample_size=1.0)
        answers.append((network.do(do) if do else network).query("b", given).to_numpy())
    weights = np.exp(-rivals.losses) / np.exp(-rivals.losses).sum()
    np.testing.assert_allclose(found["average"], weights @ np.array(answers), atol=1e-9)
    np.testing.assert_allclose(found["lowest"], np.min(answers, axis=0), atol=1e-9)
    np.testing.assert_allclose(found["highest"], np.max(answers, axis=0), atol=1e-9)
    assert found["average"].sum() == pytest.approx(1)
    assert found.attrs["weight"] == pytest.approx(1)
    assert found.attrs["graphs"] == (rivals.count if do else rivals.n_classes)


def test_numbers_are_averaged_as_a_mixture():
    """Mean and standard deviation are those of the mixture of the graphs' normals."""
    result = dagopt.learn(continuous_table(4, 3), "exact", progress=False)
    rivals = result.rivals(3.0, progress=False)
    found = rivals.query("b", do={"a": 1.0}, most=10_000)
    asked = [
        dagopt.fit(result.problem.table, dagopt.Graph(rivals.adjacency(k), rivals.names)).do({"a": 1.0}).query("b")
        for k in range(rivals.count)
    ]
    weights = np.exp(-rivals.losses) / np.exp(-rivals.losses).sum()
    drawn = np.random.default_rng(0).choice(len(asked), p=weights, size=400_000)
    means, stds = (np.array([getattr(one, part) for one in asked]) for part in ("mean", "std"))
    values = means[drawn] + stds[drawn] * np.random.default_rng(1).normal(size=drawn.size)
    assert found.loc["mean", "average"] == pytest.approx(values.mean(), abs=0.02)
    assert found.loc["std", "average"] == pytest.approx(values.std(), rel=0.02)
    few = rivals.query("b", most=1)
    assert few.attrs["graphs"] == 1
    assert few.attrs["weight"] < 1


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_predictions_are_those_of_queries(kind):
    """Each row is predicted as a query given its other cells is answered."""
    rng = np.random.default_rng(4)
    rows = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcd"))
    rows["b"] += rows["a"] + 0.3 * rows["c"]
    if kind == "discrete":
        rows = rows.apply(lambda column: np.where(column > 0, "yes", "no"))
    rivals = dagopt.learn(rows, "exact", progress=False).rivals(2.0, progress=False)
    rows, weight = rows.iloc[:3], 1.0 if kind == "discrete" else 0.0
    found = rivals.predict(rows, "b", equivalent_sample_size=weight)
    for k in range(3):
        given = {name: value for name, value in rows.iloc[k].items() if name != "b"}
        asked = rivals.query("b", given, equivalent_sample_size=weight)
        for way in ("best", "average", "lowest", "highest"):
            np.testing.assert_allclose(found.iloc[k].xs(way, level=1), asked[way], atol=1e-9)
    assert found.attrs["weight"] == pytest.approx(1)


def test_what_is_refused():
    """A wrong number of graphs, and unknown columns."""
    rivals = dagopt.learn(continuous_table(4, 3), "exact", progress=False).rivals(1.0, progress=False)
    with pytest.raises(InputError, match="most="):
        rivals.query("b", most=0)
    with pytest.raises(InputError, match="z"):
        rivals.query("z")
