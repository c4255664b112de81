"""Tests of local cuts: against all DAGs on three and four nodes, by linear programming and by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from dagopt.kernels.cuts import local_cuts as kernels


def all_dags(s):
    """Return the parent sets of every DAG on s nodes."""
    found = []
    for parents in product(*[[t for t in range(1 << s) if not t >> i & 1] for i in range(s)]):
        left = (1 << s) - 1
        while free := [i for i in range(s) if left >> i & 1 and not parents[i] & left]:
            left &= ~sum(1 << i for i in free)
        if not left:
            found.append(parents)
    return found


DAGS = {s: all_dags(s) for s in (3, 4)}


def drawn_point(s, seed):
    """Return items with a mass of at most 1 a node: nodes, sets, masses."""
    rng = np.random.default_rng(seed)
    items = [(i, t) for i in range(s) for t in range(1, 1 << s) if not t >> i & 1 and rng.random() < 0.5]
    node, sets = np.array(items).T
    mass = rng.random(len(items))
    for i in range(s):
        own = node == i
        mass[own] /= max(mass[own].sum(), 1.0)
    return node, sets, mass


@pytest.mark.few(16)
@pytest.mark.parametrize("s", [3, 4])
@pytest.mark.parametrize("seed", range(25))
def test_cut_is_the_most_violated_of_all_and_holds_for_every_dag(s, seed):
    """The coefficients solve the separation LP over all DAGs; lifted, they still hold and are no smaller."""
    node, sets, mass = drawn_point(s, seed)
    coefficient = np.empty(len(node))
    weight = kernels.cover(s, node, sets, mass, 0.0, coefficient)
    rows = np.array([[dag[i] == t for i, t in zip(node, sets, strict=True)] for dag in DAGS[s]], dtype=float)
    expected = linprog(-mass, A_ub=rows, b_ub=np.ones(len(rows)))
    assert weight == pytest.approx(-expected.fun, abs=1e-6)
    assert weight == pytest.approx(coefficient @ mass)
    assert (rows @ coefficient).max() <= 1 + 1e-12
    table = np.zeros(s << s)
    table[sets * s + node] = coefficient
    kernels.lift(s, table)
    assert (table[sets * s + node] >= coefficient).all()
    values = [sum(table[t * s + i] for i, t in enumerate(dag)) for dag in DAGS[s]]
    assert max(values) == pytest.approx(1.0)
    for i in range(s):  # no coefficient could be larger
        for t in range(1, 1 << s):
            if not t >> i & 1:
                assert max(v for v, dag in zip(values, DAGS[s], strict=True) if dag[i] == t) == pytest.approx(1.0)


def test_a_mixture_of_dags_violates_nothing():
    """A point that is a mean of DAGs has a cover of weight 1 or less, so there is no cut."""
    rng = np.random.default_rng(0)
    some = [DAGS[4][k] for k in rng.integers(0, len(DAGS[4]), 6)]
    shares = rng.dirichlet(np.ones(6))
    words = np.array([[t] for i in range(4) for t in range(16)], dtype=np.uint64)
    mass = np.array(
        [sum(p for p, dag in zip(shares, some, strict=True) if dag[i] == t) for i in range(4) for t in range(16)]
    )
    offsets = np.arange(5) * 16
    tables = np.empty((1, 64))
    assert kernels.local_cuts(words, mass, offsets, np.array([[0, 1, 2, 3]]), 1e-6, tables) == [0.0]


def test_two_parents_in_a_triangle_are_cut():
    """Three nodes that each have the two others as parents, half the time, violate: at most one has two parents."""
    words = np.array([[0], [6], [0], [5], [0], [3]], dtype=np.uint64)
    mass = np.full(6, 0.5)
    tables = np.empty((1, 24))
    violation = kernels.local_cuts(words, mass, np.array([0, 2, 4, 6]), np.array([[0, 1, 2]]), 0.01, tables)
    assert violation == pytest.approx([0.5])
    row = np.empty(6)
    kernels.cut_row(words, np.array([0, 2, 4, 6]), np.array([0, 1, 2]), tables[0], row)
    np.testing.assert_allclose(row, [0, 1, 0, 1, 0, 1])


def test_subsets_grow_from_their_seeds_along_arcs():
    """Along a chain of arcs the neighbours come next; where arcs end, so does the subset."""
    arcs = np.zeros((5, 5))
    arcs[0, 1] = arcs[1, 2] = arcs[2, 1] = 1.0
    subsets = np.empty((2, 3), dtype=np.int64)
    count = kernels.grow_subsets(arcs, np.ones((2, 5)), np.array([[0, 1], [3, 4]]), 3, subsets)
    assert count == 1
    assert subsets[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(8))
def test_cuts_of_subsets_and_their_rows(seed):
    """The violation is that of the separation LP of the families inside the subset, and the row attains it."""
    rng = np.random.default_rng(seed)
    n, subset = 5, [0, 1, 3, 4]
    families = [(i, t) for i in range(n) for t in sorted(set(rng.integers(0, 1 << n, 5) & ~(1 << i)))]
    node, sets = np.array(families).T
    mass = rng.random(len(families))
    mass /= np.bincount(node, mass)[node]
    inside = {
        k: (subset.index(i), sum(1 << a for a, j in enumerate(subset) if t >> j & 1))
        for k, (i, t) in enumerate(families)
        if i in subset
    }
    own = np.array(sorted(inside))
    items = sorted({item for item in inside.values() if item[1]})  # a family without parents inside costs nothing
    weight = np.array([sum(mass[k] for k in own if inside[k] == item) for item in items])
    rows = np.array([[dag[a] == t for a, t in items] for dag in DAGS[4]], dtype=float)
    expected = -linprog(-weight, A_ub=rows, b_ub=np.ones(len(rows))).fun - 1.0
    words, offsets = sets.astype(np.uint64)[:, np.newaxis], np.searchsorted(node, np.arange(n + 1))
    tables, row = np.zeros((1, 64)), np.empty(len(own))
    (violation,) = kernels.local_cuts(words, mass, offsets, np.array([subset]), 1e-6, tables)
    assert violation == pytest.approx(max(expected, 0.0), abs=1e-6)
    if violation > 0.0:
        kernels.cut_row(words, offsets, np.array(subset), tables[0], row)
        assert row.tolist() == [tables[0, inside[k][1] * 4 + inside[k][0]] for k in own]
        assert row @ mass[own] >= 1.0 + violation - 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_the_node_with_most_mass_to_and_from_the_subset_comes_next(seed):
    rng = np.random.default_rng(seed)
    n, size = 7, 4
    arcs, noise = rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1.0 + 0.1 * rng.random((3, n))
    seeds, subsets = np.array([rng.permutation(n)[:2] for _ in range(3)]), np.empty((3, size), dtype=np.int64)
    expected = []
    for factors, chosen in zip(noise, seeds.tolist(), strict=True):
        while len(chosen) < size:
            into, out = arcs[chosen].sum(axis=0), arcs[:, chosen].sum(axis=1)
            value = factors * (into + out + np.minimum(into, out))
            value[chosen] = 0.0
            if value.max() <= kernels.LEAST_MASS:
                break
            chosen.append(int(value.argmax()))
        if len(chosen) == size:
            expected.append(chosen)
    assert kernels.grow_subsets(arcs, noise, seeds, size, subsets) == len(expected)
    assert subsets[: len(expected)].tolist() == expected
