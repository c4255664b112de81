"""The studio in a real browser: the whole way from a table to answers, two tabs, and what must not run."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dagopt
from browser import Browser, chromium
from studio_server import Server

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytestmark = pytest.mark.skipif(chromium() is None, reason="needs chromium")

ODD = "<img src=x onerror=alert(1)>"
IDLE = "document.body.dataset.busy === 'no' && document.body.dataset.runs === '%d'"


def made_table(path):
    data = dagopt.datasets.load("asia", n_samples=600, random_state=1).data
    frame = data[["smoke", "lung", "bronc", "dysp"]].copy()
    rng = np.random.default_rng(0)
    frame[ODD] = np.where(rng.random(600) < 0.2, "</script><script>alert(2)</script>", data["smoke"])
    frame["row"] = [f"id{k}" for k in range(600)]
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with Server(made_table(folder / "asia.csv"), folder / "session") as running:
        yield running


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile"), 1280, 1000) as browser:
        yield browser


@pytest.fixture
def page(browser, server):
    browser.resize(1280, 1000)
    browser.own = ("data:", "blob:", server.address)
    browser.open(server.address)
    browser.until("document.body.dataset.version !== undefined")
    yield browser
    assert browser.problems == []


def press(page, text, inside="body"):
    """Click the button with a text."""
    found = page.run(
        f"(b => {{ if (b) b.click(); return !!b; }})([...document.querySelectorAll({json.dumps(inside + ' button')})]"
        f".find(b => b.textContent === {json.dumps(text)}))"
    )
    assert found, text


def tab(page, name):
    page.run(f"document.getElementById('tab-{name}').click()")


def test_from_the_table_to_a_proven_cost(page, server):
    """A remedy is a button; learn, choose an edge in the graph, forbid it, and the exact cost is said."""
    page.until("document.querySelectorAll('#columns tbody tr').length === 6")
    assert ODD in page.run("document.getElementById('columns').innerText")
    press(page, "Leave out row", "#findings")
    page.until("document.querySelectorAll('#columns .picture').length === 5")
    tab(page, "learn")
    press(page, "Learn")
    page.until(IDLE % 1, 90)
    tab(page, "argue")
    click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    assert page.until("document.getElementById('badge').textContent").startswith("Proven")
    page.until_in_frame("document.querySelectorAll('.edge').length > 0 && document.readyState === 'complete'")
    page.until("document.getElementById('actions').textContent.includes('Choose')")
    page.in_frame(f"document.querySelector('.edge').{click}")
    first = page.until("document.querySelector('#actions strong')?.textContent")
    press(page, f"Forbid {first} and learn again")
    page.until(IDLE % 2, 90)
    said = page.until(
        "document.getElementById('cost').textContent.includes('cost') && document.getElementById('cost').textContent"
    )
    runs = server.state()["runs"]
    assert runs[1]["knowledge"]["forbidden"] == [first.split(" → ")]
    lost = runs[0]["score"] - runs[1]["score"]
    assert ("costs nothing" in said) if lost < 5e-5 else (f"{lost:,.2f}" in said and "proven" in said)


def test_knowledge_by_choosing_and_by_drawing(page, server):
    """Columns chosen one after the other in the graph offer an edge between them; lists can be emptied."""
    tab(page, "argue")
    page.until_in_frame("document.querySelectorAll('.node').length > 1 && document.readyState === 'complete'")
    for k in (0, 1):
        page.in_frame(
            f"document.querySelectorAll('.node')[{k}].dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
        )
        page.until("document.querySelector('#actions strong') !== null")
    page.until("[...document.querySelectorAll('#actions button')].some(b => b.textContent.endsWith('comes first'))")
    tab(page, "knowledge")
    before = len(server.state()["knowledge"]["required"])
    page.run("document.getElementById('from').value = 'smoke'; document.getElementById('to').value = 'dysp'")
    press(page, "Require", "#knowledge")
    page.until("document.getElementById('required').innerText.includes('smoke → dysp')")
    assert len(server.state()["knowledge"]["required"]) == before + 1
    page.run("document.querySelector('[aria-label=\"Remove smoke → dysp\"]').click()")
    page.until("!document.getElementById('required').innerText.includes('smoke → dysp')")


def test_two_tabs_show_the_same(page, browser, server):
    """What one tab changes, the other shows without a reload."""
    first = browser._session
    second = browser.tab()
    browser.open(server.address)
    browser.until("document.body.dataset.version !== undefined")
    server.ask("POST", "knowledge", {"tiers": [["smoke"], ["dysp"]]})
    for one in (first, second):
        browser.use(one)
        browser.until("document.querySelectorAll('#tiers li').length === 2")
    server.ask("POST", "knowledge", {"tiers": []})
    browser.call("Page.close")
    browser.use(first)


def test_questions_move_all_distributions(page, server):
    """A chosen level changes the others as the network says; it can be taken back."""
    tab(page, "ask")
    page.until("document.querySelectorAll('.answer').length === 5")
    shares = "[...document.querySelectorAll('.answer .level')].map(b => b.innerText)"
    before = page.run(shares)
    box = "[...document.querySelectorAll('.answer')].find(a => a.innerText.startsWith('smoke'))"
    page.run(f"{box}.querySelectorAll('.level')[1].click()")
    page.until("document.querySelector('.answer.given') !== null")
    assert page.run(shares) != before
    assert page.run("document.getElementById('given').textContent") == "Known: smoke = yes."
    press(page, "Clear what is known")
    page.until("document.querySelector('.answer.given') === null")
    assert page.run(shares) == before
    page.run("document.getElementById('cause').value = 'smoke'; document.getElementById('outcome').value = 'lung'")
    press(page, "Estimate")
    page.until("document.querySelectorAll('#effects tbody tr').length > 0")


def test_exports_are_links_that_work(page):
    """Each link of the last tab answers with a file."""
    tab(page, "export")
    links = page.run("[...document.querySelectorAll('#links a')].map(a => a.getAttribute('href'))")
    assert len(links) == 10
    statuses = page.run(f"Promise.all({json.dumps(links)}.map(l => fetch(l).then(r => r.status)))")
    assert set(statuses) == {200}


def test_nothing_of_a_name_runs(page):
    """A column with markup in its name, and levels that end scripts, are text everywhere, frames included."""
    tab(page, "argue")
    page.until_in_frame("document.querySelectorAll('.node').length > 1 && document.readyState === 'complete'")
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.in_frame("document.querySelectorAll('img').length") == 0
    assert page.in_frame("document.querySelectorAll('script').length") == 2


def test_the_frame_cannot_reach_the_server(page, server):
    """The graph runs without the page's origin: it can neither read the page around it nor ask the server."""
    tab(page, "argue")
    page.until_in_frame("document.readyState === 'complete' && document.querySelectorAll('.node').length > 1")
    assert page.in_frame("self.origin") == "null"
    tried = "(() => { try { return parent.document.title; } catch { return 'refused'; } })()"
    assert page.in_frame(tried) == "refused"
    asked = f"fetch({json.dumps(server.address + 'state')}).then(r => r.text(), () => 'refused')"
    assert page.in_frame(asked) == "refused"
    page.events.clear()  # the browser's own remarks on these attempts


AXE = """axe.run(document, {iframes: false, runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})
    .then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(', ')))"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_step_is_accessible(page, theme):
    """axe-core finds nothing on any tab; names of roles, contrast, labels."""
    axe = Path(pytest.importorskip("axe_core_python").__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    page.theme(theme)
    page.run(axe + ";1")
    for name in ("table", "knowledge", "learn", "argue", "ask", "export"):
        tab(page, name)
        if name == "ask":
            page.until("document.querySelectorAll('.answer').length > 0")
        assert page.run(AXE) == [], name
    page.theme("light")


def test_a_phone_shows_every_step_without_scrolling_sideways(page):
    """At 390 pixels nothing sticks out."""
    page.resize(390, 844, phone=True)
    for name in ("table", "knowledge", "learn", "argue", "ask", "export"):
        tab(page, name)
        page.settle()
        assert page.run("document.documentElement.scrollWidth") <= 390, name
    tab(page, "table")
    right = (
        "Math.max(...[...document.querySelectorAll('#columns select')].map((one) => one.getBoundingClientRect().right))"
    )
    assert page.run(right) <= 390
    page.resize(1280, 1000)


def test_paper_has_no_buttons(page):
    """What can only be pressed is left out in print, what is known stays."""
    page.call("Emulation.setEmulatedMedia", media="print")
    shown = (
        "[...document.querySelectorAll('.tabs, #table button, #upload-line')].filter((one) => one.offsetParent).length"
    )
    assert page.run(shown) == 0
    assert page.run("document.getElementById('columns').offsetHeight") > 0
    page.call("Emulation.setEmulatedMedia", media="")


def test_the_tabs_follow_the_arrow_keys(page):
    """As the pattern for tabs asks."""
    page.run("document.getElementById('tab-table').focus()")
    page.key("ArrowRight")
    assert page.run("document.activeElement.id") == "tab-knowledge"
    assert page.run("getComputedStyle(document.getElementById('knowledge')).display") != "none"


def test_a_dead_server_is_said_and_a_new_one_goes_on(browser, tmp_path):
    """The page says that nobody answers; the command again has the same session."""
    table = tmp_path / "t.csv"
    pd.DataFrame({"a": [0.1, 0.4, 0.2, 0.9] * 20, "b": [1.0, 2.5, 3.0, 1.5] * 20}).to_csv(table, index=False)
    first = Server(table, tmp_path / "s")
    browser.own = ("data:", "blob:", first.address)
    browser.open(first.address)
    browser.until("document.body.dataset.version !== undefined")
    first.ask("POST", "knowledge", {"forbidden": [["a", "b"]]})
    first.end(signal.SIGKILL)
    browser.until("document.getElementById('trouble').textContent.includes('does not answer')")
    with Server(table, tmp_path / "s") as second:
        browser.own = ("data:", "blob:", second.address)
        browser.open(second.address)
        browser.until("document.getElementById('forbidden').innerText.includes('a → b')")
