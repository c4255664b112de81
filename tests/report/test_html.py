from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.report.chart import convergence_svg, phases
from dagopt.report.html import as_json, render_report, write_report
from dagopt.report.view import view_of
from dagopt.report.words import proven
from dagopt.results.figures import Figures
from dagopt.results.proof import badge_of
from made_results import ODD_NAMES, bare, drawn_levels, drawn_numbers, learned_from, made, odd

VOID = {"meta", "link", "input", "br", "hr", "img"}


class Page(HTMLParser):
    """The elements of a page; complains where an end does not match its start or an id comes twice."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.elements = []  # (tag, attributes, texts)
        self.feed(text)
        self.close()
        assert self.open == []
        ids = [a["id"] for _, a, _ in self.elements if "id" in a]
        assert len(ids) == len(set(ids))

    def handle_starttag(self, tag, attrs):
        element = (tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> without a start"
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, texts in self.open:
            texts.append(data)

    def all(self, tag, **wanted):
        return [
            (a, "".join(t))
            for name, a, t in self.elements
            if name == tag and all(value in (a.get(key.rstrip("_")) or "").split() for key, value in wanted.items())
        ]

    def text(self, tag, **wanted):
        return self.all(tag, **wanted)[0][1]

    @property
    def payload(self):
        return json.loads(self.text("script", id="payload"))


@pytest.fixture(scope="module")
def insurance():
    return made(dagopt.datasets.load_network("insurance").dag)


@pytest.fixture(scope="module")
def page(insurance):
    return Page(render_report(insurance))


def test_the_page_is_well_formed_and_has_every_part(page, insurance):
    """Every node, edge and section is on the page."""
    n, m = len(insurance.names), insurance.graph.n_edges
    assert len(page.all("g", class_="node")) == n
    assert len(page.all("g", class_="edge")) == m
    assert len(page.all("tr", **{"data-edge": "0"})) == 1
    assert len(page.all("button", class_="name")) == 2 * m
    titles = [text for _, text in page.all("h2")]
    assert titles == ["The graph", "How it was found", "The data", "The edges", "What the method says"]
    assert {a["value"] for a, _ in page.all("input", name="mode")} == {"dag", "essential"}
    for name in ("search", "zoom-in", "zoom-out", "fit", "save-svg", "save-png", "save-dot", "filter", "panel"):
        assert any(a.get("id") == name for _, a, _ in page.elements), name


def test_the_payload_has_nodes_and_edges(page, insurance):
    """The data for the script are the graph, its places and its figures."""
    payload = page.payload
    assert payload["names"] == list(insurance.names)
    assert len(payload["nodes"]) == len(insurance.names)
    edges = {(payload["names"][e["tail"]], payload["names"][e["head"]]) for e in payload["edges"]}
    assert edges == set(insurance.graph.directed_edges)
    assert payload["nodes"][2]["figures"] == {"local score": -20.0, "gain of its parents": 2.0}
    assert all(e["strength"] > 0 for e in payload["edges"])
    undirected = sum(e["undirected"] for e in payload["edges"])
    assert undirected == np.triu(insurance.cpdag_adjacency & insurance.cpdag_adjacency.T).sum()


def test_nothing_is_loaded(page):
    """No address but data: is named where a browser would load something, and the page forbids the rest."""
    text = render_report(odd())
    assert "http://" not in text
    assert "https://" not in text
    for _, attributes, _ in page.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
    assert "url(" not in text
    assert "@import" not in text
    policy = [a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy[0].startswith("default-src 'none'")


def test_odd_names_are_text_and_nothing_else():
    """Names with markup, quotes, unicode or slots of the template come back as they are, and make no element."""
    page = Page(render_report(odd()))
    assert page.payload["names"] == list(ODD_NAMES)
    assert [a["aria-label"] for a, _ in page.all("g", class_="node")] == list(ODD_NAMES)
    assert len(page.all("script")) == 2
    assert len(page.all("title")) == 1 + len(ODD_NAMES) + odd().graph.n_edges  # the page's, and tooltips
    assert {text for _, text in page.all("button", class_="name")} <= set(ODD_NAMES)


def test_json_cannot_end_its_element():
    """No angle bracket and no ampersand is left in the JSON; numbers that JSON has not are refused."""
    text = as_json({"a": "</script><!--&\u2028"})
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == {"a": "</script><!--&\u2028"}
    with pytest.raises(ValueError):
        as_json(float("nan"))


def test_a_bare_result_gives_a_page_too():
    """Without score, bound, trace, findings and details the page says less, but stands."""
    page = Page(render_report(bare([[0, 1], [0, 0]])))
    assert "Nothing is proven" in page.text("span", class_="badge")
    assert "How it was found" not in [text for _, text in page.all("h2")]
    (edge,) = page.payload["edges"]
    assert (edge["tail"], edge["head"], edge["undirected"], edge["direction"]) == (0, 1, True, "open")
    assert edge["strength"] is edge["worth"] is edge["weight"] is None
    assert edge["figures"] == edge["picture"] == {}
    assert page.payload["nodes"][0]["figures"] == page.payload["nodes"][0]["fit"] == {}


def test_a_class_is_shown_first_as_a_class():
    """A learned class starts with its essential graph and can show a member; without a member there is no switch."""
    page = Page(render_report(bare([[0, 1, 0], [1, 0, 1], [0, 1, 0]])))
    assert "essential" in page.all("svg", id="graph")[0][0]["class"]
    assert [a["value"] for a, _ in page.all("input", name="mode") if "checked" in a] == ["essential"]
    square = np.zeros((4, 4), dtype=int)
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 0)]:
        square[a, b] = square[b, a] = 1
    stuck = Page(render_report(bare(square)))
    assert stuck.all("input", name="mode") == []
    assert len(stuck.all("g", class_="undirected")) == 4


def test_a_graph_without_edges_is_reported():
    """No edges: the page says so and has no table."""
    page = Page(render_report(bare(np.zeros((3, 3), dtype=int))))
    assert "No edge was found" in page.text("p", id="found")
    assert page.all("table", id="edge-table") == []


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("optimal", "proven", "No DAG has a higher score. This is proven, by branch and cut."),
        ("time_limit", "bounded", "11 points above this graph"),
        ("interrupted", "bounded", "stopped by the user"),
    ],
)
def test_what_is_proven_is_told_in_words(status, kind, words):
    """Each end of a run has its own sentences."""
    result = made([("a", "b")], status=status)
    assert badge_of(result)[1] == kind
    assert words in " ".join(proven(result))


def test_a_proof_within_a_scope_names_it():
    """A bound over some parent sets only is not sold as one over all."""
    said = " ".join(proven(made([("a", "b")], scope="parent sets of size <= 2")))
    assert "No DAG with at most 2 parents per column" in said
    assert "may score higher" in said


def test_an_edge_has_what_its_reversal_loses():
    """What the best graphs with the edge reversed, and without it, lose stands with the edge."""
    result = dagopt.learn(dagopt.simulate(5, 300, 1.5, 3).data)
    view = view_of(result)
    fixed = [edge for edge in view.edges if not edge.undirected]
    assert fixed
    assert all({"lost if reversed", "lost if left out"} <= set(edge.figures) for edge in fixed)


def test_node_scores_come_in_many_shapes():
    """Mapping, nested mapping, series, frame and list all give figures; anything else gives none."""
    shapes = [
        {"a": -1.0, "b": -2.0},
        {"a": {"local score": -1.0}, "b": {"local_score": -2.0, "why": "text", "nan": float("nan")}},
        pd.Series({"a": -1.0, "b": -2.0}),
        pd.DataFrame({"node": ["b", "a"], "local_score": [-2.0, -1.0]}),
        pd.DataFrame({"local score": [-1.0, -2.0]}, index=["a", "b"]),
        [-1.0, -2.0],
    ]
    for scores in shapes:
        view = view_of(bare([("a", "b")], figures=Figures(node_scores=scores)))
        assert view.figures == ({"local score": -1.0}, {"local score": -2.0}), scores
    assert view_of(bare([("a", "b")], figures=Figures(node_scores="none"))).figures == ({}, {})


def test_edge_gains_may_be_partial():
    """Edges without a gain have none, and pairs serve as keys too."""
    view = view_of(bare([("a", "b"), ("b", "c")], figures=Figures(edge_gain={("a", "b"): 3.5})))
    assert [edge.strength for edge in view.edges] == [3.5, None]
    assert "The wider a line" in render_report(bare([("a", "b")], figures=Figures(edge_gain={"a -> b": 1})))


@pytest.mark.parametrize("drawn", [drawn_numbers(), drawn_levels()], ids=["numbers", "levels"])
def test_strength_is_the_score_lost_without_the_edge(drawn):
    """What the method did not tell is worked out: the score of the DAG less that of the DAG without the edge."""
    data, dag = drawn
    result = learned_from(drawn)
    page = Page(render_report(result))
    whole = dagopt.score(data, result.dag)
    assert page.payload["edges"]
    for edge, (attributes, _) in zip(page.payload["edges"], page.all("g", class_="edge"), strict=True):
        less = result.dag.copy()
        less.remove_edge(result.names[edge["tail"]], result.names[edge["head"]])
        lost = whole - dagopt.score(data, less)
        assert edge["strength"] == pytest.approx(lost)
        assert float(attributes["data-strength"]) == pytest.approx(lost, rel=1e-4)
    nodes = dagopt.score_table(data, dag)
    for node, name in zip(page.payload["nodes"], result.names, strict=True):
        assert node["figures"]["local score"] == pytest.approx(nodes.loc[name, "score"])
        assert node["figures"]["gain of its parents"] == pytest.approx(nodes.loc[name, "gain"], abs=1e-9)


def test_the_page_has_the_parameters_of_the_fit():
    """Equations and tables are those of ``result.fit()``, to five digits."""
    result = learned_from(drawn_numbers())
    payload = Page(render_report(result)).payload
    frame = result.fit().parameters.set_index(["node", "term"])
    for name, node in zip(result.names, payload["nodes"], strict=True):
        [(own, terms)] = node["fit"]["equations"]
        assert own is None
        for parent, _, estimate, error, p in terms:
            row = frame.loc[(name, "(intercept)" if parent is None else result.names[parent])]
            assert [estimate, error, p] == pytest.approx([row["estimate"], row["standard_error"], row["p_value"]], 1e-4)
    for edge in payload["edges"]:
        row = frame.loc[(result.names[edge["head"]], result.names[edge["tail"]])]
        fitted = {"coefficient": row["estimate"], "standard error": row["standard_error"]}
        assert {name: edge["figures"][name] for name in fitted} == fitted
    result = learned_from(drawn_levels())
    fitted = result.fit()
    (given, total, chances, errors) = Page(render_report(result)).payload["nodes"][2]["fit"]["rows"][0]
    own = fitted.parameters[(fitted.parameters["node"] == "c") & (fitted.parameters["given"] == "a=x, b=u")]
    assert (given, total) == (["x", "u"], own["total"].iloc[0])
    assert chances == pytest.approx(own["probability"].tolist(), rel=1e-4)
    assert errors == pytest.approx(own["standard_error"].tolist(), rel=1e-4)


def test_the_page_has_the_parameters_of_mixed_columns():
    """Equations of numbers and log odds of levels, with the levels of discrete parents, are those of the fit."""
    rng = np.random.default_rng(3)
    group = rng.choice(["x", "y", "z"], 400)
    size = rng.normal(size=400) + 2.0 * (group == "y")
    kind = np.where(size + rng.normal(size=400) > 1, "large", "small")
    result = dagopt.learn(pd.DataFrame({"group": group, "size": size, "kind": kind}), progress=False)
    assert result.graph.n_edges > 1
    frame = result.fit().parameters.set_index(["node", "level", "term"])
    payload = Page(render_report(result)).payload
    found = 0
    for name, node in zip(result.names, payload["nodes"], strict=True):
        assert (node["fit"]["against"] is None) == (name == "size")
        for own, terms in node["fit"]["equations"]:
            for parent, level, *figures in terms:
                term = "(intercept)" if parent is None else result.names[parent] + (f"={level}" if level else "")
                assert figures == pytest.approx(frame.loc[(name, own or "", term)].tolist(), rel=1e-4, abs=1e-300)
                found += 1
    assert found == len(frame)


def test_long_and_wide_tables_keep_what_is_frequent():
    """Of 120 configurations the 64 with most rows are on the page, of 30 levels the 12 most frequent."""
    result = learned_from(drawn_levels())
    fitted = result.fit()
    nodes = Page(render_report(result)).payload["nodes"]
    long, wide = (nodes[result.names.index(name)]["fit"] for name in ("long", "wide"))
    assert (len(long["rows"]), long["configurations"]) == (64, 120)
    totals = np.sort(fitted.counts[result.names.index("long")].sum(axis=-1).ravel())[::-1]
    assert sorted((row[1] for row in long["rows"]), reverse=True) == totals[:64].tolist()
    assert (len(wide["levels"]), wide["allLevels"]) == (12, 30)


def test_what_cannot_be_fitted_is_noted(monkeypatch):
    """Too many cells, or a column without noise, leave the page without parameters and with a note."""
    result = learned_from(drawn_levels())
    monkeypatch.setattr("dagopt.report.parameters.MOST_CELLS", 50)
    page = Page(render_report(result))
    assert all(node["fit"] == {} for node in page.payload["nodes"])
    assert any("cells; result.fit() makes them" in text for _, text in page.all("li"))
    assert "there are no data" in render_report(bare([[0, 1], [0, 0]]))


def test_figures_of_edges_become_columns():
    """A figure that a result names for edges is a column of the table, sortable, and in the payload."""
    result = bare(
        [("a", "b"), ("b", "c")],
        figures=Figures(edge_figures={"bootstrap <share>": {"a -> b": 0.75}, "regret": {"b -> c": 2.0, "a -> b": 1}}),
    )
    page = Page(render_report(result))
    assert [text for _, text in page.all("th")][3:] == ["Bootstrap <share>", "Regret"]
    assert page.payload["edges"][0]["figures"] == {"bootstrap <share>": 0.75, "regret": 1.0}
    assert page.payload["edges"][1]["figures"] == {"regret": 2.0}
    assert [a["data-value"] for a, _ in page.all("td", class_="figure")] == ["0.75", "1.0", "", "2.0"]


def test_many_nodes_stay_small(tmp_path):
    """A result of 200 nodes is well under 1 MB, one of 60 with the tables of a network under 2 MB."""
    result = made(dagopt.simulate(200, 10, 1.5, random_state=0).dag, status="time_limit")
    path = write_report(result, tmp_path / "large.html")
    assert path.stat().st_size < 1_000_000
    drawn = dagopt.simulate(60, 200, 1.5, random_state=0, kind="discrete")
    path = write_report(learned_from(drawn), tmp_path / "tables.html")
    assert path.stat().st_size < 2_000_000


def test_a_report_is_written_whole_or_not_at_all(tmp_path):
    """Writing returns the path; a folder that is not there is told and nothing is left."""
    result = made([("a", "b")])
    assert result.report(tmp_path / "report.html") == tmp_path / "report.html"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="no folder"):
        result.report(tmp_path / "none" / "report.html")


def test_the_chart_needs_two_scores():
    """Traces without a course give no chart; one without times is drawn over its steps."""
    assert convergence_svg(pd.DataFrame()) is None
    assert convergence_svg(pd.DataFrame({"seconds": [1.0], "score": [1.0]})) is None
    assert convergence_svg(pd.DataFrame({"seconds": [1.0, 2.0], "score": [np.nan, 1.0]})) is None
    assert ">steps<" in convergence_svg(pd.DataFrame({"score": [1.0, 2.0]}))
    assert "NaN" not in convergence_svg(pd.DataFrame({"seconds": [0.0, 0.0], "score": [-5.0, -5.0]}))
    many = pd.DataFrame({"seconds": np.arange(50_000.0), "score": np.arange(50_000.0)})
    assert len(convergence_svg(many)) < 20_000


def test_phases_add_up():
    """Each phase has the time up to its last row, also when it comes back."""
    trace = pd.DataFrame({"phase": ["a", "b", "a"], "seconds": [1.0, 1.5, 4.0]})
    assert phases(trace, 4.0) == [("a", 3.5), ("b", 0.5)]
    assert phases(pd.DataFrame({"phase": ["a"]}), 1.0) == []
