"""How heavy is the report? ``python -m benchmarks.report 30 300 3000`` (needs chromium).

One row per number of columns: edges of the learned graph, CPU seconds to write the page, its size, and in Chromium the
seconds until it is painted and from a click on a column, on an edge and on "Only its neighbours" until that is painted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dagopt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "made"))
from browser import Browser

HEAD = ("columns", "edges", "written, CPU s", "MB", "opened, s", "column, s", "edge, s", "neighbours, s")
CLICKED = """(async () => {
  const begin = performance.now(), what = document.querySelector(%r);
  what.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return (performance.now() - begin) / 1000;
})()"""


def learned(columns: int, rows: int, seconds: float) -> dagopt.Result:
    """Return a graph of so many columns, by order search, with the directions checked."""
    data = dagopt.simulate(columns, rows, 1.5, random_state=0).data
    result = dagopt.learn(data, "order", restarts=1, score="ebic", time_limit=seconds)
    result.directions()
    return result


def opened(page: Path, folder: Path) -> list[float]:
    """Return the seconds to open a page, and those of three clicks."""
    with Browser(folder / "profile", 1280, 900) as browser:
        began = time.perf_counter()
        browser.open(page)
        spent = [time.perf_counter() - began]
        for selector in (".node", ".edge", ".node"):
            spent.append(float(browser.run(CLICKED % selector)))
        spent[-1] = float(browser.run(CLICKED % "#alone")) if browser.run("!!document.querySelector('#alone')") else 0.0
        if browser.problems:
            raise RuntimeError(str(browser.problems[:3]))
    return spent


def measured(columns: int, rows: int, seconds: float) -> list[Any]:
    """Return one row of the table."""
    result = learned(columns, rows, seconds)
    with tempfile.TemporaryDirectory() as name:
        began = time.process_time()
        page = result.report(Path(name) / "report.html")
        written = time.process_time() - began
        spent = opened(page, Path(name))
        size = page.stat().st_size / 1e6
    return [columns, result.graph.n_edges, f"{written:.2f}", f"{size:.2f}", *(f"{one:.2f}" for one in spent)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("columns", type=int, nargs="*", default=[30, 300, 3000])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of the search, which is not measured")
    chosen = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    for columns in chosen.columns:
        row = measured(columns, chosen.rows, chosen.seconds)
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
