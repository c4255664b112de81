"""Every result says where it comes from, well enough to be made again."""

import hashlib
import json
import time
from dataclasses import replace
from datetime import datetime
from threading import Thread

import numpy as np
import polars as pl
import pytest

import dagopt
from dagopt import cli
from dagopt.deadline import COMPILING, Deadline
from dagopt.kernels.compiling import CompilationClock
from dagopt.learning import recording
from dagopt.results.provenance import describe_data, hash_of


@pytest.fixture
def asia(tmp_path):
    """Return a small table and its file."""
    data, _ = dagopt.datasets.load("asia", n_samples=200, random_state=0)
    data.to_csv(tmp_path / "asia.csv", index=False)
    return data, tmp_path / "asia.csv"


def test_a_file_is_named_with_the_hash_of_its_bytes(asia):
    """The hash is what ``sha256sum`` prints; rows, columns, score, penalty, version and date are there."""
    _, path = asia
    told = dagopt.learn(str(path), max_parents=2).provenance
    assert told.data == str(path)
    assert told.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (told.n_samples, told.n_columns) == (200, 8)
    assert (told.score, told.penalty) == ("BIC", pytest.approx(np.log(200) / 2))
    assert (told.method, told.asked, told.options) == ("exact", "auto", {"max_parents": "2"})
    assert told.version == dagopt.__version__
    assert datetime.fromisoformat(told.date).tzinfo is not None
    assert told.seconds >= 0
    assert told.compile_seconds >= 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "dagopt.learn({!r})"),
        ({"method": "hc", "score": 3.5}, "dagopt.learn({!r}, method='hc', score=3.5)"),
        ({"score": "auto", "progress": False}, "dagopt.learn({!r})"),
        ({"score": "bic"}, "dagopt.learn({!r}, score='bic')"),
        (
            {"constraints": dagopt.Constraints(forbidden=[("asia", "tub")])},
            "dagopt.learn({!r}, constraints=dagopt.Constraints(forbidden=(('asia', 'tub'),)))",
        ),
    ],
)
def test_the_command_repeats_the_run(asia, options, said):
    """What is not a default is written out, and running it gives the same graph and score."""
    _, path = asia
    result = dagopt.learn(str(path), **options)
    assert result.provenance.command == said.format(str(path))
    again = eval(result.provenance.command, {"dagopt": dagopt})
    assert again.score == result.score
    assert (again.adjacency == result.adjacency).all()


def test_data_in_memory_have_a_hash_of_names_and_values(asia):
    """Equal tables have equal hashes; another value, name or order of rows changes them."""
    data, _ = asia
    assert dagopt.learn(data).provenance.data == "pandas DataFrame"
    assert hash_of(data) == hash_of(data.copy())
    assert hash_of(pl.from_pandas(data.astype(str))) == hash_of(data.astype(str))
    others = [data.rename(columns={"asia": "other"}), data.iloc[::-1], data.assign(tub="no")]
    assert len({hash_of(one) for one in [data, *others]}) == 4
    numbers = np.arange(6.0).reshape(3, 2)
    assert hash_of(numbers) not in (None, hash_of(numbers + 1), hash_of(numbers.T.copy()))
    assert describe_data(numbers) == "numpy array"
    assert describe_data("-") == "standard input"
    assert hash_of("-") is None


def test_the_seed_is_told_where_one_is_used(asia):
    """Methods that draw random numbers name their seed, also the default one; others have none."""
    data, _ = asia
    assert dagopt.learn(data, "order", random_state=7).provenance.seed == 7
    assert dagopt.learn(data, "order").provenance.seed == 0
    assert dagopt.learn(data, "pc").provenance.seed is None


def test_the_command_line_is_repeated_as_written(asia, tmp_path, monkeypatch):
    """``result.json`` has the call, and the same call writes the same graph."""
    monkeypatch.chdir(tmp_path)
    call = ["learn", "asia.csv", "--forbidden", "asia->tub", "--out", "results", "--quiet"]
    assert cli.run(call) == 0
    told = json.loads((tmp_path / "results" / "result.json").read_text())["provenance"]
    assert told["command"] == "dagopt learn asia.csv --forbidden 'asia->tub' --out results --quiet"
    assert told["data"] == "asia.csv"
    assert told["sha256"] == hashlib.sha256((tmp_path / "asia.csv").read_bytes()).hexdigest()


def test_the_report_names_its_origin(asia, tmp_path):
    """Data, hash, score by name, version and command stand in the page, escaped."""
    _, path = asia
    result = dagopt.learn(str(path), constraints=dagopt.Constraints(forbidden=[("asia", "tub")]))
    page = result.report(tmp_path / "report.html").read_text(encoding="utf-8")
    told = result.provenance
    for fact in ("Where this comes from", "asia.csv", told.sha256, "BIC", f"dagopt {dagopt.__version__}"):
        assert fact in page, fact
    assert "forbidden=((&#x27;asia&#x27;, &#x27;tub&#x27;),)" in page


def test_compilation_is_told_apart_and_counts_once_there_is_an_answer():
    """Kernels compiled within a run are told apart; the limit of the run counts them from the first answer on."""

    def compile_for(seconds):
        COMPILING.begin()
        COMPILING.begin()
        time.sleep(seconds)
        COMPILING.end()
        COMPILING.end()

    with CompilationClock() as clock:
        deadline = Deadline(0.2)
        part = deadline.within(0.2)
        compile_for(0.3)
        assert deadline.elapsed() < 0.2
        assert (deadline.reason, part.reason) == (None, None)
        part.answered()
        deadline.answered()
        assert deadline.reason is None
        compile_for(0.3)
        assert deadline.elapsed() < 0.2
        assert (deadline.reason, part.reason) == ("time_limit", "time_limit")
    assert 0.6 <= clock.seconds == clock.seconds


def test_the_summary_tells_compilation_apart(asia):
    """The seconds of a run are without those of the kernels, which are named beside them."""
    result = dagopt.learn(asia[0])
    slow = replace(result, seconds=21.5, provenance=replace(result.provenance, seconds=1.5, compile_seconds=20.0))
    assert "1.50 s, and 20.0 s to compile kernels" in slow.summary()


@pytest.mark.parametrize("as_file", [False, True])
def test_large_data_are_hashed_beside_the_run(monkeypatch, tmp_path, as_file):
    """So that hashing does not come after a time limit; the hash is the same."""
    monkeypatch.setattr(recording, "MOST_CELLS", 10)
    monkeypatch.setattr(recording, "MOST_BYTES", 10)
    data = np.random.default_rng(0).normal(size=(50, 3))
    source = data
    if as_file:
        source = tmp_path / "data.csv"
        np.savetxt(source, data, delimiter=",", header="a,b,c", comments="")
    begun = []
    monkeypatch.setattr(recording, "Thread", lambda **options: begun.append(Thread(**options)) or begun[-1])
    result = dagopt.learn(source, "hc", progress=False)
    assert len(begun) == 1
    assert result.provenance.sha256 == hash_of(source)
