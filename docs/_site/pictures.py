"""Draw the pictures of the documentation again: python docs/_site/pictures.py (needs chromium).

``python docs/_site/pictures.py studio``, ``report`` or ``series`` draws only these.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.text import Text
from sklearn.datasets import load_wine

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "made"))

import dagopt
from browser import Browser
from studio_server import Server

ARGUED = "malic_acid → alcalinity_of_ash"  # the edge that the walk through the studio forbids
IMAGES = Path(__file__).resolve().parents[1] / "images"
CLICK = """<script>addEventListener("load", () => setTimeout(() => {
  const node = [...document.querySelectorAll(".node")].find((one) => one.textContent.includes("%s"));
  node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}, 300));</script></body>"""
FIRST = """<script>addEventListener("load", () => {
  document.querySelector("main").prepend(document.getElementById("%s").closest("section"));
});</script></body>"""


def photograph(page: Path, picture: Path, size: tuple[int, int], *, dark: bool = False) -> None:
    """Write what a browser shows of a page."""
    width, height = size
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=4000"]
    options += [f"--window-size={width},{height}", f"--screenshot={picture}"]
    options += ["--blink-settings=preferredColorScheme=0"] if dark else []
    subprocess.run(["chromium", *options, page.as_uri()], check=True, capture_output=True)
    with Image.open(picture) as whole:
        part = whole.convert("RGB")
    part.quantize(128).save(picture, optimize=True)


def terminal(command: list[str], picture: Path, folder: Path) -> None:
    """Write what a command prints on a terminal."""
    reader, writer = pty.openpty()
    asked = os.environ | {"COLUMNS": "92", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL, env=asked, cwd=folder):
        os.close(writer)
        said = b""
        while True:
            try:
                chunk = os.read(reader, 65536)
            except OSError:
                break
            if not chunk:
                break
            said += chunk
    console = Console(record=True, width=92, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text("$ dagopt " + " ".join(command[3:]), style="bold"))
    console.print(Text.from_ansi(said.decode().replace("\r", "")))
    page = folder / "terminal.svg"
    console.save_svg(str(page), title="")
    text = page.read_text()  # without the fonts, which would come from elsewhere
    text = text[: text.index("@font-face")] + text[text.rindex("@font-face") :].partition("}")[2]
    page.write_text(text)
    lines = said.count(b"\n") + 5
    photograph(page, picture, (1160, 25 * lines + 60))


def side_by_side(notebook: Path, picture: Path, height: int = 1265) -> None:
    """Write the first two pictures that a notebook stores."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    stored = [
        one["data"]["image/png"]
        for cell in cells
        for one in cell.get("outputs", [])
        if "image/png" in one.get("data", {})
    ]
    drawn = [Image.open(io.BytesIO(base64.b64decode("".join(one)))).convert("RGB") for one in stored[:2]]
    shown = [one.resize((one.width * height // one.height, height)) for one in drawn]
    whole = Image.new("RGB", (sum(one.width for one in shown) + 40, height), "white")
    whole.paste(shown[0], (0, 0))
    whole.paste(shown[1], (shown[0].width + 40, 0))
    whole.quantize(96, method=Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)


def smaller(picture: Path) -> None:
    """Store a picture with few colours."""
    with Image.open(picture) as whole:
        whole.convert("RGB").quantize(128).save(picture, optimize=True)


def studio(folder: Path) -> None:
    """Walk through the studio with the wines of scikit-learn, as the tutorial does."""
    columns = ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "flavanoids", "color_intensity", "hue", "proline"]
    wine = load_wine(as_frame=True)
    data = folder / "wine.csv"
    wine.data[columns].assign(cultivar=wine.target_names[wine.target]).to_csv(data, index=False)
    ready = "document.querySelectorAll('.edge').length > 0 && document.readyState === 'complete'"
    with Server(data, folder / "session") as server, Browser(folder / "profile", 1280, 1000) as browser:
        browser.open(server.address)
        browser.until("document.querySelectorAll('#columns .picture').length === 9")
        browser.screenshot(IMAGES / "studio-table.png")
        server.ask("POST", "choices", {"transform": {"malic_acid": "log"}})
        server.ask("POST", "learn", {})
        browser.until("document.body.dataset.runs === '1'", 120)
        browser.run("document.getElementById('tab-argue').click()")
        browser.until_in_frame(ready)
        title = "e.querySelector('title').textContent"
        edge = f"[...document.querySelectorAll('.edge')].find((e) => {title} === '{ARGUED}')"
        browser.in_frame(f"{edge}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        browser.until("document.querySelector('#actions strong') !== null")
        for theme in ("light", "dark"):
            browser.theme(theme)
            browser.settle()
            browser.screenshot(IMAGES / f"studio-graph-{theme}.png")
        browser.theme("light")
        browser.run("document.querySelector('#actions button.danger').click()")
        browser.until("document.body.dataset.runs === '2'", 120)
        browser.run("document.getElementById('tab-learn').click()")
        browser.run("document.getElementById('compare').click()")
        browser.until("document.querySelectorAll('#compared h4').length > 0")
        browser.until("[...document.querySelectorAll('#drawn img')].every((image) => image.complete)")
        browser.resize(1280, 1180)
        browser.screenshot(IMAGES / "studio-runs.png")
        browser.resize(1280, 1000)
        browser.theme("dark")
        browser.run("document.getElementById('tab-ask').click()")
        level = "[...document.querySelectorAll('.level')][0]"
        browser.until(f"{level} !== undefined")
        browser.run(f"{level}.click()")
        browser.until("document.querySelector('.answer.given') !== null")
        browser.settle()
        browser.screenshot(IMAGES / "studio-ask-dark.png")
        browser.theme("light")
        browser.resize(390, 844, phone=True)
        browser.run("document.getElementById('tab-argue').click()")
        browser.until_in_frame(ready)
        browser.run("scrollTo(0, 0)")
        browser.settle()
        browser.screenshot(IMAGES / "studio-phone.png")
    for picture in IMAGES.glob("studio-*.png"):
        smaller(picture)


def large_reports(folder: Path) -> None:
    """Photograph reports of 100 and 300 columns, and one on a phone."""
    with Browser(folder / "profile", 1280, 1000) as browser:
        for columns, theme in ((100, "light"), (300, "dark")):
            data = dagopt.simulate(columns, 500, 1.5, random_state=1).data
            page = dagopt.learn(data, "order", restarts=1, progress=False).report(folder / f"{columns}.html")
            browser.theme(theme)
            browser.open(page)
            browser.run("document.getElementById('graph-title').scrollIntoView()")
            browser.settle()
            browser.screenshot(IMAGES / f"report-{columns}-{theme}.png")
            smaller(IMAGES / f"report-{columns}-{theme}.png")
        browser.theme("light")
        browser.resize(390, 844, phone=True)
        browser.open(folder / "light.html")
        browser.settle()
        browser.screenshot(IMAGES / "report-phone.png")
        smaller(IMAGES / "report-phone.png")


def series(folder: Path) -> None:
    """Draw the economy of the tutorial on rows in time: its report in both forms, and effects over time."""
    import matplotlib.pyplot as plt

    page = (IMAGES.parent / "tutorials" / "series.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in page.split("```python\n")[1:]]
    scope: dict[str, object] = {}
    os.chdir(folder)
    for block in blocks:
        if "yearly" not in block and "panel" not in block:
            exec(block, scope)
        if "dynamics = " in block:
            break
    result, dynamics = scope["result"], scope["dynamics"]
    with Browser(folder / "series-profile", 1280, 1000) as browser:
        browser.open(result.report(folder / "series.html"))
        browser.run("document.getElementById('graph-title').scrollIntoView()")
        browser.settle()
        browser.resize(1280, 760)
        browser.screenshot(IMAGES / "series-moments.png")
        browser.click("#fold-time")
        browser.click(f".node[data-node='{dynamics.names.index('unemployment')}'] rect")
        browser.settle()
        browser.screenshot(IMAGES / "series-folded.png")
    figure, both = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    for ax, outcome in zip(both, ("investment", "unemployment"), strict=True):
        found = dynamics.effects("interest", outcome, steps=8)
        ax.fill_between(found["step"], found["low"], found["high"], color="#cfe0f0")
        ax.plot(found["step"], found["effect"], "o-", color="#0068a8", markersize=4)
        ax.axhline(0, color="#566474", linewidth=0.8)
        ax.set(title=f"interest on {outcome}", xlabel="quarters later", ylabel=f"change of {outcome}")
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "series-effects.png", dpi=110)
    for picture in IMAGES.glob("series-*.png"):
        smaller(picture)


def main() -> None:
    """Draw all but ``closing_gap.png``, which a benchmark draws; ``studio`` and ``report`` draw theirs only."""
    if sys.argv[1:] == ["studio"]:
        studio(Path(tempfile.mkdtemp()))
        return
    if sys.argv[1:] == ["series"]:
        series(Path(tempfile.mkdtemp()))
        return
    if sys.argv[1:] != ["report"]:
        side_by_side(IMAGES.parent / "notebooks" / "alarm.ipynb", IMAGES / "alarm.png")
    folder = Path(tempfile.mkdtemp())
    dagopt.datasets.load("lucas", n_samples=2000, random_state=0).data.to_csv(folder / "data.csv", index=False)
    os.chdir(folder)
    result = dagopt.learn("data.csv")
    page = result.report(folder / "light.html", regrets=result.regrets())
    page.write_text(page.read_text().replace("</body>", FIRST % "graph-title").replace("</body>", CLICK % "Coughing"))
    photograph(page, IMAGES / "report-light.png", (1200, 860))

    drawn = dagopt.learn(dagopt.simulate(25, 1000, 1.5, random_state=3).data, "order", restarts=2)
    page = drawn.report(folder / "dark.html")
    page.write_text(page.read_text().replace("</body>", FIRST % "graph-title"))
    photograph(page, IMAGES / "report-dark.png", (1200, 860), dark=True)

    data, _ = dagopt.datasets.load("asia", n_samples=1000, random_state=2)
    result = dagopt.learn(data)
    known = {"bootstrap": dagopt.bootstrap(data, 100, random_state=0), "posterior": dagopt.edge_posterior(data)}
    page = result.report(folder / "edges.html", regrets=result.regrets(), **known)
    page.write_text(page.read_text().replace("</body>", FIRST % "edges-section"))
    photograph(page, IMAGES / "report-edges.png", (1200, 480))

    large_reports(folder)
    if sys.argv[1:] == ["report"]:
        return
    studio(folder)
    series(folder)
    call = [sys.executable, "-m", "dagopt.cli", "learn", "data.csv", "--explain", "--bootstrap", "20"]
    terminal(call, IMAGES / "terminal.png", folder)


if __name__ == "__main__":
    main()
