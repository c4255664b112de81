"""Rows in which columns were set from outside: they do not count for the local scores of those columns.

A row whose target is i says nothing about how i depends on its parents, but much about what i causes [1]_. So
the local scores of a node use only the rows that do not target it, and DAGs that observation cannot tell apart may
differ in score.

References
----------
.. [1] G. F. Cooper, C. Yoo, "Causal discovery from a mixture of experimental and observational data", UAI 1999;
   A. Hauser, P. Bühlmann, "Characterization and greedy learning of interventional Markov equivalence classes of
   directed acyclic graphs", JMLR 13, 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.errors import InputError, quoted, unknown_name
from dagopt.scores.base import Score
from dagopt.scores.block_likelihood import BlockLikelihood
from dagopt.scores.by_columns import ByColumns

__all__ = ["InterventionalScore", "target_masks"]


class InterventionalScore(Score):
    """Local scores of each node from the rows that do not target it.

    Parameters
    ----------
    whole : Score
        Of all rows.
    parts : sequence of Score
        Of the rows that count for each node.
    targets : bool array of shape (settings, n)
        The different sets of targets that occur.
    """

    def __init__(self, whole: Score, parts: Sequence[Score], targets: Bools) -> None:
        self.names = whole.names
        self.n_samples = whole.n_samples
        self.label = f"{whole.label}, without the rows that set the column"
        self.seconds_per_local, self.way_to_bound = whole.seconds_per_local, whole.way_to_bound
        self.parts = tuple(parts)
        self._whole = whole
        self._targets = targets
        alone = targets[:, :, None] != targets[:, None, :]
        self._told: Bools = np.asarray(alone.any(axis=0), dtype=bool)

    @property
    def directed_pairs(self) -> Bools:
        """Pairs of columns of which some rows set one and not the other: this gives their edge a direction."""
        return self._told

    @property
    def has_classes(self) -> bool:
        """Whether equivalent DAGs that share all edges with told directions score the same."""
        return self._whole.has_classes

    @cached_property
    def block_likelihood(self) -> BlockLikelihood | None:
        """The local scores of each node from the matrix of the rows that count for it; rows have that of all rows."""
        whole, parts = self._whole.block_likelihood, [part.block_likelihood for part in self.parts]
        nodes = tuple(part.nodes[i] for i, part in enumerate(parts) if part is not None)
        if whole is None or len(nodes) < len(parts):
            return None
        return replace(whole, nodes=nodes)

    @cached_property
    def by_columns(self) -> ByColumns | None:
        """The score of the columns, each from the rows that count for it; None if blocks differ between these."""
        whole, parts = self._whole.by_columns, [part.by_columns for part in self.parts]
        if whole is None:
            return None
        if whole.is_same:
            return ByColumns(self, whole.starts)
        same = [part for part in parts if part is not None and np.array_equal(part.starts, whole.starts)]
        if len(same) < len(parts):
            return None
        sizes = np.diff(whole.starts)
        columns = [part.score for part, size in zip(same, sizes, strict=True) for _ in range(size)]
        wide = InterventionalScore(whole.score, columns, np.repeat(self._targets, sizes, axis=1))
        return ByColumns(wide, whole.starts, float(sum(part.local(i) for i, part in enumerate(self.parts))))

    @property
    def rounding(self) -> float:
        """How far the score of any DAG can be from its value in exact arithmetic."""
        return sum(part.rounding for part in self.parts)

    def unbounded(self, node: int, parents: Ints) -> bool:
        """Say whether parents determine a column in the rows that count for it."""
        return self.parts[node].unbounded(node, parents)

    def part(self, node: int) -> Score:
        """Return the score of the rows that count for a node."""
        return self.parts[node]

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score of a node from the rows that do not target it."""
        return self.parts[node].local(node, parents)

    @property
    def bounds_sets(self) -> bool:
        """Whether all parts have bounds."""
        return all(part.bounds_sets for part in self.parts)

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return the bound of the rows that count for a node."""
        return self.parts[node].bound(node, parents, candidates)

    def local_packed(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats:
        """Return the local scores of many nodes with packed parent sets."""
        scores = np.empty(len(nodes))
        for part, chosen, own in self._by_part(nodes, flat, offsets):
            scores[chosen] = part.local_packed(*own)
        return scores

    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores of packed sets, and bounds on the scores of all their supersets."""
        scores, bounds = np.empty(len(nodes)), np.empty(len(nodes))
        for part, chosen, own in self._by_part(nodes, flat, offsets):
            scores[chosen], bounds[chosen] = part.local_and_bounds(*own)
        return scores, bounds

    def _by_part(self, nodes: Ints, flat: Ints, offsets: Ints) -> Iterator[tuple[Score, Ints, tuple[Ints, Ints, Ints]]]:
        """Yield each part with the places of its sets and these sets, packed; columns that no row sets share one."""
        sizes = np.diff(offsets)
        for part, own in self._nodes_of_parts:
            chosen = np.flatnonzero(own[nodes])
            if len(chosen):
                joined = flat[np.repeat(own[nodes], sizes)]
                ends = np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
                yield part, chosen, (nodes[chosen], joined, ends)

    @cached_property
    def _nodes_of_parts(self) -> list[tuple[Score, Bools]]:
        """Each different part, and which nodes it scores."""
        found: dict[int, tuple[Score, Bools]] = {}
        for node, part in enumerate(self.parts):
            _, own = found.setdefault(id(part), (part, np.zeros(len(self.parts), dtype=np.bool_)))
            own[node] = True
        return list(found.values())


def target_masks(interventions: Iterable[object], names: Sequence[str], n_rows: int) -> Bools:
    """Return which columns each row sets: an array of rows by columns.

    Parameters
    ----------
    interventions : iterable
        For each row the name of its target, several names in a list or separated by commas, or nothing (None, NaN or an
        empty text) for a row that was only observed. If all entries are whole numbers, they are positions of columns
        from 1, and 0 is nothing.
    names : sequence of str
        The columns.
    n_rows : int
        Number of rows.
    """
    given = list(interventions)
    if len(given) != n_rows:
        raise InputError(f"expected interventions= with one entry per row, {n_rows}, but got {len(given)}")
    given = _by_position(given, names)
    masks = np.zeros((n_rows, len(names)), dtype=bool)
    place = {name: k for k, name in enumerate(names)}
    for row, entry in enumerate(given):
        for name in _targets(entry, place):
            if name not in place:
                raise unknown_name("target of an intervention:", name, names)
            masks[row, place[name]] = True
    if always := [names[k] for k in np.flatnonzero(masks.all(axis=0)).tolist()]:
        raise InputError(f"column {quoted(always)} is set in every row, so its causes cannot be learned; leave it out")
    return masks


def _targets(entry: object, place: dict[str, int]) -> list[str]:
    if entry is None or (isinstance(entry, float) and np.isnan(entry)):
        return []
    if isinstance(entry, list | tuple | set | frozenset):
        return [str(one) for one in entry]
    text = str(entry).strip()
    return [text] if text in place else [part.strip() for part in text.split(",") if part.strip()]


def _by_position(given: list[object], names: Sequence[str]) -> list[object]:
    """Return the names of columns that are all given by their positions, else what is given."""
    texts = [_position(entry) for entry in given]
    numbers = {text: int(text) for text in texts if text.isdecimal()}
    if {*numbers, ""} != {*texts, ""} or numbers.keys() & set(names) or max(numbers.values(), default=0) > len(names):
        return given
    return [names[numbers[text] - 1] if text and numbers[text] else None for text in texts]


def _position(entry: object) -> str:
    """Return an entry as text, a whole number without a point, and nothing as an empty text."""
    if entry is None or (isinstance(entry, float) and np.isnan(entry)):
        return ""
    return str(int(entry)) if isinstance(entry, float) and entry.is_integer() else str(entry).strip()
