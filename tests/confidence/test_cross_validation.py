"""Cross-validation: folds by hand, penalties compared honestly, every kind of table."""

import numpy as np
import pytest

import dagopt
from dagopt.errors import InputError
from made_tables import mixed_frame, patients


def test_a_fold_is_what_it_says():
    """Each part is scored by the network learned and fitted without it."""
    data, _ = dagopt.simulate(5, 60, 1.0, 0)
    found = dagopt.cross_validate(data, "hc", folds=3, random_state=4)
    parts = np.array_split(np.random.default_rng(4).permutation(60), 3)
    for part, row in zip(parts, found.folds.itertuples(), strict=True):
        rest = data.drop(index=part)
        result = dagopt.learn(rest, "hc")
        assert row.edges == result.graph.n_edges
        assert row.log_likelihood == pytest.approx(result.fit().log_likelihood(data.iloc[np.sort(part)]))
    assert found.score == pytest.approx(found.folds["log_likelihood"].sum() / 60)


def test_wine_prefers_a_penalty():
    """Every edge raises the likelihood of the rows that were used; needless ones lower that of the others."""
    datasets = pytest.importorskip("sklearn.datasets")
    wine = datasets.load_wine(as_frame=True).data.sample(60, random_state=0)
    scores = {name: dagopt.cross_validate(wine, "hc", score=name, folds=5) for name in ("loglik", "bic")}
    assert scores["loglik"].folds["edges"].min() == 78
    assert scores["bic"].score > scores["loglik"].score


@pytest.mark.parametrize("kind", ["mixed", "discrete", "incomplete"])
def test_every_kind_of_table(kind):
    """Mixed and discrete tables, and rows with missing cells, which are learned from but not held out."""
    data, options = {
        "mixed": (mixed_frame(1, n=4), {}),
        "discrete": (dagopt.datasets.load("asia", n_samples=200, random_state=0)[0], {}),
        "incomplete": (patients(200), {"missing": "em"}),
    }[kind]
    found = dagopt.cross_validate(data, "hc", folds=4, **options)
    assert np.isfinite(found.score)
    assert found.folds["rows"].sum() <= len(data)
    assert "over 4 parts" in str(found)


def test_what_cannot_be():
    """Too many parts, and fewer than two."""
    data, _ = dagopt.simulate(4, 20, 1.0, 0)
    with pytest.raises(InputError, match="at most 10 folds for 20 rows but got 11"):
        dagopt.cross_validate(data, folds=11)
    with pytest.raises(InputError, match="folds"):
        dagopt.cross_validate(data, folds=1)
