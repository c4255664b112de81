"""The kernels of hill climbing against brute force over graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.graph.order import is_acyclic
from dagopt.kernels import climbing as kernels
from dagopt.kernels import move_arrays

NO_MOVES = np.empty((0, 3), dtype=np.int64)


def random_dag(rng, n, density=0.4):
    order = rng.permutation(n)
    upper = np.triu(rng.random((n, n)) < density, k=1)
    dag = np.zeros((n, n), dtype=np.int8)
    dag[np.ix_(order, order)] = upper
    return dag


def naive_reach(dag):
    """Return who reaches whom, by powers of the adjacency matrix."""
    steps = reach = dag.astype(np.int64)
    for _ in range(len(dag)):
        steps = np.minimum(steps @ dag, 1)
        reach = np.maximum(reach, steps)
    return reach.astype(np.int8)


def after(dag, kind, i, j):
    """Return the graph after a move, or None where the move does not apply."""
    if (kind == kernels.ADD) == bool(dag[i, j]) or i == j:
        return None
    changed = dag.copy()
    changed[i, j] ^= 1
    if kind == kernels.REVERSE:
        changed[j, i] = 1
    return changed


def naive_moves(dag, gain, must, may, at_most):
    """Return (kind, tail, head, gain) of all legal moves, in the order in which ties are broken."""
    n, found = len(dag), []
    for kind in (kernels.ADD, kernels.DELETE, kernels.REVERSE):
        for i in range(n):
            for j in range(n):
                changed = after(dag, kind, i, j)
                if changed is None or not is_acyclic(changed) or (changed > may).any() or (must > changed).any():
                    continue
                if (changed.sum(axis=0) > at_most).any():
                    continue
                found.append((kind, i, j, gain[i, j] + (gain[j, i] if kind == kernels.REVERSE else 0.0)))
    return found


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_closure_is_the_sum_of_powers(seed, n):
    """The closure says who reaches whom."""
    dag = random_dag(np.random.default_rng(seed), n)
    reach = np.empty_like(dag)
    for closure in (kernels.closure, move_arrays.closure_arrays):
        assert closure(dag, reach)
        assert np.array_equal(reach, naive_reach(dag))


def test_closure_reports_a_cycle():
    """A cycle has no order, and the closure says so."""
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=np.int8)
    assert not kernels.closure(cycle, np.empty_like(cycle))
    assert not move_arrays.closure_arrays(cycle, np.empty_like(cycle))


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_extended_closure_is_the_closure_of_the_extension(seed, n):
    """Adding an edge updates the closure to that of the new DAG."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, n, 0.3)
    reach = naive_reach(dag)
    legal = [(i, j) for i in range(n) for j in range(n) if i != j and not dag[i, j] and not reach[j, i]]
    if legal:
        i, j = legal[rng.integers(len(legal))]
        dag[i, j] = 1
        for extend in (kernels.extend_closure, move_arrays.extend_closure_arrays):
            extended = reach.copy()
            extend(extended, i, j)
            assert np.array_equal(extended, naive_reach(dag))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
def test_best_move_is_the_first_of_the_best_legal_ones(seed, n, ties):
    """The kernel picks what a loop over all moves picks, knowledge and ties included."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, n)
    gain = rng.integers(-3, 4, (n, n)).astype(float) if ties else rng.normal(size=(n, n))
    must = (dag == 1) & (rng.random((n, n)) < 0.2)
    may = (dag == 1) | (rng.random((n, n)) < 0.8) & ~np.eye(n, dtype=bool)
    at_most = np.maximum(dag.sum(axis=0), rng.integers(0, n, n)).astype(np.int64)
    reach, room = naive_reach(dag), at_most - dag.sum(axis=0)
    about = (gain, dag, reach, kernels.Rules(must, may, room), NO_MOVES, 0.0, 1e-9)
    found = kernels.best_move(*about)
    assert move_arrays.best_move_arrays(*about) == found
    moves = naive_moves(dag, gain, must, may, at_most)
    for kind in range(3):
        for i in range(n):
            for j in range(n):
                expected = (kind, i, j) in {move[:3] for move in moves}
                assert kernels.is_legal(dag, reach, kernels.Rules(must, may, room), kind, i, j) == expected or i == j
    best = max((move[3] for move in moves), default=0.0)
    if best <= 1e-9:
        assert found[0] == -1
    else:
        assert found[:3] == next(move for move in moves if move[3] > best - 1e-9)[:3]


def test_banned_moves_are_passed_over():
    """A banned move is not taken, the next best one is."""
    gain = np.array([[0.0, 5.0], [4.0, 0.0]])
    empty, may = np.zeros((2, 2), dtype=np.int8), ~np.eye(2, dtype=bool)
    room = np.ones(2, dtype=np.int64)
    banned = np.array([[kernels.ADD, 0, 1]])
    for find in (kernels.best_move, move_arrays.best_move_arrays):
        found = find(gain, empty, empty.copy(), kernels.Rules(~may & may, may, room), banned, 0.0, 1e-9)
        assert found == (kernels.ADD, 1, 0, pytest.approx(4.0))
