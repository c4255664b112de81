"""What is proven about a graph: a bound, the graphs it covers, what proved it, and the rounding in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dagopt.data.lags import Lags
from dagopt.graph.knowledge import Knowledge

__all__ = ["ALL_DAGS", "GIVEN_POOL", "Certificate", "Source", "scope_of", "tightest"]

Source = Literal[
    "subset recursion",
    "branch and cut",
    "pricing",
    "pairs",
    "search from the end",
    "bounds of parent sets",
    "saturated likelihood",
]

ALL_DAGS = "all DAGs"
GIVEN_POOL = "the given pool"


@dataclass(frozen=True)
class Certificate:
    """No graph within the scope scores more than the bound.

    Attributes
    ----------
    bound : float
        The bound, rounding included.
    scope : str
        The graphs that it covers, in words.
    source : str
        What proved it.
    rounding : float
        How far a computed score can be from its value in exact arithmetic. The bound includes it twice: for the best
        graph and for the one returned.
    """

    bound: float
    scope: str
    source: Source
    rounding: float = 0.0

    def at_least(self, score: float) -> Certificate:
        """Return the certificate with a bound that is not below the score of a known graph."""
        return self if score <= self.bound else replace(self, bound=score)

    def with_rounding(self, rounding: float) -> Certificate:
        """Return the certificate whose bound holds in exact arithmetic."""
        return replace(self, bound=self.bound + 2 * rounding, rounding=rounding)


def tightest(*certificates: Certificate | None) -> Certificate | None:
    """Return the certificate with the lowest bound, the first of ties; None if there is none.

    All must cover the graphs that the user allows. A proof over fewer graphs is no rival: see ``Answer.limited``.
    """
    known = [one for one in certificates if one is not None and np.isfinite(one.bound)]
    return min(known, key=lambda one: one.bound, default=None)


def dynamic_networks(lags: Lags) -> str:
    """Return all networks of one order in words."""
    moments = "the moment before" if lags.count == 1 else f"the {lags.count} moments before"
    inside = "" if lags.within else ", none within a moment"
    return f"all dynamic networks with edges from {moments}{inside}"


def scope_of(knowledge: Knowledge) -> str:
    """Return the graphs that a proof covers, in words."""
    n = knowledge.n_nodes
    lags = knowledge.lags
    own = slice(None) if lags is None else slice(lags.n_series)  # columns of the past have no parents
    limits = np.unique(np.minimum(knowledge.at_most[own], n - 1))
    everything = ALL_DAGS if lags is None else dynamic_networks(lags)
    scope = everything if limits[0] >= n - 1 else f"parent sets of size <= {limits[-1]}"
    if len(limits) > 1:
        scope = "parent sets within the limits of each column"
    if knowledge.in_superstructure:
        scope += " inside the superstructure"
        unrestricted = not knowledge.must.any() and bool((knowledge.may == knowledge.may.T).all())
        return scope if unrestricted else f"{scope} that the constraints allow"
    free = knowledge.may | np.eye(n, dtype=bool) | (knowledge.at_most == 0)  # a limit of 0 already forbids all edges
    if lags is not None:
        free |= ~lags.allowed()
    unrestricted = free.all() and not knowledge.must.any()
    return scope if unrestricted else f"{scope} that the constraints allow"
