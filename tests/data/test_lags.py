"""Tables of moments become tables of lagged columns: by hand, with units, gaps and missing moments."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.bits import members
from dagopt.data.continuous import ContinuousTable
from dagopt.data.lags import lagged_values
from dagopt.data.row_checks import FEWEST_ROWS
from dagopt.data.series_checks import dickey_fuller
from dagopt.errors import InputError
from tests.oracles.every_dag import parent_sets


def walk(rows: int, names: str = "abc", seed: int = 0) -> pd.DataFrame:
    """Return a stable vector autoregression with an effect within a moment."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, len(names)))
    for t in range(1, rows):
        values[t] += 0.4 * values[t - 1] + 0.2 * np.roll(values[t - 1], 1)
        values[t, 1] += 0.5 * values[t, 0]
    return pd.DataFrame(values, columns=list(names))


def by_hand(data: pd.DataFrame, lags: int) -> pd.DataFrame:
    """Return the lagged columns as pandas shifts them."""
    parts = [data, *(data.shift(k).add_suffix(f"(t-{k})") for k in range(1, lags + 1))]
    return pd.concat(parts, axis=1).dropna()


@pytest.mark.parametrize("lags", [1, 2, 3])
def test_lagged_columns_are_those_of_pandas(lags: int) -> None:
    """One unit without gaps gives the shifted frame, as a view of the data."""
    data = walk(40)
    table = dagopt.as_table(data, lags=lags)
    expected = by_hand(data, lags)
    assert table.names == tuple(expected.columns)
    assert np.array_equal(table.values, expected.to_numpy())
    assert not table.values.flags.owndata


def test_lagged_values_are_not_copied() -> None:
    """However many lags there are, the view covers no more memory than the data."""
    values = np.arange(6000.0).reshape(1000, 6)
    view = lagged_values(values, 50)
    first, last = np.lib.array_utils.byte_bounds(view)
    assert view.shape == (950, 306)
    assert last - first == values.nbytes


def test_time_orders_the_rows_and_is_no_column() -> None:
    """Shuffled rows are put in order by numbers and by dates, by one column or two."""
    data = walk(48)
    expected = dagopt.as_table(data, lags=1).values
    months = pd.date_range("2001-01-31", periods=48, freq="ME")
    for more, time in (
        ({"t": np.arange(48) * 10}, "t"),
        ({"t": months}, "t"),
        ({"t": months.strftime("%Y-%m-%d")}, "t"),
        ({"t": months.to_period("M").astype(str)}, "t"),
        ({"year": months.year, "month": months.month}, ["year", "month"]),
    ):
        table = dagopt.as_table(data.assign(**more).sample(frac=1, random_state=3), lags=1, time=time)
        assert table.names[:3] == ("a", "b", "c")
        assert np.array_equal(table.values, expected)


def test_units_are_never_mixed() -> None:
    """The past of a row is in its own unit, whatever the order of the rows."""
    parts = [walk(12, seed=k).assign(firm=f"f{k}", year=np.arange(12) + k) for k in range(3)]
    data = pd.concat(parts).sample(frac=1, random_state=0)
    table = dagopt.as_table(data, lags=2, time="year", groups="firm")
    expected = {
        tuple(row) for part in parts for row in by_hand(part.drop(columns=["firm", "year"]), 2).to_numpy().tolist()
    }
    assert {tuple(row) for row in table.values.tolist()} == expected
    assert set(table.lags.units) == {"f0", "f1", "f2"}
    assert np.bincount(table.lags.unit).tolist() == [10, 10, 10]


def test_gaps_are_found_and_said() -> None:
    """A row after a gap has no past; the finding names the gap."""
    data = walk(60).assign(year=np.arange(1950, 2010)).drop(index=[20, 21])
    result = dagopt.learn(data, lags=2, time="year", method="order")
    assert result.n_samples == 58 - 4
    (gap,) = [finding for finding in result.findings if finding.code == "gaps"]
    assert "between 1969 and 1972" in gap.message


def test_missing_cells_keep_their_place_in_time() -> None:
    """With missing='drop', rows are left out whose present or past is not known."""
    data = walk(50)
    data.loc[10, "b"] = np.nan
    table = dagopt.as_table(data, lags=2, missing="drop")
    assert np.array_equal(table.values, by_hand(data, 2).to_numpy())
    assert dagopt.as_table(data, lags=1, missing="em").n_rows == 49
    with pytest.raises(InputError, match="'b'"):
        dagopt.as_table(data, lags=1)


def test_discrete_series_keep_the_order_of_their_rows() -> None:
    """Equal rows are merged, and which row was which is remembered."""
    data = walk(200)
    table = dagopt.as_table(data, lags=1, discretize="quantile")
    assert table.levels[0] == table.levels[3]
    rows = table.codes[:, table.which]
    assert np.array_equal(rows[3:, 1:], rows[:3, :-1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lags": 0}, "lags"),
        ({"lags": 59}, "lower lags="),
        ({"lags": 1, "time": "when"}, "when"),
        ({"lags": 1, "time": "a"}, "gaps|'a'|moment"),
        ({"lags": 1, "time": "twice"}, "more than one row"),
    ],
)
def test_bad_input_is_named(options: dict[str, object], words: str) -> None:
    """Too many lags, unknown columns and repeated moments are errors with a remedy."""
    data = walk(59).assign(twice=np.arange(59) // 2)
    with pytest.raises(InputError, match=words):
        dagopt.as_table(data, **{"exclude": ["twice"], **options} if options.get("time") != "twice" else options)


def test_scores_are_those_of_a_table_made_by_hand() -> None:
    """The score is that of the hand-made table without the constant of the past; the graph is the same."""
    data = walk(300)
    result = dagopt.learn(data, lags=1, score="bic")
    frame = by_hand(data, 1)
    past = [name for name in frame if "(" in name]
    into_past = [(a, b) for a in frame for b in past if a != b]
    plain = dagopt.learn(frame, score="bic", constraints={"forbidden": into_past})
    assert np.array_equal(result.adjacency, plain.adjacency)
    constant = sum(plain.problem.score.local(j) for j in range(3, 6))
    assert result.score == pytest.approx(plain.score - constant)
    assert result.bound == pytest.approx(plain.bound - constant)
    assert result.scope == "all dynamic networks with edges from the moment before"
    assert result.figures.node_scores.index.tolist() == ["a", "b", "c"]


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("method", ["exact", "branch-and-cut", "auto"])
def test_the_proof_is_over_all_dynamic_networks(seed: int, within: bool, method: str) -> None:
    """Brute force over all DAGs within a moment and all sets of the past gives the proven score."""
    data = walk(60, seed=seed)
    result = dagopt.learn(data, method, lags=1, score="bic", within=within)
    score = result.problem.score
    past = [[3 + j for j in range(3) if bits >> j & 1] for bits in range(8)]
    dags = parent_sets(3).tolist() if within else [[0, 0, 0]]
    best = max(
        sum(max(score.local(i, [*members(mask), *own]) for own in past) for i, mask in enumerate(dag)) for dag in dags
    )
    assert result.status == "optimal"
    assert result.score == pytest.approx(best, abs=1e-6)


def test_constraints_name_the_present_and_the_past() -> None:
    """X is the present, x(t-1) one moment before, x(t-*) every lag; edges into the past are refused."""
    data = walk(200)
    known = {"required": [("c(t-2)", "a")], "forbidden": [("a(t-*)", "b")], "max_parents": 3}
    result = dagopt.learn(data, lags=2, constraints=known)
    edges = result.graph.directed_edges
    assert ("c(t-2)", "a") in edges
    assert not {("a(t-1)", "b"), ("a(t-2)", "b")} & set(edges)
    with pytest.raises(InputError, match="into the present"):
        dagopt.learn(data, lags=1, constraints={"required": [("a", "a(t-1)")]})
    with pytest.raises(InputError, match="within=False"):
        dagopt.learn(data, lags=1, within=False, constraints={"required": [("a", "b")]})


def test_rows_alike_are_no_finding_with_lags() -> None:
    """The doctor warns of successive rows without lags=, and does not with it."""
    data = walk(20 * FEWEST_ROWS)
    codes = [{finding.code for finding in dagopt.learn(data, **more).findings} for more in ({}, {"lags": 1})]
    assert "serial" in codes[0]
    assert "serial" not in codes[1]


def test_the_number_of_lags_is_chosen_on_the_same_rows() -> None:
    """Two lags are found where there are two, and the note says on how many moments they were compared."""
    made = dagopt.simulate_series(3, 500, lags=2, random_state=1)
    result = dagopt.learn(made.data, lags="auto")
    assert result.lags.count == 2
    assert "on the same 494 moments" in result.notes[-1]
    with pytest.raises(InputError, match="give a number"):
        dagopt.as_table(made.data, lags="auto")


def test_series_that_wander_are_found() -> None:
    """Random walks have a unit root; stable series have none; the statistic is that of least squares."""
    rng = np.random.default_rng(0)
    walks = pd.DataFrame(np.cumsum(rng.normal(size=(300, 2)), axis=0), columns=["a", "b"])
    (found,) = [one for one in dagopt.learn(walks, lags=1).findings if one.code == "unit-root"]
    assert set(found.columns) == {"a", "b"}
    assert "diff()" in found.remedy
    stable = [dagopt.simulate_series(2, 300, random_state=k).data for k in range(10)]
    codes = [one.code for data in stable for one in dagopt.learn(data, "hc", lags=1).findings]
    assert "unit-root" not in codes
    x = walks["a"].to_numpy()
    design = np.column_stack([np.ones(298), x[1:-1], np.diff(x)[:-1]])
    slopes, left, *_ = np.linalg.lstsq(design, np.diff(x)[1:], rcond=None)
    error = np.sqrt(left[0] / 295 * np.linalg.inv(design.T @ design)[1, 1])
    for scale, offset in ((1.0, 0.0), (1e150, 0.0), (1e-150, 0.0), (1.0, 1e9)):
        moved = scale * x + offset
        assert dickey_fuller(moved, np.zeros(300, dtype=np.int64)) == pytest.approx(slopes[1] / error, rel=1e-4)


def test_series_that_explode_are_found() -> None:
    """Level and change are nearly the same column there; a series that shrinks to nothing has no unit root."""
    rng, run = np.random.default_rng(0), np.zeros(80, dtype=np.int64)
    growing = 1.5 ** np.arange(80)
    noisy = growing + rng.normal(size=80)
    assert dickey_fuller(growing, run) > 0
    assert dickey_fuller(noisy, run) > 0
    assert dickey_fuller(1.0 / growing, run) < -100
    assert dickey_fuller(np.ones(80), run) == -np.inf
    for weights in ([[1.9, 0.6], [-0.8, 1.2]], [[-1.6, 0.4], [0.3, 1.2]], [[1.4, 0.2], [0.1, 1.2]]):
        state, rows = np.array([1.0, 0.5]), []
        for _ in range(80):
            state = np.array(weights) @ state + rng.normal(size=2)
            rows.append(state)
        diagnosis = dagopt.examine(pd.DataFrame(rows, columns=["a", "b"]), lags=1)  # was once a singular matrix
    assert "unit-root" in {one.code for one in diagnosis.findings}


def test_one_series_has_its_own_past() -> None:
    """One column is enough with lags=, since its past columns are there too; without lags= it is refused."""
    rng = np.random.default_rng(0)
    values = np.zeros(300)
    for t in range(2, 300):
        values[t] = 0.9 * values[t - 1] - 0.5 * values[t - 2] + rng.normal()
    frame = pd.DataFrame({"year": range(300), "spots": values})
    result = dagopt.learn(frame, lags=2, time="year")
    assert sorted(result.graph.edges["lag"]) == [1, 2]
    with pytest.raises(InputError, match="at least two columns"):
        dagopt.learn(frame[["spots"]])


def test_beliefs_about_lagged_edges_have_their_log_odds() -> None:
    """A probability is turned into log-odds once, whatever its size, and x(t-*) is every lag."""
    made = dagopt.simulate_series(3, 100, random_state=0)
    believed = [("x2(t-1)", "x0", 0.8), ("x1(t-*)", "x0", 0.6), ("x1", "x2", 0.3)]
    table = dagopt.as_table(made.data, lags=2)
    odds = dagopt.Constraints(edge_prior=believed).resolve(table.names, table.lags).log_odds
    expected = np.zeros((9, 9))
    expected[5, 0], expected[[4, 7], 0], expected[1, 2] = np.log(4), np.log(1.5), np.log(3 / 7)
    assert odds == pytest.approx(expected)


def test_many_lags_are_not_copied() -> None:
    """Correlations of lagged views are those of the copied columns, and take less memory than the columns would."""
    values = np.random.default_rng(0).normal(size=(9_000, 3)).cumsum(axis=0) * 1e-3 + 1e6
    table = dagopt.as_table(values, lags=25)
    assert np.shares_memory(table.values[:, :3], table.values[:, 3:6])
    copied = ContinuousTable(table.names, np.ascontiguousarray(table.values), {}, table.lags)
    assert np.abs(table.correlation - copied.correlation).max() < 1e-13
    assert table.scale == pytest.approx(copied.scale, rel=1e-12)
    again = dagopt.as_table(values, lags=25)
    tracemalloc.start()
    try:
        assert again.correlation.shape == (78, 78)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < copied.values.nbytes
