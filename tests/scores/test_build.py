"""Scores by name, and the score of a DAG in whatever form it comes."""

import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data.chance import chance_edges
from dagopt.data.table import as_table
from dagopt.errors import InputError
from dagopt.scores import (
    SCORES,
    BDeuScore,
    BGeScore,
    GaussianScore,
    MultinomialScore,
    make_score,
    score,
    score_table,
)
from made_tables import mixed_table


@pytest.fixture
def frame(rng):
    """Return a chain of three continuous columns."""
    smoke = rng.normal(size=100)
    lung = smoke + rng.normal(size=100)
    return pd.DataFrame({"smoke": smoke, "lung": lung, "xray": lung + rng.normal(size=100)})


@pytest.fixture
def levels(frame):
    """Return the same columns as levels."""
    return (frame > 0).astype(int)


@pytest.mark.parametrize(
    "name, continuous, discrete",
    [
        ("bic", GaussianScore, MultinomialScore),
        ("aic", GaussianScore, MultinomialScore),
        ("loglik", GaussianScore, MultinomialScore),
        (2.5, GaussianScore, MultinomialScore),
        (0, GaussianScore, MultinomialScore),
        (np.float64(1.5), GaussianScore, MultinomialScore),
        ("2.5", GaussianScore, MultinomialScore),
        ("bge", BGeScore, None),
        ("bdeu", None, BDeuScore),
    ],
)
def test_names_make_scores_of_their_kind(name, continuous, discrete, frame, levels):
    """Each name makes the score of the table's kind, or says which kind it needs."""
    for data, expected in ((frame, continuous), (levels, discrete)):
        if expected is None:
            needs = "discrete" if name == "bdeu" else "continuous"
            with pytest.raises(InputError, match=f"score '{name}' needs {needs} data"):
                make_score(as_table(data), name)
        else:
            assert type(make_score(as_table(data), name)) is expected


@pytest.mark.parametrize("name, cost", [("bic", 0.5 * math.log(100)), ("aic", 1.0), ("loglik", 0.0), (3, 3.0)])
def test_named_penalties(name, cost, frame, levels):
    """BIC costs log(N) / 2 a parameter, AIC one, the likelihood nothing, a number itself."""
    assert make_score(as_table(frame), name).penalty(0, [1, 2]) == pytest.approx(2 * cost)
    assert make_score(as_table(levels), name).penalty(0, [1, 2]) == pytest.approx(4 * cost)


def test_every_listed_name_is_known(frame, levels):
    """Each name in SCORES makes a score for at least one kind of data."""
    for name in SCORES:
        table = {"bdeu": as_table(levels), "cg": mixed_table(0)}.get(name, as_table(frame))
        assert math.isfinite(make_score(table, name).local(0))
        assert make_score(table, name.upper()).label == make_score(table, name).label


def test_ebic_is_bic_less_log_n_for_each_edge(frame, levels):
    """The surcharge of 2 γ log n with γ = 1/2, for each kind of data, and none without parents."""
    for table in (as_table(frame), as_table(levels), mixed_table(0)):
        bic, ebic = make_score(table, "bic"), make_score(table, "ebic")
        for parents in ([], [1], [1, 2]):
            surcharge = len(parents) * math.log(len(table.names))
            assert bic.local(0, parents) - ebic.local(0, parents) == pytest.approx(surcharge, abs=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
@pytest.mark.parametrize(("columns", "rows"), [(5, 1000), (30, 200), (60, 2000)])
def test_auto_is_ebic_if_bic_would_add_edges_by_chance(kind, columns, rows):
    """The count of edges by chance decides, except for discrete data, and the score says so."""
    levels = {} if kind == "gaussian" else {"levels": 2}
    table = as_table(dagopt.simulate(columns, rows, 1.0, 0, kind=kind, **levels).data)
    expected = chance_edges(table.sizes, 0.5 * math.log(rows))
    assert (expected > 1) == (columns > 5)
    is_ebic = expected > 1 and kind != "discrete"
    auto, named = make_score(table), make_score(table, "ebic" if is_ebic else "bic")
    assert auto.label == named.label
    assert auto.local(0, [1, 2]) == named.local(0, [1, 2])
    assert auto.reason == (
        f"score: ebic, because bic would add about {expected:.0f} edges by chance" if is_ebic else ""
    )
    assert not named.reason


def test_everything_has_the_default_of_learn():
    """Resamples, parts, the path, the estimators and the interventions use the score that ``learn`` chooses."""
    data = dagopt.simulate(12, 60, 1.0, 0).data
    learned = dagopt.learn(data, "hc")
    assert learned.score_label.startswith("EBIC")
    assert learned.provenance.score == "EBIC"
    assert any(note.startswith("score: ebic, because bic would add about") for note in learned.notes)
    assert dagopt.score(data, learned.dag) == pytest.approx(learned.score)
    sure = dagopt.bootstrap(data, 2, method="hc", fraction=0.5)
    assert sure.result.score == pytest.approx(learned.score)
    assert dagopt.cross_validate(data, "hc", folds=2).label.startswith("EBIC")
    assert dagopt.path(data, n=3, method="hc").reference == make_score(as_table(data)).parameter_cost
    assert dagopt.HillClimbing().fit(data).score_ == pytest.approx(learned.score)
    told = dagopt.learn(data, "hc", interventions=[None] * 60)
    assert told.score == pytest.approx(learned.score)
    assert told.provenance.score == "EBIC"
    asked = dagopt.learn(data, "hc", score="bic")
    assert asked.score_label.startswith("BIC")
    assert not any(note.startswith("score:") for note in asked.notes)


def test_a_path_of_mixed_columns_marks_bic():
    """The cost of an edge under EBIC is no penalty of a parameter, so that a path cannot vary it."""
    data = dagopt.simulate(20, 60, 1.0, 0, kind="mixed", levels=2).data
    assert make_score(as_table(data)).edge_cost > 0
    assert dagopt.path(data, n=3, method="hc").reference == pytest.approx(0.5 * math.log(60))
    with pytest.raises(InputError, match="score 'ebic' has more or less than a penalty to vary"):
        dagopt.path(data, n=3, method="hc", score="ebic")


@pytest.mark.parametrize(
    "name, message",
    [
        ("bicc", "unknown score 'bicc'; did you mean 'bic'"),
        ("zzz", "unknown score 'zzz'; there are: 'auto', 'bic', 'aic', 'loglik', 'ebic', 'cg', 'basis'"),
        (-1, "penalty >= 0 as the score but got -1"),
        (math.nan, "penalty >= 0 as the score but got nan"),
        ("inf", "penalty >= 0 as the score but got inf"),
        (None, "name of a score .* or a penalty >= 0 but got None"),
        (True, "name of a score .* or a penalty >= 0 but got True"),
    ],
)
def test_what_is_no_score(name, message, frame):
    """An unknown name gets the nearest one, and a penalty must be a number from zero on."""
    with pytest.raises(InputError, match=message):
        make_score(as_table(frame), name)


def test_what_is_no_convention(frame):
    """A convention that does not exist is refused with those that do, whatever the data."""
    for data in (frame, (frame > 0).astype(int)):
        with pytest.raises(InputError, match="convention= to be one of 'paper', 'bnlearn' but got 'R'"):
            make_score(as_table(data), convention="R")


EDGES = [("smoke", "lung"), ("lung", "xray")]


def _forms(tmp_path):
    array = np.zeros((3, 3), dtype=int)
    array[0, 1] = array[1, 2] = 1
    csv = tmp_path / "dag.csv"
    csv.write_text("from,to\nsmoke,lung\nlung,xray\n")
    other_order = nx.DiGraph()
    other_order.add_nodes_from(["xray", "smoke", "lung"])
    other_order.add_edges_from(EDGES)
    return {
        "networkx": nx.DiGraph(EDGES),
        "networkx, other order": other_order,
        "names": EDGES,
        "positions": [(0, 1), (1, 2)],
        "array": array,
        "booleans": array.astype(bool),
        "path": csv,
        "text of a path": str(csv),
        "model string": "[smoke][lung|smoke][xray|lung]",
    }


def test_a_dag_in_any_form_has_one_score(frame, tmp_path):
    """Graph, edge list, positions, array and file of one DAG all have the score of its parent sets."""
    local = make_score(as_table(frame)).local
    expected = local(0) + local(1, [0]) + local(2, [1])
    for form in _forms(tmp_path).values():
        assert score(frame, form) == pytest.approx(expected, rel=1e-12)
        table = score_table(frame, form)
        assert table["score"].sum() == pytest.approx(expected, rel=1e-12)
        assert list(table["parents"]) == ["", "smoke", "lung"]


def test_the_order_of_the_data_does_not_matter(frame):
    """The columns of the data may come in any order."""
    assert score(frame[["xray", "smoke", "lung"]], EDGES) == pytest.approx(score(frame, EDGES), rel=1e-12)


def test_columns_without_edges(frame):
    """Columns that the DAG does not name have no edges, and an empty edge list is the empty DAG."""
    local = make_score(as_table(frame)).local
    assert score(frame, [("lung", "xray")]) == pytest.approx(local(0) + local(1) + local(2, [1]))
    assert score(frame, []) == pytest.approx(sum(local(i) for i in range(3)))


def test_options_reach_the_table_and_the_score(frame, levels):
    """Options of the table and of the score are passed on."""
    chosen = score(frame, EDGES[:1], "bge", equivalent_sample_size=3.0, columns=["smoke", "lung"])
    assert chosen == pytest.approx(BGeScore(as_table(frame[["smoke", "lung"]]), 3.0).total(np.array([[0, 1], [0, 0]])))
    numbers = score(levels, EDGES, kind="continuous", convention="bnlearn")
    assert numbers == pytest.approx(score(levels.astype(float), EDGES, convention="bnlearn"))
    assert numbers != pytest.approx(score(levels, EDGES, kind="continuous"))
    assert score(frame, EDGES, discretize="quantile", bins=2) < 0


@pytest.mark.parametrize(
    "dag, message",
    [
        ([("smok", "lung")], "'smok'; did you mean 'smoke'"),
        (nx.DiGraph([("smoke", "cancer")]), "'cancer'"),
        ([(0, 7)], "'7'"),
        ([("smoke", "lung"), ("lung", "xray"), ("xray", "smoke")], "cycle smoke -> lung -> xray -> smoke"),
        ([("smoke", "lung"), ("lung", "smoke")], "'smoke' - 'lung'"),
        ([("smoke", "smoke")], "'smoke'"),
        (np.zeros((2, 2)), r"\(3, 3\)"),
        ("no-such-file.csv", "no-such-file.csv"),
    ],
)
def test_what_is_no_dag_on_these_columns(dag, message, frame):
    """An unknown node, a cycle or a wrong shape is named."""
    with pytest.raises(InputError, match=message):
        score(frame, dag)


def test_score_asks_the_doctor():
    """A column that others determine has no defined score, in ``score`` as in ``learn``."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2))
    data = {"a": values[:, 0], "b": values[:, 1], "c": values.sum(axis=1)}
    with pytest.raises(InputError, match="linear combination of"):
        score(data, [("a", "c"), ("b", "c")])
    with pytest.raises(InputError, match="rows are too few for 2 parents"):
        score({name: column[:3] for name, column in data.items()}, [("a", "c"), ("b", "c")])


def test_a_penalty_that_would_overflow_is_refused():
    """No edge pays at a penalty of 1e308, and sums of such penalties are no numbers."""
    with pytest.raises(InputError, match="penalty <= 1e"):
        make_score(as_table({"a": ["x", "y"], "b": ["x", "y"]}), 1e308)
