"""The discrete scores against loops over the rows."""

import itertools
import math

import numpy as np
import pytest

import naive
from dagopt.data.table import DiscreteTable, as_table
from dagopt.errors import InputError
from dagopt.scores import BDeuScore, MultinomialScore

ARITY = (2, 3, 2, 4)


def _rows(seed=0, n_samples=60):
    """Return rows in which every level occurs, and columns depend on one another."""
    rng = np.random.default_rng(seed)
    rows = np.stack([np.concatenate([np.arange(a), rng.integers(0, a, n_samples - a)]) for a in ARITY], axis=1)
    rows[10:40, 2] = rows[10:40, 0]
    return rows


def _families():
    n = len(ARITY)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for J in itertools.combinations(others, size):
                yield i, J


@pytest.mark.parametrize("penalty", [0.0, 1.0, 0.5 * math.log(60), 17.3])
@pytest.mark.parametrize("n_samples", [60, 5])
def test_local_is_the_penalised_likelihood(penalty, n_samples):
    """Every local score is the sum over rows of log count ratios less the penalty of appendix A.1."""
    rows = _rows(n_samples=n_samples)
    score = MultinomialScore(as_table(rows), penalty)
    for i, J in _families():
        expected = naive.multinomial_local(rows.tolist(), ARITY, i, J, penalty)
        assert score.local(i, J) == pytest.approx(expected, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("ess", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("n_samples", [60, 5])
def test_bdeu_is_the_dirichlet_multinomial(ess, n_samples):
    """Every local score is the textbook formula over all prior cells, also those that do not occur."""
    rows = _rows(n_samples=n_samples)
    score = BDeuScore(as_table(rows), ess)
    for i, J in _families():
        expected = naive.bdeu_local(rows.tolist(), ARITY, i, J, ess)
        assert score.local(i, J) == pytest.approx(expected, rel=1e-10, abs=1e-9)


def test_bdeu_of_one_binary_column_is_polyas_urn():
    """With prior weight 2 the likelihood of k ones in N rows is k! (N - k)! / (N + 1)!."""
    rows = np.array([[0, 0], [1, 1], [1, 0], [1, 1], [0, 1]])
    expected = math.log(math.factorial(3) * math.factorial(2) / math.factorial(6))
    assert BDeuScore(as_table(rows), 2.0).local(0) == pytest.approx(expected)


def test_weights_count_as_repeated_rows():
    """A table of distinct rows with weights has the scores of the rows written out."""
    rows = _rows()
    merged = as_table(np.repeat(rows, 3, axis=0))
    assert len(merged.weights) <= len(rows)
    written = DiscreteTable(
        merged.names, merged.levels, np.ascontiguousarray(np.repeat(rows, 3, axis=0).T, dtype=np.uint16),
        np.ones(3 * len(rows), dtype=np.int64),
    )  # fmt: skip
    for make in (lambda table: MultinomialScore(table, 2.0), BDeuScore):
        for i, J in _families():
            assert make(merged).local(i, J) == pytest.approx(make(written).local(i, J), rel=1e-12)


def test_single_row_has_likelihood_one():
    """One row is fitted perfectly: its log-likelihood is zero for every parent set."""
    score = MultinomialScore(as_table(np.array([[0, 0, 0]])), 1.0)
    assert score.local(0) == 0.0
    assert score.local(0, [1, 2]) == 0.0


def test_so_many_parents_that_the_product_of_arities_overflows(rng):
    """A thousand parents cost more than any fit can gain, and nothing where the penalty is zero."""
    table = as_table(rng.integers(0, 2, (5, 1100)))
    others = list(range(1, 1100))
    assert MultinomialScore(table, 0.0).local(0, others) == pytest.approx(0.0, abs=1e-12)
    for score in (MultinomialScore(table, 1.0), MultinomialScore(table, 0.0)):
        chain, additions = score.chain(0, others), score.additions(0, others[:-1])
        assert not np.isnan(chain).any()
        assert score.local(0, others) == chain[-1] == additions[-1]
        assert score.penalty(0, others) == pytest.approx(-chain[-1], abs=1e-12)
    assert BDeuScore(table).local(0, others) == pytest.approx(-5 * math.log(2))


@pytest.mark.parametrize("ess", [0.0, -1.0, math.nan, math.inf])
def test_bdeu_refuses_improper_priors(ess):
    """An equivalent sample size that is not a positive number is refused."""
    with pytest.raises(InputError, match="equivalent_sample_size > 0"):
        BDeuScore(as_table(_rows()), ess)
