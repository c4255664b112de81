"""How sure the edges of a result are, as figures of the report."""

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.report.edge_confidence import with_evidence
from dagopt.report.html import render_report
from dagopt.report.view import view_of

DATA = dagopt.simulate(n_nodes=5, n_samples=120, degree=1.5, random_state=2).data


@pytest.fixture(scope="module")
def result():
    """Return what is learned from a small table."""
    return dagopt.learn(DATA, "exact")


@pytest.fixture(scope="module")
def evidence(result):
    """Return all that can be known of its edges."""
    return {
        "regrets": result.regrets(),
        "bootstrap": dagopt.bootstrap(DATA, 8, method="hc"),
        "posterior": dagopt.edge_posterior(DATA),
    }


def test_every_edge_has_its_figures(result, evidence):
    """Each figure is that of the source, looked up edge by edge."""
    figures = with_evidence(result, **evidence).details["edge_figures"]
    regrets = evidence["regrets"].set_index(["from", "to"])
    both = [figures[name] for name in ("lost if not joined", "lost if reversed")]
    for tail, head in result.dag.edges:
        edge = f"{tail} -> {head}"
        assert [values[edge] for values in both] == list(regrets.loc[(tail, head), ["neither", "reversed"]])
        i, j = (result.names.index(name) for name in (tail, head))
        graphs = evidence["bootstrap"].essential
        this_way = np.mean([graph[i, j] * (1 - graph[j, i] / 2) for graph in graphs])
        assert figures["joined in resamples"][edge] == pytest.approx(np.mean(graphs[:, i, j] | graphs[:, j, i]))
        assert figures["this way in resamples"][edge] == pytest.approx(this_way)
        assert figures["probability this way"][edge] == evidence["posterior"].edges.loc[tail, head]
        assert figures["probability"][edge] == pytest.approx(evidence["posterior"].skeleton.loc[tail, head])


def test_the_report_shows_them(result, evidence, tmp_path):
    """The page has a column for each figure and a note on each source; without any it is the page as ever."""
    page = result.report(tmp_path / "a.html", **evidence).read_text(encoding="utf-8")
    for name in with_evidence(result, **evidence).details["edge_figures"]:
        assert f">{name.capitalize()}<" in page
    assert "8 of 8 resamples of 120 rows" in page
    assert "the best other DAGs are proven" in page
    assert "fair prior" in page
    assert render_report(with_evidence(result)) == render_report(result)


def test_sources_add_up(result, evidence):
    """Evidence that comes later joins what is there, and the result given stays as it was."""
    before = dict(result.details)
    one = with_evidence(result, regrets=evidence["regrets"])
    both = with_evidence(one, bootstrap=evidence["bootstrap"])
    assert set(one.details["edge_figures"]) < set(both.details["edge_figures"])
    assert len(both.notes) == len(result.notes) + 2
    assert result.details == before


def test_what_is_not_known_is_left_out(result, evidence):
    """A resampling that ended before its first resample and losses that have no figure tell nothing."""
    none = dagopt.bootstrap(DATA, 8, method="hc", time_limit=1e-9)
    assert none.n_done == 0
    told = with_evidence(result, bootstrap=none)
    assert told.details["edge_figures"] == {}
    assert "0 of 8 resamples" in told.notes[-1]
    regrets = evidence["regrets"].assign(neither=np.nan, proven=False)
    told = with_evidence(result, regrets=regrets)
    assert told.details["edge_figures"]["lost if not joined"] == {}
    assert "at most" in told.notes[-1]


def test_other_columns_are_refused(result):
    """Evidence about other columns, or a frame that is none, is an error that says so."""
    other = dagopt.bootstrap(DATA.rename(columns={"X0": "Z"}), 1, method="hc")
    with pytest.raises(InputError, match=r"expected bootstrap= to have the columns 'X0'.* but got 'Z'"):
        with_evidence(result, bootstrap=other)
    with pytest.raises(InputError, match=r"no column 'neither', 'reversed', 'proven'"):
        with_evidence(result, regrets=pd.DataFrame({"from": [], "to": []}))


def test_regrets_say_what_an_edge_is_worth():
    """The weight of an edge whose direction is open is what the best graph without it loses, once that is known."""
    result = dagopt.learn(dagopt.datasets.load("asia", n_samples=1000, random_state=2).data, progress=False)
    known = view_of(with_evidence(result, regrets=result.regrets()))
    pairs = {(known.names[edge.tail], known.names[edge.head]): edge for edge in known.edges}
    edge = pairs["lung", "smoke"]
    assert edge.direction == "open"
    assert edge.worth == pytest.approx(result.explain("lung", "smoke").neither.regret)
    assert (edge.weight, edge.kept) == ("clear", False)
    assert edge.strength > edge.worth
