"""Questions to a discrete network by listing every joint configuration: slow, and plainly right."""

from __future__ import annotations

from itertools import product

import numpy as np


def joint_of(network):
    """Return every row of codes and its probability, the product of the entries of all tables."""
    rows = np.array(list(product(*(range(len(levels)) for levels in network.levels))))
    probability = np.ones(len(rows))
    for j, own in enumerate(network.parents):
        probability *= network.tables[j][tuple(rows[:, i] for i in (*own, j))]
    return rows, probability


def share_by_level(network, joint, target, evidence):
    """Return P(target | evidence) for every level, or None where the evidence is impossible."""
    rows, probability = joint
    for name, level in evidence.items():
        i = network.names.index(name)
        probability = probability * (rows[:, i] == network.levels[i].index(level))
    if probability.sum() == 0:
        return None
    j = network.names.index(target)
    sums = np.bincount(rows[:, j], weights=probability, minlength=len(network.levels[j]))
    return sums / sums.sum()
