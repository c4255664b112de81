"""All DAGs on up to five nodes as arrays, so that brute force over them takes one line; and made problems."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st

from dagopt.data.table import ContinuousTable, DiscreteTable
from dagopt.graph.constraints import Constraints
from dagopt.problem import Problem
from dagopt.results.answer import Answer
from dagopt.results.result import result_of
from dagopt.scores.build import make_score

NUMBER_OF_DAGS = {1: 1, 2: 3, 3: 25, 4: 543, 5: 29281}  # OEIS A003024
NUMBER_OF_CLASSES = {1: 1, 2: 2, 3: 11, 4: 185, 5: 8782}  # OEIS A007984

SCORES = {
    "gaussian": {"score": "bic"},
    "gaussian aic": {"score": "aic"},
    "bnlearn": {"score": "bic", "convention": "bnlearn"},
    "bge": {"score": "bge"},
    "multinomial": {"score": "bic"},
    "multinomial aic": {"score": "aic"},
    "bdeu": {"score": "bdeu", "equivalent_sample_size": 3.0},
}
DISCRETE = ("multinomial", "multinomial aic", "bdeu")


# --- all DAGs -------------------------------------------------------------------------------------------------


@cache
def parent_sets(n):
    """Return the parents of every node in every DAG of up to five nodes: bits of ``[dag, node]``."""
    assert n <= 5, "the 14 million graphs of six nodes take a minute"
    pairs = list(combinations(range(n), 2))
    states = np.array(list(product((0, 1, 2), repeat=len(pairs))), dtype=np.int64).reshape(3 ** len(pairs), -1)
    parents = np.zeros((len(states), n), dtype=np.int64)
    for k, (a, b) in enumerate(pairs):
        parents[:, b] |= (states[:, k] == 1) * (1 << a)
        parents[:, a] |= (states[:, k] == 2) * (1 << b)
    left = np.full(len(states), (1 << n) - 1)
    for _ in range(n):  # take every node out whose parents are out
        for i in range(n):
            left &= ~(((parents[:, i] & left) == 0) * (1 << i))
    return parents[left == 0]


@cache
def classes(n):
    """Return the number of the equivalence class of every DAG: same skeleton and same v-structures."""
    parents = parent_sets(n)
    code = np.zeros(len(parents), dtype=np.int64)
    joined = {}
    for bit, (a, b) in enumerate(combinations(range(n), 2)):
        joined[a, b] = (((parents[:, b] >> a) | (parents[:, a] >> b)) & 1).astype(bool)
        code |= joined[a, b].astype(np.int64) << bit
    bit = len(joined)
    for c in range(n):
        for a, b in combinations([j for j in range(n) if j != c], 2):
            collider = ((parents[:, c] >> a) & (parents[:, c] >> b) & 1).astype(bool) & ~joined[a, b]
            code |= collider.astype(np.int64) << bit
            bit += 1
    return np.unique(code, return_inverse=True)[1]


def members(mask):
    """Return the nodes of a set."""
    return [b for b in range(int(mask).bit_length()) if mask >> b & 1]


def local_scores(score, knowledge):
    """Return ``[node, parents]``, -inf for sets that are not allowed."""
    n = score.n_nodes
    table = np.full((n, 1 << n), -np.inf)
    for i in range(n):
        for mask in range(1 << n):
            if not mask >> i & 1 and knowledge.allows(i, members(mask)):
                table[i, mask] = score.local(i, members(mask))
    return table


def totals(score, knowledge):
    """Return the score of every DAG, -inf for those that are not allowed."""
    table = local_scores(score, knowledge)
    return sum(table[i, parent_sets(score.n_nodes)[:, i]] for i in range(score.n_nodes))


def class_scores(score, knowledge):
    """Return the score of every class with an allowed DAG, from the best down."""
    found = totals(score, knowledge)
    best = np.full(NUMBER_OF_CLASSES[score.n_nodes], -np.inf)
    np.maximum.at(best, classes(score.n_nodes), found)
    return np.sort(best[best > -np.inf])[::-1]


def masks_of(adjacency):
    """Return the parents of every node of a DAG as bits."""
    return [sum(1 << int(j) for j in np.flatnonzero(column)) for column in np.asarray(adjacency).T]


# --- problems -------------------------------------------------------------------------------------------------


def names_of(n):
    """Return the names of n columns."""
    return tuple("abcdefghijklmnopqrstuvwxyz"[:n])


def continuous_table(n, seed, n_samples=60):
    """Return numbers drawn from a random linear model, in a random order of columns."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), 1)
    values = np.zeros((n_samples, n))
    for j in range(n):
        values[:, j] = values @ weights[:, j] + rng.normal(size=n_samples)
    return ContinuousTable(names_of(n), values[:, rng.permutation(n)])


def discrete_table(n, seed, n_samples=80):
    """Return levels, two or three a column, each column a noisy function of one before it."""
    rng = np.random.default_rng(seed)
    arity = rng.integers(2, 4, n)
    codes = np.zeros((n, n_samples), dtype=np.int64)
    for j in range(n):
        drawn = rng.integers(0, arity[j], n_samples)
        copied = codes[rng.integers(0, max(j, 1))] % arity[j]
        codes[j] = np.where((j > 0) & (rng.random(n_samples) < 0.6), copied, drawn)
        codes[j, : arity[j]] = np.arange(arity[j])  # every level occurs
    levels = tuple(tuple(str(level) for level in range(size)) for size in arity)
    order = rng.permutation(n)
    return DiscreteTable.from_codes(names_of(n), tuple(levels[k] for k in order), codes[order])


def make_problem(kind, n, seed, constraints=None, n_samples=60):
    """Return a problem with one of the ``SCORES`` over made data."""
    table = discrete_table(n, seed, n_samples) if kind in DISCRETE else continuous_table(n, seed, n_samples)
    return Problem(table, make_score(table, **SCORES[kind]), (constraints or Constraints()).resolve(table.names))


def learned(problem):
    """Return a result with this problem, whose graph has no edges."""
    empty = np.zeros((problem.n_nodes, problem.n_nodes), dtype=np.int8)
    return result_of(Answer("made", empty, None, "converged"), problem.names, problem.score.label, problem=problem)


@st.composite
def consistent_constraints(draw, n):
    """Draw knowledge about n columns that at least one DAG obeys: all of it agrees with one order."""
    order = draw(st.permutations(names_of(n)))
    forward = list(combinations(order, 2))
    required = draw(st.lists(st.sampled_from(forward), max_size=3, unique=True)) if forward else []
    others = [(a, b) for a in order for b in order if a != b and (a, b) not in required]
    forbidden = draw(st.lists(st.sampled_from(others), max_size=6, unique=True)) if others else []
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=2))) if n > 1 else []
    in_tiers = set(draw(st.lists(st.sampled_from(order), unique=True)))
    tiers = [[name for name in order[a:b] if name in in_tiers] for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    needed = {name: sum(b == name for _, b in required) for name in order}
    limit = draw(st.none() | st.integers(max(needed.values()), n))
    named = {name: needed[name] + draw(st.integers(0, 2)) for name in draw(st.lists(st.sampled_from(order)))}
    return Constraints(required, forbidden, tiers, limit if draw(st.booleans()) else named)


@st.composite
def problems(draw, min_nodes=2, max_nodes=5, kinds=tuple(SCORES)):
    """Draw a problem with any score and any consistent knowledge."""
    n = draw(st.integers(min_nodes, max_nodes))
    constraints = draw(st.just(Constraints()) | consistent_constraints(n))
    return make_problem(draw(st.sampled_from(kinds)), n, draw(st.integers(0, 10_000)), constraints)
