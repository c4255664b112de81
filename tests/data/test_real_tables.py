"""Tables of the field, read and learned as a new user would: nothing is misread in silence."""

import pytest

import dagopt


def test_auto_mpg(shared):
    """Cars of both kinds of columns: kinds are said, the doctor stops at nothing, a graph is proven."""
    path = shared / "bench" / "tables" / "auto-mpg.data.mixed.max.3.categories.txt"
    diagnosis = dagopt.examine(path)
    assert not diagnosis.errors
    assert diagnosis.kinds["mpg"] == "continuous"
    assert diagnosis.kinds["origin"] == diagnosis.kinds["cylinders"] == "discrete"
    result = dagopt.learn(path)
    assert result.status == "optimal"
    assert result.problem.table.kind == "mixed"


def test_breast_cancer():
    """Ten means and a diagnosis: a mixed table without errors."""
    datasets = pytest.importorskip("sklearn.datasets")
    loaded = datasets.load_breast_cancer(as_frame=True)
    frame = loaded.data.iloc[:, :10].assign(diagnosis=["benign" if t else "malignant" for t in loaded.target])
    assert not dagopt.examine(frame).errors
    assert dagopt.learn(frame, "hc", score="ebic").graph.n_edges > 10
