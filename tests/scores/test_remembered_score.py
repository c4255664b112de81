"""The memory of local scores: right values, counted, within its cap."""

import numpy as np
import pytest

from dagopt.data.table import as_table
from dagopt.scores import RememberedScore, make_score


@pytest.fixture
def plain(rng):
    """Return a score on eight columns."""
    return make_score(as_table(rng.normal(size=(50, 8))))


def test_remembers_what_was_asked(plain):
    """A set is computed once, in whatever order its members come, and has the value of the score."""
    remembered = RememberedScore(plain)
    asked = [(0, [1, 2]), (0, [2, 1]), (1, []), (0, (np.int64(1), 2)), (1, ()), (2, [1, 0])]
    for node, parents in asked:
        assert remembered.local(node, parents) == plain.local(node, parents)
    assert (remembered.hits, remembered.misses, len(remembered)) == (3, 3, 3)


def test_computes_no_known_value_again(plain):
    """A value at hand is not asked of the score."""
    remembered = RememberedScore(plain)
    value = remembered.local(3, [4])
    remembered.score = None
    assert remembered.local(3, [4]) == value


@pytest.mark.parametrize("limit", [0, 500, 5000])
def test_stays_within_its_cap(plain, limit):
    """However much is asked, the memory stays within its cap and its values stay right."""
    remembered = RememberedScore(plain, memory_limit=limit)
    rng = np.random.default_rng(1)
    for _ in range(600):
        node, *others = (int(j) for j in rng.permutation(8))
        parents = others[: rng.integers(0, 5)]
        assert remembered.local(node, parents) == plain.local(node, parents)
        assert remembered.n_bytes <= limit + 100
        assert len(remembered) * 170 <= limit
    assert remembered.hits + remembered.misses == 600
    if limit == 5000:
        assert remembered.hits > 0


def test_forgets_the_older_half(plain):
    """When the memory is full, the latest value is kept and the first is computed anew."""
    remembered = RememberedScore(plain, memory_limit=10 * 178)
    for node in range(8):
        remembered.local(node)
    for node in range(7):
        remembered.local(node, [7])
    misses = remembered.misses
    remembered.local(6, [7])
    assert remembered.misses == misses
    remembered.local(0)
    assert remembered.misses == misses + 1
