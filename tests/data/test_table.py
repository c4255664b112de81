"""Tables: one kind, complete, with sufficient statistics that are those of the rows."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.data.reading import read_columns
from dagopt.data.table import ContinuousTable, DiscreteTable, as_table, distinct_rows
from dagopt.errors import InputError

MIXED = pd.DataFrame({"x": [0.5, 1.5, 2.5], "sex": ["f", "m", "f"], "y": [1.0, 2.0, 4.0], "age": [30, 40, 50]})


def _expanded(table):
    """Return the rows of a discrete table as a multiset of levels."""
    rows = Counter()
    for codes, weight in zip(table.codes.T, table.weights, strict=True):
        rows[tuple(levels[code] for levels, code in zip(table.levels, codes, strict=True))] += int(weight)
    return rows


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=40))
def test_distinct_rows_with_weights_are_the_rows(rows):
    """The weights sum to N and expand to the rows, each distinct row once."""
    table = as_table(np.array(rows))
    assert isinstance(table, DiscreteTable)
    assert table.n_samples == table.weights.sum() == len(rows)
    assert len(table.weights) == len(set(rows)) == table.codes.shape[1]
    assert _expanded(table) == Counter(tuple(str(x) for x in row) for row in rows)
    assert table.arity.tolist() == [len({row[j] for row in rows}) for j in range(3)]


def test_high_arities_stay_apart():
    """Rows are told apart however many configurations are possible."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 10**6, (300, 12)), 2, axis=0)
    table = as_table(rows[rng.permutation(600)], kind="discrete")
    assert (table.weights == 2).all()
    assert _expanded(table) == Counter(tuple(str(x) for x in row) for row in rows)


def test_only_levels_that_occur_count():
    """Unused categories, and levels that occur only in rows left out, do not count."""
    frame = pd.DataFrame(
        {
            "a": pd.Categorical(["u", "v", "u", "w"], categories=["u", "v", "w", "never"]),
            "b": ["p", "q", "p", None],
        }
    )
    table = as_table(frame, missing="drop")
    assert table.levels == (("u", "v"), ("p", "q"))
    assert table.n_samples == 3


def test_correlation_and_covariance_are_numpys(rng):
    """Mean, scale, correlation and covariance are numpy's, dividing by N."""
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + [0, 5, -3, 100]
    table = as_table(X)
    assert isinstance(table, ContinuousTable)
    np.testing.assert_allclose(table.mean, X.mean(axis=0))
    np.testing.assert_allclose(table.scale, X.std(axis=0))
    np.testing.assert_allclose(table.correlation, np.corrcoef(X.T), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(table.covariance, np.cov(X.T, bias=True), rtol=1e-10)
    assert (table.correlation == table.correlation.T).all()
    assert (np.diag(table.correlation) == 1).all()


@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-5])
def test_correlation_far_from_zero(noise, rng):
    """Columns near 1e9 have the correlation of what is left after subtracting 1e9, which is exact."""
    X = 1e9 + noise * (rng.normal(size=(1000, 4)) @ rng.normal(size=(4, 4)))
    np.testing.assert_allclose(as_table(X).correlation, np.corrcoef((X - 1e9).T), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1])
def test_a_constant_column_has_no_correlation(value, rng):
    """A constant column is named, also where rounding makes its standard deviation positive."""
    table = as_table(pd.DataFrame({"flat": [value] * 10, "x": rng.normal(size=10)}))
    with pytest.raises(InputError, match="'flat' is constant"):
        table.correlation  # noqa: B018


@pytest.mark.parametrize(
    "options, kind",
    [
        ({"columns": ["x", "y"]}, "continuous"),
        ({"columns": ["sex", "age"]}, "discrete"),
        ({"columns": ["x", "age"], "kind": "continuous"}, "continuous"),
        ({"columns": ["x", "age"], "kind": "discrete"}, "discrete"),
        ({"kind": "discrete"}, "discrete"),
        ({"discretize": "quantile"}, "discrete"),
        ({"discretize": "interval", "bins": 2}, "discrete"),
    ],
)
def test_kinds_of_a_mixed_table(options, kind):
    """Choosing columns, a kind or a cut makes a table of one kind."""
    assert as_table(MIXED, **options).kind == kind


def test_kind_discrete_takes_each_number_as_a_level():
    """Floats as levels are their distinct values, in order."""
    table = as_table(pd.DataFrame({"a": [2.5, -1.0, 2.5], "b": [1, 2, 3]}), kind="discrete")
    assert table.levels == (("-1.0", "2.5"), ("1", "2", "3"))


def test_kind_continuous_takes_integers_as_numbers():
    """Integers as numbers have their values, not their codes."""
    table = as_table(pd.DataFrame({"a": [10, 30, 20], "b": [0.5, 1.5, 2.5]}), kind="continuous")
    np.testing.assert_array_equal(table.values, [[10, 0.5], [30, 1.5], [20, 2.5]])


def test_a_mixed_table_has_both_kinds():
    """Columns keep their kinds, and a kind can be told for one column."""
    table = as_table(MIXED)
    assert table.kind == "mixed"
    assert [column.kind for column in table.columns] == ["continuous", "discrete", "continuous", "discrete"]
    told = as_table(MIXED, kind={"age": "continuous"})
    assert [column.kind for column in told.columns] == ["continuous", "discrete", "continuous", "continuous"]
    assert as_table(MIXED, exclude=["sex", "age"]).kind == "continuous"
    assert as_table(MIXED, exclude="sex", kind="continuous").names == ("x", "y", "age")


def test_whole_numbers_with_many_values_are_numbers():
    """More than ten distinct integers are continuous unless told; --discretize cuts what it is asked to cut."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 200), "rank": rng.integers(0, 9, 200)})
    assert [column.kind for column in as_table(frame).columns] == ["continuous", "discrete"]
    assert as_table(frame, kind="discrete").kind == "discrete"
    assert as_table(frame, kind={"age": "discrete"}).arity.tolist() == [frame["age"].nunique(), 9]
    assert as_table(frame, discretize="quantile").arity.tolist() == [3, 9]
    assert as_table(frame, discretize={"age": "interval", "rank": "quantile"}, bins=4).arity.tolist() == [4, 4]


def test_pyarrow_and_polars_tables_keep_their_names():
    """Frames of other packages have the columns, names and kinds of the pandas frame."""
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5], "word": ["a", "b", "a"], "flag": [True, False, None]})
    expected = [(c.name, c.kind, c.levels) for c in read_columns(frame)]
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for other in (pyarrow.Table.from_pandas(frame), polars.DataFrame(frame.to_dict("list"))):
        assert [(c.name, c.kind, c.levels) for c in read_columns(other)] == expected


def test_a_covariance_is_data():
    """Scores, and so the learned class, of a covariance are those of the rows behind it."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    rows = dagopt.learn(pd.DataFrame(values, columns=list("abcd")), "exact")
    S = np.cov(values, rowvar=False, bias=True)
    for learned in (
        dagopt.learn(covariance=S, n_samples=200, names=list("abcd"), method="exact"),
        dagopt.learn(pd.DataFrame(S, columns=list("abcd")), "exact", n_samples=200),
    ):
        assert learned.score == pytest.approx(rows.score, rel=1e-9)
        assert dagopt.compare(rows.dag, learned.dag).shd == 0
        table = learned.fit().parameters
        np.testing.assert_allclose(
            table["p_value"][1], dagopt.fit(values, learned.adjacency).parameters["p_value"][1], rtol=1e-6
        )
    with pytest.raises(InputError, match="has no rows"):
        dagopt.bootstrap(learned.problem.table, n=3)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]], "n_samples": 10}, "positive definite.*eigenvalue -1"),
        (
            {"covariance": [[1.0, 0.5], [0.2, 1.0]], "n_samples": 10},
            "symmetric.*'X0', 'X1' has 0.5 above the diagonal and 0.2",
        ),
        ({"covariance": [[1.0, 0.5], [0.5, 0.0]], "n_samples": 10}, "'X1' has 0"),
        ({"covariance": [[1.0, np.nan], [np.nan, 1.0]], "n_samples": 10}, "finite"),
        ({"covariance": np.eye(3), "n_samples": 10, "names": ["a", "b"]}, r"shape \(2, 2\).*got shape \(3, 3\)"),
        ({"covariance": np.eye(2)}, "n_samples="),
        ({"covariance": np.eye(2), "n_samples": 1}, ">= 2"),
        ({"covariance": np.eye(2), "n_samples": 10, "data": np.eye(5)}, "got both"),
        ({"names": ["a"]}, "covariance=, which was not given"),
    ],
)
def test_what_is_no_covariance(options, message):
    """Each defect of a covariance is one clear sentence."""
    with pytest.raises(InputError, match=message):
        dagopt.learn(**options)


def test_missing_cells_stop_or_are_dropped():
    """Missing cells are counted in the error, and dropped where asked."""
    frame = pd.DataFrame({"a": [1.5, None, 3.0, 4.0], "b": [1.0, 2.0, None, 4.5], "c": [0.0, 1.0, 3.0, 1.0]})
    with pytest.raises(InputError, match=r"column 'a', 'b' .*2 of 4 rows.*missing='drop'"):
        as_table(frame)
    np.testing.assert_array_equal(as_table(frame, missing="drop").values, [[1.5, 1, 0], [4, 4.5, 1]])
    frame["b"] = [None, 2.0, None, None]
    with pytest.raises(InputError, match=r"every row has a missing value .*'b'.* no rows"):
        as_table(frame, missing="drop")


@pytest.mark.parametrize(
    "values, message",
    [
        ([1.0, np.inf, 2.0], "column 'a' has 1 infinite values, the first in data row 2"),
        ([1.0, 1e200, 2.0], r"column 'a' has the value 1e\+200"),
        ([1e-200, 2e-200, 0.0], "column 'a' differ by at most 2e-200"),
    ],
)
def test_numbers_that_cannot_be_used(values, message):
    """Infinite, too large and too close numbers are refused with the column."""
    with pytest.raises(InputError, match=message):
        as_table(pd.DataFrame({"a": values, "b": [1.0, 2.0, 4.0]}))


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"kind": "gaussian"},
            "kind= to be one of 'auto', 'continuous', 'discrete', 'ordinal', 'count' but got 'gaussian'",
        ),
        ({"missing": "impute"}, "missing= to be one of 'error', 'drop', 'em', 'level' but got 'impute'"),
        ({"discretize": "kmeans"}, "discretize= to be one of None, 'quantile', 'interval' but got 'kmeans'"),
        ({"kind": "continuous"}, "column 'sex' cannot be continuous: 'f', 'm' is not a number"),
    ],
)
def test_options_that_cannot_be(options, message):
    """An option with a value that it cannot have is refused with those that it can."""
    with pytest.raises(InputError, match=message):
        as_table(MIXED, **options)


def test_a_table_is_its_own_table():
    """A table given as data is returned as it is."""
    table = as_table(MIXED, columns=["x", "y"])
    assert as_table(table) is table


def test_too_many_levels():
    """A column with more levels than codes is refused as an identifier."""
    frame = pd.DataFrame({"id": np.arange(65_536), "b": np.arange(65_536) % 2})
    with pytest.raises(InputError, match=r"'id' has 65536 levels.*identifier.*exclude="):
        as_table(frame, kind="discrete")
    assert as_table(frame[:65_535], kind="discrete").arity.tolist() == [65_535, 2]


@pytest.mark.parametrize("arity", [(2, 3, 4), (60000,) * 6])
def test_rows_that_are_equal_share_their_first_occurrence(arity):
    """Every row is that at its first occurrence, and these stand in the order of the table; wide rows too."""
    rng = np.random.default_rng(3)
    rows = np.stack([rng.integers(0, a, 12) for a in arity])[:, rng.integers(0, 12, 50)].astype(np.uint16)
    first, which = distinct_rows(rows, arity)
    np.testing.assert_array_equal(rows[:, first[which]], rows)
    assert len(first) == len({tuple(row) for row in rows.T})
    assert first.tolist() == sorted(first) == [min(np.flatnonzero(which == k)) for k in range(len(first))]
