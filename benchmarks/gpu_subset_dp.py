"""Time the exact recursion on a GPU, and check it against a plain numpy recursion.

    python benchmarks/gpu_subset_dp.py 20 25 28 30      # sizes; needs only numpy and CuPy
    python benchmarks/gpu_subset_dp.py --cpu 20 22       # the same instances by dagopt on the CPU, to compare scores

Prints one line per size: bytes, seconds (kernels compiled beforehand), score relative to the empty graph.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np

HERE = Path(__file__).resolve().parent


def load_gpu() -> ModuleType:
    """Return the GPU module by its path, so that the rest of the package need not be installed."""
    path = HERE.parent / "src" / "dagopt" / "methods" / "exact" / "subset_dp_gpu.py"
    spec = importlib.util.spec_from_file_location("subset_dp_gpu", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["subset_dp_gpu"] = module
    spec.loader.exec_module(module)
    return module


def drawn(n: int, n_samples: int = 5000, degree: float = 2.0, seed: int = 0) -> np.ndarray:
    """Return data drawn from a random linear Gaussian network."""
    rng = np.random.default_rng([seed, n])
    order = rng.permutation(n)
    weights = np.triu(rng.random((n, n)) < min(1.0, 2 * degree / (n - 1)), 1) * rng.uniform(0.5, 2, (n, n))
    weights *= rng.choice([-1, 1], (n, n))
    data = np.zeros((n_samples, n))
    for b in range(n):
        data[:, b] = data @ weights[:, b] + rng.normal(0, np.sqrt(rng.uniform(0.7, 1.2)), n_samples)
    return data[:, np.argsort(order)]


def instance(n: int) -> np.ndarray:
    """Return the correlation matrix of the data."""
    return np.corrcoef(drawn(n).T)


def on_cpu(sizes: list[int]) -> None:
    """Print the optimum relative to the empty graph, found on the CPU."""
    import dagopt

    for n in sizes:
        data = drawn(n)
        best = dagopt.learn(data, "exact", device="cpu", score="bic", progress=False).score
        print(json.dumps({"n": n, "score": best - dagopt.score(data, np.zeros((n, n), dtype=int))}), flush=True)


def bic_tables(n: int, n_samples: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    """Return constant and power of the BIC potentials by the size of the set."""
    sizes = np.arange(n + 1)
    return -0.5 * np.log(n_samples) * sizes * (sizes - 1) / 2, np.full(n + 1, float(n_samples))


def numpy_recursion(matrix: np.ndarray, constant: np.ndarray, power: np.ndarray) -> float:
    """Return the best score relative to the empty graph by the simplest recursion."""
    n = len(matrix)
    logdet = np.zeros(1 << n)
    for mask in range(1, 1 << n):
        chosen = [b for b in range(n) if (mask >> b) & 1]
        logdet[mask] = np.linalg.slogdet(matrix[np.ix_(chosen, chosen)])[1]
    size = np.bitwise_count(np.arange(1 << n))
    potential = constant[size] - 0.5 * power[size] * logdet
    best = []
    for i in range(n):
        halves = potential.reshape(-1, 2, 1 << i)
        table = (halves[:, 1] - halves[:, 0]).ravel()
        for b in range(n - 1):
            pairs = table.reshape(-1, 2, 1 << b)
            np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
        best.append(table)
    opt = np.full(1 << n, -np.inf)
    opt[0] = 0.0
    for mask in range(1, 1 << n):
        for i in range(n):
            if (mask >> i) & 1:
                rest = mask ^ (1 << i)
                at = (rest & ((1 << i) - 1)) | ((rest >> (i + 1)) << i)
                opt[mask] = max(opt[mask], opt[rest] + best[i][at])
    return float(opt[-1])


def local_total(adjacency: np.ndarray, matrix: np.ndarray, n_samples: int = 5000) -> float:
    """Return the BIC score of a DAG relative to the empty graph, in float64."""
    total = 0.0
    for i in range(len(matrix)):
        parents = np.flatnonzero(adjacency[:, i])
        family = np.append(parents, i)
        logdet = np.linalg.slogdet(matrix[np.ix_(family, family)])[1]
        logdet -= np.linalg.slogdet(matrix[np.ix_(parents, parents)])[1] if len(parents) else 0.0
        total += -0.5 * n_samples * logdet - 0.5 * np.log(n_samples) * len(parents)
    return total


def solve(n: int, **plan: object) -> dict[str, object]:
    gpu = load_gpu() if "subset_dp_gpu" not in sys.modules else sys.modules["subset_dp_gpu"]
    free = gpu.cp.cuda.Device().mem_info[0]
    found = gpu.plan_gpu(n, free) if not plan else gpu.GpuPlan(n, plan["high_bits"], plan["dtype"], 0)
    if found is None:
        return {"n": n, "fits": False, "free_bytes": free}
    matrix = instance(n)
    constant, power = bic_tables(n)
    everything = np.array([(1 << n) - 1 - (1 << i) for i in range(n)])
    phases: dict[str, float] = {}
    solver = gpu.GpuSubsetDP(
        matrix,
        constant,
        power,
        np.zeros(n),
        everything,
        np.full(n, n - 1),
        found,
        tick=lambda phase, fraction: phases.__setitem__(phase, time.perf_counter() - start),
    )
    start = time.perf_counter()
    adjacency, score, largest = solver.run()
    seconds = time.perf_counter() - start
    return {
        "n": n,
        "dtype": found.dtype,
        "high_bits": found.high_bits,
        "GiB": round(found.n_bytes / 2**30, 2),
        "seconds": round(seconds, 3),
        "score": score,
        "float64_score_of_dag": local_total(adjacency, matrix),
        "error_bound": gpu.rounding_error(n, largest, found.dtype),
        "edges": int(adjacency.sum()),
        "ends": {phase: round(at, 3) for phase, at in phases.items()},
    }


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:] if size != "--cpu"] or [20, 25, 28]
    if "--cpu" in sys.argv:
        on_cpu(sizes)
        return
    solve(18)  # compiles the kernels
    small = solve(18)
    matrix = instance(18)
    print(json.dumps({"n": 18, "gpu": small["score"], "numpy": numpy_recursion(matrix, *bic_tables(18))}), flush=True)
    for high_bits, dtype in ((1, "float64"), (2, "float64"), (3, "float64"), (0, "float32"), (2, "float32")):
        print(json.dumps(solve(21, high_bits=high_bits, dtype=dtype)), flush=True)
    for size in sizes:
        try:
            print(json.dumps(solve(size)), flush=True)
        except Exception as error:
            print(json.dumps({"n": size, "error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    main()
