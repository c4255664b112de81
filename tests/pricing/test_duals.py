"""Mixtures of multipliers."""

import numpy as np
import pytest

from dagopt.master.rows.base import Row
from dagopt.pricing.duals import MOST_PARTS, DualPoint

ROWS = [Row(np.zeros(0, dtype=np.int64), np.zeros(0), float(k), "entropy") for k in range(9)]


def point(*weights):
    """Return a point with these multipliers of the first rows, without those that are zero."""
    used = [k for k, weight in enumerate(weights) if weight]
    return DualPoint(tuple(ROWS[k] for k in used), np.array([float(weights[k]) for k in used]))


def by_row(one):
    """Return the multiplier of each row by its right-hand side."""
    return {row.upper: pytest.approx(weight) for row, weight in zip(one.rows, one.weights, strict=True)}


def test_a_mixture_of_two_has_the_mean_multipliers():
    """With rows of both, and none that is zero."""
    assert by_row(point(4, 0, 2).mixed(point(0, 8, 2), 0.25)) == {0.0: 1.0, 1.0: 6.0, 2.0: 2.0}


def test_mixtures_of_mixtures_are_flat_and_keep_the_largest_parts():
    """The shares add up to one, and rows that only a dropped part has are gone."""
    mixture = point(*[0] * 8, 1)
    for k in range(8):
        mixture = mixture.mixed(point(*[0] * k, 1), 0.5)
    shares = [share for share, _ in mixture.parts]
    assert len(shares) == MOST_PARTS
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert by_row(mixture) == {7.0 - k: share for k, share in enumerate(shares)}
    assert mixture.constant == pytest.approx(sum((7.0 - k) * share for k, share in enumerate(shares)))


def test_other_forms_of_rows_keep_multipliers_and_parts():
    """As when the LP gets new families."""
    mixture = point(1, 2).mixed(point(3), 0.5)
    again = mixture.written({id(row): ROWS[8] for row in ROWS})
    assert again.rows == (ROWS[8],) * 2
    assert again.weights is mixture.weights
    assert again.parts is mixture.parts
