"""Tests of the brute force that the other tests here compare with."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from every_dag import NUMBER_OF_CLASSES, NUMBER_OF_DAGS, classes, make_problem, masks_of, parent_sets, totals


@pytest.mark.parametrize("n", NUMBER_OF_DAGS)
def test_numbers_of_dags_and_classes_are_the_published_ones(n):
    """There are 1, 3, 25, 543, 29281 DAGs in 1, 2, 11, 185, 8782 classes."""
    assert len(parent_sets(n)) == NUMBER_OF_DAGS[n]
    assert len(np.unique(parent_sets(n), axis=0)) == NUMBER_OF_DAGS[n]
    assert len(np.unique(classes(n))) == NUMBER_OF_CLASSES[n]


def test_dags_and_classes_are_those_of_the_plain_enumeration():
    """Two DAGs on four nodes are in one class here if and only if skeleton and v-structures agree."""
    number = {tuple(row): k for row, k in zip(parent_sets(4).tolist(), classes(4).tolist(), strict=True)}
    known = {}
    for dag in naive.all_dags(4):
        assert known.setdefault(naive.v_structures(dag), number[tuple(masks_of(dag))]) == number[tuple(masks_of(dag))]
    assert len(set(known.values())) == len(known) == NUMBER_OF_CLASSES[4]


@pytest.mark.parametrize("kind", ["gaussian", "bnlearn", "bge", "multinomial", "bdeu"])
def test_members_of_a_class_score_the_same(kind):
    """Every score of the library gives all members of an equivalence class the same value."""
    problem = make_problem(kind, 4, 1)
    found = totals(problem.score, problem.knowledge)
    for number in range(NUMBER_OF_CLASSES[4]):
        assert np.ptp(found[classes(4) == number]) < 1e-9
