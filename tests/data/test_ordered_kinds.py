"""Ordinal and count columns: their numbers, what is refused, and what is recovered."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dagopt
from dagopt.errors import InputError


def frame(seed=0, n_rows=500):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    grade = np.digitize(a + 0.5 * rng.normal(size=n_rows), [-1, 0, 1, 2])
    return pd.DataFrame({"a": a, "grade": grade, "visits": rng.poisson(np.exp(1 + 0.5 * a))})


def test_ordinal_columns_are_normal_scores_of_their_levels():
    table = dagopt.as_table(frame(), kind={"grade": "ordinal"})
    assert table.kind == "continuous"
    expected = stats.norm.ppf(stats.rankdata(frame()["grade"]) / 501)
    assert table.values[:, 1] == pytest.approx(expected)
    words = pd.Categorical.from_codes(frame()["grade"], ["none", "bad", "fair", "good", "best"], ordered=True)
    spelled = dagopt.as_table(frame().assign(grade=words), kind={"grade": "ordinal"})
    assert spelled.values[:, 1] == pytest.approx(expected)
    result = dagopt.learn(frame().assign(grade=words), kind={"grade": "ordinal"}, progress=False)
    assert result.log_likelihood(frame().assign(grade=words)) == pytest.approx(
        result.fit().log_likelihood(result.problem.table)
    )


def test_counts_are_roots():
    table = dagopt.as_table(frame(), kind={"visits": "count", "grade": "continuous"})
    assert table.values[:, 2] == pytest.approx(2 * np.sqrt(frame()["visits"] + 3 / 8))
    with pytest.raises(InputError, match=r"column .a. has the value -.*, which has no root"):
        dagopt.as_table(frame(), kind={"a": "count"})


def test_words_without_an_order_are_refused():
    words = frame()["grade"].map(dict(enumerate("abcde")))
    with pytest.raises(InputError, match="without an order, which kind='ordinal' needs; make it an ordered category"):
        dagopt.as_table(frame().assign(grade=words), kind={"grade": "ordinal"})


def test_the_doctor_says_how_whole_numbers_are_read():
    assert "read as levels without an order (kind='ordinal' keeps it" in dagopt.examine(frame()).taken


def test_an_ordinal_chain_is_recovered():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    b = 0.6 * a + 0.8 * rng.normal(size=400)
    c = 0.6 * b + 0.8 * rng.normal(size=400)
    levels = pd.DataFrame(
        {name: np.digitize(x, [-1.2, -0.4, 0.4, 1.2]) for name, x in zip("abc", (a, b, c), strict=True)}
    )
    result = dagopt.learn(levels, kind="ordinal", progress=False)
    assert {tuple(sorted(edge)) for edge in result.graph.directed_edges} == {("a", "b"), ("b", "c")}
