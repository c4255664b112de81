"""Hypothesis strategies for names and graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dagopt.graph import Graph

AWKWARD = [
    "a b", ' lead', 'trail ', 'say "hi"', "it's", "x,y", "x;y", "ä→ß", "名前", "->", "--", "a -> b", "1st", "0",
    "-1", "3.5", "node", "edge", "subgraph", "from", "to", "\\", "a\\", '\\"', "a\\n", "two\nlines", "tab\there",
    "\r", "[x]", "{x}", "a|b", "a:b", "<b>", "&amp;", "#c", "//", "/*", "None", "nan", "\u2028", "\ufeff", "strict",
]  # fmt: skip

any_name = st.sampled_from(AWKWARD) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def pdags(draw, names=any_name, max_nodes=6):
    """Any PDAG, cycles and all."""
    labels = draw(st.lists(names, min_size=1, max_size=max_nodes, unique=True))
    n = len(labels)
    adjacency = np.zeros((n, n), dtype=np.int8)
    for i in range(n):
        for j in range(i):
            mark = draw(st.integers(0, 3))
            adjacency[i, j], adjacency[j, i] = mark & 1, mark >> 1
    return Graph(adjacency, tuple(labels))


@st.composite
def dags(draw, names=any_name, max_nodes=6):
    """Any DAG, its order independent of its columns."""
    labels = draw(st.lists(names, min_size=1, max_size=max_nodes, unique=True))
    n = len(labels)
    order = draw(st.permutations(range(n)))
    adjacency = np.zeros((n, n), dtype=np.int8)
    for a in range(n):
        for b in range(a):
            adjacency[order[b], order[a]] = draw(st.booleans())
    return Graph(adjacency, tuple(labels))
