"""Tests of the kernels on coordinates: the same numbers as from correlations, and more digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dagopt.kernels.gaussian import logdet, vectors
from dagopt.scores.digits import coordinates


def made(seed, n=6, rows=40):
    """Return correlations, coordinates and scales of random columns."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, n)) @ rng.normal(size=(n, n))
    values -= values.mean(axis=0)
    values /= np.linalg.norm(values, axis=0)
    return values.T @ values, coordinates(values), rng.normal(size=n)


SETS = ([], [2], [0, 4], [1, 3, 5], [0, 1, 3, 4, 5])


def outputs(count, size):
    """Return empty arrays to fill."""
    return [np.empty(size) for _ in range(count)]


@pytest.mark.parametrize("parents", SETS, ids=str)
def test_twins_agree(parents):
    """Every kernel has the value of its twin."""
    matrix, own, scale = made(len(parents))
    chosen = np.array(parents, dtype=np.int64)
    node = 2 if 2 not in parents else 1
    np.testing.assert_allclose(vectors.logs(own, scale, node, chosen), logdet.logs(matrix, scale, node, chosen))
    for name, count, size, arguments in (
        ("chain", 2, len(chosen) + 1, (node, chosen)),
        ("joint_chain", 1, len(chosen) + 1, (chosen,)),
        ("additions", 2, 6, (node, chosen)),
        ("removals", 2, len(chosen), (node, chosen)),
        ("all_logdets", 1, 1 << 6, ()),
    ):
        found, expected = outputs(count, size), outputs(count, size)
        if size:
            getattr(vectors, name)(own, scale, *arguments, *found)
            getattr(logdet, name)(matrix, scale, *arguments, *expected)
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    found, expected = outputs(2, 1), outputs(2, 1)
    for kernel, source, out in ((vectors, own, found), (logdet, matrix, expected)):
        kernel.logs_many(source, scale, np.array([node]), chosen, np.array([0, len(chosen)]), *out)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("low", [1, 3, 6])
def test_slices_make_up_the_whole(low):
    """The slices of equal high bits, one after the other, are the table of all sets."""
    _, own, scale = made(9)
    (whole,) = outputs(1, 1 << 6)
    vectors.all_logdets(own, scale, whole)
    for high in range(1 << (6 - low)):
        (part,) = outputs(1, 1 << low)
        vectors.logdet_slice(own, scale, high, low, part)
        np.testing.assert_allclose(part, whole[high << low : (high + 1) << low], rtol=1e-12, atol=1e-12)


def test_digits_that_correlations_have_lost():
    """Of a column that another leaves 3e-11 of, the coordinates know the rest to 9 digits; correlations know 5."""
    rng = np.random.default_rng(0)
    a, noise = rng.normal(size=(2, 5000))
    noise -= a * (a @ noise) / (a @ a)
    pair = np.column_stack([a, a + 5.6e-6 * noise])
    pair /= np.linalg.norm(pair, axis=0)
    left = 5.6e-6**2 * (noise @ noise) / (a @ a + 5.6e-6**2 * (noise @ noise))
    _, found = vectors.logs(coordinates(pair), np.zeros(2), 1, np.array([0]))
    assert found == pytest.approx(math.log(left), abs=1e-9)


def test_what_is_determined_is_larger_than_everything():
    """The logarithm of nothing is far below all others, and such a column predicts nothing more."""
    own = coordinates(np.array([[1.0, 0.6, 0.8], [0.0, 0.8, -0.6], [0.0, 0.0, 0.0]]))
    logdet_of, logres = vectors.logs(own, np.zeros(3), 2, np.array([0, 1]))
    assert logres == vectors.LOG_OF_NOTHING
    assert logdet_of == pytest.approx(2 * math.log(0.8))


@pytest.mark.parametrize("rows", [3, 5, 700, 5000])
def test_coordinates_keep_products(rows):
    """Coordinates have the lengths and the products of the columns, for any number of rows."""
    columns = np.random.default_rng(rows).normal(size=(rows, 5))
    own = coordinates(columns)
    assert own.shape == (5, min(rows, 5))
    np.testing.assert_allclose(own @ own.T, columns.T @ columns, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("length", [0, 3, 63, 64, 65, 66, 67, 1000])
def test_products_of_any_length(length):
    """Long vectors are added up in four sums, and no entry is forgotten."""
    rng = np.random.default_rng(length)
    a, b = rng.normal(size=(2, length))
    assert vectors._dot(a, b) == pytest.approx(math.fsum(a * b), rel=1e-12, abs=1e-12)
