"""Tests of ``edge_posterior`` and ``dagopt posterior``: what they take, say, refuse and write."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.cli import run
from dagopt.methods.orders import order_chains
from dagopt.methods.orders.order_chains import Agreement, OrderChains
from dagopt.progress import NoProgress


@pytest.fixture(scope="module")
def asia():
    """Return discrete data with eight columns."""
    return dagopt.datasets.load("asia", n_samples=300, random_state=1).data


@pytest.fixture(scope="module")
def found(asia):
    """Return the probabilities of its edges."""
    return dagopt.edge_posterior(asia)


@pytest.fixture
def folder(tmp_path, monkeypatch, asia):
    """Return a folder with the data, and work there."""
    asia.to_csv(tmp_path / "asia.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- what it gives --------------------------------------------------------------------------------------------


def test_frames_have_the_names(found, asia):
    """Edges are from the rows to the columns; joined pairs are the sum of both directions."""
    names = list(asia.columns)
    assert list(found.edges.index) == list(found.edges.columns) == names
    assert found.edges.index.name == "from"
    np.testing.assert_array_equal(found.edges.to_numpy(), found.probabilities)
    np.testing.assert_allclose(found.skeleton, found.probabilities + found.probabilities.T)
    assert found.skeleton.loc["lung", "either"] > 0.99
    assert (found.status, found.prior, found.n_samples) == ("done", "fair", 300)
    assert np.isfinite(found.log_evidence)


def test_table_lists_every_edge(found, asia):
    """The table has a row an edge, the most probable first, and what the frames have."""
    table = found.table()
    assert len(table) == 8 * 7
    assert table["probability"].is_monotonic_decreasing
    for row in table.itertuples(index=False):
        start, end, probability, joined = row
        assert probability == found.edges.loc[start, end]
        assert joined == pytest.approx(found.skeleton.loc[start, end])


def test_graph_has_what_is_likely(found):
    """A pair above the threshold is joined; it is directed where one direction alone is above."""
    for threshold in (0.1, 0.5, 0.9, 1.0):
        adjacency = found.graph(threshold).adjacency
        joined = found.skeleton.to_numpy() > threshold
        np.testing.assert_array_equal((adjacency | adjacency.T) == 1, joined)
        directed = (adjacency == 1) & (adjacency.T == 0)
        likely = found.probabilities > threshold
        np.testing.assert_array_equal(directed, likely & ~likely.T)
    assert found.graph().n_edges == found.graph(0.5).n_edges
    for threshold in (-0.1, 1.5, "half", True, np.nan):
        with pytest.raises(dagopt.InputError, match="threshold= to be a probability"):
            found.graph(threshold)


def test_summary_and_dictionary(found):
    """The summary says what the prior is and is not; the dictionary can be written as JSON."""
    text = str(found)
    assert "BDeu" in text
    assert "not uniform over DAGs" in text
    assert f"{found.log_evidence:.4f}" in text
    plain = json.loads(json.dumps(found.to_dict()))
    assert len(plain["edges"]) == 56
    assert set(plain["edges"][0]) == {"from", "to", "probability", "joined"}


def test_equal_columns_are_equally_probable(asia):
    """The order of the columns does not matter to their edges."""
    order = list(reversed(asia.columns))
    other = dagopt.edge_posterior(asia[order])
    expected = dagopt.edge_posterior(asia)
    np.testing.assert_allclose(other.edges.loc[asia.columns, asia.columns], expected.edges, atol=1e-11)
    assert other.log_evidence == pytest.approx(expected.log_evidence, rel=1e-12)


# --- what it takes --------------------------------------------------------------------------------------------


def test_score_follows_the_data(asia):
    """Discrete data are scored by BDeu, continuous data by BGe, and others may be asked for."""
    numbers, _ = dagopt.simulate(5, 100, 1.0, 0)
    assert dagopt.edge_posterior(asia).score_label.startswith("BDeu")
    assert dagopt.edge_posterior(numbers).score_label.startswith("BGe")
    assert "Gaussian" in dagopt.edge_posterior(numbers, "bic").score_label
    weighty = dagopt.edge_posterior(asia, "bdeu", equivalent_sample_size=50.0)
    assert weighty.log_evidence != dagopt.edge_posterior(asia, "bdeu").log_evidence
    with pytest.raises(dagopt.InputError, match="needs continuous data"):
        dagopt.edge_posterior(asia, "bge")


def test_two_columns_by_hand():
    """For two columns the sum has three DAGs, the empty one twice: once for each order."""
    numbers, _ = dagopt.simulate(2, 50, 0.5, 3)
    empty = dagopt.score(numbers, [], "bge")
    joined = dagopt.score(numbers, [("X0", "X1")], "bge")
    found = dagopt.edge_posterior(numbers)
    odds = np.exp(joined - empty)
    assert found.edges.loc["X0", "X1"] == pytest.approx(odds / (2 * odds + 2))
    assert found.log_evidence == pytest.approx(empty + np.log((2 + 2 * odds) / 4))


def test_knowledge_and_data_options(asia):
    """Constraints, a parent limit and the options of the data are taken as by ``learn``."""
    known = dagopt.Constraints(required=[("asia", "tub")], forbidden=[("smoke", "lung"), ("lung", "smoke")])
    found = dagopt.edge_posterior(asia, constraints=known, max_parents=2, columns=["asia", "tub", "smoke", "lung"])
    assert found.names == ("asia", "tub", "smoke", "lung")
    assert found.edges.loc["asia", "tub"] == pytest.approx(1.0)
    assert found.skeleton.loc["smoke", "lung"] == 0.0


def test_priors_differ(asia):
    """The uniform prior expects more edges than the fair one."""
    fair, uniform = (dagopt.edge_posterior(asia, prior=prior).probabilities.sum() for prior in ("fair", "uniform"))
    assert uniform > fair


# --- what it refuses, and when it stops ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "odd"}, "prior= to be 'fair' or 'uniform'"),
        ({"priors": "fair"}, "did you mean prior="),
        ({"n_best": 3}, "has no option 'n_best'"),
        (
            {"memory_limit": "1kB", "method": "exact"},
            r"8 columns need about .* memory limit is 1.0 kB; use method='sampled'",
        ),
        ({"method": "exactly"}, "method= to be 'auto', 'exact' or 'sampled'"),
        ({"time_limit": 0}, "time_limit= to be a number > 0"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"score": "bicc"}, "did you mean 'bic'"),
    ],
)
def test_bad_options_are_refused(asia, options, message):
    """Each error names the option and the remedy."""
    with pytest.raises(dagopt.InputError, match=message):
        dagopt.edge_posterior(asia, **options)


def test_too_many_columns_are_refused_before_the_work():
    """Memory that is not there, and sets that fit no table, are refused without allocating anything."""
    numbers = np.random.default_rng(0).normal(size=(80, 40))
    with pytest.raises(dagopt.InputError, match="at most 30 columns"):
        dagopt.edge_posterior(numbers, method="exact")
    tracemalloc.start()
    try:
        with pytest.raises(dagopt.InputError, match=r"GB and .* the memory limit is"):
            dagopt.edge_posterior(numbers[:, :26], memory_limit="1GB", method="exact")
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_local_scores_are_refused(tmp_path):
    """A list of parent sets is not all of them, so nothing can be averaged over it."""
    with pytest.raises(dagopt.InputError, match="holds local scores"):
        dagopt.edge_posterior(tmp_path / "scores.jkl")


def test_nothing_is_known_before_the_end(asia):
    """A run that is stopped says so, and has NaN for all figures."""
    found = dagopt.edge_posterior(asia, time_limit=1e-9)
    assert found.status == "time_limit"
    assert np.isnan(found.probabilities).all()
    assert np.isnan(found.log_evidence)
    assert "nothing is known" in found.summary()


def test_progress_is_told_and_closed(asia):
    """What it takes is noted before the work, and the show ends with it."""

    class Recorded(NoProgress):
        notes, phases, closed = [], [], 0

        def note(self, message):
            self.notes.append(message)

        def update(self, phase, fraction=None, **facts):
            self.phases.append(phase)
            assert 0 <= fraction <= 1

        def close(self):
            self.closed += 1

    shown = Recorded()
    dagopt.edge_posterior(asia, progress=shown)
    assert any("edge probabilities by sums over all orders: about" in note for note in shown.notes)
    assert "probabilities of edges" in shown.phases
    assert shown.closed == 1


# --- the command ----------------------------------------------------------------------------------------------


def test_command_shows_and_writes(folder, capsys, found):
    """The table is shown, and written whole; the graph has the likely pairs."""
    files = ["--out", "edges.csv", "--graph", "likely.dot"]
    assert run(["posterior", "asia.csv", *files, "--threshold", "0.8", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert "evidence" in shown.out
    assert "wrote edges.csv" in shown.out
    assert shown.err == ""
    written = pd.read_csv(folder / "edges.csv")
    np.testing.assert_allclose(written["probability"], found.table()["probability"])
    assert dagopt.read_graph(folder / "likely.dot").n_edges == found.graph(0.8).n_edges


def test_command_prints_json(folder, capsys):
    """JSON has every edge and the evidence."""
    options = ["--prior", "uniform", "--columns", "asia,tub,smoke"]
    assert run(["posterior", "asia.csv", "--json", "--quiet", *options]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["prior"] == "uniform"
    assert len(plain["edges"]) == 6


@pytest.mark.parametrize(
    ("command", "thing"),
    [
        ("posterior asia.csv --prior odd", "--prior to be 'fair' or 'uniform'"),
        ("posterior asia.csv --threshold 2", "--threshold"),
        ("posterior asia.csv --time-limit 1e-9 --quiet", "raise --time-limit"),
        ("posterior asia.csv --method exact --memory-limit 1kB", "raise --memory-limit"),
        ("posterior asia.csv --out edges.docx --quiet", "edges.docx"),
    ],
)
def test_bad_input_is_one_line(folder, capsys, command, thing):
    """Exit code 2 and one line that names the option."""
    assert run(command.split()) == 2
    lines = capsys.readouterr().err.splitlines()
    assert thing in lines[-1]
    assert lines[-1].startswith("dagopt: ")


def test_a_column_that_parents_determine_is_refused():
    """With as many rows as columns, b = c + d within the parent limit: an unbounded likelihood has no probabilities."""
    rng = np.random.default_rng(0)
    a, c, d = rng.normal(size=(3, 4))
    with pytest.raises(dagopt.InputError, match="is a linear combination of"):
        dagopt.edge_posterior({"a": a, "b": c + d, "c": c, "d": d}, "bic", convention="bnlearn", max_parents=2)


@pytest.mark.parametrize(
    ("difference", "left_out", "status"),
    [(0.001, 0.05, "done"), (0.001, 0.06, "edges_left_out"), (0.02, 0, "not_converged"), (0.02, 0.9, "not_converged")],
)
def test_done_means_that_no_likely_edge_was_left_out(asia, monkeypatch, difference, left_out, status):
    """Chains that agree about too few candidates are not done, and the summary says what to do."""
    agreement = Agreement(4, 1000, 1.0, 4000.0, difference, left_out)
    monkeypatch.setattr(OrderChains, "agreement", lambda self: agreement)
    monkeypatch.setattr(order_chains, "MOST_SWEEPS", 1)
    found = dagopt.edge_posterior(asia, method="sampled", columns=["smoke", "lung", "bronc"])
    assert found.status == status
    assert ("choose fewer columns=" in found.summary()) == (left_out > 0.05)
