"""The reduced cost of a node as a difference of submodular functions (Propositions 1 and 2 of the paper).

For a node i, the duals λ of the restricted master LP and a set J of other nodes

    z_i(J; λ) = -score_i(J) + λ_i + Σ over clusters C with i in C and J meeting C of λ_C = g(J) - f(J).

With ``joint(S)`` = -N/2 log det Σ̂_SS + const, or Σ c log c = -N H(S) + const, both data kinds read

* Gaussian:  g(J) = -joint(J + i) + Λ|J| + clusters + λ_i,   f(J) = -joint(J);
* discrete:  g(J) = -joint(J + i) + clusters + λ_i,          f(J) = -joint(J) - Λ (a_i - 1) Π a_j.

The convention of bnlearn adds to a Gaussian penalty a convex function of |J|, which f takes with a minus: a convex
function of the size is supermodular.

Notes
-----
The subgradients printed in section 3.2 of the paper leave out the factors N/2 and N of the propositions; here
they are kept, as the propositions need them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.scores.base import Score
from dagopt.scores.joint import JointScore

__all__ = ["ChainMemory", "ReducedCost", "check_score"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LARGE_PENALTY = 1e9  # stands for an infinite one


def check_score(score: Score) -> JointScore:
    """Return the likelihood and penalty of a score, or raise where it has none: the propositions need them."""
    if score.joints is None or score.likelihood is None:
        raise InputError(
            f"CG-DCA needs a penalised likelihood ('bic', 'aic', 'loglik' or a penalty) but the score is "
            f"{score.label}; choose another score, or method='exact' or 'hc'"
        )
    return score.joints


class ChainMemory:
    """Joints along chains of sets, remembered: the paper's "small trick" of section 3.2.

    A chain of log-determinants is one Cholesky factorisation (Lemma 1), cheaper than looking it up; a chain of
    entropies counts rows, and is kept.

    Parameters
    ----------
    score : JointScore
        Where joints come from.
    most : int
        Number of sets to remember; all are forgotten when there are more.
    """

    def __init__(self, score: JointScore, most: int = 2_000_000) -> None:
        self.score = score
        self.most = most
        self.hits = 0
        self.misses = 0
        self._known: dict[int, float] = {}
        self._worth_it = score.logdets is None

    def chain(self, order: Ints) -> Floats:
        """Return the joints of the empty set, the first of ``order``, the first two, and so on."""
        if not self._worth_it:
            return np.asarray(self.score.joint_chain(order), dtype=np.float64)
        masks = [0]
        for j in order:
            masks.append(masks[-1] | (1 << int(j)))
        values = [self._known.get(mask) for mask in masks]
        if None not in values:
            self.hits += 1
            return np.array(values, dtype=np.float64)
        self.misses += 1
        chain = np.asarray(self.score.joint_chain(order), dtype=np.float64)
        if len(self._known) + len(masks) > self.most:
            self._known.clear()
        self._known.update(zip(masks, chain.tolist(), strict=True))
        return chain


@dataclass(frozen=True, eq=False)
class ReducedCost:
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
    """

    memory: ChainMemory
    node: int
    candidates: Ints
    base: Ints
    node_dual: float
    clusters: NDArray[np.bool_]
    cluster_duals: Floats

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    def g(self, order: Ints) -> Floats:
        """Return g of the first 0, 1, ..., m candidates in ``order`` (positions in ``candidates``)."""
        chosen = self.candidates[order]
        joint = self.memory.chain(np.concatenate([self._with_node, chosen]))[len(self.base) + 1 :]
        g = self.node_dual - joint + self._modular[: len(joint)]
        if len(self.cluster_duals):
            steps = np.zeros(len(joint) + 1)  # the last one is for clusters that are never met
            np.add.at(steps, self._first_meeting(chosen), self.cluster_duals)
            g = g + np.cumsum(steps[:-1])
        return g

    def f(self, order: Ints) -> Floats:
        """Return f of the first 0, 1, ..., m candidates in ``order``."""
        chosen = self.candidates[order]
        joint = self.memory.chain(np.concatenate([self.base, chosen]))[len(self.base) :]
        score = self.memory.score
        if score.counts is None:
            return np.asarray(-joint - self._excess[: len(joint)], dtype=np.float64)
        arity = score.counts.arity
        first = float(np.prod(arity[self.base], dtype=np.float64))
        product = first * np.concatenate([[1.0], np.cumprod(arity[chosen], dtype=np.float64)])
        return np.asarray(-joint - score.parameter_cost * (arity[self.node] - 1) * product, dtype=np.float64)

    @cached_property
    def gaussian_form(self) -> tuple[Any, ...] | None:
        """What the compiled minimum-norm point takes, for a Gaussian score; None for discrete data."""
        score = self.memory.score
        if score.logdets is None:
            return None
        matrix, log_scale, _, _ = score.logdets
        half = 0.5 * score.n_samples
        steps = np.diff(self._modular) + half * (1 + math.log(2 * math.pi))
        clusters = np.ascontiguousarray(self.clusters[:, self.candidates])
        free = ~self.clusters[:, self.base].any(axis=1)
        return (
            matrix,
            log_scale,
            half,
            self._with_node,
            self.candidates,
            steps,
            clusters[free],
            self.cluster_duals[free],
        )

    @cached_property
    def _with_node(self) -> Ints:
        return np.concatenate([[self.node], self.base]).astype(np.int64)

    @cached_property
    def _modular(self) -> Floats:
        """Λ|J| of a Gaussian score by the number of candidates taken; nothing for discrete data."""
        score = self.memory.score
        sizes = np.arange(len(self.base), len(self.base) + self.size + 1)
        rate = score.parameter_cost if score.counts is None else 0.0
        return np.asarray(rate * sizes, dtype=np.float64)

    @cached_property
    def _excess(self) -> Floats:
        """What the penalty of a Gaussian score is above Λ|J|: nothing, or convex in the number of parents.

        Where it is infinite a steep parabola stands for it, which is convex too.
        """
        sizes = range(len(self.base), len(self.base) + self.size + 1)
        penalty = np.array([self.memory.score.penalty(self.node, range(size)) for size in sizes])
        beyond = np.cumsum(np.isinf(penalty)).astype(np.float64)
        return np.where(beyond > 0, LARGE_PENALTY * beyond**2, penalty - self._modular)

    def _first_meeting(self, chosen: Ints) -> Ints:
        """Return after how many candidates each cluster is met; one more than there are where it never is."""
        already = np.asarray(self.clusters[:, self.base].any(axis=1))
        hit = np.concatenate([already[:, None], self.clusters[:, chosen]], axis=1)
        return np.where(hit.any(axis=1), hit.argmax(axis=1), len(chosen) + 1)

    def value(self, chosen: Sequence[int] | Ints) -> float:
        """Return z of one set of positions, by a chain through it."""
        order = np.asarray(chosen, dtype=np.int64)
        return float(self.g(order)[-1] - self.f(order)[-1])
