"""Tests of the penalty path: against exact solves at every penalty, and of its shape, limits and bad input."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import dagopt
from dagopt.confidence import penalty_path
from dagopt.confidence.learned_path import PenaltyPath
from dagopt.confidence.penalty_path import usual_grid
from dagopt.report import plot_path
from dagopt.results.result import Result

QUIET = {"progress": False}


@pytest.fixture(scope="module")
def numbers():
    """Return seven continuous columns."""
    return dagopt.simulate(7, 300, 1.5, random_state=4).data


@pytest.fixture(scope="module")
def levels():
    """Return six discrete columns."""
    return dagopt.simulate(6, 300, 1.5, random_state=4, kind="discrete").data


def exact(data, penalty, **options):
    """Return the proven best score at a penalty."""
    return dagopt.learn(data, "exact", score=float(penalty), **QUIET, **options).score


@pytest.mark.parametrize("kind", ["numbers", "levels"])
@pytest.mark.parametrize("options", [{}, {"max_parents": 1}])
def test_every_point_is_the_optimum(kind, options, request):
    """Alone, at its penalty, the exact method finds the same score; log-likelihood and parameters make it up."""
    data = request.getfixturevalue(kind)
    along = dagopt.path(data, n=7, **QUIET, **options)
    assert along.method == "exact"
    assert along.table["proven"].all()
    for row, graph, result in zip(along.table.itertuples(), along.graphs, along.results, strict=True):
        assert row.score == pytest.approx(exact(data, row.penalty, **options), rel=1e-10)
        assert result.score == pytest.approx(row.score, rel=1e-10)
        assert row.loglik == pytest.approx(dagopt.score(data, graph, "loglik"), rel=1e-10)
        assert row.score == pytest.approx(row.loglik - row.penalty * row.parameters, rel=1e-10)
        assert row.edges == graph.n_edges


@pytest.mark.few(3)
@pytest.mark.parametrize("method", ["auto", "order", "hc"])
@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_parameters_and_likelihood_rise_as_the_penalty_falls(kind, method, request):
    """So it is for the best of any set of DAGs; the score rises, and is convex in the penalty."""
    table = dagopt.path(request.getfixturevalue(kind), n=10, method=method, **QUIET).table
    assert (table["penalty"].diff().dropna() < 0).all()
    assert (table["parameters"].diff().dropna() >= 0).all()
    assert (table["loglik"].diff().dropna() >= -1e-9).all()
    assert (table["score"].diff().dropna() > -1e-9).all()
    slopes = table["score"].diff() / table["penalty"].diff()
    assert (slopes.dropna().diff().dropna() <= 1e-9).all()


def test_order_search_reaches_the_exact_path(numbers):
    """On seven columns, each point found from the one before is the optimum or within 0.2 % of it."""
    along = dagopt.path(numbers, n=8, method="order", **QUIET)
    best = [exact(numbers, penalty) for penalty in along.penalties]
    assert not along.table["proven"].any()
    np.testing.assert_allclose(along.table["score"], best, rtol=2e-3)
    assert (along.table["score"] <= np.array(best) + 1e-7).all()


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_the_usual_grid_begins_where_nothing_pays(kind, request):
    """At its largest penalty the empty graph is the best, just below it a single edge pays; BIC's is in the grid."""
    data = request.getfixturevalue(kind)
    table = dagopt.as_table(data)
    bic = 0.5 * np.log(len(data))
    grid = usual_grid(table, bic, 9, "paper")
    assert len(grid) == 10
    assert bic in grid
    assert grid[-1] == pytest.approx(bic / 4)
    names = table.names
    pairs = [(a, b) for a in names for b in names if a != b]
    empty, full = dagopt.score(data, [], float(grid[0])), dagopt.score(data, [], float(grid[0]) * 0.999)
    assert max(dagopt.score(data, [pair], float(grid[0])) for pair in pairs) <= empty + 1e-6
    assert max(dagopt.score(data, [pair], float(grid[0]) * 0.999) for pair in pairs) > full


def test_entries_tell_when_each_pair_is_joined(numbers):
    """Against the graphs themselves: the first penalty, the stretch at the end, and how many."""
    along = dagopt.path(numbers, n=12, **QUIET)
    skeletons = [{frozenset(edge) for edge in graph.directed_edges} for graph in along.graphs]
    for row in along.entries.itertuples():
        has = [frozenset((row[1], row.to)) in skeleton for skeleton in skeletons]
        assert row.enters == along.penalties[has.index(True)]
        assert row.points == sum(has)
        last = len(has)
        while last and has[last - 1]:
            last -= 1
        assert (row.stays == along.penalties[last]) if has[-1] else np.isnan(row.stays)
        at = len(has) - 1 - has[::-1].index(True)
        assert (row[1], row.to) in along.graphs[at].directed_edges
    assert len(along.entries) == len(set.union(*skeletons))
    assert (along.entries["enters"].diff().dropna() <= 0).all()


def test_penalties_of_ones_own_and_knowledge(levels):
    """Penalties are taken from the largest down, each once; a required edge is there at any price."""
    names = list(levels.columns)
    known = dagopt.Constraints(required=[(names[3], names[0])])
    along = dagopt.path(levels, [2, 0.5, 1000, 2], constraints=known, **QUIET)
    assert along.penalties.tolist() == [1000, 2, 0.5]
    assert along.graphs[0].directed_edges == [(names[3], names[0])]
    assert along.entries["points"].iloc[0] == 3


def test_words_files_and_pictures(numbers, tmp_path):
    """The summary has the range, the CSV file is the table, the picture a line a stretch and the marked penalty."""
    along = dagopt.path(numbers, n=6, **QUIET)
    assert "7 penalties from" in along.summary()
    assert "of 7 DAGs are proven optimal" in str(along)
    along.to_csv(tmp_path / "path.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "path.csv"), along.table)
    assert along.to_dict()["reference"] == pytest.approx(0.5 * np.log(300))
    ax = plot_path(along)
    pairs, joined = along.joined()
    stretches = sum(int((np.diff(np.concatenate([[0], has])) == 1).sum()) for has in joined.T.astype(int))
    assert len(ax.lines) == stretches + 1
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"{a} \N{EN DASH} {b}" for a, b in pairs]
    _, other = plt.subplots()
    assert along.plot(other) is other
    assert dagopt.path(numbers, [0.0, 3.0], **QUIET).plot() is not None
    assert dagopt.path(numbers, [3.0], **QUIET).plot() is not None
    plt.close("all")


def test_only_the_first_pairs_are_drawn():
    """A long list of pairs is cut, and the axis says so."""
    names = tuple(f"V{k}" for k in range(20))
    dag = np.triu(np.ones((20, 20), dtype=np.int8), k=1)
    result = Result(names, dag, 0.0, "converged", "hc")
    one = np.ones(1)
    ax = plot_path(PenaltyPath(names, one, (result,), one, one, 1.0, "hc", "converged", 0.0))
    assert "the first 80 of 190 pairs" in ax.get_xlabel()
    plt.close("all")


def test_the_end_of_time_returns_what_is_done(numbers, monkeypatch):
    """A wish to stop ends the path after the penalties done; with no time at all there are none."""
    made = penalty_path.make_score
    clocks = []
    monkeypatch.setattr(
        penalty_path, "Deadline", lambda limit: clocks.append(dagopt.deadline.Deadline(limit)) or clocks[0]
    )

    def stopping(table, score, **options):
        if score == 3.0:
            clocks[0].interrupt()
        return made(table, score, **options)

    monkeypatch.setattr(penalty_path, "make_score", stopping)
    along = dagopt.path(numbers, [9.0, 6.0, 3.0, 1.0], **QUIET)
    assert along.status == "interrupted"
    assert along.penalties.tolist() == [9.0, 6.0]
    assert "stopped by the user" in along.summary()
    monkeypatch.undo()
    none = dagopt.path(numbers, time_limit=1e-6, **QUIET)
    assert (len(none.results), none.status, len(none.entries), len(none.table)) == (0, "time_limit", 0, 0)
    assert "time limit" in none.summary()
    with pytest.raises(dagopt.InputError, match="nothing to draw"):
        none.plot()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "bdeu"}, "score 'bdeu' has no penalty to vary; use 'bic', 'aic' or a penalty"),
        ({"score": "bge"}, "score 'bge' has no penalty to vary"),
        ({"score": "bicc"}, "unknown score 'bicc'; did you mean 'bic'"),
        ({"penalties": []}, "expected penalties= to be at least one number from 0"),
        ({"penalties": [1, -2]}, r"expected penalties= to be at least one number from 0.*\[1.0, -2.0\]"),
        ({"penalties": [1, float("nan")]}, "expected penalties= to be at least one number from 0"),
        ({"penalties": ["much"]}, "expected penalties= to be a list of numbers >= 0"),
        ({"n": 1}, "expected n= to be a whole number >= 2 but got 1"),
        ({"method": "pc"}, "method 'pc' learns a class"),
        ({"method": "hc", "kicks": 3}, "method 'hc' has no option 'kicks'"),
    ],
)
def test_bad_input(numbers, options, message):
    """What is wrong is named."""
    with pytest.raises(dagopt.InputError, match=message):
        dagopt.path(numbers, **QUIET, **options)


def test_a_path_over_one_row_has_no_edges():
    """With one row even BIC has no penalty; the grid is still one of positive numbers."""
    found = dagopt.path({"a": ["x"], "b": ["y"]}, progress=False)
    assert (found.penalties > 0).all()
    assert (found.table.edges == 0).all()
