"""Result files: lines, graphs as text, appending, torn lines, and which record of a run counts."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from dagopt.errors import InputError
from dagopt.graph.metrics import compare
from dagopt.scores.build import make_score
from experiments.figures import gap
from experiments.instances import Cell, load
from experiments.measure import measure
from experiments.records import Record, Run, graph_text, parse_graph
from experiments.store import append, best_of, bundled_records, read_folder, results_in_use

RUN = Run("n15-N5000-d0.5", 3, "hc", {"restarts": 2}, 60.0)


def made(run=RUN, **outcome):
    """Return a record with an answer."""
    return Record.of(run, **({"status": "converged", "score": -1.0, "seconds": 1.0} | outcome))


def test_a_graph_survives_as_text(rng):
    """Random PDAGs, also empty and complete ones, come back from their text."""
    for share in (0.0, 0.1, 0.5, 1.0):
        adjacency = (rng.random((13, 13)) < share).astype(np.int8)
        np.fill_diagonal(adjacency, 0)
        text = graph_text(adjacency)
        assert np.array_equal(parse_graph(text, 13), adjacency)
        assert len(text.split()) == int(np.triu(adjacency | adjacency.T).sum())
    for text in ("0>13", "0=1", "a>b"):
        with pytest.raises(InputError, match="expected edges"):
            parse_graph(text, 13)


def test_a_record_survives_as_a_line():
    """What is None is left out, times keep four digits, and the line is plain text without blanks at its end."""
    record = made(score=-103242.05825733, seconds=0.0123456789, shd=0, graph="0>1", machine="2 cores, Ω")
    line = record.to_line()
    assert line.endswith("}\n")
    assert line.isascii()
    assert "bound" not in json.loads(line)
    assert Record.from_line(line) == replace(record, score=-103242.0583, seconds=0.01235)
    of_a_set = made(Run("lucas", None, "hc"))
    assert Record.from_line(of_a_set.to_line()).key == of_a_set.key == ("lucas", None, "hc", "{}")


def test_an_error_is_told_without_folders():
    """Paths are cut to their last part, line breaks and length are."""
    error = "ImportError: no 'x' from '/home/me/lib/dagopt/x.py'\n(C:\\Users\\me\\y.py) " + 400 * "z"
    record = Record.without_answer(RUN, "failed", error)
    assert record.error.startswith("ImportError: no 'x' from 'x.py' (y.py) zzz")
    assert len(record.error) <= 300
    assert not record.ended


def test_appending_from_many_threads_loses_nothing(tmp_path):
    """Lines of several writers are all there and whole."""
    records = [made(replace(RUN, seed=seed), graph="0>1 " * 200) for seed in range(60)]
    threads = [
        threading.Thread(target=lambda k=k: [append(record, tmp_path / "new") for record in records[k::6]])
        for k in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {record.seed for record in read_folder(tmp_path / "new")} == set(range(60))


def test_a_torn_line_costs_only_itself(tmp_path):
    """A file cut anywhere is read up to the cut, and what is appended later stands on a line of its own."""
    for seed in range(3):
        append(made(replace(RUN, seed=seed)), tmp_path)
    path = tmp_path / "hc.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip().rfind(b"\n") + 1
    for cut in {last + 1, last + 30, len(whole) - 2}:
        path.write_bytes(whole[:cut])
        append(made(replace(RUN, seed=7)), tmp_path)
        assert [record.seed for record in read_folder(tmp_path)] == [0, 1, 7]


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    """One line says what was expected."""
    with pytest.raises(InputError, match="expected a folder of results"):
        read_folder(tmp_path / "no")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="could not write into"):
        append(made(), tmp_path / "file")


def test_which_record_of_a_run_counts():
    """An answer before none, then the longer limit, then the later; other options are another run."""
    failed = Record.without_answer(replace(RUN, limit=900.0), "failed", "x")
    short, long = made(status="time_limit"), made(replace(RUN, limit=600.0), status="time_limit", score=-0.5)
    again = made(replace(RUN, limit=600.0), score=-0.4)
    other = made(replace(RUN, options={}))
    for records, expected in (
        ([failed, short], short),
        ([short, failed], short),
        ([long, short], long),
        ([long, again], again),
    ):
        assert best_of(records) == {RUN.key: expected}
    assert len(best_of([short, other])) == 2


def test_results_are_the_given_the_local_or_the_bundled(tmp_path, monkeypatch):
    """In this order."""
    monkeypatch.chdir(tmp_path)
    assert results_in_use(None)[1] == "the package"
    append(made(), tmp_path / "paper-results")
    assert results_in_use(None) == ([made()], "paper-results")
    append(made(score=-2.0), tmp_path / "mine")
    assert results_in_use(tmp_path / "mine")[0][0].score == -2.0


def test_bundled_results_are_true():
    """Recomputed from their graphs, scores and closeness of bundled records are what is recorded."""
    records = bundled_records()
    assert len(best_of(records)) == len(records) > 0
    known = [record for record in records if record.cell.degree is not None and record.ended]
    for record in known[:: max(len(known) // 12, 1)]:
        table, true = load(record.cell, record.seed)
        adjacency = parse_graph(record.graph, record.cell.n_nodes)
        found = compare(adjacency, true)
        assert (record.shd, record.precision) == (found.shd, round(found.precision, 4))
        score = make_score(table, "bic")
        assert record.true_score == pytest.approx(score.total(true), abs=1e-3)
        if record.method != "pc":
            assert record.score == pytest.approx(score.total(adjacency), abs=1e-3)
        if record.status == "optimal":
            assert record.bound == pytest.approx(record.score, abs=1e-3)
    assert all("/" not in (record.error or "") for record in records)


def test_one_run_measured():
    """The record of a run has the learned graph's score and closeness, and what it was made with."""
    record = measure(Run("n15-N5000-d0.5", 0, "hc"))
    table, true = load(Cell.named("n15-N5000-d0.5"), 0)
    adjacency = parse_graph(record.graph, 15)
    assert record.score == pytest.approx(make_score(table, "bic").total(adjacency))
    assert gap(record) == pytest.approx(100 * (1 - record.score / record.true_score))
    assert record.shd == compare(adjacency, true).shd
    assert 0 < record.seconds < 60
    assert record.peak_mb is None or record.peak_mb > 20
    assert "numpy" in record.versions
    assert "cores" in record.machine
    with pytest.raises(InputError, match="has no option"):
        measure(Run("n15-N5000-d0.5", 0, "hc", {"nonsense": 1}))
