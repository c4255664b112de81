"""Random pools and points of the restricted master, and slow twins of the separation."""

import itertools

import numpy as np

from dagopt.bits import mask_of
from dagopt.families.families import Families, Family

SIZE = 1e5  # of a score, as with real data


def random_pool(rng, n_nodes, n_families, empty=True):
    """Return a pool with up to ``n_families`` families a node, all empty sets among them unless told otherwise."""
    pool = []
    for node in range(n_nodes):
        base = -SIZE * rng.uniform(0.5, 1.5)
        if empty:
            pool.append(Family(node, 0, base))
        for _ in range(n_families - empty):
            others = [j for j in range(n_nodes) if j != node]
            size = rng.integers(1, min(4, n_nodes))
            parents = rng.choice(others, size=size, replace=False)
            pool.append(Family(node, sum(1 << int(j) for j in parents), base + rng.gamma(2.0, 200.0) - 5.0 * size))
    return Families.from_list(n_nodes, pool)


def random_point(rng, pool, spread=3):
    """Return values of the families that give each node mass 1, on few families."""
    values = np.zeros(len(pool))
    for node in range(pool.n_nodes):
        places = np.arange(*pool.offsets[node : node + 2])
        chosen = rng.choice(places, size=min(spread, len(places)), replace=False)
        values[chosen] = rng.dirichlet(np.ones(len(chosen)))
    return values


def violation(pool, values, cluster):
    """Return by how much a point violates a cluster, by the definition."""
    inside = sum(1 << i for i in cluster)
    meeting = [value for family, value in zip(pool, values, strict=True) if _in_row(family, cluster, inside)]
    return sum(meeting) - (len(cluster) - 1)


def most_violated(pool, values):
    """Return the largest violation over all clusters."""
    nodes = range(pool.n_nodes)
    clusters = itertools.chain.from_iterable(itertools.combinations(nodes, k) for k in range(1, pool.n_nodes + 1))
    return max(violation(pool, values, cluster) for cluster in clusters)


def can_be_violated(pool, cluster):
    """Say whether each node of a cluster has a family with a parent in it."""
    inside = sum(1 << i for i in cluster)
    return {family.node for family in pool if _in_row(family, cluster, inside)} == set(cluster)


def _in_row(family, cluster, inside):
    return family.node in cluster and family.mask & inside != 0


def score_of(pool, adjacency):
    """Return the score of a graph by the families of a pool, which must have them."""
    known = {(family.node, family.mask): family.score for family in pool}
    return sum(known[node, mask_of(np.flatnonzero(own))] for node, own in enumerate(adjacency.T))
