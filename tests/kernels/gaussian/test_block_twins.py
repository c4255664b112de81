"""Kernels of groups of columns and of cells against numpy's determinants."""

import math

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.kernels.gaussian import blocks, cells, log_arrays

STARTS = np.array([0, 1, 3, 6, 7, 9])
N = 5


def made(seed):
    """Return correlations of nine columns in five groups, and the scale of each group."""
    rng = np.random.default_rng(seed)
    return np.corrcoef(rng.normal(size=(9, 18)) @ rng.normal(size=(18, 18))), rng.normal(size=N)


def logdet(matrix, scale, J):
    """Return the log-determinant of the columns of all groups of J."""
    columns = [c for j in sorted(J) for c in range(STARTS[j], STARTS[j + 1])]
    return np.linalg.slogdet(matrix[np.ix_(columns, columns)])[1] + scale[sorted(J)].sum() if columns else 0.0


def array(members):
    """Return a set as an array."""
    return np.array(sorted(members), dtype=np.int64)


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_columns(seed):
    """Logs of one set, of many, with one more member, and of prefixes are differences of determinants."""
    matrix, scale = made(seed)
    given = (matrix, scale, STARTS)
    for i in range(N):
        sets = list(naive.subsets(set(range(N)) - {i}))
        expected = [logdet(matrix, scale, J | {i}) - logdet(matrix, scale, J) for J in sets]
        widths = [int(sum(STARTS[j + 1] - STARTS[j] for j in J)) for J in sets]
        for J, own, width in zip(sets, expected, widths, strict=True):
            assert blocks.logs(*given, i, array(J)) == pytest.approx((logdet(matrix, scale, J), own, width))
            others = array(set(range(N)) - {i} - J)
            more = np.empty(len(others))
            assert blocks.additions(*given, i, array(J), others, more) == pytest.approx((own, width))
            larger = [logdet(matrix, scale, J | {i, int(j)}) - logdet(matrix, scale, J | {int(j)}) for j in others]
            assert more == pytest.approx(larger, abs=1e-9)
        flat, offsets = np.concatenate([array(J) for J in sets]), np.cumsum([0, *map(len, sets)])
        logres, found = np.empty(len(sets)), np.empty(len(sets), dtype=np.int64)
        blocks.logs_many(*given, np.full(len(sets), i), flat, offsets, logres, found)
        assert logres == pytest.approx(expected)
        assert found.tolist() == widths
    order, chain = np.random.default_rng(seed).permutation(N), np.empty(N + 1)
    blocks.joint_chain(*given, order, chain)
    assert chain == pytest.approx([logdet(matrix, scale, order[:k].tolist()) for k in range(N + 1)])


@pytest.mark.parametrize("low_bits", [0, 2, N])
def test_tables_of_groups(low_bits):
    matrix, scale = made(7)
    for high in range(1 << N - low_bits):
        out = np.empty(1 << low_bits)
        blocks.logdet_slice(matrix, scale, STARTS, high, low_bits, out)
        found = np.empty(1 << low_bits)
        log_arrays.logdet_slice_arrays(matrix, scale, STARTS, high, low_bits, found)
        np.testing.assert_array_equal(found, out)
        for low, value in enumerate(out):
            mask = high << low_bits | low
            assert value == pytest.approx(logdet(matrix, scale, [j for j in range(N) if mask >> j & 1]), abs=1e-9)


@pytest.mark.parametrize("kernel", [cells.cell_sum, cells.precise_cell_sum])
@pytest.mark.parametrize("chosen", [[], [1], [0, 2, 3]])
def test_gaussians_in_cells(kernel, chosen, rng):
    """The log-likelihood is that of the share of each cell and of its covariance, within the stated error."""
    rows, n_cells = 90, 4  # the last of which is empty
    values = rng.normal(size=(4, 4)) @ rng.normal(size=(4, rows)) + 50.0
    own = rng.integers(0, n_cells - 1, rows)
    expected = 0.0
    for c in range(n_cells - 1):
        block = values[np.ix_(chosen, own == c)]
        count, size = block.shape[1], len(chosen)
        det = np.linalg.slogdet(np.cov(block, bias=True).reshape(size, size))[1] if size else 0.0
        expected += count * math.log(count / rows) - 0.5 * count * (size * (1 + math.log(2 * math.pi)) + det)
    found, error = kernel(values, array(chosen), own, n_cells, 8)
    assert found == pytest.approx(expected, rel=1e-11)
    assert 0.0 <= error < 1e-6
    assert kernel(values, array(chosen), own, n_cells, 60) == ((-np.inf, 0.0) if chosen else (found, error))


@pytest.mark.parametrize("n_fixed", [0, 1, 2])
def test_gaussians_in_cells_of_all_subsets(n_fixed, rng):
    """They are those of one set at a time, with their errors; sets that need pairs of floats or more rows are told."""
    values = rng.normal(size=(6, 6)) @ rng.normal(size=(6, 60)) + 5.0
    values[5] = values[1] - 2.0 * values[3]
    own = np.repeat([0, 1, 2], [9, 20, 31])  # rows for four columns and five to spare
    totals, errors = np.empty((2, 1 << 6 - n_fixed))
    cells.subset_cell_sums(values, array(range(6)), n_fixed, own, 3, 5, totals, errors)
    for mask, total in enumerate(totals):
        chosen = [*range(n_fixed), *(n_fixed + b for b in range(6 - n_fixed) if mask >> b & 1)]
        expected, error = cells.cell_sum(values, array(chosen), own, 3, len(chosen) + 5)
        assert errors[mask] == pytest.approx(error, rel=1e-12)
        assert total == pytest.approx(expected, rel=1e-13)
        assert (error == np.inf) == ({1, 3, 5} <= set(chosen) and len(chosen) < 5)
        assert (total == -np.inf) == (len(chosen) > 4)


@pytest.mark.parametrize("chosen", [[], [1], [0, 2, 3]])
def test_log_determinants_of_cells(chosen, rng):
    """They are numpy's, without each column and of all, within the error; NaN where a cell has too few rows."""
    values, own = rng.normal(size=(4, 4)) @ rng.normal(size=(4, 60)), rng.integers(0, 2, 60)
    own[: len(chosen) + 1] = 2
    own[len(chosen) + 1 :] %= 2
    count, variances, logdets, errors = cells.cell_logdets(values, array(chosen), own, 3)
    assert count.tolist() == np.bincount(own).tolist()
    parts = [[j for j in chosen if j != left] for left in chosen] + [chosen]
    for c in range(3):
        whole = np.cov(values[:, own == c], bias=True)
        np.testing.assert_allclose(variances[c], np.log(np.diag(whole)[chosen]))
        expected = [np.linalg.slogdet(whole[np.ix_(part, part)])[1] if part else 0.0 for part in parts]
        if c == 2 and chosen:
            assert np.isnan(logdets[c]).all()
        else:
            assert np.abs(logdets[c] - expected).max() <= errors[c] + 1e-13 <= 1e-9


def test_dependent_columns_in_a_cell(rng):
    """Pairs of floats say that they are; floats say that they cannot tell."""
    values = rng.normal(size=(2, 40))
    values[1] = 2.0 * values[0]
    own = np.zeros(40, dtype=np.int64)
    assert cells.cell_sum(values, array([0, 1]), own, 1, 3)[1] == np.inf
    assert cells.precise_cell_sum(values, array([0, 1]), own, 1, 3) == (-np.inf, 0.0)
