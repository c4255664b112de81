"""Two graphs as two pictures: columns at the same place, and every edge of the right kind."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from dagopt.report.side_by_side import side_by_side

NODE = re.compile(r'class="node" data-node="(\d+)" transform="([^"]*)"')


def drawn(rng, n):
    """Return a random DAG."""
    order = rng.permutation(n)
    dag = np.zeros((n, n), dtype=np.int8)
    dag[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.4, 1)
    return dag


@pytest.mark.parametrize("seed", range(10))
def test_columns_stand_at_the_same_place_and_edges_have_their_kind(seed):
    """Counted from the arrays: own edges, turned ones and those of both."""
    rng = np.random.default_rng(seed)
    first, second = drawn(rng, 8), drawn(rng, 8)
    names = [f"<x{k}> & y" for k in range(8)]
    pictures = side_by_side(names, first, second)
    places = [NODE.findall(picture) for picture in pictures]
    assert places[0] == places[1]
    assert len(places[0]) == 8
    for picture, own, other in zip(pictures, (first, second), (second, first), strict=True):
        ElementTree.fromstring(picture)  # well-formed, names escaped
        assert picture.count('class="edge"') == (own & other).sum()
        assert picture.count('class="edge turned"') == (own & other.T).sum()
        assert picture.count('class="edge own"') == (own & ~(other | other.T)).sum()


def test_an_edge_ends_at_its_head():
    """The route of an edge that is turned around is drawn from its own tail to its own head."""
    first = np.array([[0, 1], [0, 0]], dtype=np.int8)
    one, two = side_by_side(["a", "b"], first, first.T.copy())
    tips = [re.search(r'class="head" d="M[\d.-]+,([\d.-]+)l', picture).group(1) for picture in (one, two)]
    top, bottom = (float(y) for y in sorted(tips, key=float))
    assert float(tips[0]) == bottom > top
    assert "a → b" in one
    assert "b → a" in two
