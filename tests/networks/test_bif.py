"""BIF and JSON files: exact round trips, the dialects in use, and errors with their line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.errors import InputError
from dagopt.networks.bif import format_bif, parse_bif, read_bif, write_bif
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.gaussian_json import (
    format_gaussian_json,
    parse_gaussian_json,
    read_gaussian_json,
    write_gaussian_json,
)
from dagopt.networks.gaussian_network import GaussianNetwork
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network

DOGS = """
/* A small network
   in the older dialect. */
network "Dog-Problem" { //3 variables
  property "credal-set constant-density-bounded 1.1" ;
  property author = http://example.org/someone ;
}
variable  "dog-out" { type discrete[2] {  "true"  "false" }; property position = (155, 165) ; }
variable family-out{type discrete [ 2 ]{true,false};}
variable bowel { type discrete [2] { true, false }; }
probability ( "dog-out" "bowel" "family-out" ) { //3 variables
  table 0.99 0.97 0.9 0.3 0.01 0.03 0.1 0.7 ;
}
probability ( bowel ) { table 1e-2, .99; }
probability ( family-out | bowel ) { default 0.2, 0.8; (true) 0.5 0.5; }
"""

A = "variable a { type discrete [ 2 ] { x, y }; }\n"
B = "variable b { type discrete [ 2 ] { u, v }; }\n"
HEAD = "network n {\n}\n" + A + B
ROOT = "probability ( a ) { table 0.5, 0.5; }\n"
CHILD = "probability ( b | a ) {\n (x) 0.1, 0.9;\n (y) 0.2, 0.8;\n}\n"


def assert_same(first, second):
    """Both networks have the same names, levels and parents, and bitwise the same tables."""
    assert (first.names, first.levels, first.parents) == (second.names, second.levels, second.parents)
    for one, other in zip(first.tables, second.tables, strict=True):
        assert np.array_equal(one, other)


def test_older_dialect():
    """Quoted names, properties, comments, defaults and a conditional table are all read."""
    network = parse_bif(DOGS)
    assert network.names == ("dog-out", "family-out", "bowel")
    assert network.parents == ((2, 1), (2,), ())
    assert network.tables[0][0, 0].tolist() == [0.99, 0.01]
    assert network.tables[0][0, 1].tolist() == [0.97, 0.03]
    assert network.tables[0][1, 1].tolist() == [0.3, 0.7]
    assert network.tables[1].tolist() == [[0.5, 0.5], [0.2, 0.8]]
    assert network.tables[2].tolist() == [0.01, 0.99]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n_nodes=st.integers(2, 8))
def test_round_trip_of_random_networks(seed, n_nodes):
    """Writing and reading gives back every float of a random network."""
    network = random_discrete_network(n_nodes, 0.5, random_state=seed)
    assert_same(network, parse_bif(format_bif(network)))


AWKWARD = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "",
        " ",
        "None",
        "table",
        "default",
        "property",
        "a//b",
        "/*",
        '"',
        "\\",
        '\\"',
        "a,b",
        "{",
        ";",
        "\r\n",
        "\ufeff",
    ]
)


@settings(max_examples=75, deadline=None)
@given(
    names=st.lists(AWKWARD, min_size=2, max_size=2, unique=True),
    levels=st.lists(AWKWARD, min_size=2, unique=True),
)
def test_round_trip_of_awkward_names(names, levels):
    """Names and levels with marks, spaces, keywords, quotes or nothing at all survive."""
    row = np.full(len(levels), 1 / len(levels))
    tables = (row, np.tile(row, (len(levels), 1)))
    network = DiscreteNetwork(tuple(names), (tuple(levels),) * 2, ((), (0,)), tables)
    text = format_bif(network, name=names[0], comment="two\nlines")
    assert_same(network, parse_bif(text.encode().decode("utf-8-sig")))


def test_file_round_trip_leaves_nothing_behind(tmp_path):
    """A file is replaced whole, with no other file left, and its bytes are kept by a second trip."""
    network = parse_bif(DOGS)
    path = tmp_path / "dogs.bif"
    path.write_text("old")
    write_bif(network, path, name="dogs", comment="source: a test")
    first = path.read_bytes()
    assert first.startswith(b"// source: a test\nnetwork dogs {")
    assert_same(network, read_bif(path))
    write_bif(read_bif(str(path)), path, name="dogs", comment="source: a test")
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["dogs.bif"]


def test_blocks_in_any_order_and_rounded_rows():
    """Probability blocks may come first, and rows rounded to three digits are divided by their sum."""
    text = "probability(a){table 0.333,0.333,0.333;} variable a {type discrete [3] {x,y,z};}"
    assert parse_bif(text).tables[0] == pytest.approx([1 / 3] * 3, abs=1e-15)


@pytest.mark.parametrize(
    "text, line, words",
    [
        (HEAD + "potential ( a ) { }", 5, "'potential'"),
        (HEAD + ROOT + "probability ( b | c ) { (x) 1, 0; }", 6, "'c' has no variable block"),
        (HEAD + ROOT + "probability ( b | a, a ) { }", 6, "twice"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1, 0.9;\n}", 6, "(y)"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1, 0.9;\n (z) 0.2, 0.8;\n}", 8, "unknown level 'z'"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x, y) 0.1, 0.9;\n}", 7, "1 parent levels"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1, 0.9;\n (x) 0.2, 0.8;\n}", 8, "again"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1, 0.8;\n (y) 0.2, 0.8;\n}", 7, "off by 0.1"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1;\n}", 7, "2 probabilities for 'b' but got 1"),
        (HEAD + ROOT + "probability ( b | a ) {\n table 0.1, 0.2, 0.7;\n}", 7, "4 probabilities"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1 0.x;\n}", 7, "'0.x'"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) -0.1 1.1;\n}", 7, "-0.1"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) nan 1;\n}", 7, "nan"),
        (HEAD + ROOT + "probability ( b | a ) {\n [x] 0.1 0.9;\n}", 7, "'['"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1 0.9\n}", 8, "';'"),
        (HEAD + ROOT + "probability ( b | a ) {\n (x) 0.1, 0.9;\n", 8, "the end of the file"),
        (HEAD + ROOT + CHILD + ROOT, 10, "'a'"),
        (HEAD + "variable a { type discrete [ 2 ] { x, y }; }", 5, "'a' again"),
        (HEAD + "variable c { type discrete [ 3 ] { x, y }; }", 5, "3 levels for 'c' but got 2"),
        (HEAD + "variable c { type discrete [ 2 ] { x, x }; }", 5, "different levels"),
        (HEAD + "variable c { type continuous; }", 5, "'continuous'"),
        (HEAD + "variable c { }", 5, "no type"),
        (HEAD + "variable { }", 5, "name of a variable"),
        (HEAD + "variable c { property x", 5, "';'"),
        (HEAD + 'variable "c', 5, "closed string"),
        (HEAD + "/* open", 5, "closed string or comment"),
        ("network n { variable }", 1, "'variable'"),
        ("network n", 1, "'{'"),
    ],
)
def test_errors_name_the_line(text, line, words):
    """Each defect is reported in one sentence with the line it stands on."""
    with pytest.raises(InputError) as error:
        parse_bif(text, "f.bif")
    assert str(error.value).startswith(f"f.bif, line {line}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text, words",
    [
        (HEAD + ROOT, "none for 'b'"),
        ("network n { }", "variable blocks"),
        (HEAD + CHILD + "probability ( a | b ) { default 0.5 0.5; }", "cycle"),
    ],
)
def test_errors_about_the_whole_file(text, words):
    """Defects that no single line has name the file."""
    with pytest.raises(InputError, match=words) as error:
        parse_bif(text, "f.bif")
    assert str(error.value).startswith("f.bif: ")


@pytest.mark.parametrize("read", [read_bif, read_gaussian_json])
def test_unreadable_files(read, tmp_path):
    """No file, a folder, an empty file and bytes that are no text each get their sentence."""
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "binary").write_bytes(b"network \xff\xfe")
    for name, words in (
        ("none", "got none"),
        (".", "folder"),
        ("a\0b", "null"),
        ("empty", "empty"),
        ("binary", "UTF-8"),
    ):
        with pytest.raises(InputError, match=words):
            read(tmp_path / name)


def test_unwritable_places(tmp_path):
    """A folder, a folder that is not there and a null in the path are refused, leaving nothing behind."""
    network = parse_bif(DOGS)
    for path in (tmp_path, tmp_path / "none" / "a.bif"):
        with pytest.raises(InputError, match="folder"):
            write_bif(network, path)
    with pytest.raises(InputError, match="null"):
        write_bif(network, tmp_path / "a\0b")
    assert not list(tmp_path.iterdir())


def test_gaussian_round_trip(tmp_path):
    """A Gaussian network comes back from JSON with every float."""
    network = random_gaussian_network(7, 1.5, random_state=0)
    network = GaussianNetwork(network.names, network.weights, np.arange(7) / 3, network.variances)
    write_gaussian_json(network, tmp_path / "g.json", description="a test")
    back = read_gaussian_json(tmp_path / "g.json")
    assert back.names == network.names
    for field in ("weights", "intercepts", "variances"):
        assert np.array_equal(getattr(back, field), getattr(network, field))


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("{", "[", "expected JSON"),
        ("dagopt gaussian", "other", "format"),
        ('"nodes"', '"knots"', "expected the key 'nodes'"),
        ('"name": "X0"', '"name": 3', "expected text at nodes[0].name but got 3"),
        ('"name": "X0"', '"name": "Y"', "unknown parent of 'X1': 'X0'"),
        ('"X0": 0.5', '"X0": "0.5"', "'0.5'"),
        ('"variance": 1.0', '"variance": null', "expected a finite number at nodes[0].variance but got None"),
        ('"variance": 1.0', '"variance": -1.0', "variance > 0"),
        ('"variance": 1.0', '"variance": NaN', "expected a finite number at nodes[0].variance but got nan"),
    ],
)
def test_gaussian_json_errors(old, new, words):
    """Each defect of a JSON file is named with its node or key."""
    network = GaussianNetwork(("X0", "X1"), np.array([[0, 0.5], [0, 0]]), np.zeros(2), np.ones(2))
    text = format_gaussian_json(network)
    assert old in text
    with pytest.raises(InputError) as error:
        parse_gaussian_json(text.replace(old, new), "g.json")
    assert str(error.value).startswith("g.json: ")
    assert words in str(error.value)
