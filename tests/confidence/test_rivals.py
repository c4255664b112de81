"""Tests of ``result.rivals``: classes and edges against all DAGs, and what is said when there are too many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag
from dagopt.methods.exact import near_dags
from every_dag import classes, continuous_table, discrete_table, learned, parent_sets, problems, totals


@settings(max_examples=18, deadline=None)
@given(problem=problems(min_nodes=2), within=st.sampled_from([0.7131, 2.1417, 5.3199]))
def test_classes_and_edges_are_those_of_all_dags(problem, within):
    """The classes, their DAGs, and the edges that all, some or none have, by brute force."""
    n = problem.n_nodes
    scores, parents = totals(problem.score, problem.knowledge), parent_sets(n)
    inside = scores >= scores.max() - within
    found = learned(problem).rivals(within, progress=False)
    assert found.is_complete
    assert found.count == inside.sum()
    assert found.n_classes == len(found.classes) == len(np.unique(classes(n)[inside]))
    assert sum(one["dags"] for one in found.classes) == found.count
    assert len({one["cpdag"].tobytes() for one in found.classes}) == found.n_classes
    for one in found.classes:
        assert one["score"] == pytest.approx(problem.score.total(one["adjacency"]), rel=1e-9)
        np.testing.assert_array_equal(one["cpdag"], cpdag(one["adjacency"]))
    told = {(row[0], row[1]): row for row in found.edges.itertuples(index=False)}
    for i in range(n):
        for j in (j for j in range(n) if j != i):
            has = (parents[:, i] >> j & 1) == 1
            row = told.get((problem.names[j], problem.names[i]))
            assert (row is None) == (not has[inside].any())
            if row is not None:
                assert row.rivals == ("all" if has[inside].all() else "some")
                assert row.share == pytest.approx(has[inside].mean())
                assert row.loss_with == pytest.approx(scores.max() - scores[has].max(), abs=1e-7)
                if row.rivals == "some":
                    assert row.loss_without == pytest.approx(scores.max() - scores[~has].max(), abs=1e-7)


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_from_a_learned_result(kind, tmp_path):
    """The best rival is the learned optimum, for every kind of table; the drawing and the words work."""
    frame = pd.DataFrame(continuous_table(5, 3).values, columns=list("abcde"))
    if kind == "mixed":
        frame["f"] = np.where(frame["a"] + np.arange(len(frame)) % 3 > 1, "yes", "no")
    table = discrete_table(5, 3) if kind == "discrete" else frame
    result = dagopt.learn(table, "exact", progress=False)
    found = result.rivals(2.0, progress=False)
    assert found.best == pytest.approx(result.score, rel=1e-10)
    assert found.losses[0] == pytest.approx(0, abs=1e-7)
    assert cpdag(result.adjacency).tobytes() in {one["cpdag"].tobytes() for one in found.classes}
    assert f"{found.count:,}, all listed" in found.summary()
    assert found.to_dict()["n_classes"] == found.n_classes
    assert found.plot() is not None
    page = result.report(tmp_path / "report.html", rivals=found).read_text()
    assert "what else fits" in page
    assert "joined in rivals" in page


def test_too_many_are_counted_or_bounded(monkeypatch):
    """What is proven is said: the number, or that there are more than a number; the edges are known anyway."""
    result = dagopt.learn(continuous_table(6, 3), "exact", progress=False)
    whole = result.rivals(4.0, progress=False)
    some = result.rivals(4.0, most=10, progress=False)
    assert some.count == whole.count
    assert not some.is_complete
    assert "listed" in some.summary()
    monkeypatch.setattr(near_dags, "MOST_STEPS", 3)
    none = result.rivals(4.0, progress=False)
    assert none.count is None
    assert "not counted" in none.summary()
    columns = ["from", "to", "rivals", "loss_with", "loss_without"]
    both = (frame.sort_values(["from", "to"], ignore_index=True) for frame in (whole.edges, none.edges))
    pd.testing.assert_frame_equal(*(frame[columns] for frame in both))


def test_what_is_refused():
    """No data, no time and wrong numbers are refused with a remedy."""
    result = dagopt.learn(continuous_table(5, 3), "exact", progress=False)
    with pytest.raises(InputError, match="most="):
        result.rivals(3.0, most=0)
    with pytest.raises(InputError, match="within="):
        result.rivals(-3.0)
    with pytest.raises(InputError, match="time_limit="):
        result.rivals(3.0, time_limit=1e-9)


def test_more_columns_than_the_recursion_takes(monkeypatch):
    """Where the recursion does not fit, components of the families that cutting planes leave give the same answer."""
    from dagopt.confidence import rivals as module

    result = dagopt.learn(continuous_table(6, 3), "exact", progress=False)
    whole = result.rivals(2.0, progress=False)
    monkeypatch.setattr(module, "by_recursion", lambda *given: False)
    found = result.rivals(2.0, progress=False)
    assert (found.count, found.n_classes) == (whole.count, whole.n_classes)
    pd.testing.assert_frame_equal(
        *(frame.sort_values(["from", "to"], ignore_index=True) for frame in (found.edges, whole.edges)), atol=1e-6
    )


def test_what_is_left_undecided_is_said(monkeypatch):
    """If the graphs are not found, edges that all or none have are still proven; the others are called undecided."""
    from dagopt.confidence import rivals as module
    from dagopt.methods.branch_and_cut import near_components

    result = dagopt.learn(continuous_table(6, 3), "exact", progress=False)
    whole = result.rivals(2.0, progress=False)
    monkeypatch.setattr(module, "by_recursion", lambda *given: False)
    monkeypatch.setattr(near_components, "LARGEST", 2)
    monkeypatch.setattr(near_components, "MOST_PARTS", 1)
    found = result.rivals(2.0, progress=False)
    assert found.count is None
    assert found.bound >= whole.best - 1e-6
    assert "undecided" in found.summary()
    assert found.to_dict()["n_undecided"] > 0
    told, true = ({(row[0], row[1]): row.rivals for row in one.edges.itertuples(index=False)} for one in (found, whole))
    assert true.keys() <= told.keys()
    assert "undecided" in told.values()
    assert all(true.get(edge) == "all" for edge, said in told.items() if said == "all")
    assert all(true.get(edge) in ("all", "some") for edge, said in told.items() if said == "some")
