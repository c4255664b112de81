"""Tests of the bounds on partial correlations and of the parents that they exclude, against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dagopt.kernels.gaussian.useful import OVER, largest_ratio, never_useful, useful_pairs, useful_parents

ERROR = 1e-12


def made_matrix(seed: int, n: int) -> np.ndarray:
    """Return random correlations, some of them strong."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, int(rng.integers(n, 3 * n)))) * rng.choice([0.1, 1.0, 3.0], size=(n, 1))
    factor = np.concatenate([factor, np.diag(rng.uniform(0.2, 5.0, n))], axis=1)
    matrix = factor @ factor.T
    return np.asarray(matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix))))


def given(matrix: np.ndarray, pair: list[int], others: list[int]) -> np.ndarray:
    """Return the covariances of two variables given others."""
    cross = matrix[np.ix_(pair, others)]
    return np.asarray(matrix[np.ix_(pair, pair)] - cross @ np.linalg.solve(matrix[np.ix_(others, others)], cross.T))


def true_ratio(matrix: np.ndarray, i: int, j: int, taken: list[int], left: list[int]) -> float:
    """Return the largest var(i | Z) / var(i | Z + j), ``taken`` ⊆ Z ⊆ ``taken`` + ``left``."""
    ratios = []
    for size in range(len(left) + 1):
        for more in combinations(left, size):
            own = given(matrix, [i, j], [*taken, *more])
            ratios.append(1.0 / (1.0 - own[0, 1] ** 2 / (own[0, 0] * own[1, 1])))
    return max(ratios)


@pytest.mark.parametrize("seed", range(40))
def test_no_partial_correlation_exceeds_the_bound(seed):
    """Whatever has been taken; with one variable left the bound is nearly reached."""
    n = 3 + seed % 5
    matrix = made_matrix(seed, n)
    i, j = n - 1, n - 2
    for k in range(n - 1):
        own = given(matrix, [i, j], list(range(k)))
        bound = largest_ratio(own[0, 0], own[1, 1], own[0, 1], np.linalg.inv(matrix), i, j, ERROR)
        best = true_ratio(matrix, i, j, list(range(k)), list(range(k, n - 2)))
        assert best <= bound * (1 + 1e-9)
        if k == n - 2:
            assert bound == pytest.approx(best)


@pytest.mark.parametrize("seed", range(20))
def test_a_pair_is_excluded_exactly_if_no_set_makes_it_useful(seed):
    """With enough steps the search decides every pair."""
    matrix = made_matrix(100 + seed, 6)
    best = true_ratio(matrix, 5, 4, [], [0, 1, 2, 3])
    inverse = np.linalg.inv(matrix)
    assert never_useful(inverse, matrix, 5, 4, best * (1 + 1e-6), 10_000, ERROR)
    assert not never_useful(inverse, matrix, 5, 4, best * (1 - 1e-6), 10_000, ERROR)


@pytest.mark.parametrize("seed", range(10))
def test_candidates_that_are_excluded_are_in_no_set_whose_members_are_all_useful(seed):
    """The sets whose members are all useful given the others have only candidates that are kept."""
    n, threshold = 7, 1.3
    matrix = made_matrix(200 + seed, n)
    must = np.zeros(n, dtype=np.bool_)
    must[seed % 3] = seed % 2
    pairs = np.ones((n, n), dtype=np.bool_)
    both = np.column_stack(np.tril_indices(n, -1))
    useful_pairs(np.linalg.inv(matrix), matrix, threshold, 1000, ERROR, both, pairs)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        own = must.copy() & (np.arange(n) != i)
        kept = (pairs[i] & (np.arange(n) != i)) | own
        state = np.zeros(4, dtype=np.int64)
        while not state[OVER]:
            useful_parents(matrix, threshold, 1000, ERROR, i, own, kept, state, 1 + seed % 3)
        assert kept[own].all()
        for size in range(n):
            for chosen in combinations(others, size):
                free = [j for j in chosen if not own[j]]
                rest = [[z for z in chosen if z != j] for j in free]
                if all(own[j] <= (j in chosen) for j in others) and all(
                    true_ratio(matrix, i, j, z, []) > threshold for j, z in zip(free, rest, strict=True)
                ):
                    assert kept[list(chosen)].all()
