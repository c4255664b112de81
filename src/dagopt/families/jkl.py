"""GOBNILP's files of local scores (``.jkl``): for each node its candidate parent sets and their scores.

The first line is the number of nodes. Then each node has a line ``name number_of_parent_sets``, followed by
that many lines ``score k parent_1 ... parent_k``. Lines that begin with ``#`` are comments anywhere; lines that
begin with ``META`` are comments before the first number. A file may be compressed with gzip.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dagopt.errors import InputError, unknown_name
from dagopt.files import read_text, write_text
from dagopt.graph.dag import checked_names

__all__ = ["LocalScores", "ParentSet", "read_jkl", "write_jkl"]

MOST_DIGITS = 18  # in a number of nodes, parent sets or parents

ParentSet = tuple[tuple[int, ...], float]
"""The positions of the parents, ascending, and the local score."""


@dataclass(frozen=True)
class LocalScores:
    """Local scores of candidate parent sets.

    Parameters
    ----------
    names : sequence of str
        The nodes.
    scores : sequence of sequences of (parents, score)
        For each node its parent sets, as positions of nodes, with their scores (higher is better).
        Stored as lists with ascending parents.
    """

    names: tuple[str, ...]
    scores: list[list[ParentSet]]

    def __post_init__(self) -> None:
        names = checked_names(self.names)
        if not names:
            raise InputError("expected at least one node but got none; give the nodes and their parent sets")
        if len(self.scores) != len(names):
            raise InputError(
                f"expected one list of parent sets per node but got {len(self.scores)} lists for {len(names)} names;"
                " give each node one list"
            )
        scores = [_checked_sets(i, sets, names) for i, sets in enumerate(self.scores)]
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "scores", scores)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def n_parent_sets(self) -> int:
        """Number of parent sets of all nodes together."""
        return sum(map(len, self.scores))


def _checked_sets(node: int, sets: Sequence[ParentSet], names: tuple[str, ...]) -> list[ParentSet]:
    """Return the parent sets of a node with ascending parents, or raise an error that names the wrong one."""
    checked, seen = [], set()
    for parents, score in sets:
        key = tuple(sorted(int(parent) for parent in parents))
        wrong = _fault(node, key, float(score), len(names))
        if wrong or key in seen:
            raise InputError(
                f"parent set {list(key)} of {names[node]!r} {wrong or 'is given twice'}; correct or drop it"
            )
        seen.add(key)
        checked.append((key, float(score)))
    return checked


def _fault(node: int, parents: tuple[int, ...], score: float, n_nodes: int) -> str | None:
    """Return what is wrong with a parent set, if anything."""
    if node in parents:
        return "contains the node itself"
    if len(set(parents)) < len(parents):
        return "names a parent twice"
    if parents and not 0 <= parents[0] <= parents[-1] < n_nodes:
        return f"has a parent that is not one of the {n_nodes} nodes"
    return None if math.isfinite(score) else f"has the score {score}"


def read_jkl(path: str | os.PathLike[str]) -> LocalScores:
    """Read a file of local scores.

    Parameters
    ----------
    path : str or path
        A file of local scores, with any extension; it may be compressed with gzip.

    Returns
    -------
    LocalScores
        Nodes and parent sets in the order of the file.
    """
    lines = _lines(read_text(path))
    try:
        names, blocks = _blocks(lines)
        place = {name: i for i, name in enumerate(names)}
        scores = []
        for i, block in enumerate(blocks):
            seen: set[tuple[int, ...]] = set()
            scores.append([_parent_set(number, words, i, place, seen) for number, words in block])
    except InputError as error:
        raise InputError(f"in {str(path)!r}: {error}") from None
    return LocalScores(names, scores)


Line = tuple[int, list[str]]


def _lines(text: str) -> Iterator[Line]:
    """Yield the number and the words of each line, without blank lines and comments."""
    started = False
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if words and not words[0].startswith("#") and (started or not words[0].startswith("META")):
            started = True
            yield number, words
    yield text.count("\n") + 1, []


def _blocks(lines: Iterator[Line]) -> tuple[tuple[str, ...], list[list[Line]]]:
    """Return the nodes and, for each, the lines of its parent sets."""
    number, words = next(lines)
    n_nodes = _count(number, words, 0, 1, "the number of nodes")
    names: list[str] = []
    blocks: list[list[Line]] = []
    for _ in range(n_nodes):
        number, words = next(lines, (number, []))
        size = _count(number, words, 1, 2, "a name and its number of parent sets")
        names.append(words[0])
        blocks.append([])
        for _ in range(size):
            number, words = next(lines, (number, []))
            if not words:
                raise _malformed(number, f"{size} parent sets for {names[-1]!r}", words)
            blocks[-1].append((number, words))
    number, words = next(lines, (number, []))
    if words:
        raise _malformed(number, f"no more than {n_nodes} nodes", words)
    return checked_names(names), blocks


def _count(number: int, words: list[str], at: int, size: int, what: str) -> int:
    """Return the whole number at position ``at`` of a line that must have ``size`` words."""
    if len(words) != size or not _is_count(words[at]):
        raise _malformed(number, what, words)
    return int(words[at])


def _is_count(word: str) -> bool:
    """Say whether a word is a whole number of a sensible length; Python refuses to convert thousands of digits."""
    return word.isdecimal() and len(word) <= MOST_DIGITS


def _parent_set(
    number: int, words: list[str], node: int, place: dict[str, int], seen: set[tuple[int, ...]]
) -> ParentSet:
    """Return the parent set of a line ``score k parent_1 ... parent_k``."""
    what = "a score, a number and as many parents"
    try:
        score = float(words[0])
    except ValueError:
        raise _malformed(number, what, words) from None
    if len(words) < 2 or not _is_count(words[1]) or int(words[1]) != len(words) - 2:
        raise _malformed(number, what, words)
    for name in words[2:]:
        if name not in place:
            raise InputError(f"line {number}: {unknown_name('parent', name, list(place))}")
    parents = tuple(sorted(place[name] for name in words[2:]))
    wrong = "is given twice" if parents in seen else _fault(node, parents, score, len(place))
    if wrong:
        raise InputError(f"line {number}: the parent set {' '.join(words[2:])!r} {wrong}; correct or drop the line")
    seen.add(parents)
    return parents, score


def _malformed(number: int, expected: str, words: list[str]) -> InputError:
    found = repr(" ".join(words)[:40]) if words else "nothing"
    return InputError(f"line {number}: expected {expected} but got {found}; correct the line")


def write_jkl(scores: LocalScores, path: str | os.PathLike[str]) -> None:
    """Write a file of local scores, each score in full precision.

    Parameters
    ----------
    scores : LocalScores
        Names with spaces cannot be written, because spaces separate words in the format, nor can names that begin with
        ``#``, which marks comments.
    path : str or path
        The file to write or replace.
    """
    for name in scores.names:
        if name.split() != [name]:
            raise InputError(f"a .jkl file cannot hold the name {name!r}, because it has spaces; rename the node")
        if name.startswith("#"):
            raise InputError(f"a .jkl file cannot hold the name {name!r}, because # begins a comment; rename the node")
    lines = [str(scores.n_nodes)]
    for name, sets in zip(scores.names, scores.scores, strict=True):
        lines.append(f"{name} {len(sets)}")
        for parents, score in sets:
            lines.append(" ".join([repr(score), str(len(parents)), *(scores.names[k] for k in parents)]))
    write_text("\n".join(lines) + "\n", path)
