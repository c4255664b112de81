"""The one interface of all scores: decomposable, higher is better.

Every score of the library is built from one set function, ``joint``, and a penalty::

    local(i, J) = joint(J + i) - joint(J) - penalty(i, J)

which is what the paper's Propositions 1 and 2 rest on. The penalties, too, are differences of one set
function (for the multinomial score Λ (a_i - 1) Π a_j = Λ (Π over J + i - Π over J)), so that with
``potential(S) = joint(S) - penalties(S)`` simply ::

    local(i, J) = potential(J + i) - potential(J)

and the exact solver fills one table of 2^n potentials instead of n tables of local scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.errors import InputError

__all__ = ["Floats", "Ints", "Score", "pack_sets"]

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]

MOST_SUBSET_CANDIDATES = 26


class Score(ABC):
    """A decomposable score of DAGs over the columns of one table.

    Attributes
    ----------
    names : tuple of str
        The columns, in order; nodes are their positions.
    n_samples : int
        Number of rows N behind the score.
    label : str
        What the number is, with its convention, for reports.
    """

    names: tuple[str, ...]
    n_samples: int
    label: str

    @property
    def n_nodes(self) -> int:
        """Number of columns n."""
        return len(self.names)

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score of ``node`` with the given set of parents."""
        return self._local(node, _as_set(parents))

    def local_many(self, nodes: Sequence[int] | Ints, parents: Sequence[Iterable[int]]) -> Floats:
        """Return the local scores of many (node, parents) pairs in one call."""
        flat, offsets = pack_sets(parents)
        return self._local_many(np.asarray(nodes, dtype=np.int64), flat, offsets)

    def total(self, adjacency: NDArray[np.generic]) -> float:
        """Return the score of a DAG, ``adjacency[i, j] = 1`` meaning i → j."""
        return float(self.per_node(adjacency).sum())

    def per_node(self, adjacency: NDArray[np.generic]) -> Floats:
        """Return the local score of every node of a DAG."""
        columns = np.asarray(adjacency) != 0
        parents = [np.flatnonzero(columns[:, i]) for i in range(self.n_nodes)]
        return self.local_many(np.arange(self.n_nodes), parents)

    def table(self, adjacency: NDArray[np.generic]) -> pd.DataFrame:
        """Return one row a node: its parents by name, its score, its score without parents, the gain."""
        columns = np.asarray(adjacency) != 0
        scores = self.per_node(adjacency)
        empty = self.per_node(np.zeros_like(columns))
        return pd.DataFrame(
            {
                "parents": [
                    ", ".join(self.names[j] for j in np.flatnonzero(columns[:, i])) for i in range(self.n_nodes)
                ],
                "score": scores,
                "empty": empty,
                "gain": scores - empty,
            },
            index=pd.Index(self.names, name="node"),
        )

    def chain(self, node: int, order: Sequence[int] | Ints) -> Floats:
        """Return the local scores of the empty set, the first of ``order``, the first two, and so on."""
        return self._chain(node, np.asarray(order, dtype=np.int64))

    def joint_chain(self, order: Sequence[int] | Ints) -> Floats:
        """Return ``joint`` of the empty set, the first of ``order``, the first two, and so on."""
        return self._joint_chain(np.asarray(order, dtype=np.int64))

    def additions(self, node: int, parents: Iterable[int] = ()) -> Floats:
        """Return the local score after adding each column; NaN for the node and its parents."""
        return self._additions(node, _as_set(parents))

    def removals(self, node: int, parents: Iterable[int]) -> Floats:
        """Return the local score after removing each parent; NaN for all other columns."""
        chosen = _as_set(parents)
        scores = np.full(self.n_nodes, np.nan)
        scores[chosen] = self._removals(node, chosen)
        return scores

    def subsets(self, node: int, candidates: Sequence[int] | Ints) -> Floats:
        """Return the local scores of all subsets; bit b of the index is ``candidates[b]``."""
        variables = np.asarray(candidates, dtype=np.int64)
        size = len(variables)
        if size > MOST_SUBSET_CANDIDATES:
            raise InputError(
                f"expected at most {MOST_SUBSET_CANDIDATES} candidates for all subsets but got {size}: "
                f"2^{size} scores would not fit; choose fewer candidates"
            )
        joint = self.all_joints(np.append(variables, node))
        half = 1 << size
        return joint[half:] - joint[:half] - self._penalties(node, variables)

    @abstractmethod
    def penalty(self, node: int, parents: Iterable[int]) -> float:
        """Return the part of the local score that is no difference of joints, as a cost."""

    @abstractmethod
    def all_joints(self, variables: Sequence[int] | Ints) -> Floats:
        """Return ``joint`` of all subsets; bit b of the index is ``variables[b]``."""

    @abstractmethod
    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores of packed sets, and for each a bound on the scores of all its supersets."""

    @abstractmethod
    def fill_potentials(self, high: int, low_bits: int, out: Floats) -> None:
        """Fill ``out`` with ``potential`` of the 2^low_bits sets whose higher bits are those of ``high``.

        Bit b of a set is column b; the constants of ``joint`` may be left out, as they cancel.
        """

    @abstractmethod
    def _penalties(self, node: int, candidates: Ints) -> Floats:
        """Return ``penalty`` of all subsets of the candidates."""

    @abstractmethod
    def _local(self, node: int, parents: Ints) -> float: ...

    @abstractmethod
    def _local_many(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats: ...

    @abstractmethod
    def _chain(self, node: int, order: Ints) -> Floats: ...

    @abstractmethod
    def _joint_chain(self, order: Ints) -> Floats: ...

    @abstractmethod
    def _additions(self, node: int, parents: Ints) -> Floats: ...

    @abstractmethod
    def _removals(self, node: int, parents: Ints) -> Floats: ...


def pack_sets(sets: Sequence[Iterable[int]]) -> tuple[Ints, Ints]:
    """Return the sets end to end, each sorted, and where each begins (one more entry than sets)."""
    packed = [sorted(members) for members in sets]
    offsets = np.zeros(len(packed) + 1, dtype=np.int64)
    np.cumsum([len(members) for members in packed], out=offsets[1:])
    flat = np.fromiter((j for members in packed for j in members), dtype=np.int64, count=int(offsets[-1]))
    return flat, offsets


def bit_counts(size: int) -> Ints:
    """Return the number of ones of 0, 1, ..., 2^size - 1."""
    counts = np.zeros(1 << size, dtype=np.int64)
    for b in range(size):
        counts[1 << b : 2 << b] = counts[: 1 << b] + 1
    return counts


def _as_set(parents: Iterable[int]) -> Ints:
    """Return the parents sorted, so that one set has one value to the last bit."""
    return np.array(sorted(parents), dtype=np.int64)
