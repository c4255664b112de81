"""Tests of the allowance for rounding of every score, against exact arithmetic, near the edge of its formula."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dagopt
import exact_scores
from dagopt.families.jkl import LocalScores, write_jkl
from dagopt.kernels.counts.counting import log_rising
from dagopt.kernels.plain import plain

QUIET = {"progress": False}


def levels(codes):
    """Return a table of levels."""
    return {f"c{j}": [f"L{code}" for code in column] for j, column in enumerate(np.asarray(codes).T)}


def check(truth, result):
    """Hold score, bound and claim of a result against exact arithmetic."""
    best, own, score = truth.best(), truth.total(result.adjacency), exact_scores.decimal(result.score)
    rounding = result.details["rounding"]
    assert abs(float(own - score)) <= rounding
    if result.bound is not None:
        assert best <= exact_scores.decimal(result.bound)
    if result.status == "optimal":
        assert float(best - own) <= 2 * rounding


# --- BDeu -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [log_rising, plain(log_rising)], ids=["compiled", "plain"])
def test_log_of_a_rising_factorial(kernel):
    """A term is within 100 c roundings, for priors from 1e-300 to 1e15 and counts on both sides of the series."""
    rng = np.random.default_rng(0)
    for prior in [*10.0 ** rng.uniform(-15, 15, 60), 1e-300, 1.0, 2.0, 9.999999, 10.0, 10.000001]:
        for count in [*rng.integers(1, 12, 4).tolist(), int(rng.integers(12, 400))]:
            exact = exact_scores.log(math.prod((Fraction(prior) + k for k in range(count)), start=Fraction(1)))
            size = count * (1 + abs(math.log(prior)) + math.log(prior + count))
            error = float(exact_scores.decimal(kernel(count, float(prior))) - exact)
            assert abs(error) <= 100 * 2.0**-53 * size


@pytest.mark.parametrize("ess", [1e-15, 1e-6, 1.0, 1e5, 1e8, 1e12, 1e15])
@pytest.mark.parametrize("method", ["exact", "gobnilp"])
def test_bdeu_with_any_equivalent_sample_size(method, ess):
    """Differences of lgamma lost all digits of scores with an equivalent sample size of 1e12."""
    for seed in (770509, 1):
        codes = np.random.default_rng(seed).integers(0, 2 + seed % 2, (50, 3))
        codes[:, 2] |= codes[:, 0]
        result = dagopt.learn(levels(codes), method, score="bdeu", equivalent_sample_size=ess, **QUIET)
        assert result.status == "optimal"
        assert result.details["rounding"] < 1e-9
        check(exact_scores.bdeu(codes, ess), result)


@pytest.mark.parametrize("ess", [1e5, 1e12, 1e15])
def test_edge_probabilities_with_a_large_equivalent_sample_size(ess):
    """The probability of every edge is that of the sum over all orders, in exact arithmetic."""
    codes = np.random.default_rng(770509).integers(0, 2, (50, 3))
    truth = exact_scores.bdeu(codes, ess)
    right = exact_scores.edge_probabilities(truth)
    found = dagopt.edge_posterior(levels(codes), score="bdeu", equivalent_sample_size=ess, **QUIET)
    np.testing.assert_allclose(found.edges, right, atol=1e-9)


def test_a_sample_size_too_small_for_float64_is_refused():
    """Prior counts below the smallest normal number would lose digits."""
    with pytest.raises(dagopt.InputError, match="1e-15"):
        dagopt.learn(levels(np.eye(3, dtype=int)), "exact", score="bdeu", equivalent_sample_size=1e-300, **QUIET)


# --- multinomial ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.5, 1e5, 1e9])
@pytest.mark.parametrize("method", ["exact", "gobnilp", "hc", "cg-dca"])
def test_multinomial_with_any_penalty(method, penalty):
    """Every column has a penalty without parents too, a_i - 1 parameters, which rounds like the rest."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 3, (60, 3))
        codes[:, 2] = np.where(rng.random(60) < 0.8, codes[:, 0], codes[:, 2])
        factor = 1 - 0.5 * rng.random()
        result = dagopt.learn(levels(codes), method, score=factor * penalty, **QUIET)
        assert result.details["rounding"] < 1e-12 * max(penalty, 1e4)
        check(exact_scores.multinomial(codes, factor * penalty), result)


# --- mixed tables -----------------------------------------------------------------------------------------------


def far_from_zero(seed, rows, offset, spread=2.0):
    """Return two columns of levels and three of numbers, two of them far from zero."""
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, 3, rows), rng.integers(0, 4, rows)
    u = rng.normal(size=(3, rows))
    x = offset + spread * (u[0] + 0.15 * g)
    y = offset / 3 + spread * (u[1] + 0.2 * u[0])
    return [g, h, x, y, u[2] + 0.2 * h]


def mixed_data(columns):
    """Return the columns as a table, whole numbers as levels."""
    return {
        f"c{j}": [f"L{v}" for v in column] if column.dtype.kind == "i" else column for j, column in enumerate(columns)
    }


@pytest.mark.parametrize(
    ("rows", "offset", "spread"), [(3000, 3.4e14, 2.0), (1000, 1.7e12, 1.0), (50_000, 1.7e9, 1.0), (300, -9e15, 4.0)]
)
def test_mixed_columns_far_from_zero(rows, offset, spread):
    """Dates and ids: score and bound are those of exact arithmetic with the numbers as they are stored."""
    columns = far_from_zero(770750, rows, offset, spread)
    result = dagopt.learn(mixed_data(columns), "exact", score=3.0, **QUIET)
    assert result.status == "optimal"
    assert result.details["rounding"] < 1e-5
    check(exact_scores.mixed(columns, 3.0), result)


@pytest.mark.parametrize("case", ["copied levels", "nearly equal numbers", "rare levels", "many levels"])
def test_mixed_columns_near_the_edge(case):
    """Copies of levels have residual variances of 1e-8 by definition; numbers that nearly agree have smaller ones."""
    seen = []
    for seed in range(4):
        columns = far_from_zero(seed, 400, 1e6 * seed)
        if case == "copied levels":
            columns[1] = columns[0].copy()
        elif case == "nearly equal numbers":
            columns[3] = columns[2] + 10.0 ** -(1 + seed) * columns[3]
        elif case == "rare levels":
            columns[0][:] = 0
            columns[0][:2], columns[0][2:4] = 1, 2
        else:
            columns[1] = np.random.default_rng(seed).integers(0, 25, 400)
        result = dagopt.learn(mixed_data(columns), "exact", score=3.0, **QUIET)
        check(exact_scores.mixed(columns, 3.0), result)
        seen.append(result.details["rounding"])
    assert max(seen) < 0.5


# --- continuous tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convention", ["paper", "bnlearn"])
@pytest.mark.parametrize("penalty", [0.5, 1e5, 1e9])
def test_gaussian_with_any_penalty(convention, penalty):
    """The penalties of bnlearn's convention count two parameters without parents, which round like the rest."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(40, 4))
        values[:, 2] += values[:, 0]
        result = dagopt.learn(values, "exact", score=penalty, convention=convention, **QUIET)
        assert result.status == "optimal"
        check(exact_scores.gaussian(values, penalty, convention), result)


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-5])
def test_gaussian_columns_near_the_edge(distance):
    """Numbers that nearly agree, far from zero: the smaller the distance, the larger the allowance."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(300, 4))
        values[:, 1] = values[:, 0] + distance * values[:, 1]
        values[:, 3] = values[:, 2] - distance * values[:, 3]
        values += rng.normal(size=4) * 1e4
        result = dagopt.learn(values, "exact", score=2.0, **QUIET)
        assert result.status == "optimal"
        assert result.details["rounding"] < 1e-3
        check(exact_scores.gaussian(values, 2.0), result)


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e8])
def test_bge_with_any_weight(weight):
    """Nearly equal columns have residuals of the prior's size, be it small or large."""
    for seed, distance in ((0, 1.0), (1, 1e-2), (2, 1e-5)):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(50, 4))
        values[:, 1] = values[:, 0] + distance * values[:, 1]
        values += rng.normal(size=4) * 1e3
        result = dagopt.learn(values, "exact", score="bge", equivalent_sample_size=weight, **QUIET)
        assert result.status == "optimal"
        assert result.details["rounding"] < 1e-2
        check(exact_scores.bge(values, weight), result)


@pytest.mark.parametrize(("degree", "offset"), [(2, 0.0), (3, 1.7e12), (4, 0.0)])
def test_basis_near_the_edge(degree, offset):
    """Polynomials are those of the numbers as they are stored: heavy tails and columns far from zero."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        values = rng.standard_t(3, size=(60, 3))
        values[:, 1] += values[:, 0] ** 2
        values[:, 2] = values[:, 0] + 0.3 * values[:, 2]
        values += offset * np.array([1.0, 0.0, -1.0])
        result = dagopt.learn(values, "exact", score="basis", degree=degree, kind="continuous", **QUIET)
        assert result.status == "optimal"
        assert 0 < result.details["rounding"] < 1e-3
        check(exact_scores.basis(values, 0.5 * math.log(60), degree), result)


@pytest.mark.parametrize("is_mixed", [False, True])
def test_interventions_near_the_edge(is_mixed):
    """Each column has rows of its own: numbers far from zero that nearly agree in some of them."""
    for seed in range(2):
        columns = far_from_zero(seed, 200, 1e9)[0 if is_mixed else 2 :][-3:]
        if is_mixed:
            columns[0] = np.random.default_rng(seed).integers(0, 3, 200)
        columns[2] = columns[1] + 1e-3 * columns[2]
        target = np.random.default_rng(seed).integers(0, 6, 200)
        named = [f"c{t}" if t < 3 else None for t in target]
        result = dagopt.learn(mixed_data(columns), "exact", score=3.0, interventions=named, **QUIET)
        assert result.status == "optimal"
        own = [exact_scores.mixed([column[target != j] for column in columns], 3.0) for j in range(3)]
        check(exact_scores.Locals.by_node(own), result)


# --- the conditional Gaussian score -----------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [1.0, 1e-3, 1e-5])
@pytest.mark.parametrize("offset", [0.0, 1.7e9])
def test_conditional_gaussian_near_the_edge(distance, offset):
    """Numbers that nearly agree within every cell, near zero and far from it."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = 120
        g, h = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
        x = rng.normal(size=rows) + g + offset
        columns = [g, h, x, x + distance * rng.normal(size=rows), rng.normal(size=rows)]
        result = dagopt.learn(mixed_data(columns), "exact", score="cg", **QUIET)
        assert result.status == "optimal"
        assert 0 < result.details["rounding"] < 1e-6
        check(exact_scores.conditional_gaussian(columns, 0.5 * math.log(rows)), result)


# --- scores of one's own, and files of scores ---------------------------------------------------------------------


def random_scores(seed, size, offset=0.0):
    """Return local scores of four nodes, none above the offset, by node and parents in bits."""
    rng = np.random.default_rng(seed)
    scores = {(i, mask): float(size * (offset - rng.random())) for i in range(4) for mask in range(16)}
    return {key: value for key, value in scores.items() if not key[1] >> key[0] & 1}


def truth_of(scores):
    """Return the same local scores in exact arithmetic."""
    return exact_scores.Locals(4, lambda i, parents: exact_scores.decimal(scores[i, sum(1 << j for j in parents)]))


@pytest.mark.parametrize("size", [1e-199, 1e-30, 1e-6, 1.0, 1e15])
@pytest.mark.parametrize("method", ["exact", "gobnilp", "branch-and-cut", "cg-dca", "hc", "order"])
def test_scores_of_any_size(method, size):
    """Tolerances are relative to the scores, and the bound covers the rounding of their sums."""
    for seed, offset in ((0, 0.0), (1, 0.5)):
        scores = random_scores(seed, size, offset)
        truth = truth_of(scores)

        def own(node, parents, scores=scores):
            return scores[int(node[1:]), sum(1 << int(name[1:]) for name in parents)]

        data = {f"c{j}": column for j, column in enumerate(np.random.default_rng(seed).normal(size=(4, 20)))}
        result = dagopt.learn(data, method, score=own, **QUIET)
        check(truth, result)
        if "node_scores" in result.details:
            assert result.score == pytest.approx(sum(result.details["node_scores"]["score"]), rel=1e-12)
        if method in ("exact", "gobnilp", "branch-and-cut", "cg-dca"):
            assert result.status == "optimal"
            assert result.bound - result.score <= 1e-7 * size


@pytest.mark.parametrize("size", [1e-199, 1e-6, 1.0, 1e6, 1e15])
@pytest.mark.parametrize("method", ["exact", "gobnilp"])
def test_files_of_scores_of_any_size(method, size, tmp_path):
    """A file with scores of 1e-199 has a best DAG, and no DAG is above the bound in exact arithmetic."""
    for seed, offset in ((0, 0.0), (1, 0.5), (2, 1.0)):
        scores = random_scores(seed, size, offset)
        lists = [[(exact_scores.bits(mask), value) for (i, mask), value in scores.items() if i == k] for k in range(4)]
        path = tmp_path / f"scores{seed}.jkl"
        write_jkl(LocalScores(tuple("abcd"), lists), path)
        result = dagopt.learn(path, method, **QUIET)
        assert result.status == "optimal"
        assert result.bound - result.score <= 1e-7 * size
        truth = truth_of(scores)
        check(truth, result)
