"""Tables that break the model, as users send them: the finding, and the right graph after its remedy.

Random walks, outliers, repeated rows and lognormal chains are in test_row_checks.py and test_shape_checks.py.
"""

import decimal
import warnings

import numpy as np
import pandas as pd
import pytest

import dagopt


def findings(frame, **options):
    return {finding.code: finding for finding in dagopt.examine(frame, **options).findings}


def pairs(frame, **options):
    """Return the pairs of columns that are joined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dagopt.DataWarning)
        graph = dagopt.learn(frame, progress=False, **options).graph
    return {frozenset(edge) for edge in graph.directed_edges + graph.undirected_edges}


def chain(rows=300, seed=0):
    """Return a -> b -> c."""
    rng = np.random.default_rng(seed)
    a, noise, more = rng.normal(size=(3, rows))
    b = 0.8 * a + 0.6 * noise
    return pd.DataFrame({"a": a, "b": b, "c": 0.8 * b + 0.6 * more})


CHAIN = {frozenset("ab"), frozenset("bc")}


def test_macrodata_are_a_series_and_year_is_no_cause():
    """Levels of macrodata get a doubt beside the proof; changes without the index of time get no edge to it."""
    frame = pytest.importorskip("statsmodels.api").datasets.macrodata.load_pandas().data
    found = findings(frame)
    assert {"serial", "time-index"} <= set(found)
    assert found["time-index"].columns == ("year",)
    with pytest.warns(dagopt.DataWarning):
        result = dagopt.learn(frame, "hc", progress=False)
    assert "doubt   " in result.summary()
    changes = frame.drop(columns=["year", "quarter"]).diff().dropna()
    assert len(pairs(changes, method="hc")) < result.graph.n_edges - 5


@pytest.mark.parametrize("store", [str, decimal.Decimal, lambda value: f"{value:.6f}"], ids=["text", "Decimal", "form"])
def test_stored_numbers_are_numbers(store):
    """Numbers as text or Decimal are read as numbers, said so, and give the graph of the numbers."""
    frame = chain().map(store)
    assert "numbers-as-text" in findings(frame)
    assert pairs(frame) == CHAIN


def test_an_identifier_is_no_quantity():
    """An id that grows with a trend is found, and without it the graph is right."""
    frame = chain().assign(id=1000 + np.random.default_rng(1).permutation(300))
    frame["a"] += 0.01 * (frame["id"] - 1150)
    frame["b"] += 0.01 * (frame["id"] - 1150)
    found = findings(frame)
    assert "exclude=['id']" in found["identifier"].remedy
    assert any("id" in pair for pair in pairs(frame))
    assert pairs(frame, exclude=["id"]) >= CHAIN


def test_codes_are_no_quantities():
    """A nominal code with six float values hides its effect; as levels it is found."""
    rng = np.random.default_rng(2)
    code = rng.integers(0, 6, 400)
    effect = np.array([0.0, 2.0, -2.0, -2.0, 2.0, 0.0])[code]
    other = rng.normal(size=400)
    frame = pd.DataFrame({"code": code.astype(float), "x": effect + rng.normal(size=400), "y": other})
    found = findings(frame)
    assert "kind={'code': 'discrete'}" in found["few-values"].remedy
    assert frozenset(["code", "x"]) not in pairs(frame)
    assert pairs(frame, kind={"code": "discrete"}) == {frozenset(["code", "x"])}


def test_grades_keep_their_order():
    """Ten whole grades read as levels lose weak effects; the line on kinds says what to use, and that finds them."""
    rng = np.random.default_rng(3)
    latent = rng.normal(size=(250, 1)) * 0.5 + rng.normal(size=(250, 3))
    grades = pd.DataFrame(np.clip(np.round(2 * latent + 5), 1, 9).astype(int), columns=list("abc"))
    said = dagopt.examine(grades)
    assert "read as levels without an order (kind='ordinal' keeps it" in said.taken
    assert len(pairs(grades)) == 0
    assert len(pairs(grades, kind="ordinal")) >= 2


def test_a_time_and_its_event_are_found_together():
    """Both columns of a time that is cut off get an edge; one column, by a fixed time, has the one true cause."""
    rng = np.random.default_rng(4)
    dose, age = rng.normal(size=(2, 600))
    life, cut = rng.exponential(np.exp(0.8 * dose)), rng.exponential(1.5, 600)
    frame = pd.DataFrame({"dose": dose, "age": age, "time": np.minimum(life, cut), "event": (life <= cut).astype(int)})
    found = findings(frame)
    assert found["survival"].columns == ("time", "event")
    assert len(pairs(frame)) >= 2
    known = frame[(cut > 0.5) | (frame["event"] == 1)]
    fixed = known.assign(died=np.where(known["time"] <= 0.5, "yes", "no")).drop(columns=["time", "event"])
    assert "survival" not in findings(fixed)
    assert pairs(fixed) == {frozenset(["dose", "died"])}
