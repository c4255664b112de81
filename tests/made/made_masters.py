"""Small tables, problems and reduced costs for the tests of column generation, and their values by definition."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

import naive
from dagopt.data.table import ContinuousTable, DiscreteTable
from dagopt.graph.constraints import Constraints
from dagopt.methods.cg_dca.decomposition import decomposed
from dagopt.methods.cg_dca.reduced_cost import ChainMemory, ReducedCost
from dagopt.problem import Problem
from dagopt.scores.build import make_score


def gaussian_table(seed, n, rows=60, density=0.5):
    """Return data of a random linear network."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), k=1)
    X = rng.normal(size=(rows, n)) @ np.linalg.inv(np.eye(n) - weights)
    return ContinuousTable(tuple(f"V{k}" for k in range(n)), np.ascontiguousarray(X[:, rng.permutation(n)]))


def discrete_table(seed, n, rows=60):
    """Return data of a random tree of levels."""
    rng = np.random.default_rng(seed)
    arity = rng.integers(2, 4, n)
    codes = np.zeros((n, rows), dtype=np.int64)
    for j in range(n):
        copied = codes[rng.integers(0, j)] if j else codes[0]
        codes[j] = np.where(rng.random(rows) < 0.5, copied, rng.integers(0, arity[j], rows)) % arity[j]
    levels = tuple(tuple(str(level) for level in range(a)) for a in arity)
    return DiscreteTable.from_codes(tuple(f"V{k}" for k in range(n)), levels, codes)


def table_of(kind, seed, n, rows=60):
    """Return a made table of a kind."""
    return gaussian_table(seed, n, rows) if kind == "gaussian" else discrete_table(seed, n, rows)


def problem_of(table, constraints=None, score="bic", convention="paper"):
    """Return the problem of a table."""
    score = make_score(table, score, convention=convention)
    return Problem(table, score, (constraints or Constraints()).resolve(table.names))


def subsets(elements):
    """Return all subsets of a sequence, as tuples."""
    return [chosen for size in range(len(elements) + 1) for chosen in itertools.combinations(elements, size)]


def direct_local(problem, node, parents):
    """Return the local score of the rows themselves, by the naive twins."""
    score, table = problem.score, problem.table
    if isinstance(table, ContinuousTable):
        return naive.gaussian_local(table.values, node, list(parents), score.parameter_cost, score.convention)
    rows = [tuple(int(c) for c in family) for family in np.repeat(table.codes, table.weights, axis=1).T]
    return naive.multinomial_local(rows, table.arity, node, list(parents), score.parameter_cost)


class MadeCost(NamedTuple):
    """A reduced cost with random duals, and what it was made of."""

    cost: ReducedCost
    problem: Problem
    clusters: list[frozenset[int]]
    duals: np.ndarray

    def parents(self, positions):
        """Return the parent set of positions among the candidates."""
        return sorted([*self.cost.base.tolist(), *self.cost.candidates[list(positions)].tolist()])

    def direct(self, positions):
        """Return -score + λ_i + Σ λ_C over the clusters that are met, from the rows of data."""
        node, parents = self.cost.node, self.parents(positions)
        met = sum(d for c, d in zip(self.clusters, self.duals, strict=True) if node in c and c & set(parents))
        return -direct_local(self.problem, node, parents) + self.cost.node_dual + met


def made_cost(kind, seed, n, n_base=0, n_left_out=0, rows=60, convention="paper", score="bic", n_clusters=4):
    """Return the reduced cost of a random node with random clusters, duals, required and forbidden parents."""
    rng = np.random.default_rng([seed, 7])
    problem = problem_of(table_of(kind, seed, n, rows), score=score, convention=convention)
    node, *others = rng.permutation(n)
    base, candidates = sorted(others[:n_base]), sorted(others[n_base : len(others) - n_left_out])
    clusters = [frozenset(np.flatnonzero(rng.random(n) < 0.5).tolist()) for _ in range(n_clusters)]
    duals = rng.choice([0.5, 3.0, 20.0], len(clusters)) * rng.random(len(clusters))
    own = [k for k, cluster in enumerate(clusters) if node in cluster]
    met = np.zeros((len(own), n), dtype=bool)
    for row, k in enumerate(own):
        met[row, list(clusters[k] - {node})] = True
    joints, kind = decomposed(problem.score)
    cost = kind(
        ChainMemory(joints),
        int(node),
        np.array(candidates, dtype=np.int64),
        np.array(base, dtype=np.int64),
        float(rng.normal(scale=50)),
        met,
        duals[own],
    )
    return MadeCost(cost, problem, clusters, duals)


def whole_order(chosen, size):
    """Return an order of all positions that begins with the chosen ones."""
    return np.array([*chosen, *(j for j in range(size) if j not in set(chosen))], dtype=np.int64)


def at(chain, chosen, size):
    """Return the value of a set function, given along orders, at one set."""
    return float(chain(whole_order(chosen, size))[len(chosen)])


def minimum(chain, linear):
    """Return the least value of the function minus a linear one, over all sets."""
    size = len(linear)
    return min(at(chain, chosen, size) - linear[list(chosen)].sum() for chosen in subsets(range(size)))


def close(value, expected, scale=1.0):
    """Say whether two numbers agree to rounding at the size of the numbers they came from."""
    return abs(value - expected) <= 1e-8 * max(abs(expected), abs(scale), 1.0)
