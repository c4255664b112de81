"""Broken files of every format, given to every command: an error in one sentence or an answer, within time and memory.

Correct files are made once; a case breaks one of them and gives it to a command that reads it. Cases run in a
child process with limits on memory, file size and time; it is restarted when it dies.
"""

from __future__ import annotations

import gzip
import io
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import dagopt
from dagopt.networks.gaussian_json import read_gaussian_json

SECONDS = 60.0
MEMORY = 6 << 30  # bytes of address space, most of which numba and the solvers use
LARGEST_FILE = 64 << 20

# What reads each kind of file; {} is the broken one, the others are right.
COMMANDS = {
    "numbers.csv": (
        "learn {}", "doctor {}", "score {} graph.dot", "fit {} graph.dot", "bootstrap {} --resamples 3 --method hc",
        "posterior {}", "path {} --points 3", "explain {} A B", "learn {} --method hc --out out",
        "learn {} --kind discrete",
        "learn {} --discretize quantile --missing drop", "learn {} --method pc",
    ),
    "numbers.tsv": ("learn {}", "doctor {} --json"),
    "numbers.csv.gz": ("learn {}", "doctor {}"),
    "levels.csv": (
        "learn {}", "learn {} --score bdeu", "doctor {}", "convert graph.dot out.bif --data {}", "fit {} graph.dot",
    ),
    "numbers.parquet": ("learn {}", "doctor {}"),
    "scores.jkl": ("learn {}", "learn {} --method gobnilp"),
    "graph.dot": (
        "score numbers.csv {}", "compare {} graph.csv", "convert {} out.json",
        "learn numbers.csv --method hc --start {}",
    ),
    "graph.csv": ("score numbers.csv {}", "compare graph.dot {}", "convert {} out.graphml"),
    "graph.adj.csv": ("score numbers.csv {}", "convert {} out.dot --essential"),
    "graph.json": ("score numbers.csv {}", "compare {} graph.dot", "convert {} out.txt"),
    "graph.graphml": ("score numbers.csv {}", "compare {} graph.dot", "convert {} out.csv"),
    "graph.txt": ("score numbers.csv {}", "compare {} graph.dot"),
    "network.bif": ("compare {} {}", "convert {} out.csv", "simulate --network {} --samples 20 --out out.csv"),
    "known.toml": ("learn numbers.csv --knowledge {}", "posterior numbers.csv --knowledge {}"),
    "result.json": ("load result {}",),
    "run.json": ("learn numbers.csv --method cg-dca-paper --checkpoint {} --resume",),
    "network.json": ("load network {}",),
}  # fmt: skip
WORDS = (
    "nan", "inf", "-inf", "1e308", "-1e400", "", " ", '"', "'", ",", ";", "\t", "\n", "\r", "\r\n", "\0", "\ufeff",
    "9" * 5000, "-1", "0", "1e-320", "{", "}", "[", "]", "(", ")", "[" * 3000, "{" * 3000, "->", "--", "<", ">",
    "&amp;", "A", "B", "None", "null", "true", "0x10", "é", "\u202e", "\U0001f600", "=", "#", "//", "/*", "|", ":",
    "A" * 10000,
)  # fmt: skip


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    rng = np.random.default_rng([seed, number, 2])
    kind = sorted(COMMANDS)[number % len(COMMANDS)]
    command = str(rng.choice(COMMANDS[kind]))
    content = broken(right_files()[kind], rng)
    ending = "".join(Path(kind).suffixes)
    code, said = _child().run(content, f"broken{ending}", command)
    counts["cases"] += 1
    counts[f"format: {ending}"] += 1
    counts[f"exit code {code}" if code in (0, 1, 2) else "crashes"] += 1
    if code in (0, 1, 2) and "Traceback" not in said and not (code == 2 and said.strip().count("\n") > 0):
        return None
    kept = Path(tempfile.gettempdir()) / f"hunt_{seed}_{number}{ending}"
    kept.write_bytes(content)
    shown = "\n".join(said.strip().splitlines()[-12:])
    again = f"python -m hunt files --seed {seed} --only {number}"
    return f"exit code {code}\n{shown}\n{again}\ndagopt {command.format(kept)}   # {len(content)} bytes"


def broken(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with one to four things wrong with it."""
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        return gzip.compress(broken(gzip.decompress(content), rng))
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        content = _break_once(content, rng)
    return content


def _break_once(content: bytes, rng: np.random.Generator) -> bytes:
    size = max(len(content), 1)
    a, b = sorted(int(x) for x in rng.integers(0, size + 1, 2))
    b = min(b, a + int(rng.integers(1, 40)))
    word = WORDS[int(rng.integers(len(WORDS)))].encode()
    lines = content.split(b"\n")
    i, j = (int(x) for x in rng.integers(0, len(lines), 2))
    ways: list[Callable[[], bytes]] = [
        lambda: content[:a] + bytes([int(rng.integers(256))]) + content[a + 1 :],  # another byte
        lambda: content[:a] + content[b:],  # a part is gone
        lambda: content[:b] + content[a:],  # a part comes twice
        lambda: content[:a] + word + content[a:],  # a word comes in between
        lambda: content[:a] + word + content[b:],  # or in place of a part
        lambda: content[:a],  # the end is gone
        lambda: b"\n".join([*lines[:i], *lines[i + 1 :]]),  # a line is gone
        lambda: b"\n".join([*lines[:i], lines[j], *lines[i:]]),  # a line comes twice
        lambda: b"\n".join([*lines[:1], *([lines[-1]] if i % 2 else [])]),  # hardly anything is left
        lambda: content.replace(b",", word if len(word) < 100 else b";"),
        lambda: _number_replaced(content, word, rng),
    ]
    return ways[int(rng.integers(len(ways)))]()


def _number_replaced(content: bytes, word: bytes, rng: np.random.Generator) -> bytes:
    fields = content.split(b",")
    fields[int(rng.integers(len(fields)))] = word
    return b",".join(fields)


@cache
def right_files() -> dict[str, bytes]:
    """Return a correct file of every kind."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 4))
    values[:, 1] += values[:, 0]
    names = "ABCD"
    rows = [",".join(f"{x:.6g}" for x in row) for row in values]
    numbers = "\n".join([",".join(names), *rows]) + "\n"
    codes = [["xyz"[int(x)] for x in row] for row in rng.integers(0, 3, (40, 4))]
    levels = "\n".join([",".join(names), *(",".join(row) for row in codes)]) + "\n"
    sets = [
        ("A", ["-10.5 0", "-8.25 1 B"]),
        ("B", ["-9.5 0", "-7.5 1 A"]),
        ("C", ["-3.0 0"]),
        ("D", ["-4.5 0", "-4.0 2 A B"]),
    ]
    blocks = [line for name, own in sets for line in (f"{name} {len(own)}", *own)]
    frame = __import__("pandas").DataFrame(values, columns=list(names))
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    edges = '{"from": "A", "to": "B", "directed": true}, {"from": "B", "to": "C", "directed": true}'
    graphml = (
        '<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<graph edgedefault="directed"><node id="A"/><node id="B"/><node id="C"/><node id="D"/>'
        '<edge source="A" target="B"/><edge source="B" target="C"/></graph></graphml>'
    )
    bif = (
        'network "n" {\n}\nvariable A {\n type discrete [ 2 ] { x, y };\n}\n'
        "variable B {\n type discrete [ 2 ] { x, y };\n}\n"
        "probability ( A ) {\n table 0.25, 0.75;\n}\nprobability ( B | A ) {\n (x) 0.5, 0.5;\n (y) 0.1, 0.9;\n}\n"
    )
    gaussian = {
        "format": "dagopt gaussian network 1",
        "description": "",
        "nodes": [
            {"name": "A", "intercept": 0.5, "variance": 1.0, "parents": {}},
            {"name": "B", "intercept": 0.0, "variance": 2.0, "parents": {"A": 0.5}},
        ],
    }
    toml = 'required = [["A", "B"]]\nforbidden = [["C", "D"]]\ntiers = [["A"], ["B", "C"]]\nmax_parents = 2\n'
    return {
        "numbers.csv": numbers.encode(),
        "numbers.tsv": numbers.replace(",", "\t").encode(),
        "numbers.csv.gz": gzip.compress(numbers.encode()),
        "levels.csv": levels.encode(),
        "numbers.parquet": parquet.getvalue(),
        "scores.jkl": ("4\n" + "\n".join(blocks) + "\n").encode(),
        "graph.dot": b"digraph { A -> B; B -> C; D }\n",
        "graph.csv": b"from,to\nA,B\nB,C\nD,\n",
        "graph.adj.csv": b",A,B,C,D\nA,0,1,0,0\nB,0,0,1,0\nC,0,0,0,0\nD,0,0,0,0\n",
        "graph.json": f'{{"nodes": ["A", "B", "C", "D"], "edges": [{edges}]}}\n'.encode(),
        "graph.graphml": graphml.encode(),
        "graph.txt": b"[A][B|A][C|B][D]\n",
        "network.bif": bif.encode(),
        "known.toml": toml.encode(),
        "network.json": json.dumps(gaussian).encode(),
        **_saved(numbers),
    }


def _saved(numbers: str) -> dict[str, bytes]:
    """Return a saved result and a checkpoint of the table of numbers."""
    with tempfile.TemporaryDirectory() as folder:
        data, result, run = (Path(folder) / name for name in ("numbers.csv", "result.json", "run.json"))
        data.write_text(numbers)
        dagopt.learn(data, "exact").save(result)
        dagopt.learn(data, "cg-dca-paper", checkpoint=run)
        return {path.name: path.read_bytes() for path in (result, run)}


def run_command(command: str, name: str) -> int:
    """Run a command on a file and return its exit code; ``load`` stands for the readers that no command has."""
    from dagopt.cli import run

    if not command.startswith("load "):
        return run(command.format(*[name] * command.count("{}")).split() + quiet(command))
    try:
        if command.startswith("load result"):
            dagopt.Result.load(name).summary()
        else:
            read_gaussian_json(name).sample(10, 0)
    except dagopt.InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


# --- the child that runs the commands ---------------------------------------------------------------------------


class _Child:
    """A process that runs one command after the other, and is restarted if it does not answer."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def run(self, content: bytes, name: str, command: str) -> tuple[int | str, str]:
        """Return the exit code, or what happened instead, and the text on standard error."""
        if self._process is None or not self._process.is_alive():
            self._start()
        self._pipe.send((content, name, command))
        if self._pipe.poll(SECONDS):
            try:
                code, said = self._pipe.recv()
                return code, said
            except EOFError:
                self._process.join()
                return f"died ({self._process.exitcode})", ""
        self._process.kill()
        self._process.join()
        return f"no end within {SECONDS:.0f} s", ""

    def _start(self) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        while not self._pipe.poll(300):
            raise RuntimeError("the child does not start")
        self._pipe.recv()


@cache
def _child() -> _Child:
    return _Child()


def _serve(pipe: Connection) -> None:
    """Run commands in a folder of its own, with limits."""
    from dagopt.cli import run

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content in right_files().items():
            Path(name).write_bytes(content)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            run(["learn", "numbers.csv"])
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        pipe.send("ready")
        while True:
            try:
                content, name, command = pipe.recv()
            except EOFError:
                return
            Path(name).write_bytes(content)
            said = io.StringIO()
            code: int | str
            with redirect_stdout(io.StringIO()), redirect_stderr(said):
                try:
                    code = run_command(command, name)
                except BaseException as error:
                    code = type(error).__name__
                    said.write(traceback.format_exc())
            for path in Path().iterdir():
                if path.name.startswith(("out", "broken", ".")) and path.is_file():
                    path.unlink()
            pipe.send((code, said.getvalue()))


def quiet(command: str) -> list[str]:
    """Return the options that keep warnings and progress from standard error."""
    talks = command.split()[0] in ("learn", "bootstrap", "posterior", "path", "explain")
    return ["--quiet"] if talks else []
