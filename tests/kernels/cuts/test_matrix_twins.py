"""Kernels of rows of log-determinants against numpy's linear algebra."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import naive_kernels as naive
from dagopt.kernels.cuts import deepest_matrix, logdet_rows

N = 6


def drawn(seed):
    """Return a matrix of correlations, families (i, J, x), and the arrays of both."""
    rng = np.random.default_rng(seed)
    matrix = np.corrcoef(rng.normal(size=(N, 2 * N)) @ rng.normal(size=(2 * N, 2 * N)))
    families = []
    for i in range(N):
        sets = [frozenset(np.flatnonzero((rng.random(N) < 0.5) & (np.arange(N) != i)).tolist()) for _ in range(3)]
        families += [(i, J, rng.random()) for J in sets]
    flat = np.array([j for _, J, _ in families for j in sorted(J)], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([len(J) for _, J, _ in families])]).astype(np.int64)
    node, mass = np.array([i for i, _, _ in families]), np.array([x for _, _, x in families])
    return matrix, families, node, flat, starts, mass


def mask(C):
    """Return a set of nodes as truth values."""
    return np.isin(np.arange(N), sorted(C))


@pytest.mark.parametrize("seed", range(5))
def test_pivots_and_determinants(seed):
    matrix, *_ = drawn(seed)
    for C in naive.subsets(range(N)):
        own = sorted(C)
        expected = np.linalg.slogdet(matrix[np.ix_(own, own)])[1] if own else 0.0
        assert logdet_rows.logdet(matrix, mask(C)) == pytest.approx(expected, abs=1e-9)
        if own:
            pivot = logdet_rows.last_pivot(matrix, np.array(own), len(own) - 1, np.empty((N, N)))
            assert pivot == pytest.approx(naive.variance(matrix, own[-1], own[:-1]))
    assert logdet_rows.dot(matrix[0], matrix[1], 4) == pytest.approx(matrix[0, :4] @ matrix[1, :4])
    assert -logdet_rows.sweep_all(matrix) == pytest.approx(np.linalg.inv(matrix))


@pytest.mark.parametrize("seed", range(5))
def test_cholesky_and_the_floor_of_eigenvalues(seed):
    matrix, *_ = drawn(seed)
    least = np.linalg.eigvalsh(matrix)[0]
    factor = np.empty((N, N))
    assert logdet_rows.cholesky(matrix, 0.5 * least, factor)
    assert factor == pytest.approx(np.linalg.cholesky(matrix - 0.5 * least * np.eye(N)))
    assert not logdet_rows.cholesky(matrix, 1.01 * least, factor)
    powers = [2.0**-k for k in range(1, 30) if 2.0**-k < least]
    assert logdet_rows.eigenvalue_floor(matrix) == powers[0]
    assert logdet_rows.eigenvalue_floor(np.ones((2, 2))) == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_coefficients_of_families(seed):
    matrix, families, node, flat, starts, _ = drawn(seed)
    parents = [(i, sorted(J)) for i, J, _ in families]
    order = np.array(sorted(range(len(node)), key=lambda k: parents[k]))
    shared = np.empty(len(node), dtype=np.int64)
    logdet_rows.shared_parents(node, flat, starts, order, shared)
    for q in range(1, len(order)):
        (i, one), (j, other) = parents[order[q - 1]], parents[order[q]]
        alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        assert shared[q] == (sum(1 for _ in alike) if i == j else 0)
    for C in naive.subsets(range(N)):
        out = np.empty(len(node))
        logdet_rows.coefficients(matrix, node, flat, starts, order, shared, mask(C), out)
        assert out == pytest.approx([naive.coefficient(matrix, i, J, C) for i, J, _ in families], abs=1e-9)


def test_families_of_the_columns_of_blocks():
    _, families, node, flat, starts, _ = drawn(0)
    blocks = np.array([0, 2, 3, 3, 6, 7, 9])
    columns = [list(range(blocks[i], blocks[i + 1])) for i in range(N)]
    wanted = [
        (b, [c for j in sorted(J) for c in columns[j]] + columns[i][:k])
        for i, J, _ in families
        for k, b in enumerate(columns[i])
    ]
    own, ends = np.empty(len(wanted), dtype=np.int64), np.empty(len(wanted) + 1, dtype=np.int64)
    wider = np.empty(sum(len(parents) for _, parents in wanted), dtype=np.int64)
    logdet_rows.expand(blocks, node, flat, starts, own, wider, ends)
    found = [(int(b), wider[ends[k] : ends[k + 1]].tolist()) for k, b in enumerate(own)]
    assert found == wanted


@pytest.mark.parametrize("seed", range(8))
def test_flips_take_the_steepest_way_up(seed):
    """Each step flips the node that raises the violation most, and the last set is better than its neighbours."""
    matrix, families, node, flat, starts, mass = drawn(seed)
    users = [[k for k, (i, J, _) in enumerate(families) if b in J | {i}] for b in range(N)]
    user_starts = np.concatenate([[0], np.cumsum([len(own) for own in users])]).astype(np.int64)
    facts = (node, flat, starts, mass, np.concatenate(users), user_starts)
    whole = logdet_rows.sweep_all(matrix)
    C = {0, 1, 2} if seed % 2 else set(range(N))
    while True:
        around = [C ^ {b} for b in range(N) if len(C ^ {b}) >= 2]
        best = max(around, key=lambda own: naive.row_violation(matrix, families, own))
        inside = mask(C)
        found = logdet_rows.flip(matrix, whole, *facts, inside, 1)
        if naive.row_violation(matrix, families, best) <= naive.row_violation(matrix, families, C) + 1e-9:
            assert set(np.flatnonzero(inside).tolist()) == C
            break
        assert set(np.flatnonzero(inside).tolist()) == best
        assert found == pytest.approx(naive.row_violation(matrix, families, best), abs=1e-9)
        C = best


@pytest.mark.parametrize("seed", range(5))
def test_violation_and_its_gradient(seed):
    matrix, families, node, flat, starts, mass = drawn(seed)

    def violation(entries):
        return sum(-0.5 * x * np.log(naive.variance(entries.reshape(N, N), i, J)) for i, J, x in families)

    gradient = np.zeros((N, N))
    assert deepest_matrix.violation(matrix, node, flat, starts, mass, gradient) == pytest.approx(violation(matrix))
    expected = approx_fprime(matrix.ravel(), violation, 1e-7).reshape(N, N)
    assert gradient + gradient.T == pytest.approx(expected + expected.T, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_no_matrix_nearby_is_violated_more(seed):
    """The factor found is a stationary point, and better than where it began."""
    matrix, families, node, flat, starts, mass = drawn(seed)
    mass = mass / np.bincount(node, mass)[node]  # an LP point: the families of each node add up to one
    families = [(i, J, x) for (i, J, _), x in zip(families, mass, strict=True)]
    centre = np.linalg.cholesky(matrix)
    rows, columns = np.tril_indices(N)

    def objective(entries):
        factor = np.zeros((N, N))
        factor[rows, columns] = entries
        own = factor @ factor.T
        families_part = sum(-0.5 * x * np.log(naive.variance(own, i, J)) for i, J, x in families)
        return -families_part - 0.5 * np.linalg.slogdet(own)[1] + 2.0 * ((factor - centre) ** 2).sum()

    found = deepest_matrix.deepest(centre, 2.0, node, flat, starts, mass, 500, 8)[rows, columns]
    assert objective(found) < objective(centre[rows, columns])
    assert np.abs(approx_fprime(found, objective, 1e-7)).max() < 0.05


def test_correlations_of_a_factor(rng):
    factor = np.tril(rng.normal(size=(N, N)))
    matrix = factor @ factor.T
    scale = np.sqrt(np.diag(matrix))
    assert deepest_matrix.correlations(factor) == pytest.approx(matrix / np.outer(scale, scale))
