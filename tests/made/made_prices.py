"""Random rows with multipliers for the search of one node, and remainders by their definition."""

import numpy as np

from dagopt.families.node_search import Prices, TableRow

N = 7
NODE = 3


def made_prices(seed: int, correlation: np.ndarray, worth: float, whole: float) -> Prices:
    """Return random rows: matrices near the correlations and far from them, sets, clusters."""
    rng = np.random.default_rng(seed)
    matrices = []
    for spread in (0.02, 0.3, 1.0):
        factor = np.linalg.cholesky(correlation) + spread * rng.normal(size=(N, N))
        matrix = factor @ factor.T + 0.05 * np.eye(N)
        size = np.sqrt(np.diag(matrix))
        matrices.append(matrix / np.outer(size, size))
    inside = rng.random((40, N)) < 0.7
    weights = worth * rng.random(40) * (rng.random(40) < 0.8) / 20
    clusters = rng.random((5, N)) < 0.5
    logdets = (np.array(matrices), rng.integers(0, 3, 40), inside, weights)
    tables = [made_table(rng, size) for size in (3, 4, 5, 5)]
    return Prices(*logdets, clusters, 5 * rng.random(5), whole, tables)


def made_table(rng, size):
    """Return a row whose coefficients grow with the set."""
    nodes = np.sort(rng.choice(N, size, replace=False))
    table = rng.random((1 << size, size)) * (rng.random((1 << size, size)) < 0.3)
    for large in range(1 << size):
        for small in range(large):
            if small & large == small:
                table[large] = np.maximum(table[large], table[small])
    return TableRow(nodes, table.ravel(), 8 * rng.random())


def variance(matrix, node, parents):
    """Return the variance of a node given others."""
    own = list(parents)
    return matrix[node, node] - matrix[node, own] @ np.linalg.solve(matrix[np.ix_(own, own)], matrix[own, node])


def remainder(score, prices, parents):
    """Return the score of a parent set, less what rows take, as a search counts it."""
    likelihood = -0.5 * score.n_samples * np.log(variance(score.correlation, NODE, parents))
    left = (1 - prices.whole) * likelihood - score.costs[len(parents)]
    for which, inside, weight in zip(prices.which, prices.inside, prices.weights, strict=True):
        if inside[NODE]:
            own = [j for j in parents if inside[j]]
            left += 0.5 * weight * np.log(variance(prices.matrices[which], NODE, own))
    for cluster, weight in zip(prices.clusters, prices.cluster_weights, strict=True):
        left -= weight * bool(cluster[NODE] and any(cluster[j] for j in parents))
    for nodes, table, weight in prices.tables:
        own = nodes.tolist()
        if NODE in own:
            inside = sum(1 << own.index(j) for j in parents if j in own)
            left -= weight * table[inside * len(own) + own.index(NODE)]
    return left
