"""Tests of the rows: every DAG satisfies them, and their numbers are those of plain linear algebra."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext

import numpy as np
import pytest

from brute_force import all_dags
from dagopt.families.families import Families, Family
from dagopt.graph.constraints import Constraints
from dagopt.kernels.cuts import logdet_rows as kernels
from dagopt.lp.rows.blocks import Blocks
from dagopt.lp.rows.clusters import ClusterRows
from dagopt.lp.rows.local import LocalRows, local_row
from dagopt.lp.rows.matrices import EntropyRows, LogDets, MatrixRows, deepest_matrix, implied_matrix
from dagopt.lp.rows.row import Point, Support
from dagopt.lp.rows.symmetry import SymmetryRows, priorities, turns_are_free

N = 4


def every_family(n=N):
    """Return all families over n nodes."""
    pool = []
    for node in range(n):
        for mask in range(1 << n):
            if not mask >> node & 1:
                pool.append(Family(node, mask, float(-mask.bit_count())))
    return Families.from_list(n, pool)


def random_point(families, rng):
    """Return an LP point: a few families of each node with random mass."""
    values = np.zeros(len(families.node))
    for node in range(families.n_nodes):
        chosen = rng.choice(np.arange(families.offsets[node], families.offsets[node + 1]), 3, replace=False)
        values[chosen] = rng.dirichlet(np.ones(3))
    return Point(families, values, 0.0, np.zeros_like(values))


def correlation(rng, n=N):
    """Return a random correlation matrix."""
    factor = rng.normal(size=(n, n)) + 1.5 * np.eye(n)
    matrix = factor @ factor.T
    size = np.sqrt(np.diag(matrix))
    return matrix / np.outer(size, size)


def masks_of(families):
    """Return where each family is, by node and parents as bits."""
    return {(int(i), int(w)): k for k, (i, w) in enumerate(zip(families.node, families.words[:, 0], strict=True))}


def finders(rng, threads):
    """Return one finder of every kind that holds for all DAGs."""
    logdets = LogDets(1000.0)
    return [
        ClusterRows(20),
        EntropyRows(logdets, correlation(rng)),
        MatrixRows(logdets, [correlation(rng), correlation(rng)]),
        LocalRows(threads, N, 0, lambda: False),
    ]


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(10))
def test_every_dag_satisfies_every_row_that_the_point_violates(seed):
    """Over all 543 DAGs of four nodes."""
    rng = np.random.default_rng(seed)
    families = every_family()
    point = random_point(families, rng)
    place = masks_of(families)
    chosen = [[place[i, int(sum(1 << j for j in np.flatnonzero(dag[:, i])))] for i in range(N)] for dag in all_dags(N)]
    with ThreadPoolExecutor(1) as threads:
        rows = [row for finder in finders(rng, threads) for row in finder.separate(point)]
    assert {"cluster", "local"} <= {row.kind for row in rows}
    for row in rows:
        dense = np.zeros(len(families.node))
        dense[row.families] = row.values
        assert dense @ point.values > row.upper
        assert all(dense[own].sum() <= row.upper for own in chosen)
        if row.kind == "local":
            again = local_row(families, row.origin)
            np.testing.assert_array_equal(again.families, row.families)
            np.testing.assert_array_equal(again.values, row.values)


def test_every_dag_satisfies_the_rows_of_blocks():
    """Nodes of one to three columns, or none: coefficients are those of determinants, rows hold for all 543 DAGs."""
    kinds = set()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        families, starts = every_family(), np.concatenate([[0], np.cumsum(rng.permutation([1, 2, 3, seed % 2]))])
        blocks = Blocks(starts)
        matrices = [blocks.unit(correlation(rng, int(starts[-1]))) for _ in range(2)]
        matrices.append(implied_matrix(matrices[0], list(all_dags(N))[-1], blocks))
        logdets, point = LogDets(1000.0, blocks=blocks), random_point(families, rng)
        rows = EntropyRows(logdets, matrices[0]).separate(point) + MatrixRows(logdets, matrices).separate(point)
        kinds |= {row.kind for row in rows}
        for row in rows:
            check_row_of_blocks(row, families, starts, point)
    assert kinds == {"entropy", "matrix"}


def check_row_of_blocks(row, families, starts, point):
    """Compare a row with determinants; the point violates it, and no DAG does."""
    place = masks_of(families)
    chosen = [[place[i, int(sum(1 << j for j in np.flatnonzero(dag[:, i])))] for i in range(N)] for dag in all_dags(N)]

    def half_logdet(nodes):
        own = [c for j in nodes for c in range(starts[j], starts[j + 1]) if row.origin.inside[c]]
        return 0.5 * np.linalg.slogdet(row.origin.matrix[np.ix_(own, own)])[1]

    dense = np.zeros(len(families.node))
    dense[row.families] = row.values
    assert dense @ point.values > row.upper
    assert all(dense[own].sum() <= row.upper for own in chosen)
    for k, (i, word) in enumerate(zip(families.node, families.words[:, 0].tolist(), strict=True)):
        parents = [j for j in range(N) if word >> j & 1]
        exact = half_logdet(parents) - half_logdet([*parents, i])
        assert dense[k] == pytest.approx(row.origin.scale * exact, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_and_flips_are_those_of_determinants(seed):
    """The coefficient is -½ log var(i | J ∩ C), and flips return the violation of the set that they end at."""
    rng = np.random.default_rng(seed)
    families, matrix = every_family(5), correlation(rng, 5)
    inside = rng.random(5) < 0.7
    inside[:2] = True
    out = np.empty(len(families.node))
    kernels.coefficients(matrix, families.node, *families.listed, *families.walk, inside, out)

    def half_logdet(nodes):
        return 0.5 * np.linalg.slogdet(matrix[np.ix_(nodes, nodes)])[1]

    def gain(k, within):
        i = int(families.node[k])
        parents = [j for j in range(5) if families.words[k, 0] >> np.uint64(j) & np.uint64(1) and within[j]]
        return half_logdet(parents) - half_logdet([*parents, i]) if within[i] else 0.0

    assert out == pytest.approx([gain(k, inside) for k in range(len(out))], abs=1e-12)
    point = random_point(families, rng)
    support = Support.of(families, point.values)
    ended = inside.copy()
    violation = kernels.flip(
        matrix, kernels.sweep_all(matrix), support.node, support.flat, support.starts, support.mass, *support.users(5),
        ended, 50,
    )  # fmt: skip
    expected = sum(mass * gain(k, ended) for k, mass in zip(support.places, support.mass, strict=True))
    assert violation == pytest.approx(expected + half_logdet(np.flatnonzero(ended)), abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_the_floor_of_the_eigenvalues_is_near_the_smallest(seed):
    """It is below the smallest eigenvalue, by at most a factor of two unless that is above a half."""
    matrix = correlation(np.random.default_rng(seed), 7)
    smallest = np.linalg.eigvalsh(matrix)[0]
    floor = kernels.eigenvalue_floor(matrix)
    assert min(smallest, 0.5) / 2 <= floor <= smallest
    assert kernels.eigenvalue_floor(np.ones((3, 3))) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_deepest_matrix_is_not_less_violated_than_its_start(seed):
    """L-BFGS goes up from where it starts, and its violation is that of the row."""
    rng = np.random.default_rng(seed)
    families, start = every_family(5), correlation(rng, 5)
    point = random_point(families, rng)
    free, before = (deepest_matrix(start, point.support, weight, steps) for weight, steps in ((30.0, 30), (30.0, 0)))
    assert free[1] >= before[1] - 1e-12
    row = LogDets(1.0).row(families, free[0], np.ones(5, dtype=bool), "matrix")
    assert row.values @ point.values[row.families] - row.upper == pytest.approx(free[1] / 100.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_violation_without_a_maximum_gives_rows(seed):
    """At a cycle the deepest matrix would be singular; one near it makes rows that cut the cycle off and no DAG."""
    rng = np.random.default_rng(seed)
    families = every_family()
    places = masks_of(families)
    values = np.zeros(len(families.node))
    values[[places[key] for key in [(0, 0b0010), (1, 0b0100), (2, 0b0001), (3, 0)]]] = 1.0
    point = Point(families, values, 0.0, np.zeros_like(values))
    start = correlation(rng)
    matrix, violation = deepest_matrix(start, point.support, 1e-6, 400)
    assert np.linalg.eigvalsh(matrix)[0] > 0.9e-6
    assert violation > 0.5
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    rows = MatrixRows(LogDets(1000.0), [start], (1e-3,), 400).separate(point)
    assert rows
    for row in rows:
        assert row.values @ values[row.families] > row.upper
        for dag in all_dags(N):
            taken = np.zeros(len(families.node))
            taken[[places[i, sum(1 << int(j) for j in np.flatnonzero(dag[:, i]))] for i in range(N)]] = 1.0
            assert row.values @ taken[row.families] <= row.upper + 1e-9


def test_the_implied_matrix_has_the_regressions_of_the_dag():
    """Fitted to its own matrix, the DAG has the same residual variances; a complete DAG implies the matrix itself."""
    rng = np.random.default_rng(0)
    matrix = correlation(rng, 5)
    complete = np.triu(np.ones((5, 5), dtype=np.int8), k=1)
    assert implied_matrix(matrix, complete) == pytest.approx(matrix)
    assert implied_matrix(matrix, np.zeros((5, 5), dtype=np.int8)) == pytest.approx(np.eye(5))


def decimal_variances(matrix, order):
    """Return the variance of each node given those before it, to 50 digits."""
    left = [[Decimal(float(value)) for value in row] for row in matrix[np.ix_(order, order)]]
    for k, own in enumerate(left):
        for row in left[k + 1 :]:
            ratio = row[k] / own[k]
            row[k + 1 :] = [a - ratio * b for a, b in zip(row[k + 1 :], own[k + 1 :], strict=True)]
    return [left[k][k] for k in range(len(left))]


@pytest.mark.parametrize("smallest", [1e-1, 1e-4, 1e-6])
@pytest.mark.parametrize("size", [5, 30, 60])
def test_the_right_hand_side_covers_all_rounding(size, smallest):
    """For complete DAGs, whose rows are tight: the computed coefficients, and the exact ones in 50 digits."""
    rng = np.random.default_rng(size)
    vectors = np.linalg.qr(rng.normal(size=(size, size)))[0]
    matrix = vectors @ np.diag(np.geomspace(smallest, 1.0, size)) @ vectors.T
    scale = np.sqrt(np.diag(matrix))
    matrix = matrix / np.outer(scale, scale)
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    order = rng.permutation(size)
    pool = [Family(int(node), sum(1 << int(j) for j in order[:k]), 0.0) for k, node in enumerate(order)]
    row = LogDets(100.0).row(Families.from_list(size, pool), matrix, np.ones(size, dtype=bool), "matrix")
    with localcontext() as context:
        context.prec = 50
        variances = decimal_variances(matrix, order)
        exact = float(-sum(value.ln() for value in variances) / 2)
    assert row.values.sum() <= row.upper
    margin = np.finfo(float).eps * size * (size + 1) * (8 + size / 8) / np.linalg.eigvalsh(matrix)[0]
    assert abs(row.values.sum() - exact) <= margin
    assert exact <= row.upper <= exact + 3 * margin  # the eigenvalue is known up to a factor of two


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(6))
def test_symmetry_rows_keep_a_dag_of_every_class(seed):
    """Of each equivalence class at least one DAG satisfies all rows for given priorities."""
    from brute_force import equivalence_class

    rng = np.random.default_rng(seed)
    families = every_family()
    place = masks_of(families)
    rank = rng.permutation(N)
    rows = {}
    for _ in range(60):
        for row in SymmetryRows(rank, 50).separate(random_point(families, rng)):
            rows[row.families.tobytes()] = row
    assert rows

    def satisfied(dag):
        own = [place[i, int(sum(1 << j for j in np.flatnonzero(dag[:, i])))] for i in range(N)]
        return all(np.isin(own, row.families).sum() <= row.upper for row in rows.values())

    dags = list(all_dags(N))[::7]
    assert all(any(satisfied(np.asarray(other)) for other in equivalence_class(dag)) for dag in dags)


def test_when_covered_arcs_may_be_turned():
    """No knowledge, or one limit for all columns; anything else forbids some turn."""
    names = tuple("abcd")
    assert turns_are_free(Constraints().resolve(names))
    assert turns_are_free(Constraints(max_parents=2).resolve(names))
    assert not turns_are_free(Constraints(max_parents={"a": 1}).resolve(names))
    assert not turns_are_free(Constraints(required=[("a", "b")]).resolve(names))
    assert not turns_are_free(Constraints(forbidden=[("a", "b")]).resolve(names))
    assert sorted(priorities(np.zeros((4, 4), dtype=np.int8))) == [0, 1, 2, 3]
