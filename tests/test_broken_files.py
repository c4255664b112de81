"""Every single change to a file of every kind: an equal or valid object, or one sentence that names the file.

Changes to JSON are made at every place of the parsed content; changes to other text at every line and every word.
"""

import copy
import itertools
import json
import re
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

import dagopt
from dagopt import files, memory
from dagopt.errors import InputError
from dagopt.families.families import Family
from dagopt.families.jkl import LocalScores, read_jkl, write_jkl
from dagopt.graph import read_graph, write_graph
from dagopt.graph.constraints import Constraints
from dagopt.graph.dag import Graph
from dagopt.methods.cg_dca.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from dagopt.methods.checkpoint_file import digest_of
from dagopt.networks.bif import read_bif, write_bif
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.gaussian_json import read_gaussian_json, write_gaussian_json
from dagopt.networks.gaussian_network import GaussianNetwork

MOST_BYTES = 50_000_000  # of memory for reading a file of a few kilobytes

NAN = float("nan")
VALUES = (
    None, True, -1, 0, 1.5, 10**30, -(10**30), 1e308, NAN, float("inf"), "", "x", "0x1", "a" * 20_000,
    [], [[]], [None], [0, 0], ["a"] * 3, {}, {"a": 1}, {"name": {}}, [[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]],
)  # fmt: skip
WORDS = (
    "", "-1", "0", "1e400", "nan", "9" * 5000, "A", "zz", '"', "{", "}", "(", "]", "[" * 3000, ";", ",", "|", "/*", "#",
    "\0", "A" * 10_000, "discrete", "table",
)  # fmt: skip


def json_changes(content: object) -> Iterator[object]:
    """Yield the content with one change: a part deleted, doubled, of another type or value, or an unknown key."""
    for path in list(_places(content)):
        for value in VALUES:
            yield _changed(content, path, lambda holder, key, value=value: holder.__setitem__(key, value))
        yield _changed(content, path, lambda holder, key: holder.__delitem__(key))
        if path and isinstance(path[-1], int):
            yield _changed(content, path, lambda holder, key: holder.insert(key, copy.deepcopy(holder[key])))
        else:
            yield _changed(content, path, lambda holder, key: holder.__setitem__("unknown", 1))


def _places(content: object, path: tuple = ()) -> Iterator[tuple]:
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _changed(content, path, change):
    whole = copy.deepcopy(content)
    holder = whole
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return whole


def text_changes(text: str) -> Iterator[str]:
    """Yield the text with one line gone, doubled or cut, or one word replaced, or one line moved to the end."""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        for others in ([], [line, line], [line[: len(line) // 2]]):
            yield "\n".join([*lines[:k], *others, *lines[k + 1 :]])
        yield "\n".join([*lines[:k], *lines[k + 1 :], line])
    for word in re.finditer(r"[^\s,;(){}\[\]|=]+|[,;(){}\[\]|=]", text):
        for other in WORDS:
            yield text[: word.start()] + other + text[word.end() :]


GRAPH = Graph.from_edges(["A", "B", "C"], [("A", "B"), ("C", "B"), ("B", "C")])
DAG = Graph.from_edges(["A", "B", "C"], [("A", "B"), ("C", "B")])


def checkpoint() -> Checkpoint:
    """Return a small checkpoint."""
    dag = np.zeros((3, 3), dtype=np.int8)
    dag[0, 2] = 1
    return Checkpoint(
        {"columns": ["a", "b", "c"], "epsilon": 1e-6},
        [Family(0, 0, -1.25), Family(2, 0b11, -3.5)],
        [frozenset({0, 2})],
        dag,
        2,
        dict(np.random.default_rng(5).bit_generator.state),
        [{"seconds": 0.5, "pass": 1, "phase": "families", "lp": NAN}],
    )


def discrete() -> DiscreteNetwork:
    """Return a network whose names and levels need properties in BIF."""
    tables = (np.array([0.25, 0.75]), np.array([[0.5, 0.5], [0.1, 0.9]]))
    return DiscreteNetwork(("A", "b c"), (("x", "y"), ("u v", "w")), ((), (0,)), tables)


def _use_checkpoint(path):
    found = load_checkpoint(path, checkpoint().problem, 3)
    np.random.default_rng().bit_generator.state = found.random_state
    assert all(np.isfinite(family.score) and not family.mask >> family.node & 1 for family in found.families)


def _use_graph(path):
    assert read_graph(path).adjacency.shape == (len(read_graph(path).names),) * 2


def _write_result(path):
    data = dagopt.datasets.load("asia", n_samples=300, random_state=0).data[["asia", "tub", "either", "xray"]]
    dagopt.learn(data, "exact", constraints={"forbidden": [("xray", "asia")]}, progress=False).save(path)


def _use_result(path):
    found = dagopt.Result.load(path)
    assert isinstance(found.summary() + found.proof + repr(found.to_dict()) + repr(found.dag), str)
    found.save(path.with_name("again.json"))
    assert dagopt.Result.load(path.with_name("again.json")).names == found.names


# How each kind of file is written, and how it is read and used.
KINDS = {
    "result.json": (_write_result, _use_result),
    "run.json": (lambda path: save_checkpoint(checkpoint(), path), _use_checkpoint),
    "graph.json": (lambda path: write_graph(GRAPH, path), _use_graph),
    "network.json": (
        lambda path: write_gaussian_json(
            GaussianNetwork(("A", "B"), np.array([[0, 0.5], [0, 0]]), np.zeros(2), np.ones(2)), path
        ),
        lambda path: read_gaussian_json(path).sample(3, 0),
    ),
    "scores.jkl": (
        lambda path: write_jkl(LocalScores(("A", "B"), [[((), -2.5), ((1,), -1.5)], [((), -3.0)]]), path),
        read_jkl,
    ),
    "network.bif": (lambda path: write_bif(discrete(), path), lambda path: read_bif(path).sample(3, 0)),
    "known.toml": (
        lambda path: path.write_text(
            'required = [["A", "B"]]\nforbidden = [["C", "B"]]\ntiers = [["A"], ["B", "C"]]\nmax_parents = 2\n'
        ),
        lambda path: Constraints.read(path).required,
    ),
    "graph.dot": (lambda path: write_graph(GRAPH, path), _use_graph),
    "graph.csv": (lambda path: write_graph(GRAPH, path), _use_graph),
    "graph.adj.csv": (lambda path: write_graph(GRAPH, path), _use_graph),
    "graph.graphml": (lambda path: write_graph(GRAPH, path), _use_graph),
    "graph.txt": (lambda path: write_graph(DAG, path), _use_graph),
}


@pytest.fixture(autouse=True)
def much_free_memory(monkeypatch):
    """Look up the free memory only once: the system's files are read slowly, and every file asks for it."""
    monkeypatch.setattr(files, "available_bytes", lambda: 8 << 30)


def outcome(path, use) -> bool:
    """Return whether a file was read; if not, check the sentence."""
    try:
        use(path)
    except InputError as error:
        said = str(error)
        assert "\n" not in said, said
        assert str(path) in said, said
        assert len(said) < 2000, said
        return False
    return True


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_every_single_change_is_read_or_refused_in_a_sentence(name, every, tmp_path):
    """No traceback, no large allocation, whatever one change does to the file; the file as written is read.

    The quick test takes one change in 13, which is prime to the number of changes made at one place.
    """
    write, use = KINDS[name]
    path = tmp_path / name
    write(path)
    text = path.read_text(encoding="utf-8")
    assert outcome(path, use)
    is_json = name.endswith(".json")
    changes = (json.dumps(one) for one in json_changes(json.loads(text))) if is_json else text_changes(text)
    refused = 0
    tracemalloc.start()
    try:
        for change in itertools.islice(changes, 0, None, every):
            path.write_text(change, encoding="utf-8")
            tracemalloc.reset_peak()
            refused += not outcome(path, use)
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES, change[:1000]
    finally:
        tracemalloc.stop()
    assert refused > 20 // every


def test_a_checkpoint_with_a_right_hash_is_checked_too(tmp_path):
    """The schema alone refuses what does not belong to the run, and what it accepts can be used."""
    path = tmp_path / "run.json"
    save_checkpoint(checkpoint(), path)
    content = json.loads(path.read_text())
    del content["sha256"]
    accepted = 0
    for change in json_changes(content):
        path.write_text(json.dumps({**change, "sha256": digest_of(json.loads(json.dumps(change)))}))
        accepted += outcome(path, _use_checkpoint)
    assert accepted > 20  # other scores, passes and rows of the trace


@pytest.mark.parametrize(
    "name, content",
    [
        (
            "network.json",
            json.dumps(
                {
                    "format": "dagopt gaussian network 1",
                    "description": "",
                    "nodes": [{"name": str(k), "intercept": 0, "variance": 1, "parents": {}} for k in range(12_000)],
                }
            ),
        ),
        (
            "network.bif",
            "".join(f"variable V{k} {{ type discrete [ 2 ] {{ x, y }}; }}\n" for k in range(40))
            + "".join(
                f"probability ( V{k} {'| ' + ', '.join(f'V{i}' for i in range(25)) if k > 30 else ''} )"
                " { default 0.5, 0.5; }\n"
                for k in range(40)
            ),
        ),
    ],
)
def test_a_small_file_of_a_large_object_is_refused_before_it_is_made(name, content, tmp_path, monkeypatch):
    """A file of some hundred kilobytes can describe gigabytes: the sentence has both figures."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 500_000_000)
    path = tmp_path / name
    path.write_text(content)
    use = KINDS[name][1]
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=rf"{name}.*would take .* of memory but 500\.0 MB are free"):
            use(path)
        assert tracemalloc.get_traced_memory()[1] < 2 * MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "name, content",
    [
        ("graph.json", json.dumps({"nodes": list(range(12_000)), "edges": []})),
        ("graph.dot", "digraph {" + ";".join(f"n{k}" for k in range(12_000)) + "}"),
        ("graph.csv", "from,to\n" + "".join(f"n{k},\n" for k in range(12_000))),
    ],
)
def test_a_graph_of_many_columns_is_read_as_a_sparse_one(name, content, tmp_path):
    """Its 12,000 columns would take 0.14 GB as a matrix."""
    path = tmp_path / name
    path.write_text(content)
    tracemalloc.start()
    try:
        assert len(dagopt.read_graph(path).names) == 12_000
        assert tracemalloc.get_traced_memory()[1] < 2 * MOST_BYTES
    finally:
        tracemalloc.stop()
