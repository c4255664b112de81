"""Scores of discrete data that are made of sums over the cells of contingency tables.

``MultinomialScore`` is the ℓ0-penalised multinomial likelihood of appendix A.1 of the paper.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.bits import bit_counts
from dagopt.data.table import DiscreteTable
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError
from dagopt.kernels.counts import count_arrays, cube, few_cells, joint_sets, pair_tables, slices
from dagopt.kernels.counts import counting as kernels
from dagopt.kernels.counts.counting import CountForm, Counts
from dagopt.kernels.counts.open_sets import Penalties
from dagopt.kernels.counts.tails import Wanted, last_first, reaches
from dagopt.kernels.plain import compiled_or_python
from dagopt.scores.base import as_set
from dagopt.scores.digits import UNIT
from dagopt.scores.joint import JointScore
from dagopt.scores.long_chains import MANY_CELLS, joints_of_counts

__all__ = ["CountingScore", "MultinomialScore"]

SECONDS_PER_SET = 1e-6  # of a local score, besides the rows
SECONDS_PER_ROW = 3e-9  # seconds to count one distinct row for one set of a list
SECONDS_PER_TREE_ROW = 1.3e-9  # the same when all sets are counted at once, by merging rows and labelling cells
ROWS_FOR_ORDER = 2000  # distinct rows that the order of candidates looks at, milliseconds for one node
SECONDS_PER_CELL_ROW = 0.5e-9  # the same if only sets with few possible cells are counted, over merged rows


class CountingScore(JointScore):
    """A score whose joint is a sum over the cells of a contingency table (see ``kernels/counts/counting.py``).

    Parameters
    ----------
    table : DiscreteTable
        The data: distinct rows with weights, so the cost depends on the number of distinct rows.
    ess : float
        Equivalent sample size of the Dirichlet prior; 0 for the maximised likelihood.
    """

    def __init__(self, table: DiscreteTable, ess: float) -> None:
        self.names = table.names
        self.n_samples = table.n_samples
        self.arity = table.arity
        if ess and table.copies > 1:
            raise InputError(
                "score 'bdeu' needs whole counts but rows have survey weights; use 'bic'"
                if table.survey
                else "score 'bdeu' needs whole counts but missing cells were filled in several ways; use 'bic', or "
                "missing='drop'"
            )
        counts = np.arange(int(table.weights.sum()) + 1, dtype=np.float64) / table.copies
        counts[1:] *= np.log(counts[1:])
        self._data = Counts(table.codes, table.arity, table.weights, counts if ess == 0 else counts[:1], float(ess))
        n_rows = table.codes.shape[1]
        self.seconds_per_local = SECONDS_PER_SET + SECONDS_PER_ROW * n_rows

    _largest_product = math.inf  # of arities of a set whose joint is counted by ``fill_potentials``
    _counted_share = 1.0  # of all sets

    _rate: float
    """What one parameter costs: the penalty of a node is ``_rate`` (a_i - 1) times the product of arities."""

    def _cost(self, node: int | Ints, product: Floats, counts: Ints | int) -> Floats:
        """Return the penalty of a node with this many parents, whose arities have the given product."""
        cost = self._rate * (self.arity[node] - 1) * np.minimum(product, kernels.LARGEST_PRODUCT)
        return np.asarray(cost + self.edge_cost * np.asarray(counts), dtype=np.float64)

    @property
    def counts(self) -> CountForm:
        """The data in the form for kernels, and the costs of one parameter and of one edge."""
        return CountForm(self._data, float(self._rate), float(self.edge_cost))

    @property
    def rounding(self) -> float:
        """How far a DAG's score can be from its value in exact arithmetic, for DAGs no worse than the empty one.

        The joint of a likelihood is a sum of m terms c log c >= 0 with the total S <= N log N, one per configuration
        that occurs more than once, so that m is at most N / 2 and the number of distinct rows. Summed in any order,
        and each term off by two roundings u of itself, it is off by at most (m + 2) u S. A local score is a difference
        of two joints less a penalty, and n of them are added. The penalties of such a DAG are at most those of the
        empty one, E, and the gain in likelihood: in all n u (2 m + n + 16) S + 4 (n + 8) u E at most.
        docs/reliability.md has the proof.
        """
        size = self.n_samples * (math.log(self.n_samples + 1) + float(np.log(self.arity).max(initial=0.0)) + 1)
        terms = min(int(self._data.weights.sum()) // 2, self._data.codes.shape[1])
        of_counts = max(64.0, terms + 0.5 * self.n_nodes + 8) * self.n_nodes * size
        empty = float(self._rate * (self.arity - 1).sum())
        return float(UNIT * (of_counts + 4 * (self.n_nodes + 8) * empty))

    @property
    def bulk_joints(self) -> CountingScore:
        """The score itself."""
        return self

    @property
    def seconds_per_potential(self) -> float:
        """The approximate time for one potential, in the way that ``fill_potentials`` takes."""
        each = SECONDS_PER_CELL_ROW * self._counted_share if self._by_itself else SECONDS_PER_TREE_ROW
        return each * int(self._data.codes.shape[1])

    @property
    def _by_itself(self) -> bool:
        """Whether each set is counted by itself: few cells are possible, and few sets are counted."""
        few = self._largest_product <= few_cells.MOST_CELLS
        return few and SECONDS_PER_CELL_ROW * self._counted_share < SECONDS_PER_TREE_ROW

    def for_best(self) -> CountingScore:
        r"""Return the score with joints of 0 for sets so large that their penalty rules them out of a best DAG.

        No log-likelihood is above 0, so with :math:`\Lambda (a_i - 1) \prod_J a_j > -score_i(\{j\})` the parent set J
        scores less than each of its members alone and less than the empty set. In terms of the set S = J + i: if the
        product of its arities is above :math:`-a_i \, score_i(\{j\}) / (\Lambda (a_i - 1))` for all nodes i, S is not
        counted. A joint of 0 gives it local scores of at most minus the penalty, so it is never chosen.
        """
        if self._rate <= 0 or self._data.ess > 0:
            return self
        most = int(self.arity.max(initial=1))
        codes, _, weights, clogc, _ = self._data
        largest = 1.0
        for code, a in zip(codes, self.arity, strict=True):
            if a > 1:
                alone = clogc[np.bincount(code, weights).astype(np.int64)].sum() - clogc[weights.sum()]
                largest = max(largest, a * (most - alone / (self._rate * (a - 1))))
        best = copy(self)
        best._largest_product = largest * (1 + 1e-6)
        best._counted_share = best._share_up_to(best._largest_product)
        return best

    def in_cheapest_order(self) -> tuple[CountingScore, Ints]:
        """Return the score with the columns of fewest levels first, and their order; only potentials are asked of it.

        Rows that agree in all columns that are undecided are merged, and low columns are decided last.
        """
        order: Ints = np.argsort(self.arity, kind="stable")
        other = copy(self)
        codes, arity = np.ascontiguousarray(self._data.codes[order]), self.arity[order]
        other._data, other.arity = self._data._replace(codes=codes, arity=arity), arity
        other.names = tuple(self.names[j] for j in order)
        return other, order

    def _share_up_to(self, largest: float) -> float:
        """Return the share of all sets whose arities have a product of at most this."""
        found = {1.0: 1}
        for a in map(int, self.arity):
            grown = {product * a: sets for product, sets in found.items() if product * a <= largest}
            found = {product: found.get(product, 0) + grown.get(product, 0) for product in found.keys() | grown.keys()}
        return sum(found.values()) / 2.0**self.n_nodes

    def penalty(self, node: int, parents: Iterable[int]) -> float:
        """Return the penalty, which depends on the arities of the node and of the parents."""
        chosen = np.array(sorted(set(parents)), dtype=np.int64)
        return float(self._cost(node, self._products(chosen)[-1], len(chosen)))

    def all_joints(self, variables: Sequence[int] | Ints) -> Floats:
        """Return ``joint`` of all subsets; bit b of the index is ``variables[b]``."""
        chosen = np.asarray(variables, dtype=np.int64)
        joint = np.empty(1 << len(chosen))
        kernels.all_joints(self._data, chosen, joint)
        return joint

    def _products(self, variables: Ints) -> Floats:
        """Return the products of the arities of the first 0, 1, 2, ... variables, capped to the range of floats."""
        with np.errstate(over="ignore"):
            products = np.cumprod(self.arity[variables], dtype=np.float64)
        clipped: Floats = np.minimum(np.concatenate([[1.0], products]), kernels.LARGEST_PRODUCT)
        return clipped

    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores, and bounds on supersets: see ``families/listing.py``."""
        without, together, product = np.empty((3, len(nodes)))
        kernels.joints_many(self._data, nodes, flat, offsets, without, together, product)
        cost = self._cost(nodes, product, np.diff(offsets))
        occurring = np.empty(len(nodes), dtype=np.int64)
        families, ends = np.insert(flat, offsets[1:], nodes), offsets + np.arange(len(offsets))
        kernels.occurring_many(self._data.codes, self.arity, families, ends, occurring)
        return together - without - cost, self.superset_bounds(nodes, cost, occurring)

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return int(self._data.codes.shape[1])

    @cached_property
    def _rare(self) -> tuple[Ints, NDArray[np.int32], Ints]:
        """The columns, those that split the rows most first, and each one's rows without its most frequent level."""
        rows, offsets = joint_sets.rare_rows(self._data.codes, self._data.arity, self._data.weights)
        return np.argsort(-np.diff(offsets), kind="stable"), rows, offsets

    def counting_order(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the order in which sets of one size, one row per set, are best counted, and the rows for counting."""
        order = self._rare[0]
        ranks = np.sort(np.argsort(order)[rows], axis=1)
        if self.n_nodes <= 62:  # as bits from the highest down, which are much faster to sort
            keys = (np.int64(1) << (61 - ranks)).sum(axis=1)
            chosen = np.argsort(-keys, kind="stable")
        else:
            chosen = np.lexsort(ranks.T[::-1]) if rows.shape[1] else np.arange(len(rows))
        return chosen, np.ascontiguousarray(order[ranks[chosen]])

    @cached_property
    def _pairs(self) -> tuple[Ints, pair_tables.PairRows | None]:
        """The rank of each column in the order of counting, and the rows in this order; None if there are too many."""
        order = self._rare[0]
        codes, arity, weights = self._data[:3]
        return np.argsort(order), pair_tables.ranked(codes, arity, weights, order)

    def joints_of_sets(self, rows: Ints) -> tuple[Floats, Ints]:
        """Return ``joint`` of sets of one size, one row per set, and how many cells occur in each.

        A joint does not depend on the other sets, to the last digit.
        """
        joint, occurring = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        rank, pairs = self._pairs
        chosen = np.zeros(len(rows), dtype=np.bool_)
        if pairs is not None and rows.shape[1] >= 2:
            products = np.prod(self.arity[rows], axis=1, dtype=np.float64)
            chosen = products <= pair_tables.MOST_CELLS
        if chosen.any():
            assert pairs is not None
            sets = np.sort(rank[rows[chosen]], axis=1)
            own, found = np.empty(len(sets)), np.empty(len(sets), dtype=np.int64)
            about = (self._data.clogc, self._data.ess, sets, products[chosen])
            pair_tables.joints_from_pairs(pairs, *about, own, found)
            joint[chosen], occurring[chosen] = own, found
        if not chosen.all():
            left = np.flatnonzero(~chosen)
            own, found = np.empty(len(left)), np.empty(len(left), dtype=np.int64)
            joint_sets.joints_of_sets(self._data, *self._rare[1:], rows[left], own, found)
            joint[left], occurring[left] = own, found
        return joint, occurring

    def costs_of_sets(self, node: int, rows: Ints) -> Floats:
        """Return the penalties of a node with parent sets of one size, one row per set."""
        with np.errstate(over="ignore"):
            return self._cost(node, np.prod(self.arity[rows], axis=1, dtype=np.float64), rows.shape[1])

    @property
    def bound_rounding(self) -> float:
        """How far a comparison of a local score with a bound can be wrong by rounding; 0 if nothing is penalised."""
        return self.rounding if self._rate > 0 or self._data.ess > 0 else 0.0

    def informative(self, node: int, candidates: Ints) -> Ints:
        """Return the candidates that can change the score of a node: none that is constant, none for a constant."""
        chosen: Ints = candidates[(self.arity[candidates] > 1) & (self.arity[node] > 1)]
        return chosen

    def cheapest(self, candidates: Ints) -> Ints:
        """Return the candidate with the smallest arity, none if there are none."""
        return candidates[np.argsort(self.arity[candidates], kind="stable")[:1]]

    def penalties_of(self, node: int, candidates: Ints) -> Penalties:
        """Return what parents among the candidates cost a node, and what they must be worth."""
        most = float(self.superset_bounds(node, np.zeros(1), np.ones(1, dtype=np.int64))[0])
        unit = self._rate * float(self.arity[node] - 1)
        arity = self.arity[candidates].astype(np.float64)
        return Penalties(unit, float(self.edge_cost), most, arity, self._spare[candidates])

    @property
    def _spare(self) -> Floats:
        """N times the entropy of each column given all others; minus infinity without the rule by entropies."""
        return np.full(self.n_nodes, -np.inf)

    @abstractmethod
    def superset_bounds(self, nodes: int | Ints, cost: Floats, occurring: Ints) -> Floats:
        """Return bounds on the scores of supersets of parent sets with these penalties.

        ``occurring`` are the configurations of the parents and the node that occur.
        """

    @cached_property
    def _clogc(self) -> Floats:
        """The product of c and its logarithm, for all counts c."""
        if not self._data.ess:
            return self._data.clogc
        found: Floats = np.arange(int(self._data.weights.sum()) + 1, dtype=np.float64)
        found[1:] *= np.log(found[1:])
        return found

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

        Bounds unless ``ends`` says for each set from which candidate on none is asked about. A proper superset costs at
        least what the set and the cheapest candidate that may come cost. A marginal likelihood has no penalty, but a
        bound by the configurations that occur.
        """
        rows = np.concatenate([np.broadcast_to(fixed, (len(members), len(fixed))), candidates[members]], axis=1)
        with np.errstate(over="ignore"):
            product = np.minimum(np.prod(self.arity[rows], axis=1, dtype=np.float64), kernels.LARGEST_PRODUCT)
        cheapest = np.minimum.accumulate(self.arity[candidates][::-1].astype(np.float64))[::-1]
        wanted = Wanted(
            self._rate * (self.arity[node] - 1) * product,
            np.full(len(rows), self.edge_cost * (rows.shape[1] + 1)),
            self._lowered(node, occurring),
            floor,
        )
        reach, ceiling = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
        places = np.ascontiguousarray(members)
        exact = ends is None
        asked = np.full(len(rows), len(candidates)) if ends is None else ends
        about = (node, fixed, candidates, cheapest.copy(), places, asked, wanted, exact)
        reaches(self._data, self._clogc, *about, reach, ceiling)
        return reach, ceiling

    def last_candidates(self, node: int, candidates: Ints) -> Ints:
        """Return places among the candidates, the last one first, in an order in which the last ones say little."""
        step = -(-self.n_distinct // ROWS_FOR_ORDER)
        codes, weights = np.ascontiguousarray(self._data.codes[:, ::step]), self._data.weights[::step].copy()
        places: Ints = last_first(codes, self._data.arity, weights, self._clogc, node, candidates)
        return places

    def _lowered(self, node: int, occurring: Ints) -> Floats:
        """Return what is to be subtracted from lowered likelihoods of supersets; minus infinity if that is no bound."""
        return np.full(len(occurring), -np.inf)

    def fill_potentials(self, high: int, low_bits: int, out: Floats, node: int = 0) -> None:
        """Fill ``out`` with ``potential`` of the sets whose bits above ``low_bits`` are those of ``high``."""
        arity = self._data.arity
        if cube.is_small_cube(self._data):
            cube.cube_slice(self._data, high, low_bits, out, self._largest_product)
        elif self._by_itself and few_cells.fits_words(arity, low_bits):
            few_cells.few_cells_slice(self._data, high, low_bits, out, self._largest_product)
        elif slices.fits_numbers(arity, self._data.codes.shape[1], low_bits):
            slices.joint_slice(self._data, high, low_bits, out, self._largest_product)
        else:
            kernels.plain_joint_slice(self._data, high, low_bits, out)
        if self._rate:
            kept = [b for b in range(low_bits, len(arity)) if (high >> (b - low_bits)) & 1]
            costs = slices.low_products(arity, low_bits)
            costs *= self._rate * np.prod(arity[kept], dtype=np.float64)
            out -= costs
        if self.edge_cost:
            counts = high.bit_count() + bit_counts(low_bits)
            out -= 0.5 * self.edge_cost * counts * (counts - 1)

    def all_penalties(self, node: int, candidates: Ints) -> Floats:
        """Return ``penalty`` of all subsets of the candidates."""
        product = np.ones(1 << len(candidates))
        for b, j in enumerate(candidates):
            product[1 << b : 2 << b] = product[: 1 << b] * self.arity[j]
        return self._cost(node, product, bit_counts(len(candidates)))

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score of ``node`` with the given set of parents."""
        room = np.empty(self._data.codes.shape[1], dtype=np.int64)
        chosen = as_set(parents)
        steps = kernels.STEPS_PER_SET + len(room) * (len(chosen) + 4) // 100
        count = compiled_or_python(kernels.joints, steps, log1p=self._data.ess > 0, arrays=kernels.joints_arrays)
        without, together, product = count(self._data, node, chosen, room)
        return float(together - without - self._cost(node, product, len(chosen)))

    def local_packed(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats:
        """Return the local scores of many nodes with packed parent sets."""
        without, together, product = np.empty((3, len(nodes)))
        steps = kernels.STEPS_PER_SET * len(nodes) + self._data.codes.shape[1] * (len(flat) + 4 * len(nodes)) // 100
        count = compiled_or_python(
            kernels.joints_many, steps, log1p=self._data.ess > 0, arrays=kernels.joints_many_arrays
        )
        count(self._data, nodes, flat, offsets, without, together, product)
        return together - without - self._cost(nodes, product, np.diff(offsets))

    def chain(self, node: int, order: Sequence[int] | Ints) -> Floats:
        """Return the local scores of the empty set, the first of ``order``, the first two, and so on."""
        chosen = np.asarray(order, dtype=np.int64)
        without, together = np.empty(len(order) + 1), np.empty(len(order) + 1)
        kernels.chain(self._data, node, chosen, without, together)
        return together - without - self._cost(node, self._products(chosen), np.arange(len(chosen) + 1))

    def joint_chain(self, order: Sequence[int] | Ints, deadline: Deadline = FOREVER) -> Floats:
        """Return ``joint`` of the empty set, the first of ``order``, the first two, and so on."""
        cells, chosen = len(order) * self._data.codes.shape[1], np.asarray(order, dtype=np.int64)
        if cells >= MANY_CELLS:
            return joints_of_counts(self._data, chosen, deadline)
        joint = np.empty(len(order) + 1)
        count = compiled_or_python(kernels.joint_chain, 4 * cells, log1p=self._data.ess > 0)
        count(self._data, chosen, joint)
        return joint

    def additions(self, node: int, parents: Iterable[int] = ()) -> Floats:
        """Return the local score after adding each column; NaN for the node and its parents."""
        chosen = as_set(parents)
        without, together = np.empty(self.n_nodes), np.empty(self.n_nodes)
        steps = self.n_nodes * (kernels.STEPS_PER_SET + self._data.codes.shape[1] // 30)
        count = compiled_or_python(
            kernels.additions, steps, log1p=self._data.ess > 0, arrays=count_arrays.additions_arrays
        )
        count(self._data, node, chosen, without, together)
        return together - without - self._cost(node, self._products(chosen)[-1] * self.arity, len(chosen) + 1)


class MultinomialScore(CountingScore):
    r"""The ℓ0-penalised multinomial likelihood.

    .. math::

       score_i(J) = \sum_{x_i, x_J} \#(x_i, x_J) \log \frac{\#(x_i, x_J)}{\#(x_J)}
       - \Lambda (a_i - 1) \prod_{j \in J} a_j - \epsilon |J|

    Parameters
    ----------
    table : DiscreteTable
        The data.
    penalty : float
        Λ ≥ 0, the cost of one parameter: log(N) / 2 is BIC, 1 is AIC.
    edge_penalty : float
        ε ≥ 0, the cost of an edge in addition to its parameters; 2 γ log n for EBIC.

    Notes
    -----
    The conventions ``paper`` and ``bnlearn`` agree here. The arity of a column is the number of levels that
    occur in the data.
    """

    likelihood = bounding_likelihood = "multinomial"

    def __init__(self, table: DiscreteTable, penalty: float, edge_penalty: float = 0.0) -> None:
        self.parameter_cost = penalty
        self.edge_cost = edge_penalty
        self._rate = penalty
        self.label = f"multinomial log-likelihood - {penalty:.6g} x parameters" + (
            f" - {edge_penalty:.6g} x edges" if edge_penalty else ""
        )
        super().__init__(table, ess=0.0)

    def at_half_cost(self) -> MultinomialScore:
        """Return the score with half the cost of a parameter."""
        other = copy(self)
        other.parameter_cost = other._rate = self.parameter_cost / 2
        return other

    @cached_property
    def _most(self) -> Floats:
        """The log-likelihood of each node with all others as parents, which is the largest."""
        everything = np.arange(self.n_nodes, dtype=np.int64)
        rest = np.concatenate([np.delete(everything, i) for i in everything])
        offsets = np.arange(self.n_nodes + 1, dtype=np.int64) * (self.n_nodes - 1)
        without, together, product = np.empty((3, self.n_nodes))
        kernels.joints_many(self._data, everything, rest, offsets, without, together, product)
        most: Floats = np.minimum(together - without, 0.0)
        return most

    def superset_bounds(self, nodes: int | Ints, cost: Floats, occurring: Ints) -> Floats:
        """Return the likelihood with all parents minus the penalty, since both grow with the set."""
        return np.asarray(self._most[nodes] - cost)

    @property
    def _spare(self) -> Floats:
        """N times the entropy of each column given all others."""
        return -self._most
