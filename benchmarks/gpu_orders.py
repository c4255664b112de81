"""Does a GPU pay for order search? The regular part of it on both: the parents of all columns for one order.

    python benchmarks/gpu_orders.py 1000 2000 5000 10000 [--rows 5000] [--cpu-only]      # needs numpy, and CuPy alone

All columns grow at once: in each round every column scores all others as its next parent, from the rows of its Cholesky
factor (``kernels/orders/logdets.py``), and takes the best that stands before it and helps. The same code runs with
numpy on the CPU and with CuPy on the GPU; parents must agree. Then single lists of additions, one after the other as a
search makes them, since each move depends on the one before: there a GPU waits for its own start.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np

CHUNK_BYTES = 1 << 28  # of one array of columns by candidates
MOST_PARENTS = 24
FLOOR = 1e-10


def drawn(n: int, rows: int, degree: float, seed: int = 0) -> np.ndarray:
    """Return the correlation matrix of data from a random linear network in which column j comes after those before."""
    rng = np.random.default_rng([seed, n])
    data = rng.normal(size=(n, rows))
    for j in range(1, n):
        parents = rng.choice(j, min(j, rng.poisson(degree)), replace=False)
        data[j] += rng.choice([-1, 1], len(parents)) * rng.uniform(0.3, 0.9, len(parents)) @ data[parents]
        data[j] /= data[j].std()
    return np.corrcoef(data)


def grown(xp: Any, matrix: Any, columns: Any, rank: Any, rows: int) -> Any:
    """Return the parents of these columns, one row each, -1 where there are no more."""
    c, n = len(columns), len(matrix)
    left = xp.ones((c, n))
    cross = matrix[columns].copy()
    factors = xp.zeros((MOST_PARENTS, c, n))
    residual = xp.ones(c)
    parents = xp.full((c, MOST_PARENTS), -1)
    allowed = rank[None, :] < rank[columns][:, None]
    everyone = xp.arange(c)
    share = 1.0 - float(np.exp(-np.log(rows) / rows))  # of the residual, that pays the penalty of BIC
    for size in range(MOST_PARENTS):
        told = xp.where(allowed & (left > FLOOR), cross**2 / xp.maximum(left, FLOOR), 0.0)
        best = told.argmax(axis=1)
        helps = told[everyone, best] > share * residual
        if not bool(helps.any()):
            break
        row = matrix[best].copy()
        for b in range(size):
            row -= factors[b, everyone, best][:, None] * factors[b]
        row /= xp.sqrt(xp.maximum(left[everyone, best], FLOOR))[:, None]
        row *= helps[:, None]
        step = (cross[everyone, best] / xp.sqrt(xp.maximum(left[everyone, best], FLOOR))) * helps
        factors[size] = row
        left -= row**2
        cross -= row * step[:, None]
        residual -= step**2
        allowed[everyone[helps], best[helps]] = False
        parents[:, size] = xp.where(helps, best, -1)
    return parents


def all_grown(xp: Any, matrix: Any, rank: Any, rows: int) -> np.ndarray:
    """Return the parents of all columns, so many at a time as fit."""
    n = len(matrix)
    chunk = max(CHUNK_BYTES // (8 * n), 1)
    some = [grown(xp, matrix, xp.arange(at, min(at + chunk, n)), rank, rows) for at in range(0, n, chunk)]
    found = xp.concatenate(some)
    return found if xp is np else xp.asnumpy(found)


def one_by_one(xp: Any, matrix: Any, count: int) -> float:
    """Return the seconds of one list of additions to a column with one parent, made ``count`` times in a row."""
    start = time.perf_counter()
    total = 0.0
    for k in range(count):
        v, y = k % len(matrix), (7 * k + 1) % len(matrix)
        row = matrix[y]
        told = (matrix[v] - matrix[v, y] * row) ** 2 / xp.maximum(1.0 - row**2, FLOOR)
        total += float(told[:v].max()) if v else 0.0  # the next step needs it
    return (time.perf_counter() - start) / count


def measure(xp: Any, matrix: np.ndarray, rank: np.ndarray, rows: int) -> tuple[float, np.ndarray, float]:
    """Return the seconds of growing, the parents, and the seconds of one list."""
    own, place = xp.asarray(matrix), xp.asarray(rank)
    grown(xp, own, xp.arange(2), place, rows)  # kernels are compiled or loaded
    start = time.perf_counter()
    parents = all_grown(xp, own, place, rows)
    seconds = time.perf_counter() - start
    one_by_one(xp, own, 5)
    return seconds, parents, one_by_one(xp, own, 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="*", default=[1000])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--degree", type=float, default=2.0)
    parser.add_argument("--cpu-only", action="store_true")
    arguments = parser.parse_args()
    print(f"numpy with {os.environ.get('OPENBLAS_NUM_THREADS', 'all')} threads of {os.cpu_count()} cores")
    print(
        "| n | edges | CPU seconds | GPU seconds | times | one list, CPU µs | one list, GPU µs |\n" + 7 * "|---" + "|"
    )
    for n in arguments.nodes:
        matrix = drawn(n, arguments.rows, arguments.degree)
        rank = np.random.default_rng(n).permutation(n)
        cpu, parents, single = measure(np, matrix, rank, arguments.rows)
        edges = int((parents >= 0).sum())
        if arguments.cpu_only:
            print(f"| {n} | {edges} | {cpu:.2f} | - | - | {1e6 * single:.0f} | - |", flush=True)
            continue
        import cupy

        gpu, found, gpu_single = measure(cupy, matrix, rank, arguments.rows)
        differ = int((np.sort(parents) != np.sort(found)).any(axis=1).sum())
        assert differ <= n // 1000, f"{differ} columns have other parents on the GPU"
        lists = f"{1e6 * single:.0f} | {1e6 * gpu_single:.0f}"
        print(f"| {n} | {edges} | {cpu:.2f} | {gpu:.3f} | {cpu / gpu:.0f} | {lists} |", flush=True)


if __name__ == "__main__":
    main()
