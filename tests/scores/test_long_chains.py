"""Chains in pieces: the values of the kernels, and no work after the clock says stop."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.deadline import FOREVER, Stopped
from dagopt.kernels.counts import counting
from dagopt.kernels.gaussian import logdet, vectors
from dagopt.scores import block_likelihood, degenerate_gaussian, long_chains, multinomial
from dagopt.scores import gaussian as gaussian_scores
from dagopt.scores.block_likelihood import below_least_eigenvalue, rounding_margin
from made_problems import LooksLeft


def columns_of(seed, n, rows, copies=0):
    """Return columns of length 1, the last ones copies of the first, and an order of them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, n))
    values[:, n - copies :] = values[:, :copies]
    values -= values.mean(axis=0)
    return values / np.sqrt((values**2).sum(axis=0)), rng.permutation(n)


@pytest.mark.parametrize(("n", "rows", "copies"), [(1, 9, 0), (31, 80, 0), (64, 200, 3), (97, 300, 40), (97, 30, 5)])
def test_pivots_are_those_of_the_kernel(n, rows, copies):
    """Also of columns that others determine, which explain nothing of later ones, whatever the block."""
    columns, order = columns_of(n, n, rows, copies)
    matrix, sums = columns.T @ columns, np.empty(n + 1)
    np.fill_diagonal(matrix, 1.0)
    logdet.joint_chain(matrix, np.zeros(n), order, sums)
    pivots = long_chains.log_pivots(matrix, order, FOREVER)
    np.testing.assert_allclose(np.cumsum(pivots), sums[1:], rtol=1e-9, atol=1e-7)
    vectors.joint_chain(np.ascontiguousarray(columns.T), np.zeros(n), order, sums)
    pivots = long_chains.log_pivots_of_vectors(np.ascontiguousarray(columns.T), order, FOREVER)
    np.testing.assert_allclose(np.cumsum(pivots), sums[1:], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
def test_long_chains_of_scores_are_short_ones(kind, monkeypatch):
    """A score takes the way in pieces where a chain is long; both have the same joints."""
    data = dagopt.simulate(12, 300, 2, 3, kind=kind).data
    score = dagopt.make_score(dagopt.as_table(data), "bic")
    order = np.random.default_rng(0).permutation(12)
    short = score.joint_chain(order)
    for module in (gaussian_scores, degenerate_gaussian):
        monkeypatch.setattr(module, "LONG", 1)
    monkeypatch.setattr(multinomial, "MANY_CELLS", 1)
    np.testing.assert_allclose(score.joint_chain(order), short, rtol=1e-11, atol=1e-8)
    with pytest.raises(Stopped):
        score.joint_chain(order, LooksLeft(0))


def test_no_block_is_begun_after_the_clock_says_stop(monkeypatch):
    """Of 100 columns in blocks of ten, three looks are three blocks."""
    done = []
    monkeypatch.setattr(long_chains, "BLOCK", 10)
    columns, order = columns_of(0, 100, 300)
    matrix = columns.T @ columns
    monkeypatch.setattr(long_chains.np, "outer", lambda *vectors: done.append(1) or np.multiply.outer(*vectors))
    with pytest.raises(Stopped):
        long_chains.log_pivots(matrix, order, LooksLeft(3))
    assert len(done) == 30


def test_counts_look_at_the_clock_for_every_column(monkeypatch):
    """A column of a million rows takes a hundredth of a second, a chain of them seconds."""
    table = dagopt.as_table(dagopt.simulate(9, 200, 2, 0, kind="discrete").data)
    counts, refined = dagopt.make_score(table, "bic")._data, []
    refine = counting.refine
    monkeypatch.setattr(long_chains.counting, "refine", lambda *facts: refined.append(1) or refine(*facts))
    with pytest.raises(Stopped):
        long_chains.joints_of_counts(counts, np.arange(9), LooksLeft(4))
    assert len(refined) == 4


@pytest.mark.parametrize("seed", range(6))
def test_a_number_below_the_least_eigenvalue(seed):
    """It is at least a quarter of it, and the margin of many columns is never below that of eigenvalues."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(60, 8)) + rng.exponential(4.0) * rng.normal(size=(60, 1))
    matrix = np.corrcoef(values.T)
    least = float(np.linalg.eigvalsh(matrix)[0])
    found = below_least_eigenvalue(matrix, 1e-9)
    assert found is not None
    assert least / 4 <= found * (1 + 1e-9)
    assert found < least
    assert below_least_eigenvalue(matrix, least) is None
    values[:, 7] = values[:, 0] - values[:, 1]
    assert below_least_eigenvalue(np.corrcoef(values.T), 1e-9) is None


@pytest.mark.parametrize("copy", [False, True])
def test_margins_of_many_columns_are_not_smaller(copy, monkeypatch):
    """And columns that depend on each other are not precise by either way."""
    values = np.random.default_rng(1).normal(size=(100, 9))
    if copy:
        values[:, 8] = values[:, :8].sum(axis=1)
    matrix = np.corrcoef(values.T)
    by_eigenvalues = rounding_margin(matrix, 100.0)
    monkeypatch.setattr(block_likelihood, "MOST_DIAGONALISED", 0)
    margin = rounding_margin(matrix, 100.0)
    assert margin >= by_eigenvalues * (1 - 1e-9)
    bar = block_likelihood.LARGEST_MARGIN * 100.0
    assert (margin > bar) == (by_eigenvalues > bar) == copy


@pytest.mark.parametrize("score", ["bic", "bge"])
def test_the_form_of_a_score_needs_no_eigenvalues(score, monkeypatch):
    """Whoever asks whether there is a form waits for nothing; the margin is found once for all nodes."""
    made = dagopt.make_score(dagopt.as_table(dagopt.simulate(6, 100, 2, 0).data), score)
    calls = []
    find = block_likelihood.rounding_margin
    monkeypatch.setattr(block_likelihood, "rounding_margin", lambda *facts: calls.append(1) or find(*facts))
    form = made.block_likelihood
    assert form.has_one_matrix
    assert not calls
    assert form.is_searchable
    margin = form.margin
    assert form.with_slack(2.5).margin == margin + 2.5
    assert len(calls) == 1
