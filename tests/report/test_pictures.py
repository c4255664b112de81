"""What the pictures of the report are drawn from, against numpy and pandas, and what must not be in the page."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data.table import as_table
from dagopt.report.html import render_report
from dagopt.report.pictures import FEWEST_ROWS, column_data, column_pictures, edge_pictures, row_sample
from dagopt.report.view import page_view_of, weight_of
from made_results import drawn_levels, drawn_numbers, learned_from


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"group": rng.choice(["a", "b", "c"], 600), "x": rng.normal(size=600)})
    frame["y"] = 2 * frame["x"] + 3 * (frame["group"] == "b") + rng.normal(size=600)
    frame["z"] = np.where(frame["y"] + rng.normal(size=600) > 1, "yes", "no")
    return frame


def data_of(frame):
    columns, weights = column_data(as_table(frame))
    return columns, weights


def test_counts_are_those_of_a_histogram(mixed):
    """Inside the outer bins the counts are numpy's; cells with few rows are empty."""
    columns, weights = data_of(mixed)
    (spec,) = edge_pictures(columns, weights, [(1, 2)], None)
    x, y = (mixed[name].to_numpy() for name in ("x", "y"))
    bins, low, high = spec["bins"], *spec["x"]
    assert low == pytest.approx(np.sort(x)[:5].mean(), rel=1e-5)
    inside = np.histogram2d(np.clip(x, low, high), np.clip(y, *spec["y"]), bins, [[low, high], spec["y"]])[0].astype(
        int
    )
    inside[inside < FEWEST_ROWS] = 0
    differing = np.abs(np.array(spec["counts"]).reshape(bins, bins) - inside)
    assert (differing > FEWEST_ROWS).sum() == 0
    assert np.count_nonzero(differing) <= 2  # borders are written to six digits
    one = column_pictures(columns, weights)[1]
    assert one["mean"] == pytest.approx(x.mean(), rel=1e-4)
    assert one["quartiles"] == pytest.approx(np.quantile(x, [0.25, 0.5, 0.75]), rel=1e-4)


def test_the_fitted_line_is_freed_of_other_parents(mixed):
    """The line has the coefficient of the joint regression, and the means of the rest follow it."""
    fitted = dagopt.fit(mixed, [("group", "y"), ("x", "y"), ("y", "z")])
    columns, weights = data_of(mixed)
    place = {name: k for k, name in enumerate(mixed.columns)}
    (spec,) = edge_pictures(columns, weights, [(place["x"], place["y"])], fitted)
    design = np.column_stack([np.ones(600), mixed["x"], *(mixed["group"] == g for g in ("b", "c"))]).astype(float)
    slope = np.linalg.lstsq(design, mixed["y"].to_numpy(), rcond=None)[0][1]
    assert spec["partial"]
    assert (spec["line"][1] - spec["line"][0]) / (spec["x"][1] - spec["x"][0]) == pytest.approx(slope, rel=1e-4)
    line = np.interp([p[0] for p in spec["smooth"]], spec["x"], spec["line"])
    for (_, mean, error), expected in zip(spec["smooth"], line, strict=True):
        assert abs(mean - expected) < 5 * error


def test_levels_have_boxes_shares_and_mosaics(mixed):
    """Quartiles per level, shares per group of rows, counts per pair of levels."""
    columns, weights = data_of(mixed)
    place = {name: k for k, name in enumerate(mixed.columns)}
    boxes, shares, mosaic = edge_pictures(
        columns, weights, [(place[a], place[b]) for a, b in (("group", "y"), ("x", "z"), ("group", "z"))], None
    )
    for level, rows, points in boxes["rows"]:
        own = mixed.loc[mixed["group"] == level, "y"]
        assert rows == len(own)
        assert points == pytest.approx(own.quantile([0.1, 0.25, 0.5, 0.75, 0.9]), rel=1e-4)
    assert all(sum(part) == pytest.approx(1, abs=1e-4) for _, part in shares["rows"])
    assert shares["rows"][0][1][1] < shares["rows"][-1][1][1]  # yes becomes more frequent
    table = pd.crosstab(mixed["group"], mixed["z"])
    assert np.array(mosaic["counts"]).reshape(3, 2).tolist() == table.to_numpy().tolist()


def test_rare_levels_are_counted_together_and_few_rows_are_left_out():
    """A level with a single row has no count, and of thirty levels seven are named."""
    data, _ = drawn_levels()
    data.loc[0, "a"] = "only one"
    columns, weights = data_of(data)
    pictures = dict(zip(data.columns, column_pictures(columns, weights), strict=True))
    assert dict(zip(pictures["a"]["levels"], pictures["a"]["counts"], strict=True))["only one"] == 0
    assert pictures["wide"]["levels"][-1] == "23 others"
    assert sum(pictures["wide"]["counts"]) == 400


def test_no_row_is_in_the_page_unless_it_is_asked_for():
    """Without with_data no cell of the table is in the page; with it, some hundred rows are."""
    drawn = drawn_numbers()
    result = learned_from(drawn)
    values = np.asarray(drawn[0])
    page = render_report(result)
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', page, re.S)[1])
    found = {float(number) for number in re.findall(r"-?\d+\.\d+", json.dumps(payload["nodes"] + payload["edges"]))}
    written = {float(f"{v:.6g}") for v in values.ravel()}
    assert len(found & written) <= 5  # medians of an odd number of rows, and chance
    assert payload["sample"] is None
    assert "No row of the table is in this page" in page
    page = render_report(result, with_data=True)
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', page, re.S)[1])
    assert len(payload["sample"]) == 5
    assert set(payload["sample"][0]) <= {float(f"{v:.6g}") for v in values[:, 0]}
    assert "a sample of 300 rows" in page


def test_samples_are_drawn_from_merged_rows():
    """Merged rows of a discrete table are drawn by their weights."""
    columns, weights = data_of(pd.DataFrame({"a": ["x"] * 990 + ["y"] * 10, "b": ["u", "v"] * 500}))
    drawn = row_sample(columns, weights)
    assert len(drawn[0]) == 400
    assert 0 < sum(drawn[0]) < 12


def test_a_table_without_rows_has_no_pictures():
    """A covariance has no rows to draw."""
    result = dagopt.learn(covariance=[[1, 0.6], [0.6, 1]], n_samples=100, progress=False)
    assert page_view_of(result).pictures == ()
    assert "No data are in this page" in render_report(result)


@pytest.mark.parametrize(
    ("worth", "word"), [(None, None), (-1, "weak"), (2.9, "weak"), (3, "clear"), (9.9, "clear"), (10, "overwhelming")]
)
def test_the_scale_in_words(worth, word):
    """Three and ten points are the borders."""
    assert weight_of(worth) == word


def test_an_edge_is_worth_what_the_best_graph_without_it_loses():
    """Where the search for other graphs was made, that loss counts, which is at most that with the others kept."""
    data = dagopt.datasets.load("asia", n_samples=1000, random_state=2).data
    result = dagopt.learn(data, progress=False)
    view = page_view_of(result)
    regrets = result.regrets().set_index(["from", "to"])["neither"]
    assert any(not edge.kept for edge in view.edges)
    for edge in view.edges:
        lost = regrets[view.names[edge.tail], view.names[edge.head]]
        assert edge.worth >= lost - 1e-6
        if not edge.kept:
            assert edge.worth == pytest.approx(lost, abs=1e-6)
