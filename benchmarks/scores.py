"""100,000 local scores of random sets of up to five parents: kernels, one call at a time, and plain numpy.

python -m benchmarks.scores
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import dagopt
from dagopt.data.table import ContinuousTable, DiscreteTable, as_table
from dagopt.scores import Score, make_score

SETS = 100_000
NUMPY_SETS = 2_000


def random_sets(n: int, count: int, rng: np.random.Generator) -> tuple[list[int], list[list[int]]]:
    nodes = rng.integers(0, n, count).tolist()
    sets = []
    for node in nodes:
        size = int(rng.integers(0, 6))
        sets.append([int(j) for j in rng.permutation(n)[: size + 1] if j != node][:size])
    return nodes, sets


def numpy_gaussian(table: ContinuousTable) -> Callable[[int, list[int]], float]:
    """Return the local score by the obvious numpy on the covariance matrix."""
    covariance, n_samples = table.covariance, table.n_samples

    def local(node: int, parents: list[int]) -> float:
        residual = covariance[node, node]
        if parents:
            block = covariance[np.ix_(parents, parents)]
            cross = covariance[parents, node]
            residual -= cross @ np.linalg.solve(block, cross)
        constant = 0.5 * n_samples * (1 + np.log(2 * np.pi))
        return float(-constant - 0.5 * n_samples * np.log(residual) - 0.5 * np.log(n_samples) * len(parents))

    return local


def numpy_multinomial(table: DiscreteTable) -> Callable[[int, list[int]], float]:
    """Return the local score by the obvious numpy on all rows, as packages without kernels do it."""
    rows = np.repeat(table.codes.T, table.weights, axis=0).astype(np.int64)

    def local(node: int, parents: list[int]) -> float:
        shape = [int(table.arity[j]) for j in parents] or [1]
        cells = np.ravel_multi_index(tuple(rows[:, parents].T), shape) if parents else np.zeros(len(rows), dtype=int)
        counts = np.zeros((int(np.prod(shape)), int(table.arity[node])))
        np.add.at(counts, (cells, rows[:, node]), 1)
        totals = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = np.nansum(counts * np.log(counts / totals))
        return float(likelihood - 0.5 * np.log(len(rows)) * (table.arity[node] - 1) * np.prod(shape))

    return local


def compare(title: str, score: Score, plain: Callable[[int, list[int]], float]) -> None:
    nodes, sets = random_sets(score.n_nodes, SETS, np.random.default_rng(0))
    score.local_many(nodes[:10], sets[:10])
    score.local(nodes[0], sets[0])
    start = time.perf_counter()
    many = score.local_many(nodes, sets)
    bulk = time.perf_counter() - start
    start = time.perf_counter()
    single = [score.local(node, parents) for node, parents in zip(nodes, sets, strict=True)]
    calls = time.perf_counter() - start
    start = time.perf_counter()
    slow = [plain(node, parents) for node, parents in zip(nodes[:NUMPY_SETS], sets[:NUMPY_SETS], strict=True)]
    numpy = (time.perf_counter() - start) * SETS / NUMPY_SETS
    np.testing.assert_allclose(many, single, rtol=1e-12)
    np.testing.assert_allclose(many[:NUMPY_SETS], slow, rtol=1e-9)
    print(
        f"{title}: in one call {bulk:.2f} s, call by call {calls:.2f} s, numpy {numpy:.1f} s "
        f"(from {NUMPY_SETS} sets): {numpy / bulk:.0f} and {numpy / calls:.0f} times"
    )


def main() -> None:
    data, _ = dagopt.simulate(50, 5000, 2.0, 0)
    table = as_table(data)
    assert isinstance(table, ContinuousTable)
    compare("Gaussian BIC, n = 50, N = 5,000", make_score(table, "bic"), numpy_gaussian(table))
    data, _ = dagopt.datasets.load("alarm", n_samples=20_000)
    discrete = as_table(data)
    assert isinstance(discrete, DiscreteTable)
    title = f"multinomial BIC, ALARM, N = 20,000 ({discrete.codes.shape[1]:,} distinct rows)"
    compare(title, make_score(discrete, "bic"), numpy_multinomial(discrete))


if __name__ == "__main__":
    main()
