"""Mixed networks: exact answers if a node's Markov blanket is known, weighted draws otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dagopt.arrays import Floats
from dagopt.networks.checks import blanket_of
from dagopt.networks.inference.engine import Posterior
from dagopt.networks.inference.weighting import LikelihoodWeighting

if TYPE_CHECKING:
    from dagopt.networks.mixed_network import MixedNetwork

__all__ = ["BlanketWeighting"]

GRID = np.linspace(-6, 6, 121)  # standard deviations at which a continuous value is tried, given its children


class BlanketWeighting(LikelihoodWeighting):
    """Answers about a mixed network.

    If the Markov blanket of a node is known, its density is proportional to the product of its own conditional density
    and those of its children. If its parents are known and nothing below it, it has its own conditional density. A
    discrete node is computed level by level, a continuous one on a fine grid. All other cases use weighted draws.
    """

    network: MixedNetwork

    def posterior(self, node: int, cells: Floats) -> Posterior:
        """Return the probability of each level, or mean and standard deviation, of a node in each row."""
        known = ~np.isnan(cells)
        parents = list(self.network.parents[node])
        alone = known[:, parents].all(axis=1) & ~known[:, self._below(node)].any(axis=1)
        full = known[:, list(blanket_of(self.network.parents, node))].all(axis=1) & ~alone
        levels = self.network.levels_of(node)
        width = 2 if levels is None else len(levels)
        figures, errors = np.empty((len(cells), width)), np.zeros((len(cells), width))
        children = [j for j, own in enumerate(self.network.parents) if node in own]
        figures[alone] = self._near(node, cells[alone], [node])
        figures[full] = self._near(node, cells[full], [node, *children])
        left = ~(full | alone)
        if not left.any():
            return Posterior(figures)
        figures[left], drawn = super().posterior(node, cells[left])
        errors[left] = 0.0 if drawn is None else drawn
        return Posterior(figures, errors)

    def _below(self, node: int) -> list[int]:
        """Return the descendants of a node."""
        found: set[int] = set()
        for j in self.order:
            if found & set(self.network.parents[j]) or node in self.network.parents[j]:
                found.add(j)
        return sorted(found)

    def _near(self, node: int, cells: Floats, concerned: Sequence[int]) -> Floats:
        """Return the distribution of a node whose density is the product of those of some nodes, all else known."""
        network = self.network
        levels = network.levels_of(node)
        cells = cells.copy()
        if levels is None:
            means = network.expected(node, cells)
            tried = means[:, None] + np.sqrt(network.variances[node]) * GRID
        else:
            tried = np.tile(np.arange(len(levels), dtype=np.float64), (len(cells), 1))
        logs = np.empty_like(tried)
        for k in range(tried.shape[1]):
            cells[:, node] = tried[:, k]
            logs[:, k] = sum(network.log_node(j, cells) for j in concerned)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        if levels is not None:
            return np.asarray(weights)
        means = (weights * tried).sum(axis=1)
        return np.column_stack([means, np.sqrt((weights * (tried - means[:, None]) ** 2).sum(axis=1))])
