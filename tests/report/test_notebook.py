"""What notebooks show: graphs, explanations and effects draw themselves, and a widget holds the view of the report."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import dagopt
from browser import Browser, chromium
from dagopt.report.small_charts import Estimate, Loss, intervals_svg, losses_svg
from dagopt.report.widget import FRAME


@pytest.fixture(scope="module")
def result():
    """Return a learned graph; one of its columns has a name that would be a tag."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pd.DataFrame({"<b>x": x, "y": x + rng.normal(size=200), "z": rng.normal(size=200)})
    table["w"] = table["y"] + table["z"] + rng.normal(size=200)
    return dagopt.learn(table, progress=False)


def drawing(shown):
    """Return the drawing in what a notebook shows; it is well-formed, and names are escaped."""
    assert "<b>" not in shown
    return ET.fromstring(re.search(r"<svg.*</svg>", shown, re.DOTALL)[0])


def classes(root):
    """Return how often each class occurs in a drawing."""
    return pd.Series([one for element in root.iter() for one in element.get("class", "").split()]).value_counts()


def test_a_graph_draws_itself(result):
    """Every node and edge once; undirected edges are marked; nothing can be clicked, no id is in the page twice."""
    drawn = drawing(result.graph._repr_html_())
    assert (classes(drawn)["node"], classes(drawn)["edge"]) == (4, result.graph.n_edges)
    assert not [element for element in drawn.iter() if element.get("id") or element.get("tabindex")]
    pdag = dagopt.Graph([[0, 1, 0], [1, 0, 1], [0, 0, 0]], ["a", "b", "c"])
    assert classes(drawing(pdag._repr_html_()))["undirected"] == 1
    large = dagopt.Graph.from_edges([f"v{k}" for k in range(100)], [(f"v{k}", f"v{k + 1}") for k in range(99)])
    assert "<svg" not in large._repr_html_()
    assert "v0</td>" in large._repr_html_()


def test_a_result_has_the_drawing_of_the_report(result):
    """Edges say in their class how strong the evidence is."""
    assert classes(drawing(result._repr_html_()))["is-overwhelming"] >= 2


def test_explanations_and_effects_draw_themselves(result):
    """A bar for each alternative, with its points; a dot and an interval for each effect."""
    why = result.explain("y", "w")
    drawn = drawing(why._repr_html_())
    assert "".join(drawn.itertext()).count(f"{why.neither.regret:,.1f}") == 1
    assert [*drawn.iter("{http://www.w3.org/2000/svg}rect")][1:] != []
    effect = result.effect("y", "w")
    dots = [*drawing(effect._repr_html_()).iter("{http://www.w3.org/2000/svg}circle")]
    assert len(dots) == len(effect.table)
    averaged = result.effect_posterior("y", "w", progress=False)
    assert "change of w" in "".join(drawing(averaged._repr_html_()).itertext())


def test_charts_place_what_they_draw_by_their_numbers():
    """Longer bars for larger losses, a dashed one for what is not proven; dots from left to right."""
    bars = [Loss("a", 0.5, True), Loss("b", 4.0, True), Loss("c", 400.0, False)]
    drawn = [*ET.fromstring(losses_svg(bars)).iter("{http://www.w3.org/2000/svg}rect")]
    assert [*map(float, (one.get("width") for one in drawn))] == sorted(float(one.get("width")) for one in drawn)
    assert [one.get("stroke-dasharray") is not None for one in drawn] == [False, False, True]
    told = [Estimate("a", -2.0, -1.0, 0.0), Estimate("b", -np.inf, 0.5, np.inf), Estimate("c", 1.0, 2.0, 3.0)]
    dots = [*ET.fromstring(intervals_svg(told, "change")).iter("{http://www.w3.org/2000/svg}circle")]
    places = [float(one.get("cx")) for one in dots]
    assert places == sorted(places)
    assert places[2] - places[1] == pytest.approx(places[1] - places[0], abs=0.2)


def test_a_widget_has_the_page_of_the_report(result):
    """The page is that of a frame; a bad height is refused by name."""
    pytest.importorskip("anywidget")
    shown = result.widget(height=500)
    assert (shown.height, shown.chosen) == (500, {})
    assert '<body class="embedded">' in shown.page
    with pytest.raises(dagopt.InputError, match="height= to be a whole number"):
        result.widget(height=-1)


@pytest.mark.skipif(chromium() is None, reason="needs chromium")
def test_a_click_in_the_widget_is_heard(result, tmp_path):
    """The frame is shown, an edge is clicked, and the model of the notebook has it; other messages are not heard."""
    pytest.importorskip("anywidget")
    page = result.widget(height=420).page
    model = f"""{{ values: {{ page: {dagopt.report.html.as_json(page)}, height: 420, chosen: {{}} }},
      get(name) {{ return this.values[name]; }}, set(name, value) {{ this.values[name] = value; }},
      on() {{}}, save_changes() {{ window.saved = (window.saved ?? 0) + 1; }} }}"""
    script = FRAME.replace("export default", "const widget =") + f"\nwindow.model = {model};"
    script += "\nwidget.render({ model: window.model, el: document.body });"
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body><script>{script}</script>", encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(tmp_path / "notebook.html")
        browser.until_in_frame("document.querySelectorAll('.edge').length")
        browser.run("postMessage({ dagopt: { column: 'from elsewhere' } }, '*')")
        browser.in_frame(
            "document.querySelector('.edge').dispatchEvent(new MouseEvent('click', { bubbles: true })) && null"
        )
        tail, head = result.graph.directed_edges[0]
        found = browser.until("model.values.chosen.from && model.values.chosen")
        assert (found["from"], found["to"]) == (tail, head)
        assert browser.run("document.querySelector('iframe').offsetHeight") == 420
        assert browser.problems == []
