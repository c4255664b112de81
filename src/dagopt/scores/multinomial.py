"""Scores of discrete data that are made of sums over the cells of contingency tables.

``MultinomialScore`` is the ℓ0-penalised multinomial likelihood of appendix A.1 of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dagopt.data.table import DiscreteTable
from dagopt.kernels import counting as kernels
from dagopt.kernels.subset_lattice import subtract_products
from dagopt.scores.base import Floats, Ints, Score

__all__ = ["CountingScore", "MultinomialScore"]


class CountingScore(Score):
    """A score whose joint is a sum over the cells of a contingency table (see ``kernels.counting``).

    Parameters
    ----------
    table : DiscreteTable
        The data: distinct rows with weights, so that cost follows the number of distinct rows.
    ess : float
        Equivalent sample size of the Dirichlet prior; 0 for the maximised likelihood.
    """

    def __init__(self, table: DiscreteTable, ess: float) -> None:
        self.names = table.names
        self.n_samples = table.n_samples
        self.arity = table.arity
        counts = np.arange(self.n_samples + 1, dtype=np.float64)
        counts[1:] *= np.log(counts[1:])
        self._data = (table.codes, table.arity, table.weights, counts if ess == 0 else counts[:1], float(ess))

    _rate: float
    """What one parameter costs: the penalty of a node is ``_rate`` (a_i - 1) times the product of arities."""

    def _cost(self, node: int | Ints, product: Floats) -> Floats:
        """Return the penalty of a node whose parents' arities have the given product."""
        cost: Floats = self._rate * (self.arity[node] - 1) * np.minimum(product, kernels.LARGEST_PRODUCT)
        return cost

    def penalty(self, node: int, parents: Iterable[int]) -> float:
        """Return the penalty, which depends on the arities of the node and of the parents."""
        return float(self._cost(node, self._products(np.array(sorted(set(parents)), dtype=np.int64))[-1]))

    def all_joints(self, variables: Sequence[int] | Ints) -> Floats:
        """Return ``joint`` of all subsets; bit b of the index is ``variables[b]``."""
        chosen = np.asarray(variables, dtype=np.int64)
        joint = np.empty(1 << len(chosen))
        kernels.all_joints(*self._data, chosen, joint)
        return joint

    def _products(self, variables: Ints) -> Floats:
        """Return the products of the arities of the first 0, 1, 2, ... variables, as far as floats go."""
        with np.errstate(over="ignore"):
            products = np.cumprod(self.arity[variables], dtype=np.float64)
        clipped: Floats = np.minimum(np.concatenate([[1.0], products]), kernels.LARGEST_PRODUCT)
        return clipped

    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores, and bounds on supersets: see ``exact/candidates.py``."""
        without, together, product = np.empty((3, len(nodes)))
        kernels.joints_many(*self._data, nodes, flat, offsets, without, together, product)
        cost = self._cost(nodes, product)
        return together - without - cost, self._superset_bounds(nodes, flat, offsets, cost)

    def _superset_bounds(self, nodes: Ints, flat: Ints, offsets: Ints, cost: Floats) -> Floats:
        """Return minus the penalty: no log-likelihood is above zero, and penalties grow with the set."""
        return -cost

    def fill_potentials(self, high: int, low_bits: int, out: Floats) -> None:
        """Fill ``out`` with ``potential`` of the sets whose bits above ``low_bits`` are those of ``high``."""
        codes, arity, weights, clogc, ess = self._data
        if float(np.prod(arity, dtype=np.float64)) < 2.0**62:
            places = np.concatenate([[1], np.cumprod(arity)[:-1]])
            keys = places @ codes.astype(np.int64)
            kernels.joint_slice(keys, arity, weights, clogc, ess, high, low_bits, out)
        else:  # rows do not fit one number each
            kernels.plain_joint_slice(codes, arity, weights, clogc, ess, high, low_bits, out)
        subtract_products(out, arity, float(self._rate), high, low_bits)

    def _penalties(self, node: int, candidates: Ints) -> Floats:
        product = np.ones(1 << len(candidates))
        for b, j in enumerate(candidates):
            product[1 << b : 2 << b] = product[: 1 << b] * self.arity[j]
        return self._cost(node, product)

    def _local(self, node: int, parents: Ints) -> float:
        room = np.empty(self._data[0].shape[1], dtype=np.int64)
        without, together, product = kernels.joints(*self._data, node, parents, room)
        return float(together - without - self._cost(node, product))

    def _local_many(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats:
        without, together, product = np.empty((3, len(nodes)))
        kernels.joints_many(*self._data, nodes, flat, offsets, without, together, product)
        return together - without - self._cost(nodes, product)

    def _chain(self, node: int, order: Ints) -> Floats:
        without, together = np.empty(len(order) + 1), np.empty(len(order) + 1)
        kernels.chain(*self._data, node, order, without, together)
        return together - without - self._cost(node, self._products(order))

    def _joint_chain(self, order: Ints) -> Floats:
        joint = np.empty(len(order) + 1)
        kernels.joint_chain(*self._data, order, joint)
        return joint

    def _additions(self, node: int, parents: Ints) -> Floats:
        without, together = np.empty(self.n_nodes), np.empty(self.n_nodes)
        kernels.additions(*self._data, node, parents, without, together)
        return together - without - self._cost(node, self._products(parents)[-1] * self.arity)

    def _removals(self, node: int, parents: Ints) -> Floats:
        return self.local_many([node] * len(parents), [parents[parents != j] for j in parents])


class MultinomialScore(CountingScore):
    r"""The ℓ0-penalised multinomial likelihood.

    .. math::

       score_i(J) = \sum_{x_i, x_J} \#(x_i, x_J) \log \frac{\#(x_i, x_J)}{\#(x_J)}
       - \Lambda (a_i - 1) \prod_{j \in J} a_j

    Parameters
    ----------
    table : DiscreteTable
        The data.
    penalty : float
        Λ ≥ 0, the cost of one parameter: log(N) / 2 is BIC, 1 is AIC.

    Notes
    -----
    The conventions ``paper`` and ``bnlearn`` agree here. The arity of a column is the number of levels that
    occur in the data.
    """

    def __init__(self, table: DiscreteTable, penalty: float) -> None:
        self.parameter_cost = penalty
        self._rate = penalty
        self.label = f"multinomial log-likelihood - {penalty:.6g} x parameters"
        super().__init__(table, ess=0.0)
