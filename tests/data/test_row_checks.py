"""Findings about rows: raised where rows depend on each other or repeat, and explained away by sorting."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dagopt
from dagopt.data.row_checks import change_points, lag_one, ranks_of


def codes(frame, **options):
    return {finding.code for finding in dagopt.examine(frame, **options).findings}


def walks(seed=0, n_rows=300, n=6):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n_rows, n)).cumsum(axis=0)).add_prefix("w")


def noise(seed=0, n_rows=300, n=5):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n_rows, n))).add_prefix("x")


@pytest.mark.parametrize("sizes", [[7], [3, 4], [2, 5], [1, 6]])
def test_moments_of_the_lag_one_sum_are_those_of_all_permutations(sizes):
    """The mean over all permutations within blocks is zero, and the spread near one."""
    values = stats.norm.ppf(np.arange(1, 8) / 8)
    starts = np.cumsum([0, *sizes[:-1]])
    blocks = np.split(values, starts[1:])
    found = [
        lag_one(np.concatenate(order), starts)
        for order in itertools.product(*(list(itertools.permutations(block)) for block in blocks))
    ]
    assert np.mean([z for _, z in found]) == pytest.approx(0.0, abs=1e-9)
    assert 0.7 < np.std([z for _, z in found]) < 1.3


def test_ranks_are_those_of_scipy():
    values = np.round(np.random.default_rng(0).normal(size=200), 1)
    assert ranks_of(values) == pytest.approx(stats.rankdata(values))


def test_random_walks_are_found_and_changes_are_fine():
    assert "serial" in codes(walks())
    changes = walks().diff().dropna()
    assert codes(changes) == set()
    assert dagopt.learn(walks(), progress=False).graph.n_edges >= 5
    assert dagopt.learn(changes, progress=False).graph.n_edges <= 1


def test_a_table_sorted_by_a_column_is_not_serially_dependent():
    """Sorting by a parent makes neighbours alike; comparing rows of the same value shows that they are independent."""
    frame = noise()
    frame["x1"] += 2 * frame["x0"]
    frame["x2"] -= 2 * frame["x0"]
    assert "serial" not in codes(frame.sort_values("x0"))
    group = pd.Series(np.repeat(list("abc"), 100))
    shifted = noise().add(group.map({"a": 0, "b": 2, "c": 5}), axis=0)
    assert "serial" not in codes(shifted.assign(group=group))
    found = {finding.code: finding for finding in dagopt.examine(shifted).findings}
    assert "serial" not in found
    assert "not in the table" in found["sorted"].message
    assert "(new blocks begin near data rows 101, 201)" in found["sorted"].message
    within = shifted.assign(group=group)
    assert dagopt.learn(within, groups="group", centre_groups=True).graph.n_edges == 0
    assert dagopt.learn(shifted, progress=False).graph.n_edges > 3


def test_blocks_of_wine_are_its_cultivars():
    """Without its class, the rows of wine are said to be sorted, at the right rows; a series is still called one."""
    datasets = pytest.importorskip("sklearn.datasets")
    wine = datasets.load_wine(as_frame=True)
    found = {finding.code: finding for finding in dagopt.examine(wine.data).findings}
    assert "serial" not in found
    assert np.flatnonzero(np.diff(wine.target)).tolist() == [58, 129]
    begun = found["sorted"].message.rpartition("rows ")[2]
    assert "60" in begun
    assert "131)" in begun
    assert "serial" in codes(walks())


def test_blocks_are_found_one_at_a_time():
    """The first cut is the largest step, by trying all; later ones divide the blocks."""
    values = np.concatenate([np.zeros(20), np.full(30, 5.0), np.full(25, 6.0)])[None, :]
    first, second, *_ = change_points(values, np.zeros(1, dtype=np.int64))
    assert first.tolist() == [0, 20]
    assert second.tolist() == [0, 20, 50]
    noisy = values + np.random.default_rng(0).normal(size=(2, 75))
    squares = [
        sum(noisy[:, part].var(axis=1).sum() * len(range(75)[part]) for part in (slice(k), slice(k, 75)))
        for k in range(8, 68)
    ]
    assert next(change_points(noisy, np.zeros(1, dtype=np.int64)))[1] == 8 + int(np.argmin(squares))


def test_walks_beside_an_index_of_time_are_found():
    year = np.repeat(np.arange(75), 4) + 1950
    found = dagopt.examine(walks().assign(year=year)).findings
    assert {"serial", "time-index"} <= {finding.code for finding in found}
    assert all("year" not in finding.columns for finding in found if finding.code == "serial")


def test_one_series_beside_its_times_is_found():
    """A year and one series that wanders: they would be joined. A series of noise is fine."""
    years = pd.DataFrame({"year": np.arange(1700, 2000)})
    finding = next(one for one in dagopt.examine(years.assign(w=walks(n=1)["w0"])).findings if one.code == "serial")
    assert "time='year'" in finding.remedy
    assert finding.columns == ("w",)
    assert "serial" not in codes(years.assign(x=noise(n=1)["x0"]))


def test_repeated_rows_are_found_and_their_distinct_rows_are_fine():
    frame = pd.concat([noise(n_rows=40)] * 25, ignore_index=True).sample(frac=1.0, random_state=0)
    assert "repeated-rows" in codes(frame)
    assert "repeated-rows" not in codes(frame.drop_duplicates())
    assert (
        dagopt.learn(frame, progress=False).graph.n_edges
        > dagopt.learn(frame.drop_duplicates(), progress=False).graph.n_edges
    )


def test_rounded_and_discrete_rows_repeat_by_chance():
    rng = np.random.default_rng(1)
    assert "repeated-rows" not in codes(pd.DataFrame(rng.normal(size=(2000, 2)).round(1), columns=list("ab")))
    levels = pd.DataFrame(rng.integers(0, 3, size=(500, 3))).add_prefix("x").astype(str)
    assert codes(levels) == set()
    assert "repeated-rows" in codes(pd.concat([levels] * 3, ignore_index=True).sample(frac=1.0, random_state=1))


def test_a_doubt_is_beside_the_proof_and_warned_of_once():
    with pytest.warns(dagopt.DataWarning, match="successive rows are alike") as caught:
        result = dagopt.learn(walks(), progress=False)
    assert [one.filename for one in caught if one.category is dagopt.DataWarning] == [__file__] * len(caught)
    assert result.status == "optimal"
    assert "doubt   successive rows are alike" in result.summary()
    from dagopt.results.proof import badge_of, proof_sentences

    words, kind = badge_of(result)
    assert words.startswith("Proven optimal, but the model is in doubt: successive rows are alike")
    assert kind == "bounded"
    assert any("successive rows are alike" in sentence for sentence in proof_sentences(result))
    with pytest.warns(dagopt.DataWarning, match="successive rows"):
        learner = dagopt.ExactDP().fit(walks())
    assert "serial" in {finding.code for finding in learner.result_.findings}


def test_the_doctor_names_lags_and_looks_at_series_with_them() -> None:
    """Without lags= the remedy is lags=; with it, each series is tested and successive rows are no finding."""
    (alike,) = [finding for finding in dagopt.examine(walks()).findings if finding.code == "serial"]
    assert "with lags=1, and time='...'" in alike.remedy
    codes = [finding.code for finding in dagopt.examine(walks(), lags=1).findings]
    assert "unit-root" in codes
    assert "serial" not in codes
