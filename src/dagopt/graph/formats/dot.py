"""Graphs in the DOT language of Graphviz: a tolerant reader and a plain writer.

The reader takes ``digraph`` and ``graph`` (and dagitty's ``dag`` and ``pdag``), quoted and joined
texts, chains ``a -> b -> c``, groups ``{a b}``, nested subgraphs, ports, attributes, defaults and
comments. An edge means what Graphviz would draw: with an arrowhead at one end it is directed, with none
or with both it is undirected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dagopt.errors import InputError
from dagopt.graph.dag import Graph, as_graph
from dagopt.graph.formats.edge_numbers import Figures

__all__ = ["format_dot", "parse_dot"]

_TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | //[^\n]* | /\*.*?\*/ | ^\#[^\n]* )
    | (?P<quoted> "(?:[^"\\]|\\.)*" )
    | (?P<edge> -> | -- )
    | (?P<mark> [{}\[\];,=:+] )
    | (?P<word> -?[\w.]+ )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_ESCAPE = re.compile(r'\\(?:(["\\])|\r?\n)')
_MOST_NESTED = 100


class _Token(NamedTuple):
    """A piece of DOT; ``kind`` is word, quoted, edge, mark or end."""

    kind: str
    text: str
    at: int

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.lower() in words


def _tokens(text: str) -> Iterator[_Token]:
    """Split DOT into tokens without comments; quoted texts are unescaped."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is not None:
            kind, value, end = str(match.lastgroup), match.group(), match.end()
            if kind == "quoted":
                value = _ESCAPE.sub(lambda escape: escape[1] or "", value[1:-1])
        elif text[at] == "<" and not text.startswith("<->", at):
            kind, value, end = "quoted", *_html(text, at)
        else:
            raise _syntax_error(text, at, f"found {text[at : at + 10]!r}")
        if kind != "skip":
            yield _Token(kind, value, at)
        at = end
    yield _Token("end", "the end", at)


def _html(text: str, start: int) -> tuple[str, int]:
    """Return the inside of a ``<...>`` text with balanced brackets, and where it ends."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "<") - (text[at] == ">")
        if depth == 0:
            return text[start + 1 : at], at + 1
    raise _syntax_error(text, start, "found '<' without its '>'")


def _syntax_error(text: str, at: int, found: str) -> InputError:
    line = text.count("\n", 0, at) + 1
    return InputError(f"expected DOT such as 'digraph {{ A -> B }}' but {found} in line {line}; correct that line")


class _Parser:
    """A recursive descent over the tokens that collects nodes and edges."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.next = 0
        self.nodes: dict[str, None] = {}
        self.edges: list[tuple[str, str]] = []

    def parse(self) -> Graph:
        if self.peek.is_word("strict"):
            self.take()
        if not self.take().is_word("graph", "digraph", "dag", "pdag"):
            raise self.error(self.tokens[self.next - 1])
        if self.peek.is_name:
            self.take()
        self.expect("{")
        self.statements({}, depth=0)
        if self.peek.kind != "end":
            raise self.error(self.peek)
        return as_graph(self.edges, self.nodes)

    @property
    def peek(self) -> _Token:
        return self.tokens[self.next]

    def take(self) -> _Token:
        token = self.tokens[self.next]
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def sees(self, mark: str) -> bool:
        return self.peek.kind == "mark" and self.peek.text == mark

    def accept(self, mark: str) -> bool:
        if self.sees(mark):
            self.take()
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            raise self.error(self.peek)

    def error(self, token: _Token) -> InputError:
        return _syntax_error(self.text, token.at, f"found {token.text!r}")

    def name(self) -> str:
        """Read an identifier; quoted texts may be joined by ``+``."""
        token = self.take()
        if not token.is_name:
            raise self.error(token)
        text = token.text
        while token.kind == "quoted" and self.accept("+"):
            text += self.take().text
        return text

    def statements(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read up to the closing brace; return the nodes named there. Defaults apply up to that brace."""
        if depth > _MOST_NESTED:
            raise _syntax_error(self.text, self.peek.at, f"found more than {_MOST_NESTED} nested braces")
        defaults = dict(defaults)
        named: dict[str, None] = {}
        while not self.accept("}"):
            if self.accept(";"):
                continue
            if self.peek.is_word("graph", "node", "edge"):
                is_edge = self.take().is_word("edge")
                attributes = self.attributes()
                defaults.update(attributes if is_edge else {})
            else:
                named.update(dict.fromkeys(self.chain(defaults, depth)))
        return list(named)

    def chain(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read a node, a group, a setting ``a = b``, or a chain of edges; return the nodes named."""
        groups, arrows = [self.group(defaults, depth)], []
        while self.peek.kind == "edge":
            arrows.append(self.take().text)
            groups.append(self.group(defaults, depth))
        attributes = {**defaults, **self.attributes()}
        for arrow, tails, heads in zip(arrows, groups[:-1], groups[1:], strict=True):
            for tail in tails:
                for head in heads:
                    self.edges += _pairs(tail, head, arrow, attributes)
        return [node for group in groups for node in group]

    def group(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read one end of an edge: a node with or without a port, or a subgraph."""
        if self.peek.is_word("subgraph"):
            self.take()
            if self.peek.is_name:
                self.take()
        if self.accept("{"):
            return self.statements(defaults, depth + 1)
        node = self.name()
        if self.accept("="):
            self.name()
            return []
        while self.accept(":"):
            self.name()
        self.nodes[node] = None
        return [node]

    def attributes(self) -> dict[str, str]:
        """Read any number of ``[key = value, ...]`` lists; keys in lower case."""
        found: dict[str, str] = {}
        while self.accept("["):
            while not self.accept("]"):
                if self.accept(",") or self.accept(";"):
                    continue
                key = self.name().lower()
                found[key] = self.name() if self.accept("=") else "true"
        return found


def _pairs(tail: str, head: str, arrow: str, attributes: dict[str, str]) -> list[tuple[str, str]]:
    """Return the pairs of an edge by the arrowheads that would be drawn; both directions for an undirected one."""
    drawn = attributes.get("dir", "forward" if arrow == "->" else "none").lower()
    at_head = drawn in ("forward", "both") and attributes.get("arrowhead") != "none"
    at_tail = drawn in ("back", "both") and attributes.get("arrowtail") != "none"
    if at_head == at_tail:
        return [(tail, head), (head, tail)]
    return [(tail, head)] if at_head else [(head, tail)]


def parse_dot(text: str) -> Graph:
    """Read a DOT graph; the nodes are in the order in which they appear."""
    return _Parser(text).parse()


def format_dot(graph: Graph, figures: Figures | None = None) -> str:
    """Write a digraph: all nodes, then the edges with their numbers, the undirected ones with ``dir=none``."""
    lines = ["digraph {"]
    lines += [f"  {_quote(name)};" for name in graph.names]
    for a, b in [*graph.directed_edges, *graph.undirected_edges]:
        told = ["dir=none"] if (a, b) in graph.undirected_edges else []
        told += [f"{_quote(name)}={value!r}" for name, value in (figures or {}).get((a, b), {}).items()]
        lines.append(f"  {_quote(a)} -> {_quote(b)}{' [' + ', '.join(told) + ']' if told else ''};")
    return "\n".join([*lines, "}"]) + "\n"


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
