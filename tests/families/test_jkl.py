"""Files of local scores."""

import gzip
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagopt.errors import InputError
from dagopt.families.jkl import LocalScores, read_jkl, write_jkl
from strategies import any_name

EXAMPLE = """3
A 2
-10.5 0
-9.25 2 B C
B 1
-7 0
C 2
-3.5 1 A
-4 0
"""
SCORES = LocalScores(("A", "B", "C"), [[((), -10.5), ((1, 2), -9.25)], [((), -7.0)], [((0,), -3.5), ((), -4.0)]])


@st.composite
def local_scores(draw):
    """Any nodes without spaces, any parent sets, any finite scores."""
    word = any_name.filter(lambda name: name.split() == [name] and not name.startswith("#"))
    names = draw(st.lists(word, min_size=1, max_size=5, unique=True))
    scores = []
    for i in range(len(names)):
        others = st.sets(st.sampled_from([k for k in range(len(names)) if k != i]) if len(names) > 1 else st.nothing())
        sets = draw(st.lists(others.map(lambda s: tuple(sorted(s))), max_size=4, unique=True))
        scores.append([(parents, draw(st.floats(allow_nan=False, allow_infinity=False))) for parents in sets])
    return LocalScores(tuple(names), scores)


@given(local_scores())
def test_round_trip(tmp_path_factory, scores):
    """Names, order, parent sets and every bit of the scores come back."""
    path = tmp_path_factory.mktemp("jkl") / "a.jkl"
    write_jkl(scores, path)
    assert read_jkl(path) == scores


@pytest.mark.parametrize("before", ["", "\n", "# a comment\nMETA seed = 1\n"])
def test_the_format_as_it_is_known(tmp_path, before):
    """A file as GOBNILP has it is read, and written back the same but for the floats' spelling."""
    path = tmp_path / "a.jkl"
    path.write_text(before + EXAMPLE.replace("\n", "\r\n"))
    assert read_jkl(path) == SCORES
    assert (SCORES.n_nodes, SCORES.n_parent_sets) == (3, 5)
    write_jkl(SCORES, path)
    assert path.read_text() == EXAMPLE.replace("-7 ", "-7.0 ").replace("-4 ", "-4.0 ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3\nA", "three\nA", "line 1: expected the number of nodes but got 'three'"),
        ("3\nA", "4\nA", "line 10: expected a name and its number of parent sets but got nothing"),
        ("3\nA", "2\nA", "line 7: expected no more than 2 nodes but got 'C 2'"),
        ("A 2", "A", "line 2: expected a name and its number of parent sets but got 'A'"),
        ("A 2", "A -2", "line 2: expected a name"),
        ("A 2", "A 1", "line 4: expected a name and its number of parent sets but got '-9.25 2 B C'"),
        ("C 2", "C 3", "line 10: expected 3 parent sets for 'C' but got nothing"),
        ("B 1", "A 1", "'A' more than once"),
        ("-7 0", "low 0", "line 6: expected a score"),
        ("-7 0", "-7", "line 6: expected a score"),
        ("-7 0", "-7 x", "line 6: expected a score"),
        ("-7 0", "-7 1", "line 6: expected a score"),
        ("-7 0", "-7 0 A", "line 6: expected a score"),
        ("-7 0", "nan 0", "line 6: the parent set '' has the score nan"),
        ("-7 0", "-inf 0", "line 6: the parent set '' has the score -inf"),
        ("-7 0", "-7 1 B", "line 6: the parent set 'B' contains the node itself"),
        ("2 B C", "2 B B", "line 4: the parent set 'B B' names a parent twice"),
        ("2 B C", "2 B D", "line 4: unknown parent 'D'"),
        ("-4 0", "-4 1 A", "line 9: the parent set 'A' is given twice"),
    ],
)
def test_malformed_files(tmp_path, old, new, message):
    """A malformed file is refused in one line with the path and the line."""
    path = tmp_path / "a.jkl"
    path.write_text(EXAMPLE.replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_jkl(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "scores", "message"),
    [
        (("A", "B"), [[]], "got 1 lists for 2 names"),
        (("A", "B"), [[((0,), 1.0)], []], r"parent set \[0\] of 'A' contains the node itself"),
        (("A", "B"), [[((2,), 1.0)], []], "a parent that is not one of the 2 nodes"),
        (("A", "B"), [[((-1,), 1.0)], []], "a parent that is not one of the 2 nodes"),
        (("A", "B"), [[((1,), float("inf"))], []], "has the score inf"),
        (("A", "B"), [[((1,), 0.0), ((1,), 1.0)], []], "is given twice"),
        (("A", "A"), [[], []], "'A' more than once"),
        ((), [], "at least one node"),
    ],
)
def test_bad_scores(names, scores, message):
    """Scores that no file could hold are refused."""
    with pytest.raises(InputError, match=message):
        LocalScores(names, scores)


def test_names_with_spaces_cannot_be_written(tmp_path):
    """A name with a space would be two words in the file."""
    with pytest.raises(InputError, match="cannot hold the name 'a b'"):
        write_jkl(LocalScores(("a b",), [[((), 0.0)]]), tmp_path / "a.jkl")


def test_comments_stand_anywhere_and_files_may_be_compressed(tmp_path):
    """Lines that begin with # are skipped wherever they are, also in a gzip file of any name."""
    path = tmp_path / "scores"
    noisy = "# top\n" + EXAMPLE.replace("\n", "\n# between the lines 3 4\n")
    path.write_bytes(gzip.compress(noisy.encode()))
    assert read_jkl(path) == SCORES
    path.write_bytes(gzip.compress(noisy.encode())[:-9])
    with pytest.raises(InputError, match="could not read"):
        read_jkl(path)


def test_a_name_that_looks_like_a_comment_is_not_written(tmp_path):
    """It would not be read back."""
    with pytest.raises(InputError, match="begins a comment"):
        write_jkl(LocalScores(("#a",), [[((), 0.0)]]), tmp_path / "a.jkl")
