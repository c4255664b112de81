"""The DOT reader, statement by statement."""

import pytest

from dagopt.errors import InputError
from dagopt.graph.formats.dot import parse_dot


@pytest.mark.parametrize(
    ("body", "directed", "undirected"),
    [
        ("a -> b -> c", ["ab", "bc"], []),
        ("a -> {b c}", ["ab", "ac"], []),
        ("{a; b} -> {c d}", ["ac", "ad", "bc", "bd"], []),
        ("{a -> b} -> c", ["ab", "ac", "bc"], []),
        ("subgraph cluster_1 { label = x; a -> b } subgraph { c }", ["ab"], []),
        ("a -> subgraph s { b c } -> d", ["ab", "ac", "bd", "cd"], []),
        ("a -- b", [], ["ab"]),
        ("a -> b; b -> a", [], ["ab"]),
        ("a -> b [dir=none]", [], ["ab"]),
        ("a -> b [dir=both]", [], ["ab"]),
        ("a -> b [dir=back]", ["ba"], []),
        ("a -> b [DIR = NONE]", [], ["ab"]),
        ("a -> b [arrowhead=none]", [], ["ab"]),
        ("a -> b [dir=both, arrowtail=none]", ["ab"], []),
        ("a -- b [dir=forward]", ["ab"], []),
        ("edge [dir=none] a -> b; edge [dir=forward]; b -> c", ["bc"], ["ab"]),
        ("{ edge [dir=none]; a -> b } b -> c", ["bc"], ["ab"]),
        ("edge [dir=none]; a -> b [dir=forward]", ["ab"], []),
        ("node [shape=box]; graph [rankdir=LR]; rankdir = TB; a -> b", ["ab"], []),
        ("a -> b [label=<<b>bold</b> x>, weight=-1.5][color=red;style=\"x\"]", ["ab"], []),
        ('"a" -> "" + "b"', ["ab"], []),
        ("a:port -> b:p:nw", ["ab"], []),
        ("a -> b // -> c\n /* b -> c */\n# b -> c\n", ["ab"], []),
        ("a\n->\nb", ["ab"], []),
        ("a->b;;c", ["ab"], []),
        ("a [exposure, pos=\"1,2\"] a -> b", ["ab"], []),
    ],
)  # fmt: skip
def test_statements(body, directed, undirected):
    """Each statement gives the edges that Graphviz would draw."""
    graph = parse_dot(f"digraph G {{ {body} }}")
    assert {a + b for a, b in graph.directed_edges} == set(directed)
    assert {"".join(sorted(pair)) for pair in graph.undirected_edges} == set(undirected)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("b; a; a -> c", ("b", "a", "c")),
        ('"node" -> "edge"', ("node", "edge")),
        ("1 -> -2.5; Ünï -> x.y", ("1", "-2.5", "Ünï", "x.y")),
        (
            r'"say \"hi\"" "a\\" "a\n" "con\
tinued"',
            ('say "hi"', "a\\", "a\\n", "continued"),
        ),
        ("a--1", ("a", "1")),
        ("<html> -> b", ("html", "b")),
    ],
)
def test_names(body, names):
    """Names come in order of appearance, unescaped."""
    assert parse_dot(f"strict digraph {{{body}}}").names == names


@pytest.mark.parametrize("head", ["digraph", "DiGraph x", "graph 'g'".replace("'", '"'), "strict graph", "dag", "pdag"])
def test_heads(head):
    """Every kind of graph is read, in any case, named or not."""
    assert parse_dot(head + "{a -> b}").directed_edges == [("a", "b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A -> B", "found 'A' in line 1"),
        ("digraph", "found 'the end' in line 1"),
        ("digraph {\n a -> b", "found 'the end' in line 2"),
        ("digraph {\n a -> \n}", "found '}' in line 3"),
        ("digraph { a -> b [dir=none }", "found '}' in line 1"),
        ("digraph { a <-> b }", "found '<-> b }' in line 1"),
        ("digraph { a, b -> c }", "found ',' in line 1"),
        ('digraph { "a }', "found '\"a }' in line 1"),
        ("digraph { a [label=<b }", "found '<' without its '>'"),
        ("digraph { a } digraph { b }", "found 'digraph' in line 1"),
        ("digraph " + "{" * 5000, "more than 100 nested braces"),
        ("digraph { a -> a }", "node 'a' has an edge to itself"),
        ('digraph { "" -> a }', "got an empty one"),
        ("digraph { a + b }", r"found '\+' in line 1"),
    ],
)
def test_malformed(text, message):
    """What is no DOT is refused in one line with the place."""
    with pytest.raises(InputError, match=message) as caught:
        parse_dot(text)
    assert "\n" not in str(caught.value)
