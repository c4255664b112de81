"""The reduced cost of a node as a difference of submodular functions.

For a node i, the duals λ of the restricted master LP and a set J of other nodes

    z_i(J; λ) = -score_i(J) + λ_i + Σ over clusters C with i in C and J meeting C of λ_C = g(J) - f(J).

With ``joint`` the maximised log-likelihood of a set of columns, -joint is submodular, and where the penalty is the sum
of a modular and a supermodular part

    g(J) = -joint(J + i) + modular + clusters + λ_i,      f(J) = -joint(J) - supermodular.

``GaussianCost`` is Proposition 1 of the paper, ``MultinomialCost`` Proposition 2.

Notes
-----
The subgradients printed in section 3.2 of the paper omit the factors N/2 and N of the propositions; they are kept
here, because the propositions need them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.deadline import FOREVER, Deadline
from dagopt.methods.cg_dca.bases import SetFunction
from dagopt.scores.joint import JointScore

__all__ = ["ChainMemory", "ReducedCost"]


class ChainMemory:
    """A cache of joints along chains of sets: the paper's "small trick" of section 3.2.

    A chain of log-determinants is one Cholesky factorisation (Lemma 1), cheaper than a look-up; a chain of
    entropies needs counts over the rows, so it is kept.

    Parameters
    ----------
    score : JointScore
        Where joints come from.
    most : int
        The number of sets to keep; the cache is cleared when there are more.
    """

    def __init__(self, score: JointScore, most: int = 2_000_000) -> None:
        self.score = score
        self.most = most
        self.hits = 0
        self.misses = 0
        self._known: dict[int, float] = {}
        self._worth_it = score.logdets is None

    def chain(self, order: Ints, deadline: Deadline = FOREVER) -> Floats:
        """Return the joints of the empty set, the first of ``order`` and so on, or raise ``Stopped``."""
        if not self._worth_it:
            return np.asarray(self.score.joint_chain(order, deadline), dtype=np.float64)
        masks = [0]
        for j in order:
            masks.append(masks[-1] | (1 << int(j)))
        values = [self._known.get(mask) for mask in masks]
        if None not in values:
            self.hits += 1
            return np.array(values, dtype=np.float64)
        self.misses += 1
        chain = np.asarray(self.score.joint_chain(order, deadline), dtype=np.float64)
        if len(self._known) + len(masks) > self.most:
            self._known.clear()
        self._known.update(zip(masks, chain.tolist(), strict=True))
        return chain


@dataclass(frozen=True, eq=False)
class ReducedCost(ABC):
    """z_i = g - f for one node under given duals, over its free candidates.

    Attributes
    ----------
    memory : ChainMemory
        Joints of sets.
    node : int
        The node i.
    candidates : int array
        The ground set: nodes that may but need not be parents of i. Vectors are over it, in this order.
    base : int array
        Parents that i must have; they are in every set.
    node_dual : float
        λ_i.
    clusters : bool array of shape (clusters with i, n)
        Members of the clusters that contain i and have λ_C > 0.
    cluster_duals : array
        Their λ_C.
    deadline : Deadline
        Looked at while a long chain is computed, which then raises ``Stopped``.
    """

    memory: ChainMemory
    node: int
    candidates: Ints
    base: Ints
    node_dual: float
    clusters: Bools
    cluster_duals: Floats
    deadline: Deadline = FOREVER

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    @cached_property
    def g(self) -> SetFunction:
        """The function g over the candidates (orders are of positions in ``candidates``)."""
        return SetFunction(self.g_along)

    def g_along(self, order: Ints) -> Floats:
        """Return g of the first 0, 1, ..., m candidates in ``order``."""
        chosen = self.candidates[order]
        joint = self.memory.chain(np.concatenate([self._with_node, chosen]), self.deadline)[len(self.base) + 1 :]
        g = self.node_dual - joint + self.modular(chosen)
        if len(self.cluster_duals):
            steps = np.zeros(len(joint) + 1)  # the last one is for clusters that are never met
            np.add.at(steps, self._first_meeting(chosen), self.cluster_duals)
            g = g + np.cumsum(steps[:-1])
        return g

    def f(self, order: Ints) -> Floats:
        """Return f of the first 0, 1, ..., m candidates in ``order``."""
        chosen = self.candidates[order]
        joint = self.memory.chain(np.concatenate([self.base, chosen]), self.deadline)[len(self.base) :]
        return np.asarray(-joint - self.supermodular(chosen), dtype=np.float64)

    def modular(self, chosen: Ints) -> Floats:
        """Return the modular part of the penalty after 0, 1, ... of these candidates; zeros unless overridden."""
        return np.zeros(len(chosen) + 1)

    @abstractmethod
    def supermodular(self, chosen: Ints) -> Floats:
        """Return the supermodular part of the penalty after 0, 1, ... of these candidates."""

    @cached_property
    def _with_node(self) -> Ints:
        return np.concatenate([[self.node], self.base]).astype(np.int64)

    def _first_meeting(self, chosen: Ints) -> Ints:
        """Return after how many candidates each cluster is met; the number of candidates plus one if it never is."""
        already = np.asarray(self.clusters[:, self.base].any(axis=1))
        hit = np.concatenate([already[:, None], self.clusters[:, chosen]], axis=1)
        return np.where(hit.any(axis=1), hit.argmax(axis=1), len(chosen) + 1)

    def value(self, chosen: Sequence[int] | Ints) -> float:
        """Return z of one set of positions, computed by a chain through it."""
        order = np.asarray(chosen, dtype=np.int64)
        return float(self.g(order)[-1] - self.f(order)[-1])
