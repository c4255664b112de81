"""The report in a real browser: it opens, shows the graph, answers clicks, keys and wheel, and complains of nothing."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ET

import pytest

import dagopt
from browser import Browser, chromium
from dagopt.graph.dag import as_graph
from dagopt.graph.formats.dot import parse_dot
from made_results import ODD_NAMES, drawn_levels, drawn_numbers, learned_from, made, odd

pytestmark = pytest.mark.skipif(chromium() is None, reason="needs chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("reports")
    made(dagopt.datasets.load_network("insurance").dag).report(out / "insurance.html")
    made(dagopt.simulate(200, 10, 1.5, random_state=0).dag).report(out / "large.html")
    odd().report(out / "odd.html")
    learned_from(drawn_numbers()).report(out / "numbers.html")
    learned_from(drawn_levels()).report(out / "levels.html")
    return out


@pytest.fixture
def page(browser, folder):
    """Return the browser with a fresh report of the insurance network, and check its console at the end."""
    browser.resize(1280, 1100)
    browser.open(folder / "insurance.html")
    browser.run("document.querySelector('.canvas').scrollIntoView()")
    yield browser
    assert browser.problems == []


def number_of(name):
    return list(dagopt.datasets.load_network("insurance").dag).index(name)


def panel(page):
    return page.run("document.getElementById('panel').innerText")


def scale(page):
    return page.run("dagoptReport.at.k")


def test_the_graph_is_in_sight(page):
    """All nodes are drawn inside the frame, at a size one can read."""
    box = "(b => [b.left, b.top, b.right, b.bottom])(%s.getBoundingClientRect())"
    frame = page.run(box % "document.querySelector('.canvas')")
    boxes = page.run(f"[...document.querySelectorAll('.node')].map(n => {box % 'n'})")
    assert len(boxes) == 27
    for left, top, right, bottom in boxes:
        assert frame[0] <= left < right <= frame[2]
        assert frame[1] <= top < bottom <= frame[3]
        assert bottom - top > 10


def test_a_click_on_a_node_tells_about_it(page):
    """The panel shows name, parents, children and figures; a click beside it lets go."""
    page.click(f".node[data-node='{number_of('MakeModel')}'] rect")
    said = panel(page)
    for word in ("MakeModel", "SocioEcon", "RiskAversion", "Airbag", "local score", "score gained"):
        assert word in said
    assert page.run("document.querySelectorAll('.node.up').length") == 2
    assert page.run("document.querySelector('.node.pick').getAttribute('aria-pressed')") == "true"
    page.click("#panel button.name")
    assert page.run("document.querySelector('.node.pick').getAttribute('aria-label')") == "SocioEcon"
    x, y = page.run("(b => [b.left + 6, b.top + 6])(document.querySelector('.canvas').getBoundingClientRect())")
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)
    page.settle()
    assert page.run("document.querySelectorAll('.pick').length") == 0


def test_hover_lights_the_neighbours(page):
    """With the mouse over a node its neighbours are lit, and no longer when it leaves."""
    page.mouse("mouseMoved", *page.centre(f".node[data-node='{number_of('Accident')}']"))
    page.settle()
    assert page.run("document.getElementById('graph').classList.contains('lit')")
    page.mouse("mouseMoved", 5, 5)
    page.settle()
    assert not page.run("document.getElementById('graph').classList.contains('lit')")


def test_the_switch_takes_heads_away(page):
    """The essential graph has no heads on undirected edges, and the panel knows it."""
    heads = "[...document.querySelectorAll('.edge .head')].filter(h => getComputedStyle(h).display !== 'none').length"
    undirected = page.run("document.querySelectorAll('.edge.undirected').length")
    before = page.run(heads)
    page.run("document.querySelector('input[value=essential]').click()")
    assert page.run(heads) == before - undirected
    page.click(f".node[data-node='{number_of('Age')}'] rect")
    assert "Undirected" in panel(page)


def test_wheel_buttons_and_drag_move_the_graph(page):
    """The wheel and the buttons zoom, dragging moves, and a drag is not a click."""
    x, y = page.centre(".canvas")
    start = scale(page)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
    page.settle()
    wheeled = scale(page)
    assert wheeled > start
    page.click("#zoom-in")
    assert scale(page) > wheeled
    page.click("#fit")
    assert scale(page) == pytest.approx(start)
    before = page.run("dagoptReport.at.x")
    x, y = page.centre(f".node[data-node='{number_of('Accident')}']")
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    for step in range(1, 6):
        page.mouse("mouseMoved", x + 20 * step, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    page.settle()
    assert page.run("dagoptReport.at.x") == pytest.approx(before + 100, abs=2)
    assert page.run("document.querySelectorAll('.node.pick[aria-pressed=true]').length") == 0


def test_two_fingers_zoom(page):
    """Pinching with two fingers zooms in."""
    page.call("Emulation.setTouchEmulationEnabled", enabled=True)
    x, y = page.centre(".canvas")
    start = scale(page)
    for kind, apart in [("touchStart", 40), ("touchMove", 60), ("touchMove", 100), ("touchMove", 140)]:
        points = [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}]
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.settle()
    page.call("Emulation.setTouchEmulationEnabled", enabled=False)
    assert scale(page) > 1.5 * start


def test_the_keyboard_does_it_all(page):
    """Plus and arrows work on the graph; arrows go from node to node, Enter chooses and Escape lets go."""
    page.run("document.getElementById('graph').focus()")
    start, left = scale(page), page.run("dagoptReport.at.x")
    page.key("+")
    assert scale(page) > start
    page.key("0")
    page.key("ArrowLeft")
    assert page.run("dagoptReport.at.x") == pytest.approx(left + 60)
    page.run(f"document.querySelector('.node[data-node=\"{number_of('Age')}\"]').focus()")
    page.key("ArrowDown")
    below = page.run("document.activeElement.getAttribute('aria-label')")
    assert below != "Age"
    page.key("Enter", "\r")
    assert below in panel(page)
    assert page.run("document.querySelectorAll('.node[tabindex=\"0\"]').length") == 1
    page.key("Escape")
    assert page.run("document.querySelectorAll('.pick').length") == 0


def test_search_finds_and_chooses(page):
    """Typing marks the matches, Enter goes through them."""
    page.click("#search")
    page.type("driv")
    marked = page.run("[...document.querySelectorAll('.node.match')].map(n => n.getAttribute('aria-label'))")
    assert sorted(marked) == ["DrivHist", "DrivQuality", "DrivingSkill"]
    page.key("Enter", "\r")
    first = page.run("document.querySelector('.node.pick').getAttribute('aria-label')")
    page.key("Enter", "\r")
    assert page.run("document.querySelector('.node.pick').getAttribute('aria-label')") in set(marked) - {first}


def test_the_table_sorts_and_filters(page):
    """A click on a head sorts by it, the filter leaves matching rows, a row shows its edge."""
    page.click("#edge-table th.figure button")
    column = "[...document.querySelectorAll('#edge-table td.figure')].map(c => Number(c.dataset.value))"
    assert page.run(column) == sorted(page.run(column))
    page.click("#edge-table th.figure button")
    assert page.run(column) == sorted(page.run(column), reverse=True)
    page.click("#filter")
    page.type("airbag")
    rows = page.run(
        "[...document.querySelectorAll('#edge-table tbody tr')].filter(r => !r.hidden).map(r => r.innerText)"
    )
    assert rows
    assert all("Airbag" in row for row in rows)
    assert page.run("document.getElementById('count').textContent") == f"{len(rows)} of 52 shown"
    page.run("document.querySelector('#edge-table tbody tr:not([hidden]) td:last-child').click()")
    assert page.run("document.querySelectorAll('.edge.pick').length") == 1


def test_edges_can_be_chosen_by_keyboard(page):
    """In the table of edges the direction is a button that chooses the edge, and what is chosen is said."""
    page.run("document.querySelector('#edge-table button.plain').focus()")
    page.key("Enter", "\r")
    assert page.run("document.querySelector('.edge.pick').dataset.edge") == "0"
    assert page.run("document.getElementById('said').textContent") == page.run(
        "document.querySelector('.edge.pick title').textContent"
    )


@pytest.mark.parametrize("essential", [False, True])
def test_downloads_hold_the_graph(page, essential):
    """DOT reads back as the graph that is shown, the SVG is XML with all nodes, the PNG is a picture."""
    dag = as_graph(dagopt.datasets.load_network("insurance").dag)
    if essential:
        page.run("document.querySelector('input[value=essential]').click()")
    read = as_graph(parse_dot(page.run("dagoptReport.dot()")), dag.names)
    assert read == (as_graph(made(dag).cpdag, dag.names) if essential else dag)
    drawing = ET.fromstring(page.run("dagoptReport.drawing().text"))
    assert len([e for e in drawing.iter() if e.get("class") == "node"]) == 27
    start = "a => btoa(String.fromCharCode(...new Uint8Array(a.slice(0, 8))))"
    picture = page.run(f"dagoptReport.png().then(b => b.arrayBuffer()).then({start})")
    assert base64.b64decode(picture) == b"\x89PNG\r\n\x1a\n"
    page.click("#save-dot")
    page.click("#save-svg")


@pytest.mark.parametrize("width", [360, 768])
def test_narrow_screens_need_no_sideways_scrolling(page, width):
    """On a phone the page is as wide as the screen and the panel is below the graph."""
    page.resize(width, 800, phone=True)
    page.settle()
    assert page.run("document.documentElement.scrollWidth") <= width
    top = page.run("document.getElementById('panel').getBoundingClientRect().top")
    assert top >= page.run("document.querySelector('.canvas').getBoundingClientRect().bottom")


def test_dark_and_light_have_their_colours(page):
    """The page follows the colours that the reader prefers."""
    colour = "getComputedStyle(document.body).backgroundColor"
    page.theme("dark")
    dark = page.run(colour)
    page.theme("light")
    light = page.run(colour)
    assert dark != light
    for wanted, offered in ((dark, "Light"), (light, "Dark")):
        page.click("#theme")
        assert page.run(colour) == wanted
        assert page.run("document.getElementById('theme').textContent") == offered


def cells(browser, label):
    """Return the text of the cells of a table in the panel."""
    rows = f"[...document.querySelectorAll('#panel [aria-label={label}] tr')]"
    return browser.run(f"{rows}.map(r => [...r.cells].map(c => c.innerText))")


def test_a_click_shows_the_equation(browser, folder):
    """Coefficients with standard errors, noise variance and R² are those of the fit; a parent leads on."""
    fitted = learned_from(drawn_numbers()).fit()
    browser.resize(1280, 1000)
    browser.open(folder / "numbers.html")
    node = max(range(5), key=lambda j: len(fitted.parents[j]))
    browser.click(f".node[data-node='{node}'] rect")
    head, intercept, *terms = cells(browser, "Coefficients")
    assert head == ["Term", "Estimate", "Std. error", "p"]
    assert intercept[0] == "intercept"
    parents = [fitted.names[i] for i in fitted.parents[node]]
    assert [row[0] for row in terms] == parents
    one = fitted.regressions[node]
    for row, estimate, error in zip(terms, one.estimates[1:], one.standard_errors[1:], strict=True):
        assert float(row[1]) == pytest.approx(estimate, abs=error / 10)
        assert float(row[2]) == pytest.approx(error, rel=0.05)
    assert "noise variance" in panel(browser)
    assert f"{one.variance:.3g}" in panel(browser)
    browser.click("#panel [aria-label=Coefficients] button.name")
    assert browser.run("document.querySelector('.node.pick').getAttribute('aria-label')") == parents[0]
    assert browser.problems == []


def test_a_click_shows_the_table_of_probabilities(browser, folder):
    """Each row is a configuration of the parents with its rows of data; what is left out or unseen is said."""
    fitted = learned_from(drawn_levels()).fit()
    browser.resize(1280, 1000)
    browser.open(folder / "levels.html")
    browser.click(f".node[data-node='{fitted.names.index('c')}'] rect")
    head, *rows = cells(browser, "Probabilities")
    assert head == ["a", "b", "Rows", "no", "yes"]
    own = fitted.parameters.query("node == 'c'")
    shown = {f"a={a}, b={b}": (int(n), float(p.split("\n")[0])) for a, b, n, p, _ in rows}
    for row in own.query("level == 'no'").itertuples():
        assert shown[row.given] == (row.total, pytest.approx(row.probability, abs=6e-4))
    assert "1 configuration of the parents not seen in the data" in panel(browser)
    browser.click(f".node[data-node='{fitted.names.index('wide')}'] rect")
    assert len(cells(browser, "Probabilities")) == 2
    assert "12 of 30 levels shown" in panel(browser)
    browser.click(f".node[data-node='{fitted.names.index('long')}'] rect")
    assert len(cells(browser, "Probabilities")) == 1 + 64
    assert "64 of 120 rows shown" in panel(browser)
    assert browser.problems == []


def test_odd_names_do_no_harm(browser, folder):
    """Names with markup are shown as they are and run nothing; their DOT reads back."""
    browser.resize(1280, 1000)
    browser.open(folder / "odd.html")
    browser.click(".node[data-node='0'] rect")
    assert ODD_NAMES[0] in browser.run("document.getElementById('panel').textContent")
    assert set(parse_dot(browser.run("dagoptReport.dot()")).names) == set(ODD_NAMES)
    assert ET.fromstring(browser.run("dagoptReport.drawing().text")) is not None
    assert browser.problems == []


def test_two_hundred_nodes_pan(browser, folder):
    """A large graph opens and follows the mouse."""
    browser.resize(1280, 1000)
    browser.open(folder / "large.html")
    assert browser.run("document.querySelectorAll('.node').length") == 200
    for _ in range(4):
        browser.click("#zoom-in")
    moves = json.dumps([4 * (k % 20 < 10) - 2 for k in range(40)])
    frames = browser.run(
        "(async () => { const g = document.getElementById('scene'), times = []; let last = performance.now();"
        f" for (const d of {moves}) {{ g.setAttribute('transform', `translate(${{d}} 0) scale(0.5)`);"
        " await new Promise(requestAnimationFrame);"
        " const now = performance.now(); times.push(now - last); last = now; }"
        " return times.sort((a, b) => a - b); })()"
    )
    assert frames[len(frames) // 2] < 200  # milliseconds, without a graphics card and on a busy machine
    assert browser.problems == []


def test_paper_has_the_whole_graph_and_every_cell(browser, folder):
    """Printed, the graph fits the first page, no table is wider than the paper, and the screen comes back after."""
    paper = 680  # CSS pixels between the margins of A4
    browser.resize(paper, 1000)
    for name in ("insurance.html", "numbers.html"):
        browser.open(folder / name)
        before = browser.run("document.getElementById('scene').getAttribute('transform')")
        browser.call("Emulation.setEmulatedMedia", media="print")
        browser.run("dispatchEvent(new Event('beforeprint'))")
        browser.settle()
        graph, header = (
            browser.run(f"(b => [b.left, b.right, b.height])(document.querySelector('{what}').getBoundingClientRect())")
            for what in ("#graph", "header")
        )
        assert 0 <= graph[0] < graph[1] <= paper
        assert header[2] + graph[2] < 1000
        assert browser.run("document.documentElement.scrollWidth") <= paper
        wide = "[...document.querySelectorAll('td, th')].filter(c => c.scrollWidth > c.clientWidth + 1).length"
        assert browser.run(wide) == 0
        browser.call("Emulation.setEmulatedMedia", media="")
        browser.run("dispatchEvent(new Event('afterprint'))")
        browser.settle()
        assert browser.run("document.getElementById('graph').hasAttribute('viewBox')") is False
        assert browser.run("document.getElementById('scene').getAttribute('transform')") == before
    assert browser.problems == []


@pytest.fixture
def large(browser, folder):
    """Return the browser with a fresh report of 200 columns."""
    browser.resize(1280, 1100)
    browser.open(folder / "large.html")
    browser.run("document.querySelector('.canvas').scrollIntoView()")
    yield browser
    assert browser.problems == []


SHOWN = "[...document.querySelectorAll('%s')].filter(e => getComputedStyle(e).display !== 'none').length"


def test_small_graphs_have_no_tools_for_large_ones(page):
    """27 columns can be seen at once."""
    assert page.run("document.getElementById('strong') === null && document.getElementById('alone') === null")


def test_the_slider_leaves_the_strongest_edges(large):
    """As many edges are shown as it says, and none that is hidden is stronger than one that is shown."""
    first = int(large.run("document.getElementById('strong').getAttribute('value')"))
    assert large.run(SHOWN % ".edge") == first < large.run("document.querySelectorAll('.edge').length")
    large.run("(s => { s.value = 40; s.dispatchEvent(new Event('input')); })(document.getElementById('strong'))")
    assert large.run(SHOWN % ".edge") == 40
    assert large.run("document.getElementById('strong-count').textContent").startswith("40 of ")
    strengths = "[...document.querySelectorAll('%s')].map(e => Number(e.dataset.strength))"
    assert min(large.run(strengths % ".edge:not(.weak)")) >= max(large.run(strengths % ".edge.weak"))
    drawn = large.run("dagoptReport.drawing().text.split('class=\"edge\"').length - 1")
    assert drawn == 40


def _busiest():
    dag = dagopt.simulate(200, 10, 1.5, random_state=0).dag
    adjacency = as_graph(dag).adjacency
    node = int((adjacency.sum(axis=0) + adjacency.sum(axis=1)).argmax())
    parents = set(map(int, adjacency[:, node].nonzero()[0]))
    children = set(map(int, adjacency[node].nonzero()[0]))
    return node, parents, children


def test_the_tools_for_large_graphs_say_what_they_need(large):
    """Without a selected column the button is off and says why; at all edges the slider's thumb stands at its end."""
    off = "(b => [b.disabled, b.title])(document.getElementById('alone'))"
    assert large.run(off) == [True, "Select a column first"]
    click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    large.run(f"document.querySelector('.node[data-node=\"3\"]').{click}")
    assert large.run(off) == [False, ""]
    large.run(f"document.getElementById('graph').{click}")
    assert large.run(off)[0] is True
    style = "(s => [s.paddingLeft, s.borderLeftWidth])(getComputedStyle(document.getElementById('strong')))"
    assert large.run(style) == ["0px", "0px"]
    assert large.run("getComputedStyle(document.getElementById('alone')).borderTopLeftRadius") != "0px"


@pytest.mark.parametrize("name", ["insurance", "large", "odd", "numbers", "levels"])
def test_the_page_is_no_wider_than_a_phone(browser, folder, name):
    """Nothing sticks out to the right, so the page does not scroll sideways."""
    browser.resize(390, 844, phone=True)
    browser.open(folder / f"{name}.html")
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.resize(1280, 1100)


def test_one_column_is_shown_with_its_neighbours(large):
    """Parents stand above it, children below, nothing else is drawn, nothing overlaps; the way back restores all."""
    node, parents, children = _busiest()
    before = large.run("dagoptReport.drawing().text")
    click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    large.run(f"document.querySelector('.node[data-node=\"{node}\"]').{click}")
    large.run("document.getElementById('alone').click()")
    large.settle()
    listed = "[...document.querySelectorAll('.node')].filter(e => getComputedStyle(e).display !== 'none')"
    assert set(large.run(listed + ".map(e => Number(e.dataset.node))")) == {node} | parents | children
    boxes = large.run(
        listed + ".map(e => (b => [b.left, b.top, b.right, b.bottom])(e.querySelector('rect').getBoundingClientRect()))"
    )
    for k, a in enumerate(boxes):
        for b in boxes[:k]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    heights = large.run("dagoptReport.nodesNow.map(n => n.y)")
    assert all(heights[j] < heights[node] for j in parents)
    assert all(heights[j] > heights[node] for j in children)
    assert large.run("dagoptReport.drawing().text") == before
    large.run("document.getElementById('alone').click()")
    assert large.run(SHOWN % ".node") == 200
    assert large.run("dagoptReport.drawing().text") == before


def test_a_search_brings_the_neighbours_into_view(large):
    """After Enter the column and all its neighbours are inside the frame."""
    node, parents, children = _busiest()
    name = large.run(f"document.querySelector('.node[data-node=\"{node}\"]').getAttribute('aria-label')")
    large.run(
        f"(s => {{ s.value = {json.dumps(name)}; s.dispatchEvent(new Event('input'));"
        " s.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'})); })(document.getElementById('search'))"
    )
    large.settle()
    box = "(b => [b.left, b.top, b.right, b.bottom])(%s.getBoundingClientRect())"
    frame = large.run(box % "document.querySelector('.canvas')")
    for k in {node} | parents | children:
        one = box % f"document.querySelector('.node[data-node=\"{k}\"]')"
        left, top, right, bottom = large.run(one)
        assert frame[0] <= left < right <= frame[2]
        assert frame[1] <= top < bottom <= frame[3]


PICKED = "document.querySelector('.edge[data-edge=\"%d\"]').dispatchEvent(new MouseEvent('click', {bubbles: true}))"


def test_an_edge_shows_its_data_and_what_it_is_worth(browser, folder):
    """A picture with cells, a fitted line and means; a column its distribution and its equation in words."""
    browser.resize(1280, 1000)
    browser.open(folder / "numbers.html")
    browser.run(PICKED % 0)
    assert browser.run("document.querySelectorAll('#panel .picture .cell').length") > 5
    assert browser.run("document.querySelectorAll('#panel .fitted, #panel .smooth').length") == 2
    assert "evidence: " in panel(browser)
    assert browser.run("document.querySelector('#panel .picture').getAttribute('aria-label')").endswith("means")
    result = learned_from(drawn_numbers())
    node = max(range(5), key=lambda j: result.adjacency[:, j].sum())
    browser.click(f".node[data-node='{node}'] rect")
    assert browser.run("document.querySelectorAll('#panel .picture .hue-0').length") > 5
    assert f"{result.names[node]} rises by" in panel(browser) or f"{result.names[node]} falls by" in panel(browser)
    browser.open(folder / "levels.html")
    browser.run(PICKED % 0)
    assert browser.run("document.querySelectorAll('#panel .picture rect[class^=hue]').length") >= 3
    assert browser.problems == []


def test_neighbours_two_steps_away_and_folded_leaves(large):
    """Two steps show at least what one shows; folding hides the columns with a single edge."""
    node, *_ = _busiest()
    click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    large.run(f"document.querySelector('.node[data-node=\"{node}\"]').{click}")
    large.run("document.getElementById('alone').click()")
    one = large.run(SHOWN % ".node")
    large.run("(s => { s.value = '2'; s.dispatchEvent(new Event('change')); })(document.getElementById('steps'))")
    two = large.run(SHOWN % ".node")
    assert 200 > two > one
    large.run("document.getElementById('alone').click()")
    large.run("document.getElementById('fold').click()")
    adjacency = as_graph(dagopt.simulate(200, 10, 1.5, random_state=0).dag).adjacency
    degree = adjacency.sum(axis=0) + adjacency.sum(axis=1)
    joined = adjacency | adjacency.T
    leaves = sum(degree[j] == 1 and degree[joined[j].argmax()] > 1 for j in range(200))
    assert large.run(SHOWN % ".node") == 200 - leaves
    large.run("document.getElementById('fold').click()")
    assert large.run(SHOWN % ".node") == 200


def test_hubs_are_offered_first(large):
    """Before anything is chosen, the columns with the most edges can be."""
    assert "Columns with the most edges" in panel(large)
    large.click("#panel button.name")
    assert large.run("document.querySelectorAll('.node.pick').length") == 1


def test_landmarks_can_be_read_from_far_away(large):
    """At first the columns with the most edges are large enough to read, and apart; from nearby none is enlarged."""
    boxes = "[...document.querySelectorAll('.landmark rect')].map((one) => one.getBoundingClientRect())"
    found = large.run(f"{boxes}.map((b) => [b.x, b.y, b.right, b.bottom])")
    assert len(found) >= 8
    assert min(bottom - top for _, top, _, bottom in found) > 18
    assert not [
        (a, b)
        for i, a in enumerate(found)
        for b in found[:i]
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    while scale(large) < 0.6:
        large.click("#zoom-in")
    assert large.run(f"{boxes}.length") == 0


def test_one_button_folds_time(browser, tmp_path):
    """Past and present, then one node per series with lags, then back to where everything was."""
    made = dagopt.simulate_series(4, 300, lags=2, random_state=1)
    result = dagopt.learn(made.data, lags=2, progress=False)
    browser.resize(1280, 1100)
    browser.open(result.report(tmp_path / "time.html"))
    browser.run("document.querySelector('.canvas').scrollIntoView()")
    places = "[...document.querySelectorAll('.node')].map(n => n.getAttribute('transform')).join()"
    shown = "[...document.querySelectorAll('%s')].filter(n => n.getBoundingClientRect().width > 0).length"
    before = browser.run(places)
    assert browser.run(shown % ".node") == 12
    assert browser.run(shown % ".moment") == 3
    assert browser.run(shown % ".lag") == 0
    browser.click("#fold-time")
    assert browser.run(shown % ".node") == 4
    assert browser.run(shown % ".moment") == 0
    assert browser.run(shown % ".lag") == result.graph.n_edges
    lags = browser.run("[...document.querySelectorAll('.lag text')].map(n => n.textContent).join()")
    assert sorted(lags.split(",")) == sorted(map(str, result.graph.edges["lag"]))
    browser.click(".node[data-node='1'] rect")
    said = browser.run("document.getElementById('panel').innerText")
    parents = result.graph.edges.query("to == 'x1'")
    assert "x1" in said
    for name, lag in zip(parents["from"], parents["lag"], strict=True):
        assert (f"{name}(t-{lag})" if lag else name) in said
    own = result.graph.edges.query("`from` == 'x1' or to == 'x1'")
    assert browser.run("document.querySelectorAll('.edge.up, .edge.down, .edge.side').length") == len(own)
    dot = browser.run("dagoptReport.dot()")
    for one in result.graph.edges.itertuples():
        assert f'"{one[1]}" -> "{one.to}" [label="{one.lag}"' in dot
    drawn = browser.run("dagoptReport.drawing().text")
    assert drawn.count('class="node"') == 4
    browser.click("#fold-time")
    assert browser.run(places) == before
    assert browser.run(shown % ".lag") == 0
    assert browser.problems == []
