"""Likelihood weighting: draws of a network with the known cells held fixed, weighted by how likely those are.

It only needs to draw a node given its parents and to compute its density, so it works for any kind of network. Its
answers have a standard error [1]_, which grows as the evidence becomes unlikely.

References
----------
.. [1] R. M. Fung, K.-C. Chang, "Weighing and integrating evidence for stochastic simulation in Bayesian networks",
   UAI 1989; D. Koller, N. Friedman, "Probabilistic Graphical Models", MIT Press 2009, section 12.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats
from dagopt.networks.checks import topological_order
from dagopt.networks.inference.engine import Engine, Event, Model, Posterior

__all__ = ["DRAWS", "LikelihoodWeighting"]

DRAWS = 20_000  # draws per answer


class _Weighted(NamedTuple):
    """Draws with weights that sum to one; ``log_mean`` is the log of the mean of the weights before that."""

    cells: Floats
    weights: Floats
    log_mean: float


class LikelihoodWeighting(Engine):
    """Approximate answers about any network, each with its standard error.

    Parameters
    ----------
    network : Model
        A network that draws its nodes one by one.
    n_draws : int
        Number of draws behind each answer.
    random_state : int
        Seed: the same question has the same answer.
    """

    def __init__(self, network: Model, n_draws: int = DRAWS, random_state: int = 0) -> None:
        self.network = network
        self.order = topological_order(network.names, network.parents)
        self.n_draws = n_draws
        self.random_state = random_state

    def posterior(self, node: int, cells: Floats) -> Posterior:
        """Return the probability of each level, or mean and standard deviation, of a node in each row."""
        levels = self.network.levels_of(node)
        figures = np.full((len(cells), 2 if levels is None else len(levels)), np.nan)
        errors = np.full_like(figures, np.nan)
        for row, given in enumerate(cells):
            given = given.copy()
            given[node] = np.nan
            drawn = self.draws(given)
            if not np.isfinite(drawn.log_mean):
                continue
            values, weights = drawn.cells[:, node], drawn.weights
            if levels is None:
                mean = float(weights @ values)
                variance = float(weights @ (values - mean) ** 2)
                figures[row] = mean, np.sqrt(variance)
                errors[row, 0] = np.sqrt(weights**2 @ (values - mean) ** 2)
                spread = np.sqrt(weights**2 @ ((values - mean) ** 2 - variance) ** 2)
                errors[row, 1] = spread / (2 * figures[row, 1]) if variance > 0 else 0.0
            else:
                hits = values[:, None] == np.arange(len(levels))
                figures[row] = weights @ hits
                errors[row] = np.sqrt(weights**2 @ (hits - figures[row]) ** 2)
        return Posterior(figures, errors)

    def log_evidence(self, cells: Floats) -> Floats:
        """Return the log of the mean weight of each row; exact if every cell is known."""
        found = np.empty(len(cells))
        full = ~np.isnan(cells).any(axis=1)
        found[full] = sum(self.network.log_node(j, cells[full]) for j in self.order)
        for row in np.flatnonzero(~full):
            found[row] = self.draws(cells[row]).log_mean
        return found

    def probability(self, event: Event, cells: Floats) -> tuple[float, float]:
        """Return the weighted share of draws in the event, and its standard error."""
        drawn = self.draws(cells[0])
        inside = np.ones(len(drawn.cells), dtype=bool)
        for node, wanted in event.items():
            values = drawn.cells[:, node]
            if isinstance(wanted, tuple):
                inside &= (values >= wanted[0]) & (values <= wanted[1])
            else:
                inside &= wanted[values.astype(np.intp)]
        share = float(drawn.weights @ inside)
        return share, float(np.sqrt(drawn.weights**2 @ (inside - share) ** 2))

    def complete(self, cells: Floats, rng: np.random.Generator) -> Floats:
        """Return the rows with unknown cells from draws taken with probability proportional to their weights."""
        filled = cells.copy()
        kinds, which = np.unique(np.nan_to_num(cells, nan=np.inf), axis=0, return_inverse=True)
        for kind in range(len(kinds)):
            rows = np.flatnonzero(which.ravel() == kind)
            drawn = self.draws(cells[rows[0]], rng)
            chosen = rng.choice(len(drawn.weights), size=len(rows), p=drawn.weights)
            filled[rows] = drawn.cells[chosen]
        return filled

    def draws(self, given: Floats, rng: np.random.Generator | None = None) -> _Weighted:
        """Return weighted draws given the known cells of one row."""
        rng = np.random.default_rng(self.random_state) if rng is None else rng
        cells = np.tile(given, (self.n_draws, 1))
        logs = np.zeros(self.n_draws)
        for j in self.order:
            if np.isnan(given[j]):
                cells[:, j] = self.network.draw_node(j, cells, rng)
            else:
                logs += self.network.log_node(j, cells)
        largest = float(logs.max())
        if not np.isfinite(largest):
            return _Weighted(cells, np.full(self.n_draws, 1 / self.n_draws), -np.inf)
        weights = np.exp(logs - largest)
        return _Weighted(cells, weights / weights.sum(), largest + float(np.log(weights.mean())))
