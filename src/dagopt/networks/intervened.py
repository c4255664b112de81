"""`Intervened`: a network in which some columns are set from outside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from dagopt.networks.questions import Questions

if TYPE_CHECKING:
    from dagopt.networks.inference.engine import Engine, Model

__all__ = ["Intervened"]


class Intervened(Questions):
    """A network with columns that are set from outside, so that their parents have no effect on them.

    The edges into those columns are removed, and their values become evidence: in the remaining network, conditioning
    on a node without parents is the same as setting it (the truncated factorisation [1]_).

    References
    ----------
    .. [1] J. Pearl, "Causality", second edition, Cambridge University Press 2009, section 3.2.
    """

    def __init__(self, model: Model, fixed: Mapping[int, float]) -> None:
        self._fixed = dict(fixed)
        self._cut = model
        for node in fixed:
            self._cut = self._cut.without_parents(node)

    @property
    def _model(self) -> Model:
        return self._cut

    @cached_property
    def _engine(self) -> Engine:
        return self._cut.engine()

    def __repr__(self) -> str:
        names = ", ".join(self._cut.names[node] for node in self._fixed)
        return f"Intervened({len(self._cut.names)} nodes, do({names}))"
