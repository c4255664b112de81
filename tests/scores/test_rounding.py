"""Tests of the allowance for rounding of every score, against exact arithmetic, near the edge of its formula."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dagopt
import exact_scores
from dagopt.families.jkl import LocalScores, write_jkl
from dagopt.kernels.counts.counting import log_rising
from dagopt.kernels.plain import plain
from dagopt.scores.build import make_score

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
    for prior in [*10.0 ** rng.uniform(-15, 15, 24), 1e-300, 1.0, 2.0, 9.999999, 10.0, 10.000001]:
        for count in [*rng.integers(1, 12, 4).tolist(), int(rng.integers(12, 400))]:
            exact = exact_scores.log(math.prod((Fraction(prior) + k for k in range(count)), start=Fraction(1)))
            size = count * (1 + abs(math.log(prior)) + math.log(prior + count))
            error = float(exact_scores.decimal(kernel(count, float(prior))) - exact)
            assert abs(error) <= 100 * 2.0**-53 * size


@pytest.mark.few(7)
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


@pytest.mark.few(6)
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


@pytest.mark.parametrize("name", ["bic", "aic", "ebic"])
@pytest.mark.parametrize("method", ["exact", "gobnilp"])
def test_named_criteria_of_levels(method, name):
    """Logarithms of the numbers of rows and columns are those of exact arithmetic; many levels, few rows each."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 9, (50, 4))
        codes[:, 3] = np.where(rng.random(50) < 0.9, codes[:, 0], codes[:, 3])
        result = dagopt.learn(levels(codes), method, score=name, max_parents=3, **QUIET)
        per_parameter, per_edge = exact_scores.penalty_of(name, 50, 4)
        truth = exact_scores.multinomial(codes, per_parameter).with_edges(lambda j, i, per_edge=per_edge: per_edge)
        assert 0 < result.details["rounding"] < 1e-9
        check(truth, result)


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
    ("rows", "offset", "spread"), [(3000, 3.4e14, 2.0), (1000, 1.7e12, 1.0), (12_000, 1.7e9, 1.0), (300, -9e15, 4.0)]
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
    for seed in range(1, 2 if case == "many levels" else 4):  # exact arithmetic takes long with many levels
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


@pytest.mark.parametrize("convention", ["paper", "bnlearn"])
@pytest.mark.parametrize("name", ["bic", "aic", "ebic"])
def test_named_criteria_of_numbers(name, convention):
    """Near copies, far from zero, with few rows: the penalty is that of exact arithmetic, in both conventions."""
    for seed, rows in ((0, 7), (1, 40)):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(rows, 4))
        values[:, 1] = values[:, 0] + 1e-4 * values[:, 1]
        values += 1e6 * rng.normal(size=4)
        result = dagopt.learn(values, "exact", score=name, convention=convention, max_parents=3, **QUIET)
        per_parameter, per_edge = exact_scores.penalty_of(name, rows, 4)
        assert 0 < result.details["rounding"] < 1e-3
        check(exact_scores.gaussian(values, per_parameter + per_edge, convention), result)


def test_ranks_near_the_edge():
    """The normal scores of ranks count as the data: two columns whose ranks differ in two places nearly agree."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(200, 3))
        values[:, 1] = values[:, 0]
        values[[3, 7], 1] = values[[7, 3], 1]
        values[:, 2] += values[:, 0]
        table = dagopt.as_table(np.exp(values), transform="rank")
        result = dagopt.learn(table, "exact", score=2.0, **QUIET)
        assert 0 < result.details["rounding"] < 1e-3
        check(exact_scores.gaussian(table.values, 2.0), result)


def test_rows_that_count_more_than_once_near_the_edge():
    """Whole weights are repeated rows, in exact arithmetic too: near copies, far from zero."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(60, 3))
        values[:, 1] = values[:, 0] + 1e-3 * values[:, 1]
        values += 1e8 * rng.normal(size=3)
        times = rng.integers(1, 50, 60)
        result = dagopt.learn(values, "exact", score=2.0, weights=times, **QUIET)
        assert 0 < result.details["rounding"] < 1
        check(exact_scores.gaussian(np.repeat(values, times, axis=0), 2.0), result)


@pytest.mark.parametrize("parts", [2, 7])
def test_tables_in_parts_near_the_edge(parts):
    """Co-moments of batches, merged: numbers far from zero, without rows to fall back on."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(300, 3))
        values[:, 1] = values[:, 0] + 1e-2 * values[:, 1]
        values += 1e9 * rng.normal(size=3)
        frames = [pd.DataFrame(part, columns=list("abc")) for part in np.array_split(values, parts)]
        statistics = dagopt.summarise(iter(frames)).without_rows()
        result = dagopt.learn(statistics, "exact", score=2.0, **QUIET)
        assert result.status == "optimal"
        assert 0 < result.details["rounding"] < 1e-2
        check(exact_scores.gaussian(values, 2.0), result)


@pytest.mark.parametrize("lags", [1, 2])
def test_series_near_the_edge(lags):
    """The score of the present given the past is a difference of two sums, of series far from zero."""
    rng = np.random.default_rng(lags)
    values = np.cumsum(0.3 * rng.normal(size=(90, 2)), axis=0) + rng.normal(size=(90, 2)) + np.array([1e9, -3e6])
    result = dagopt.learn(pd.DataFrame(values, columns=["a", "b"]), "exact", score=2.0, lags=lags, **QUIET)
    lagged = np.concatenate([values[lags - k : len(values) - k] for k in range(lags + 1)], axis=1)
    truth = exact_scores.gaussian(lagged, 2.0)
    past = sum((truth.local[i, 0] for i in range(2, 2 * lags + 2)), start=truth.local[2, 0] * 0)
    allowed = (
        [dag for dag in exact_scores.parent_sets(2 * lags + 2).tolist() if not any(dag[2:])] if lags == 1 else None
    )
    own = truth.total(result.adjacency) - past
    assert abs(float(own - exact_scores.decimal(result.score))) <= result.details["rounding"]
    if allowed is not None:
        best = max(sum((truth.local[i, mask] for i, mask in enumerate(dag[:2])), start=past * 0) for dag in allowed)
        assert best <= exact_scores.decimal(result.bound)


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


@pytest.mark.parametrize("kind", ["bge", "levels"])
def test_interventions_of_other_scores_near_the_edge(kind):
    """BGe of near copies far from zero, and levels with a penalty of 1e5, each column with rows of its own."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        target = rng.integers(0, 6, 80)
        named = [f"c{t}" if t < 3 else None for t in target]
        if kind == "bge":
            values = rng.normal(size=(80, 3))
            values[:, 1] = values[:, 0] + 1e-4 * values[:, 1]
            values += 1e6
            data = {f"c{j}": values[:, j] for j in range(3)}
            result = dagopt.learn(data, "exact", score="bge", interventions=named, **QUIET)
            own = [exact_scores.bge(values[target != j], 1) for j in range(3)]
        else:
            codes = rng.integers(0, 3, (80, 3))
            penalty = 1e5 * float(rng.uniform(0.5, 1))
            result = dagopt.learn(levels(codes), "exact", score=penalty, interventions=named, **QUIET)
            own = [exact_scores.multinomial(codes[target != j], penalty) for j in range(3)]
        assert 0 < result.details["rounding"] < 1e-3
        check(exact_scores.Locals.by_node(own), result)


@pytest.mark.parametrize("odds", [1e-3, 30.0, 690.0])
def test_beliefs_near_the_edge(odds):
    """Log-odds are added as they are stored, and pay for penalties of many levels."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 6, (40, 3))
        rows = [("c0", "c2", odds * float(rng.uniform(0.9, 1))), ("c1", "c2", odds), ("c2", "c0", -odds)]
        believed = pd.DataFrame(rows, columns=["from", "to", "log_odds"])
        result = dagopt.learn(levels(codes), "exact", score=1.5, edge_prior=believed, **QUIET)
        places = {(int(a[1]), int(b[1])): exact_scores.decimal(value) for a, b, value in rows}
        truth = exact_scores.multinomial(codes, 1.5).with_edges(lambda j, i, places=places: -places.get((j, i), 0))
        assert 0 < result.details["rounding"] < 1e-9
        check(truth, result)


# --- the conditional Gaussian score -----------------------------------------------------------------------------


@pytest.mark.few(3)
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


@pytest.mark.parametrize("offset", [0.0, 1.7e9])
def test_the_allowance_of_conditional_gaussians_covers_their_errors(offset):
    """The largest error of each node over all sets, added up, is within what the score says of itself."""
    rng = np.random.default_rng(0)
    g, h = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    x = rng.normal(size=300) + g + offset
    columns = [g, h, x, x + 1e-3 * rng.normal(size=300), rng.normal(size=300)]
    truth = exact_scores.conditional_gaussian(columns, 0.5 * math.log(300)).local
    score = make_score(dagopt.as_table(mixed_data(columns)), "cg")
    errors = np.zeros(5)
    for (node, mask), value in truth.items():
        own = score.local(node, exact_scores.bits(mask))
        if math.isfinite(value):
            errors[node] = max(errors[node], abs(float(exact_scores.decimal(own) - value)))
    assert 0 < errors.sum() <= score.rounding < 1e-6


# --- scores of one's own, and files of scores ---------------------------------------------------------------------


def random_scores(seed, size, offset=0.0):
    """Return local scores of four nodes, none above the offset, by node and parents in bits."""
    rng = np.random.default_rng(seed)
    scores = {(i, mask): float(size * (offset - rng.random())) for i in range(4) for mask in range(16)}
    return {key: value for key, value in scores.items() if not key[1] >> key[0] & 1}


def truth_of(scores):
    """Return the same local scores in exact arithmetic."""
    return exact_scores.Locals(4, lambda i, parents: exact_scores.decimal(scores[i, sum(1 << j for j in parents)]))


@pytest.mark.few(12)
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
