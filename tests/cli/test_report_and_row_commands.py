"""``dagopt report``, ``predict``, ``impute`` and ``sample``."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.cli import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("rows")
    data, dag = dagopt.simulate(4, 300, 1.5, random_state=1)
    data.to_csv(out / "data.csv", index=False)
    dagopt.write_graph(dag, out / "graph.dot")
    gaps = data.head(20).copy()
    gaps.iloc[::3, 1] = np.nan
    gaps.to_csv(out / "gaps.csv", index=False)
    return out


def test_a_report_of_a_learned_result_and_of_a_graph(folder, capsys):
    """A saved result comes with its proof, a graph of one's own without; other data are refused."""
    data = str(folder / "data.csv")
    assert run(["learn", data, "--out", str(folder / "out"), "-q"]) == 0
    saved, page = str(folder / "out" / "result.json"), folder / "again.html"
    assert run(["report", data, saved, "--out", str(page), "--with-data"]) == 0
    text = page.read_text()
    assert "Proven" in text
    assert "a sample of 300 rows" in text
    assert run(["report", data, str(folder / "graph.dot"), "--out", str(page)]) == 0
    assert "Nothing is proven" in page.read_text()
    capsys.readouterr()
    other = folder / "other.csv"
    dagopt.simulate(4, 300, 1.5, random_state=2).data.to_csv(other, index=False)
    assert run(["report", str(other), saved, "--out", str(page)]) == 2
    assert "that it was learned with" in capsys.readouterr().err


def test_predictions_are_those_of_the_fitted_network(folder, capsys):
    """Without --out the rows are printed; --proba has mean and standard deviation."""
    data, graph = folder / "data.csv", folder / "graph.dot"
    name = pd.read_csv(data).columns[0]
    assert run(["predict", str(data), str(graph), "--target", name]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    fitted = dagopt.fit(data, graph)
    assert printed[name].to_numpy() == pytest.approx(fitted.predict(data, name).to_numpy())
    assert run(["predict", str(data), str(graph), "--target", name, "--proba", "--out", str(folder / "p.csv")]) == 0
    assert list(pd.read_csv(folder / "p.csv")) == ["mean", "std"]
    capsys.readouterr()
    assert run(["predict", "-", str(graph), "--target", name]) == 2


def test_cells_are_filled_in_and_rows_drawn(folder, capsys):
    """Known cells stay; a seed draws the same rows."""
    data, graph, gaps = (str(folder / name) for name in ("data.csv", "graph.dot", "gaps.csv"))
    filled = folder / "filled.csv"
    assert run(["impute", data, graph, "--rows", gaps, "--out", str(filled)]) == 0
    before, after = pd.read_csv(gaps), pd.read_csv(filled)
    assert not after.isna().any(axis=None)
    assert after.iloc[:, 0].to_numpy() == pytest.approx(before.iloc[:, 0].to_numpy())
    capsys.readouterr()
    drawn = []
    for _ in range(2):
        assert run(["sample", data, graph, "--rows", "7", "--seed", "3"]) == 0
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1]
    assert len(drawn[0].splitlines()) == 8
