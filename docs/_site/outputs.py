"""Run pages of the documentation and write what their code prints: python docs/_site/outputs.py PAGE ...

A block ``text`` right after a block ``python`` holds the output of that block; an empty one is filled. The tests of the
documentation run the same code and compare: words exactly, numbers to a thousandth, seconds not at all.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"\d+(\.\d+)? s\b|(?<=seconds) +\d+(\.\d+)?")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
TOLERANCE = 1e-3  # relative: libraries of linear algebra differ in the last digits


class Step(NamedTuple):
    """A fenced block: its language and text, and for code with an output below it, that output and where it is."""

    language: str
    text: str
    shown: str | None = None
    place: tuple[int, int] = (0, 0)


def steps(page: str) -> list[Step]:
    """Return the blocks of a page in order; outputs are part of the code above them."""
    found: list[Step] = []
    for block, after in pairwise([*BLOCK.finditer(page), None]):
        if found and found[-1].shown is not None and found[-1].place == block.span(2):
            continue
        output = after is not None and block[1] == "python" and after[1] == "text"
        if output and not page[block.end() : after.start()].strip():
            found.append(Step(block[1], block[2], after[2], after.span(2)))
        else:
            found.append(Step(block[1], block[2]))
    return found


def printed(code: str, name: str, namespace: dict[str, Any]) -> str:
    """Run code in a namespace and return what it prints, without spaces at the ends of lines."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, name, "exec", dont_inherit=True), namespace)
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().rstrip().splitlines())


def same(left: str, right: str) -> bool:
    """Tell whether two outputs agree: words exactly, numbers nearly, seconds and the width of columns not at all."""
    left, right = ([*SECONDS.sub("some s", text).split()] for text in (left, right))
    return len(left) == len(right) and all(map(_same_word, left, right))


def _same_word(left: str, right: str) -> bool:
    if left == right:
        return True
    numbers = zip(NUMBER.findall(left), NUMBER.findall(right), strict=False)
    alike = NUMBER.sub("#", left) == NUMBER.sub("#", right)
    return alike and all(math.isclose(float(a), float(b), rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in numbers)


def write(path: Path) -> None:
    """Run a page and put its outputs into it."""
    page = path.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "page"}
    new, done = "", 0
    for step in steps(page):
        if step.language != "python":
            continue
        said = printed(step.text, path.name, namespace)
        if step.shown is not None:
            new += page[done : step.place[0]] + (step.shown if same(said, step.shown) else said)
            done = step.place[1]
    path.write_text(new + page[done:], encoding="utf-8")


def main() -> None:
    """Write the outputs of the pages that the command line names."""
    import dagopt

    for path in [Path(name).resolve() for name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            dagopt.datasets.load("asia", n_samples=200, random_state=0).data.to_csv("data.csv", index=False)
            print(f"running {path.name} ...", flush=True)
            write(path)


if __name__ == "__main__":
    main()
