"""Transformations: normal scores against scipy, other rows by the function fitted, and refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dagopt
from dagopt.errors import InputError


def frame(seed=0, n_rows=300):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    return pd.DataFrame({"a": np.exp(a), "b": np.exp(0.7 * a + rng.normal(size=n_rows)), "c": rng.normal(size=n_rows)})


def test_rank_is_the_normal_score_of_scipy():
    values = dagopt.as_table(frame().round(1), transform="rank").values
    for column, found in zip(frame().round(1).to_numpy().T, values.T, strict=True):
        assert found == pytest.approx(stats.norm.ppf(stats.rankdata(column) / (len(column) + 1)))


def test_log_is_the_logarithm_and_a_mapping_changes_single_columns():
    table = dagopt.as_table(frame(), transform={"a": "log", "b": "rank"})
    assert table.values[:, 0] == pytest.approx(np.log(frame()["a"]))
    assert table.values[:, 2] == pytest.approx(frame()["c"])
    assert {name: own.how for name, own in table.transforms.items()} == {"a": "log", "b": "rank"}


def test_auto_changes_skewed_columns_only():
    table = dagopt.as_table(frame(), transform="auto")
    assert {name: own.how for name, own in table.transforms.items()} == {"a": "log", "b": "log"}
    heavy = frame().assign(c=np.random.default_rng(1).standard_t(2, 300))
    assert dagopt.as_table(heavy, transform="auto").transforms["c"].how == "rank"


def test_scores_of_ranks_do_not_depend_on_increasing_functions():
    """The best graph and its score stay the same, whatever increasing function is applied to a column."""
    plain = dagopt.learn(frame(), transform="rank", progress=False)
    bent = frame().assign(a=np.log(frame()["a"]), c=frame()["c"] ** 3)
    assert dagopt.learn(bent, transform="rank", progress=False).score == pytest.approx(plain.score)


def test_missing_cells_stay_missing():
    holes = frame().mask(np.random.default_rng(0).random((300, 3)) < 0.1)
    table = dagopt.as_table(holes, transform="rank", missing="em")
    assert (np.isnan(table.values) == holes.isna().to_numpy()).all()
    ranks = holes["a"].rank().to_numpy() / (holes["a"].notna().sum() + 1)
    assert table.values[:, 0] == pytest.approx(stats.norm.ppf(ranks), nan_ok=True)


def test_a_result_says_what_was_changed_and_applies_it_to_other_rows():
    result = dagopt.learn(frame(), transform={"a": "log", "b": "rank"}, progress=False)
    assert "transformed: 'a' by log, 'b' by rank" in result.summary()
    assert result.provenance.options["transform"] == "{'a': 'log', 'b': 'rank'}"
    assert result.log_likelihood(frame()) == pytest.approx(result.fit().log_likelihood(result.problem.table))
    fitted = result.fit(frame().head(100))
    assert fitted.log_likelihood(result.problem.table) != pytest.approx(result.log_likelihood(frame()))
    learner = dagopt.ExactDP(transformed={"a": "log", "b": "rank"}).fit(frame())
    assert learner.score_ == pytest.approx(result.score)


def test_saved_results_keep_the_transformation(tmp_path):
    result = dagopt.learn(frame(), transform="rank", progress=False)
    result.save(tmp_path / "result.json")
    loaded = dagopt.Result.load(tmp_path / "result.json")
    assert loaded.provenance.options == {"transform": "'rank'"}
    assert loaded.notes == result.notes


@pytest.mark.parametrize(
    "how, message",
    [
        ("log", "column 'c' has the value .* no logarithm; use transform={'c': 'rank'}"),
        ({"z": "log"}, "unknown column 'z'"),
        ("square", "expected transform= to be one of"),
    ],
)
def test_refusals_name_the_column_and_the_remedy(how, message):
    with pytest.raises(InputError, match=message):
        dagopt.as_table(frame(), transform=how)
