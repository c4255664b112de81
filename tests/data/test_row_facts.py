"""Weights and groups: equal to repeated rows, to numpy's and statsmodels' weighted figures, and to brute force."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data.resampling import n_units, resampled, rows_of_groups, units_of_table
from dagopt.data.row_facts import kish
from dagopt.errors import InputError
from dagopt.scores.build import make_score
from made_tables import mixed_frame
from naive import all_dags

ROWS = 90
RNG = np.random.default_rng(5)
TIMES = RNG.integers(0, 5, ROWS)  # frequency weights, some of them 0
SHARES = RNG.uniform(0.2, 3.0, ROWS)  # survey weights


def frame_of(kind):
    """Return a small table of a kind."""
    if kind == "continuous":
        return dagopt.simulate(4, ROWS, 1.5, 1).data
    if kind == "discrete":
        return dagopt.datasets.load("asia", n_samples=ROWS, random_state=3).data[["smoke", "bronc", "dysp", "lung"]]
    return mixed_frame(3, n=4, rows=ROWS)


def repeated(frame):
    """Return each row as often as its weight says."""
    return frame.loc[frame.index.repeat(TIMES)].reset_index(drop=True)


OF_KIND = {
    "continuous": ["bic", "aic", "ebic", "loglik", "bge", "bge-raw", "basis", 1.7],
    "discrete": ["bic", "aic", "ebic", "loglik", "bdeu", 1.7],
    "mixed": ["bic", "ebic", "cg", "basis", 1.7],
}


@pytest.mark.parametrize(("kind", "score"), [(kind, score) for kind, own in OF_KIND.items() for score in own])
def test_frequency_weights_are_repeated_rows(kind, score):
    """Every score of every DAG is that of the repeated rows, to the last digits."""
    frame = frame_of(kind)
    weighted = make_score(dagopt.as_table(frame, weights=TIMES), score, degree=2)
    plain = make_score(dagopt.as_table(repeated(frame)), score, degree=2)
    assert weighted.n_samples == plain.n_samples == TIMES.sum()
    for node in range(4):
        for parents in ([], [(node + 1) % 4], [j for j in range(4) if j != node]):
            if kind == "mixed" and score == "cg" and len(parents) > 1:
                continue
            assert weighted.local(node, parents) == pytest.approx(plain.local(node, parents), rel=1e-12)


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
@pytest.mark.parametrize("weights", [TIMES, SHARES], ids=["frequency", "survey"])
def test_the_best_of_all_dags(kind, weights):
    """The exact method finds the best of all 543 DAGs under the weighted score; rows count by their weights."""
    result = dagopt.learn(frame_of(kind), weights=weights)
    score = result.problem.score
    assert result.score == pytest.approx(max(score.total(dag) for dag in all_dags(4)), abs=1e-9)
    assert result.n_samples == (TIMES.sum() if weights is TIMES else round(SHARES.sum() ** 2 / (SHARES**2).sum()))
    assert result.status == "optimal"


def test_survey_weights_of_numbers_by_numpy():
    """The Gaussian score is that of the weighted covariance, with Kish's number of rows."""
    frame = frame_of("continuous")
    score = make_score(dagopt.as_table(frame, weights=SHARES), "bic")
    matrix = np.cov(frame.to_numpy().T, aweights=SHARES, ddof=0)
    rows = round(kish(SHARES))
    for node, parents in [(0, []), (1, [0]), (3, [0, 1, 2])]:
        given = matrix[np.ix_(parents, parents)]
        left = matrix[node, node] - matrix[node, parents] @ np.linalg.solve(given, matrix[parents, node])
        naive = -rows / 2 * (1 + np.log(2 * np.pi * left)) - len(parents) * np.log(rows) / 2
        assert score.local(node, parents) == pytest.approx(naive, rel=1e-12)


def test_survey_weights_of_levels_by_hand():
    """Counts are sums of weights, scaled to Kish's number of rows and rounded to a thousandth of a row."""
    frame = frame_of("discrete")
    score = make_score(dagopt.as_table(frame, weights=SHARES), "loglik")
    scaled = SHARES * kish(SHARES) / SHARES.sum()
    for node, parents in [(0, []), (2, [0]), (3, [0, 1, 2])]:
        names = [frame.columns[j] for j in parents]
        both = pd.Series(scaled).groupby([frame[name] for name in [*names, frame.columns[node]]]).sum()
        alone = pd.Series(scaled).groupby([frame[name] for name in names]).sum() if names else None
        naive = (both * np.log(both)).sum() - (
            scaled.sum() * np.log(scaled.sum()) if alone is None else (alone * np.log(alone)).sum()
        )
        assert score.local(node, parents) == pytest.approx(naive, abs=0.05)


@pytest.mark.parametrize("weights", [TIMES, SHARES], ids=["frequency", "survey"])
def test_parameters_by_statsmodels(weights):
    """Equations are weighted least squares; those of frequency weights have the standard errors of repeated rows."""
    models = pytest.importorskip("statsmodels.api")
    frame = frame_of("continuous")
    fitted = dagopt.fit(frame, [("X0", "X2"), ("X1", "X2")], weights=weights).parameters
    own = fitted[fitted["node"] == "X2"]["estimate"].to_numpy()
    design = models.add_constant(frame[["X0", "X1"]])
    assert own == pytest.approx(models.WLS(frame["X2"], design, weights=weights).fit().params.to_numpy(), rel=1e-9)
    if weights is TIMES:
        again = repeated(frame)
        plain = models.OLS(again["X2"], models.add_constant(again[["X0", "X1"]])).fit()
        errors = fitted[fitted["node"] == "X2"]["standard_error"].to_numpy()
        assert errors == pytest.approx(plain.bse.to_numpy(), rel=1e-9)


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_everything_after_learning_is_that_of_repeated_rows(kind):
    """Parameters, likelihoods of other rows and effects."""
    frame, again = frame_of(kind), repeated(frame_of(kind))
    first, last = frame.columns[[0, -1]]
    dag, table = [(first, last), (first, frame.columns[1])], dagopt.as_table(frame, weights=TIMES)
    own, other = dagopt.fit(table, dag), dagopt.fit(again, dag)
    numbers = [one.parameters.select_dtypes(float).to_numpy() for one in (own, other)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-5, abs=1e-6)
    assert own.log_likelihood(frame) == pytest.approx(other.log_likelihood(frame), rel=1e-7)
    assert own.log_likelihood(table) == pytest.approx(other.log_likelihood(again), rel=1e-7)
    effects = [dagopt.effect(data, dag, first, last) for data in (table, again)]
    figures = [one.table[["effect", "standard_error"]].to_numpy() for one in effects]
    assert figures[0] == pytest.approx(figures[1], rel=1e-6)


@pytest.mark.few(6)
@pytest.mark.parametrize("method", ["hc", "tabu", "order", "pc", "mmhc", "branch-and-cut"])
@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_methods_take_weights(method, kind):
    """Other methods, tests of independence included, give the graph of the repeated rows."""
    frame = frame_of(kind)
    first, second = dagopt.learn(frame, method, weights=TIMES), dagopt.learn(repeated(frame), method)
    assert (first.cpdag_adjacency == second.cpdag_adjacency).all()


def test_tests_of_independence_count_survey_weights():
    """Weights that are all the same change nothing, whatever their size."""
    frame = dagopt.datasets.load("asia", n_samples=600, random_state=0).data
    plain = dagopt.learn(frame, "pc")
    same = dagopt.learn(frame, "pc", weights=np.full(600, 0.3))
    assert (plain.adjacency == same.adjacency).all()
    assert same.n_samples == 600


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_missing_cells_by_em(kind):
    """EM with weights is EM of repeated rows, and as many rows count."""
    frame = frame_of(kind)
    frame.iloc[::7, 0] = np.nan
    frame.iloc[3::11, 2] = np.nan
    first = dagopt.as_table(frame, weights=TIMES, missing="em")
    second = dagopt.as_table(repeated(frame), missing="em")
    assert first.n_samples == second.n_samples
    scores = [make_score(table, "bic").local(2, [0, 1]) for table in (first, second)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-7)


@pytest.mark.parametrize("options", [{"transform": "rank"}, {"discretize": "quantile"}, {"missing": "drop"}])
def test_reading_counts_weights(options):
    """Ranks and cuts are those of repeated rows, and rows that are left out take their weights with them."""
    frame = frame_of("continuous")
    if "missing" in options:
        frame.iloc[::9, 1] = np.nan
    scores = [
        make_score(dagopt.as_table(data, **options, **more), "bic").local(1, [0])
        for data, more in ((frame, {"weights": TIMES}), (repeated(frame), {}))
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


def test_a_column_of_weights_is_not_part_of_the_graph(tmp_path):
    """By name in a frame or a file, also with chosen columns; whole numbers can be told to be survey weights."""
    frame = frame_of("continuous").assign(w=TIMES)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for data in (frame, tmp_path / "rows.csv"):
        assert dagopt.as_table(data, weights="w").names == ("X0", "X1", "X2", "X3")
        assert dagopt.as_table(data, weights="w", columns=["X0", "X2"]).n_samples == TIMES.sum()
    assert dagopt.as_table(frame, weights="w", weighting="survey").n_samples == round(
        kish(TIMES[TIMES > 0].astype(float))
    )
    assert "survey weights: 90 rows count as" in dagopt.learn(frame, weights=SHARES).summary()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": "v"}, "unknown column 'v'"),
        ({"weights": [1.0, 2.0]}, "one entry per row, 90, but got 2"),
        ({"weights": -np.ones(ROWS)}, "has -1 in data row 1"),
        ({"weights": np.zeros(ROWS)}, "so no row counts"),
        ({"weights": 3.5}, "a column of the data or one entry per row"),
        ({"weights": SHARES, "weighting": "frequency"}, "use weighting='survey'"),
        ({"groups": [None] * 3 + [1] * 87}, "the group of data row 1 is missing"),
        ({"centre_groups": True}, "no groups= are given"),
    ],
)
def test_bad_weights_and_groups(options, said):
    """The error names the row, the value and the remedy."""
    with pytest.raises(InputError, match=said):
        dagopt.learn(frame_of("continuous"), **options)


def test_what_cannot_take_weights_says_so():
    """BDeu and cg need whole rows, structural EM and interventions rows without weights, a Table has its own."""
    with pytest.raises(InputError, match="'bdeu' needs whole counts but rows have survey weights"):
        dagopt.learn(frame_of("discrete"), score="bdeu", weights=SHARES)
    with pytest.raises(InputError, match="'cg' counts whole rows"):
        dagopt.learn(frame_of("mixed"), score="cg", weights=SHARES)
    holes = frame_of("discrete").astype(object)
    holes.iloc[0, 0] = None
    with pytest.raises(InputError, match="without regard to weights="):
        dagopt.learn(holes, weights=TIMES, missing="em")
    with pytest.raises(InputError, match="interventions= cannot be combined"):
        dagopt.learn(frame_of("continuous"), weights=TIMES, interventions=["X0"] * ROWS)
    with pytest.raises(InputError, match="give weights= to as_table"):
        dagopt.learn(dagopt.as_table(frame_of("continuous")), weights=TIMES)


def test_estimators_take_weights_and_groups():
    """``fit`` has them under scikit-learn's names."""
    frame = frame_of("continuous")
    weighted = dagopt.HillClimbing().fit(frame, sample_weight=TIMES)
    assert weighted.score_ == pytest.approx(dagopt.learn(repeated(frame), "hc").score, rel=1e-12)
    assert weighted.score(frame, sample_weight=TIMES) == pytest.approx(weighted.score(repeated(frame)), rel=1e-9)
    units = np.arange(ROWS) // 3
    within = dagopt.HillClimbing(centre_groups=True).fit(frame, groups=units)
    assert within.result_.n_samples == ROWS - 29


GROUPS = np.repeat(np.arange(30), 3)


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
@pytest.mark.parametrize("replace", [True, False])
def test_whole_groups_are_drawn(kind, replace):
    """A resample has all rows of each group drawn, as often as it was drawn."""
    frame = frame_of(kind)
    table = dagopt.as_table(frame, groups=GROUPS)
    assert n_units(table) == 30
    drawn = resampled(table, np.random.default_rng(1), 20, replace=replace)
    assert drawn.n_samples == 60
    units = np.random.default_rng(1).choice(30, 20, replace=replace)
    rows = np.concatenate([np.flatnonzero(unit == GROUPS) for unit in units])
    direct = dagopt.as_table(frame.iloc[rows])
    if kind != "discrete":
        direct = dagopt.as_table(frame.iloc[rows].reset_index(drop=True))
    scores = [make_score(one, "loglik").local(1, [0]) for one in (drawn, direct)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)


def test_rows_of_groups_by_hand():
    """A group drawn twice has its rows twice, as two groups."""
    rows, groups = rows_of_groups(np.array([0, 0, 1, 2]), np.array([2, 0, 0]))
    assert rows.tolist() == [0, 0, 1, 1, 3]
    assert groups.tolist() == [0, 2, 0, 2, 1]


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_parts_of_groups_are_whole(kind):
    """The units of a table divide its rows; with survey weights each row keeps its own."""
    frame = frame_of(kind)
    for options, units in (({"groups": GROUPS}, 30), ({"weights": SHARES}, 90), ({"weights": TIMES}, TIMES.sum())):
        table = dagopt.as_table(frame, **options)
        assert n_units(table) == units
        everything = units_of_table(table, np.arange(units))
        scores = [make_score(one, "bic").local(1, [0]) for one in (table, everything)]
        assert scores[0] == pytest.approx(scores[1], rel=1e-9)


def test_bootstrap_and_cross_validation_by_group():
    """Rows that repeat within groups: bootstrapped by row an edge looks certain, by group it does not."""
    rng = np.random.default_rng(0)
    few = rng.normal(size=(12, 3))
    unit = np.repeat(np.arange(12), 25)
    frame = pd.DataFrame(few[unit] + 0.1 * rng.normal(size=(300, 3)), columns=list("abc")).assign(unit=unit)
    by_row = dagopt.bootstrap(frame, 40, columns=list("abc"))
    by_group = dagopt.bootstrap(frame, 40, groups="unit")
    assert by_group.summary().startswith("40 of 40 resamples of 12 groups, drawn with replacement")
    assert "groups" in by_group.to_dict()
    weakest = [found.edges[found.edges["learned"]]["strength"].min() for found in (by_row, by_group)]
    assert weakest[0] > 0.9 > weakest[1]
    parts = dagopt.cross_validate(frame, "hc", folds=4, groups="unit")
    assert (parts.folds["rows"] == 75).all()
    assert parts.score < dagopt.cross_validate(frame, "hc", folds=4, columns=list("abc")).score
    with pytest.raises(InputError, match="at most 6 folds for 12 groups"):
        dagopt.cross_validate(frame, groups="unit", folds=10)


def test_means_of_groups_are_removed():
    """The score is that of rows less their groups' means, with one row fewer per further group; by pandas."""
    frame = frame_of("continuous").assign(unit=GROUPS)
    frame.iloc[:, :4] += 1e6 * np.random.default_rng(0).normal(size=(30, 4))[GROUPS]
    score = make_score(dagopt.as_table(frame, groups="unit", centre_groups=True), "bic")
    within = frame.groupby("unit").transform(lambda own: own - own.mean())
    assert score.n_samples == 61
    gain = score.local(1, [0]) - score.local(1, [])
    naive = -61 / 2 * np.log(1 - within.corr().iloc[0, 1] ** 2) - np.log(61) / 2
    assert gain == pytest.approx(naive, rel=1e-6)
    with pytest.raises(InputError, match="column 'V1' is discrete and has no means"):
        dagopt.learn(frame_of("mixed"), groups=GROUPS, centre_groups=True)
    with pytest.raises(InputError, match="column 'x' is constant within every group"):
        dagopt.learn(frame.assign(x=GROUPS**2), groups="unit", centre_groups=True)


def test_differences_between_units_make_no_edges_within():
    """Columns that are independent within units but share levels of units: the doctor says so, and the remedy works."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), 8)
    levels = rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=(40, 4))
    frame = pd.DataFrame(levels[unit] + rng.normal(size=(320, 4)), columns=list("abcd"))
    frame["d"] += frame["c"]
    frame = frame.assign(patient=unit).sample(frac=1, random_state=0, ignore_index=True)
    found = {finding.code: finding for finding in dagopt.examine(frame).findings}
    assert "identifier" not in found
    assert "groups='patient'" in found["units"].remedy
    with pytest.warns(dagopt.DataWarning, match="rows of one group are alike"):
        between = dagopt.learn(frame, groups="patient")
    within = dagopt.learn(frame, groups="patient", centre_groups=True)
    assert between.graph.n_edges > 1
    assert [set(edge) for edge in within.graph.directed_edges + within.graph.undirected_edges] == [{"c", "d"}]
    assert not within.findings
