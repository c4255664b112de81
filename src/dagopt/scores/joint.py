"""Scores made of one set function, ``joint``, and a penalty.

All scores of the library are::

    local(i, J) = joint(J + i) - joint(J) - penalty(i, J)

which is what the paper's Propositions 1 and 2 rest on. Their penalties, too, are differences of one set function (for
the multinomial score Λ (a_i - 1) Π a_j = Λ (Π over J + i - Π over J)), so that with
``potential(S) = joint(S) - penalties(S)`` simply ::

    local(i, J) = potential(J + i) - potential(J)

and the exact solver fills one table of 2^n potentials instead of n tables of local scores.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.data.table import Table
from dagopt.deadline import FOREVER, Deadline
from dagopt.scores.base import Score, as_set, check_subsets

__all__ = ["JointScore"]


class JointScore(Score):
    """A score whose local scores are differences of one set function minus a penalty.

    If ``likelihood`` is set, ``joint(S)`` is the largest log-likelihood of the columns S, that of the saturated
    model; ``joint`` of all columns bounds the likelihood of every DAG.
    """

    is_score_equivalent = True
    parameter_cost: float = 0.0
    """Λ, the cost of one parameter in a penalised likelihood."""
    edge_cost: float = 0.0
    """ε, the cost of an edge in addition to its parameters."""

    @property
    def joints(self) -> JointScore:
        """The score itself."""
        return self

    def sizes_in(self, table: Table) -> Ints:
        """Return how many numbers represent each column of the table in this score."""
        return table.sizes

    @property
    def penalty_by_size(self) -> Floats | None:
        """The penalty of 0, 1, ..., n - 1 parents, if it depends only on their number; otherwise None."""
        return None

    def joint(self, columns: Iterable[int]) -> float:
        """Return ``joint`` of a set of columns."""
        return float(self.joint_chain(as_set(columns))[-1])

    def subsets(self, node: int, candidates: Sequence[int] | Ints) -> Floats:
        """Return the local scores of all subsets; bit b of the index is ``candidates[b]``."""
        half = 1 << check_subsets(candidates)
        variables = np.asarray(candidates, dtype=np.int64)
        joint = self.all_joints(np.append(variables, node))
        return joint[half:] - joint[:half] - self.all_penalties(node, variables)

    @abstractmethod
    def joint_chain(self, order: Sequence[int] | Ints, deadline: Deadline = FOREVER) -> Floats:
        """Return ``joint`` of the empty set, the first of ``order``, the first two, and so on.

        A long chain raises ``Stopped`` at the deadline.
        """

    @abstractmethod
    def all_joints(self, variables: Sequence[int] | Ints) -> Floats:
        """Return ``joint`` of all subsets; bit b of the index is ``variables[b]``."""

    @abstractmethod
    def penalty(self, node: int, parents: Iterable[int]) -> float:
        """Return the part of the local score that is not a difference of joints, as a cost."""

    @abstractmethod
    def all_penalties(self, node: int, candidates: Ints) -> Floats:
        """Return ``penalty`` of all subsets of the candidates."""
