"""The interface of all scores: decomposable, higher is better.

A score needs ``names``, ``n_samples``, ``label`` and ``local(node, parents)``; every method works with these alone.
The rest is optional. A score that declares more is searched faster, or proves more:

====================  =====================================================================================
part                  who uses it
====================  =====================================================================================
``local_packed``      bulk scoring: climbing, listing, reports
``additions``,        hill climbing and tabu search
``removals``
``bound``             a bound on the scores of all sets between two: prunes lists, bounds every result
``local_and_bounds``  the same for many sets at once
``fill_potentials``   the recursions over all subsets
``is_score_equivalent``  one table of potentials serves all nodes; Markov equivalence classes have one score
``logdets``,          compiled order search, screening, the GPU
``counts``,
``blocks``
``bulk_joints``       listing of discrete parent sets, where the joint of one set serves all its members
``joints``            likelihood and penalty separately; bounds from the saturated likelihood
``block_likelihood``  listing of undominated parent sets, rows of log-determinants, the bound by pairs (branch-and-cut)
``by_columns``        pricing of all parent sets
``likelihood``        the pricing of CG-DCA (Propositions 1 and 2)
``part``              the score of one node, where nodes do not share all rows
====================  =====================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.bits import members
from dagopt.errors import InputError
from dagopt.graph.order import parent_lists

if TYPE_CHECKING:
    from dagopt.kernels.counts.counting import CountForm
    from dagopt.kernels.counts.open_sets import Penalties
    from dagopt.kernels.gaussian.blocks import BlockForm
    from dagopt.kernels.gaussian.logdet import LogDetForm
    from dagopt.scores.block_likelihood import BlockLikelihood
    from dagopt.scores.by_columns import ByColumns
    from dagopt.scores.joint import JointScore

__all__ = ["BulkJoints", "Score", "as_set", "pack_sets"]


MOST_SUBSET_CANDIDATES = 26  # 2^26 scores are 512 MB
SECONDS_PER_LOCAL = 1e-4  # seconds for a local score in plain Python; only for estimates


class BulkJoints(Protocol):
    """Joints of many sets at once: sets of one size, one row of members each."""

    @property
    def n_nodes(self) -> int:
        """Number of columns n."""

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""

    def counting_order(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the order in which the joints of these sets are best computed, and the rows in that order."""

    def joints_of_sets(self, rows: Ints) -> tuple[Floats, Ints]:
        """Return the joint of each set, and how many of its configurations occur."""

    def costs_of_sets(self, node: int, rows: Ints) -> Floats:
        """Return the penalties of a node with these parent sets."""

    def superset_bounds(self, nodes: int | Ints, cost: Floats, occurring: Ints) -> Floats:
        """Return bounds on the scores of supersets of parent sets with these penalties and configurations.

        The configurations are those of the parents and the node that occur.
        """

    def reaches(
        self,
        node: int,
        fixed: Ints,
        candidates: Ints,
        members: Ints,
        occurring: Ints,
        floor: Floats,
        ends: Ints | None = None,
    ) -> tuple[Ints, Floats]:
        """Return how far parent sets are worth extending by later candidates, or bounds on what grows from them.

        Bounds unless ``ends`` says for each set from which candidate on none is asked about. See
        ``kernels/counts/tails.py``.
        """

    def last_candidates(self, node: int, candidates: Ints) -> Ints:
        """Return places among the candidates, the last one first, in an order in which the last ones say little."""

    @property
    def bound_rounding(self) -> float:
        """How far a comparison of a local score with a bound can be wrong by rounding."""

    def informative(self, node: int, candidates: Ints) -> Ints:
        """Return the candidates that can change the score of a node: none that is constant, none for a constant."""

    def cheapest(self, candidates: Ints) -> Ints:
        """Return the candidate that adds the least to a penalty, none if there are none."""

    def penalties_of(self, node: int, candidates: Ints) -> Penalties:
        """Return what parents among the candidates cost a node, and what they must be worth."""


class Score(ABC):
    """A decomposable score of DAGs over the columns of one table.

    Sub-classes set ``names``, ``n_samples`` and ``label`` and give ``local``. Everything else has a generic version
    that calls ``local``; sub-classes replace what they can do faster.

    Attributes
    ----------
    names : tuple of str
        The columns, in order; nodes are their positions.
    n_samples : int
        Number of rows N behind the score.
    label : str
        What the number is, with its convention, for reports.
    reason : str
        Why it was chosen, if ``"auto"`` chose another score than BIC.
    way_to_bound : str
        What to do about it if no bound of the score is known, for a note.
    is_score_equivalent : bool
        Whether Markov equivalent DAGs have the same score: then one set function F gives all local scores as
        ``F(J + i) - F(J)``. False unless a sub-class says otherwise.
    likelihood : {"gaussian", "multinomial"} or None
        Which maximised log-likelihood ``joint`` is, for a score that is a likelihood minus a penalty: see
        ``JointScore``. It names the decomposition that CG-DCA uses for pricing.
    bounding_likelihood : str or None
        A maximised log-likelihood that no local score exceeds before its penalty: the likelihood itself, or for a
        marginal likelihood the likelihood that it averages.
    seconds_per_local : float
        The approximate time for one local score; only for estimates.
    degree : int
        The degree of the polynomials by which continuous parents explain a column: 1, linear, for all but ``basis``.
    """

    names: tuple[str, ...]
    n_samples: int
    label: str
    reason: str = ""
    way_to_bound: str = "give it bound(node, parents, candidates), or score all sets of few columns by 'exact'"
    is_score_equivalent: bool = False
    likelihood: str | None = None
    bounding_likelihood: str | None = None
    seconds_per_local: float = SECONDS_PER_LOCAL
    degree: int = 1

    @abstractmethod
    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score of ``node`` with the given set of parents, in any order."""

    @property
    def rounding(self) -> float:
        """How far the score of any DAG can be from its value in exact arithmetic; 0 if the score counts as exact."""
        return 0.0

    @property
    def logdets_suffice(self) -> bool:
        """Whether the matrix of ``logdets`` is as precise as the score."""
        return True

    def unbounded(self, node: int, parents: Ints) -> bool:
        """Say whether the parents determine a column, so that in exact arithmetic the score has no upper limit."""
        return False

    # --- optional parts that make methods faster; None if a score does not have the part ---

    @property
    def joints(self) -> JointScore | None:
        """The score as differences of one set function minus a penalty."""
        return None

    @property
    def block_likelihood(self) -> BlockLikelihood | None:
        """The local scores as log-determinants of blocks, one matrix for all nodes or one per node, less costs."""
        return None

    @property
    def by_columns(self) -> ByColumns | None:
        """The score as Gaussian scores of columns, which no DAG exceeds."""
        return None

    @property
    def logdets(self) -> LogDetForm | None:
        """The score as log-determinants of one matrix, in the form for compiled kernels."""
        return None

    @property
    def counts(self) -> CountForm | None:
        """The score as sums over the cells of contingency tables, in the form for compiled kernels."""
        return None

    @property
    def blocks(self) -> BlockForm | None:
        """The score as log-determinants of groups of columns of one matrix, in the form for compiled kernels."""
        return None

    @property
    def bulk_joints(self) -> BulkJoints | None:
        """Joints of many sets at once."""
        return None

    @property
    def seconds_per_potential(self) -> float:
        """The approximate time for one potential of ``fill_potentials``; only for estimates."""
        return self.seconds_per_local

    @property
    def directed_pairs(self) -> Bools | None:
        """Pairs of columns whose edge gets its direction from interventions; None without interventions."""
        return None

    @property
    def has_classes(self) -> bool:
        """Whether equivalent DAGs that agree on all told edges score the same, unless one of them is ruled out."""
        return self.is_score_equivalent

    @property
    def told_pairs(self) -> Bools:
        """Pairs of columns whose edge has a direction that the score tells: all pairs if there are no classes."""
        told = self.directed_pairs
        return told if told is not None and self.has_classes else np.full((self.n_nodes,) * 2, not self.has_classes)

    def at_half_cost(self) -> Score | None:
        """Return the score with half the cost of a parameter; None unless an edge may cost several parameters."""
        return None

    def part(self, node: int) -> Score:
        """Return the score of the rows that count for a node: the same for all nodes, except under interventions."""
        return self

    def local_packed(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats:
        """Return the local scores of many nodes with packed parent sets; see ``pack_sets``."""
        sets = (flat[a:b] for a, b in pairwise(offsets))
        return np.array([self.local(int(i), own) for i, own in zip(nodes, sets, strict=True)], dtype=np.float64)

    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores of packed sets, and for each a bound on the scores of all its supersets.

        The bound is that of ``bound`` if a sub-class gives it, and infinite where none is known.
        """
        bounds = np.full(len(nodes), np.inf)
        if type(self).bound is not Score.bound:
            for k, i in enumerate(nodes.tolist()):
                own = flat[offsets[k] : offsets[k + 1]]
                bounds[k] = self.bound(i, own, np.delete(np.arange(self.n_nodes), np.append(own, i)))
        return self.local_packed(nodes, flat, offsets), bounds

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return a number that no local score with these parents and any of the candidates exceeds.

        Infinite if none is known. A score of your own that gives it has pruned lists and a bound on every result.
        """
        own = np.asarray(parents, dtype=np.int64)
        offsets = np.array([0, len(own)])
        _, bounds = self.local_and_bounds(np.array([node]), np.sort(own), offsets)
        fewer = len(own) + len(candidates) < self.n_nodes - 1
        fall = self.bounds_fall_by(node, np.sort(np.append(own, candidates))) if fewer else 0.0
        return float(bounds[0] - fall)

    @property
    def bounds_sets(self) -> bool:
        """Whether ``bound`` says something, so that parent sets of any size can be listed, and the rest bounded."""
        own = type(self)
        return own.bound is not Score.bound or own.local_and_bounds is not Score.local_and_bounds

    def bounds_fall_by(self, node: int, candidates: Ints) -> float:
        """Return how much lower the bounds of ``local_and_bounds`` are when only these may be parents."""
        return 0.0

    def fill_potentials(self, high: int, low_bits: int, out: Floats, node: int = 0) -> None:
        """Fill ``out`` with the potentials of the 2^low_bits sets whose higher bits are those of ``high``.

        Bit b of a set is column b. Potentials are any set function F with ``local(node, J) = F(J + node) - F(J)``.
        For a score-equivalent score F is the same for all nodes; otherwise F is the local score for a set that contains
        ``node``, and 0 for other sets.
        """
        for low in range(1 << low_bits):
            chosen = list(members(low | high << low_bits))
            if self.is_score_equivalent:
                out[low] = sum(self.local(j, chosen[:k]) for k, j in enumerate(chosen))
            else:
                out[low] = self.local(node, [j for j in chosen if j != node]) if node in chosen else 0.0

    def for_best(self) -> Score:
        """Return a score with the same best DAGs, whose potentials may be cheaper to fill.

        Its potentials give every parent set its local score, except for sets that are ruled out. A set that is ruled
        out scores less than the empty set and less than each of its members alone, both by its local score and by the
        potentials.
        """
        return self

    def in_cheapest_order(self) -> tuple[Score, Ints]:
        """Return the score of the same columns in the order in which potentials are cheapest to fill, and that order.

        The first column is the lowest bit of a set.
        """
        return self, np.arange(self.n_nodes)

    # --- derived from the parts above ---

    @property
    def n_nodes(self) -> int:
        """Number of columns n."""
        return len(self.names)

    def local_many(self, nodes: Sequence[int] | Ints, parents: Sequence[Iterable[int]]) -> Floats:
        """Return the local scores of many (node, parents) pairs in one call."""
        flat, offsets = pack_sets(parents)
        return self.local_packed(np.asarray(nodes, dtype=np.int64), flat, offsets)

    def total(self, adjacency: NDArray[np.generic]) -> float:
        """Return the score of a DAG, ``adjacency[i, j] = 1`` meaning i → j."""
        return float(self.per_node(adjacency).sum())

    def per_node(self, adjacency: NDArray[np.generic]) -> Floats:
        """Return the local score of every node of a DAG."""
        return self.local_many(np.arange(self.n_nodes), parent_lists(adjacency))

    def table(self, adjacency: NDArray[np.generic]) -> pd.DataFrame:
        """Return one row per node: its parents by name, its score, its score without parents, the gain."""
        scores = self.per_node(adjacency)
        empty = self.per_node(np.zeros_like(adjacency))
        return pd.DataFrame(
            {
                "parents": [", ".join(self.names[j] for j in parents) for parents in parent_lists(adjacency)],
                "score": scores,
                "empty": empty,
                "gain": scores - empty,
            },
            index=pd.Index(self.names, name="node"),
        )

    def chain(self, node: int, order: Sequence[int] | Ints) -> Floats:
        """Return the local scores of the empty set, the first of ``order``, the first two, and so on."""
        return self.local_many([node] * (len(order) + 1), [order[:k] for k in range(len(order) + 1)])

    def additions(self, node: int, parents: Iterable[int] = ()) -> Floats:
        """Return the local score after adding each column; NaN for the node and its parents."""
        chosen = as_set(parents)
        scores = np.full(self.n_nodes, np.nan)
        others = np.delete(np.arange(self.n_nodes), np.append(chosen, node))
        scores[others] = self.local_many([node] * len(others), [np.append(chosen, j) for j in others])
        return scores

    def removals(self, node: int, parents: Iterable[int]) -> Floats:
        """Return the local score after removing each parent; NaN for all other columns."""
        chosen = as_set(parents)
        scores = np.full(self.n_nodes, np.nan)
        scores[chosen] = self.local_many([node] * len(chosen), [chosen[chosen != j] for j in chosen])
        return scores

    def subsets(self, node: int, candidates: Sequence[int] | Ints) -> Floats:
        """Return the local scores of all subsets; bit b of the index is ``candidates[b]``."""
        size = check_subsets(candidates)
        sets = [[candidates[b] for b in members(mask)] for mask in range(1 << size)]
        return self.local_many([node] * len(sets), sets)


def check_subsets(candidates: Sequence[int] | Ints) -> int:
    """Return the number of candidates, or raise an error if they have too many subsets."""
    size = len(candidates)
    if size > MOST_SUBSET_CANDIDATES:
        raise InputError(
            f"expected at most {MOST_SUBSET_CANDIDATES} candidates for all subsets but got {size}: "
            f"2^{size} scores would not fit in memory; choose fewer candidates"
        )
    return size


def pack_sets(sets: Sequence[Iterable[int]]) -> tuple[Ints, Ints]:
    """Return the sets concatenated, each sorted, and where each begins (one more entry than sets)."""
    packed = [sorted(own) for own in sets]
    offsets = np.zeros(len(packed) + 1, dtype=np.int64)
    np.cumsum([len(own) for own in packed], out=offsets[1:])
    flat = np.fromiter((j for own in packed for j in own), dtype=np.int64, count=int(offsets[-1]))
    return flat, offsets


def as_set(parents: Iterable[int]) -> Ints:
    """Return the parents sorted, so that equal sets have exactly equal scores."""
    return np.array(sorted(parents), dtype=np.int64)
