"""Files of graphs: round trips with awkward names, other programs' spellings, and what is refused."""

import json
import os
import re
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from dagopt.errors import InputError
from dagopt.graph import FORMATS, Graph, as_graph, read_graph, write_graph
from strategies import any_name, dags, pdags

SHARED = Path(__file__).resolve().parents[4] / "shared"
MIXED = Graph.from_edges(["A", "B b", "C", "alone"], [("C", "A"), ("B b", "C"), ("C", "B b")])
BIF_A, BIF_B = (f"variable {name} {{ type discrete [ 2 ] {{ x, y }}; }} " for name in "AB")

xml_name = any_name.filter(lambda name: re.fullmatch("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+", name))
model_name = any_name.filter(lambda name: not re.search(r"[\[\]|:]", name) and name == name.strip())


def through_a_file(graph, suffix, format=None):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graph{suffix}"
        write_graph(graph, path, format=format)
        assert os.listdir(folder) == [path.name]
        return read_graph(path, format=format)


@pytest.mark.parametrize(
    ("suffix", "format"),
    [(".adj.csv", None), (".csv", "adjacency"), (".dot", None), (".gv", None), (".json", None), (".x", "dot")],
)
@settings(max_examples=30, deadline=None)
@given(graph=pdags())
def test_round_trip(suffix, format, graph):
    """Any PDAG with any names comes back the same, in the same order."""
    assert through_a_file(graph, suffix, format) == graph


@settings(max_examples=50, deadline=None)
@given(graph=pdags())
def test_round_trip_of_edges(graph):
    """An edge list gives back the same nodes and edges, and the order with the names."""
    back = through_a_file(graph, ".csv")
    assert set(back.names) == set(graph.names)
    assert as_graph(back, graph.names) == graph


@settings(max_examples=30, deadline=None)
@given(graph=pdags(xml_name))
def test_round_trip_of_graphml(graph):
    """Any PDAG whose names XML can hold comes back the same from GraphML."""
    assert through_a_file(graph, ".graphml") == graph


@pytest.mark.parametrize("suffix", [".bnlearn", ".txt"])
@settings(max_examples=30, deadline=None)
@given(graph=dags(model_name))
def test_round_trip_of_model_strings(suffix, graph):
    """Any DAG whose names a model string can hold comes back the same."""
    assert through_a_file(graph, suffix) == graph


@settings(max_examples=20, deadline=None)
@given(graph=pdags(xml_name))
def test_networkx_reads_what_we_write(graph):
    """The GraphML written is that of networkx, and its node-link JSON is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.graphml"
        write_graph(graph, path)
        assert as_graph(nx.read_graphml(path)) == graph
        for key in ("edges", "links"):
            path = Path(folder) / f"{key}.json"
            path.write_text(json.dumps(nx.node_link_data(graph.to_networkx(), edges=key)), encoding="utf-8")
            assert read_graph(path) == graph


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "from,to\nC,A\nB b,C\nC,B b\nalone,\n"),
        ("a.csv", '\ufeff"from" , "to"\r\nC, A\r\n B b ,"C"\r\n\r\nC,B b\r\nalone\r\n'),
        ("a.csv", "Source,Target\nC,A\nB b,C\nC,B b\nalone,"),
        ("a.csv", ",A,B b,C,alone\nA,0,0,0,0\nB b,0,0,1,0\nC,1,1,0,0\nalone,0,0,0,0\n"),
        ("a.csv", "A,B b,C,alone\n0,0,0,0\n0,0,1,0\n1,1,0,0\n0,0,0,0\n"),
        ("a.csv", "A,B b,C,alone\nC,1,1,0,0\nA,0,0,0,0\nB b,0,0,1.0,0\nalone,0,0,0,0\n"),
        ("a.gv", 'digraph { A; "B b"; C -> A; "B b" -> C [dir=none]; alone }'),
        ("a.dot", 'strict graph G { C -- A [dir=forward] "B b" -- C; alone; }'),
        ("a.dot", 'digraph { edge [dir="none"]; "B b" -> C; { edge [dir=back] A -> C } alone [shape=box] }'),
        ("a.json", json.dumps({"nodes": ["A", "B b", "C", {"id": "alone"}], "edges": [
            {"from": "C", "to": "A"}, {"from": "C", "to": "B b", "directed": False}]})),
        ("a.graphml", '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
         '<node id="A"/><node id="B b"/><node id="C"/><node id="alone"/>'
         '<edge source="C" target="A" directed="true"/><edge source="C" target="B b"/></graph></graphml>'),
        ("a.graphml", '<graphml><key id="v" for="node" attr.name="name"/><graph edgedefault="directed">'
         '<node id="n0"><data key="v">A</data></node><node id="n1"><data key="v">B b</data></node>'
         '<node id="n2"><data key="v">C</data></node><node id="n3"><data key="v">alone</data></node>'
         '<edge source="n2" target="n0"/><edge source="n1" target="n2"/><edge source="n2" target="n1"/>'
         "</graph></graphml>"),
    ],
)  # fmt: skip
def test_other_spellings(tmp_path, name, text):
    """Files as other programs and people write them give the same graph."""
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert read_graph(path, MIXED.names) == MIXED
    assert set(read_graph(str(path)).names) == set(MIXED.names)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "A,B\nB,C\nC,D\n", "expected 0 or 1 in row 2 but got 'B', 'C'"),
        ("a.csv", "A,B\nB,C\n", "in row 2 but got 'C'; put from,to above an edge list"),
        ("a.csv", "from,to\nA,B,C\n", "expected from,to in row 2"),
        ("a.csv", "from,to\nA,B\n,B\n", "expected from,to in row 3"),
        ("a.csv", "from,to\nA,A\n", "node 'A' has an edge to itself"),
        ("a.csv", 'from,to\n"A,B\n', "expected a closing quote"),
        ("a.csv", "A,B,C\n0,1,0\n0,0,0\n", "same names in the first column"),
        ("a.csv", "A,B,C\n0,1,0\n", "got 3 columns and 1 rows"),
        ("a.csv", "A,B\n0,1\n0\n", "expected 2 fields in row 3 but got 1"),
        ("a.csv", "A,B\n0,0.4\n0,0\n", "threshold the weights"),
        ("a.csv", ",A,B\nA,0,1\nC,0,0\n", "same names in the first column"),
        ("a.csv", ",A,A\nA,0,1\nA,0,0\n", "'A' more than once"),
        ("a.csv", "\n\n,\n", "got 2 columns and 0 rows"),
        ("a.json", "{", "expected JSON but .* at line 1"),
        ("a.json", "[1, 2]", 'the lists "nodes" and "edges"'),
        ("a.json", '{"nodes": ["A"]}', 'the lists "nodes" and "edges"'),
        ("a.json", '{"nodes": [null], "edges": []}', "expected a node under 'id' or 'name' but got None"),
        ("a.json", '{"nodes": ["A"], "edges": ["A"]}', "expected an edge with 'from' or 'source'"),
        ("a.json", '{"nodes": ["A"], "edges": [{"from": "A"}]}', "expected a node under 'to' or 'target'"),
        ("a.json", '{"nodes": ["A"], "edges": [{"from": "A", "to": "B"}]}', "unknown node in the graph 'B'"),
        ("a.json", "[" * 100000, "too many nested levels"),
        ("a.graphml", "<graphml", "expected GraphML but"),
        ("a.graphml", "<html/>", "with a <graph> but got <html>"),
        ("a.graphml", "<graphml><graph><node/></graph></graphml>", "<node> with 'id'"),
        ("a.graphml", '<graphml><graph><node id="a"/><node id="a"/></graph></graphml>', "'a' more than once"),
        ("a.graphml", '<graphml><graph><edge source="a"/></graph></graphml>', "<edge> with 'target'"),
        ("a.txt", "A -> B", "expected a bnlearn model string"),
        ("a.bnlearn", "[A][B|A", "at 3; write each"),
        ("a.bnlearn", "[A|B][B|A]", "'A' - 'B' is undirected"),
        ("a.bnlearn", "[A|B][B|C][C|A]", "has the cycle"),
        ("a.bnlearn", "[A][A]", "'A' more than once"),
        ("a.bif", "network x {}", "expected variable blocks but got none"),
        ("a.bif", BIF_A + "probability ( A | B ) { }", "line 1: variable 'B' has no variable block"),
        ("a.bif", BIF_A, "none for 'A'"),
        ("a.bif", BIF_A + BIF_B + "probability(A|B){} probability(B|A){}", "'A' - 'B' is undirected"),
    ],
)
def test_malformed_files(tmp_path, name, text, message):
    """A malformed file is refused in one line with its path and what is wrong."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_graph(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "an empty file"), (b" \r\n", "an empty file"), (b"from,to\nA,\xe9\n", "got byte 0xe9 at 10; save")],
)
def test_unreadable_content(tmp_path, content, message):
    """Empty files and other encodings are named as such."""
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_graph(path)
    assert str(path) in str(caught.value)


def test_paths_that_do_not_work(tmp_path, monkeypatch):
    """Missing files and folders, folders in place of files, and odd suffixes are told apart."""
    folder = tmp_path / "folder.dot"
    folder.mkdir()
    for action, message in [
        (lambda: read_graph(tmp_path / "none.dot"), "got none; check the path"),
        (lambda: read_graph(folder), "got a folder"),
        (lambda: read_graph("a\0b.dot"), "could not read"),
        (lambda: read_graph(tmp_path / "a.xyz"), "expected a graph file ending in"),
        (lambda: read_graph(tmp_path / "a.dot", format="dott"), "unknown graph format 'dott'; did you mean 'dot'"),
        (lambda: write_graph(MIXED, folder), "got a folder"),
        (lambda: write_graph(MIXED, tmp_path / "no" / "a.dot"), "there is no folder"),
        (lambda: write_graph(MIXED, tmp_path / "a.xyz"), "expected a graph file ending in"),
        (
            lambda: write_graph(MIXED, tmp_path / "a.bif"),
            r"expected probability tables.*dagopt convert graph\.csv out\.bif --data data\.csv",
        ),
        (lambda: write_graph(MIXED, tmp_path / "a.txt"), "'B b' - 'C' is undirected"),
        (lambda: write_graph([], tmp_path / "a.dot"), "expected a graph with nodes"),
        (lambda: write_graph(Graph([[0]], ["\ud800"]), tmp_path / "a.dot"), "cannot be written as UTF-8"),
        (lambda: write_graph(Graph([[0]], ["\x01"]), tmp_path / "a.graphml"), "cannot hold the character"),
        (lambda: write_graph(Graph([[0]], ["a:b"]), tmp_path / "a.txt"), "cannot hold the name 'a:b'"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            action()
        assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["folder.dot"]


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, step):
    """Where the disk refuses, the old file stands whole and nothing is left beside it."""
    path = tmp_path / "a.dot"
    write_graph(MIXED, path)

    def refuse(self, *_):
        if step == "write_bytes":
            self.touch()
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, step, refuse)
    with pytest.raises(InputError, match=r"could not write .*: permission denied; choose a folder"):
        write_graph([("A", "B")], path)
    monkeypatch.undo()
    assert read_graph(path) == MIXED
    assert os.listdir(tmp_path) == ["a.dot"]


def test_writing_replaces_files_and_links(tmp_path):
    """A file is replaced by the new graph; so is a link, and what it leads to stays."""
    path, link = tmp_path / "a.dot", tmp_path / "link.dot"
    write_graph([("A", "B")], path)
    link.symlink_to(path)
    write_graph(MIXED, link)
    assert not link.is_symlink()
    assert (read_graph(link), read_graph(path).n_edges) == (MIXED, 1)


def test_structure_of_a_bif_file(tmp_path):
    """The headers alone give the DAG: comments, quotes, states and incomplete tables do not disturb."""
    path = tmp_path / "a.bif"
    path.write_text(
        """network unknown { }
        // variable Ghost {
        variable smoke { type discrete [ 2 ] { yes, no }; property "see variable X { here"; }
        variable "lung" { type discrete [ 2 ] { variable, probability }; }
        variable x-ray { type discrete [ 2 ] { yes, no }; } /* probability ( smoke | lung ) */
        probability ( smoke ) { table 0.5, 0.5; }
        probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
        probability ( x-ray | smoke, "lung" ) { table 1, 0; }
        """.replace("see variable X { here", "a // b")
    )
    expected = [("smoke", "lung"), ("smoke", "x-ray"), ("lung", "x-ray")]
    assert read_graph(path) == Graph.from_edges(["smoke", "lung", "x-ray"], expected)


def test_formats_are_listed():
    """Every listed format but BIF writes and reads a DAG by its name."""
    dag = Graph.from_edges(["A", "B", "C"], [("A", "B"), ("A", "C")])
    for name in FORMATS:
        if name != "bif":
            assert through_a_file(dag, ".any", name) == dag


@pytest.mark.skipif(not SHARED.is_dir(), reason="the data sets are not beside the repository")
@pytest.mark.parametrize(("name", "n_edges"), [("lucas", 12), ("alarm", 46), ("insurance", 52)])
def test_true_dags_of_the_data_sets(name, n_edges):
    """The edge lists of the data sets are DAGs with the known number of edges."""
    graph = read_graph(SHARED / "data" / f"{name}.edges.csv")
    assert graph.is_dag
    assert graph.n_edges == n_edges


def test_edges_are_written_plainly(tmp_path):
    """The edge list of a DAG is what any CSV reader expects: a header and one row an edge."""
    path = tmp_path / "a.csv"
    write_graph(Graph.from_edges(["A", "B b", "C,c"], [(0, 1)]), path)
    assert path.read_text() == 'from,to\nA,B b\n"C,c",\n'
    assert np.array_equal(as_graph(path, ["B b", "A", "C,c"]).adjacency[1], [1, 0, 0])
