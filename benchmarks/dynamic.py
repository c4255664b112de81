"""Simulated vector autoregressions with effects within a moment: proofs, seconds, and edges, beside other methods.

    python -m benchmarks.dynamic                               # 10 and 20 series, one lag, two draws each
    python -m benchmarks.dynamic --series 40 80 --limit 300 --seeds 0
    python -m benchmarks.dynamic --series 10 20 --lags 1 2 3 --moments 500 5000 --others

SHD counts, over all pairs of series and lags, the edges that differ; within a moment an edge between the same two
series in the other direction counts once. ``--others`` runs Granger tests (statsmodels, Bonferroni at 5 %, lagged edges
only), VAR-LiNGAM (lingam, edges above 0.1 in size) and PCMCI (tigramite, partial correlations at 1 %), if installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import dagopt

Edges = NDArray[np.int8]  # [lag, from, to]


def distance(found: Edges, true: Edges) -> list[int]:
    """Return the structural Hamming distance of each lag."""
    differs = found[1:] != true[1:]
    within, truth = found[0], true[0]
    wrong = np.triu((within != truth) | (within.T != truth.T), 1)
    return [int(wrong.sum()), *(int(one.sum()) for one in differs)]


def by_granger(data: pd.DataFrame, lags: int) -> Edges:
    """Return lagged edges whose coefficients in a vector autoregression are significant."""
    from statsmodels.tsa.api import VAR

    fitted, n = VAR(data.to_numpy()).fit(lags), data.shape[1]
    p_values = np.asarray(fitted.pvalues)[1:].reshape(lags, n, n)
    found = np.zeros((lags + 1, n, n), dtype=np.int8)
    found[1:] = p_values < 0.05 / p_values.size
    return found


def by_lingam(data: pd.DataFrame, lags: int) -> Edges:
    """Return the edges of VAR-LiNGAM."""
    import lingam

    model = lingam.VARLiNGAM(lags=lags, criterion=None, random_state=0)
    model.fit(data.to_numpy())
    return np.stack([np.abs(one.T) > 0.1 for one in model.adjacency_matrices_]).astype(np.int8)


def by_pcmci(data: pd.DataFrame, lags: int) -> Edges:
    """Return the edges of PCMCI+ that have a direction."""
    from tigramite import data_processing
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    run = PCMCI(data_processing.DataFrame(data.to_numpy()), ParCorr(), verbosity=0)
    graph = run.run_pcmciplus(tau_max=lags, pc_alpha=0.01)["graph"]
    return np.moveaxis(graph == "-->", 2, 0).astype(np.int8)


OTHERS: dict[str, Callable[[pd.DataFrame, int], Edges]] = {
    "Granger": by_granger,
    "VAR-LiNGAM": by_lingam,
    "PCMCI+": by_pcmci,
}


def rows(
    series: int, lags: int, moments: int, seed: int, limit: float, threads: int, others: bool
) -> Iterator[dict[str, object]]:
    """Yield what each method found on one draw."""
    data, weights = dagopt.simulate_series(series, moments, lags, seed)
    true = (weights != 0).astype(np.int8)
    about = {"series": series, "lags": lags, "moments": moments, "seed": seed}
    begun, cpu = time.perf_counter(), time.process_time()
    result = dagopt.learn(data, lags=lags, time_limit=limit, n_jobs=threads, progress=False)
    seconds, used = time.perf_counter() - begun, time.process_time() - cpu
    n = series
    by_lag = np.stack([result.adjacency[k * n : (k + 1) * n, :n] for k in range(lags + 1)])
    yield {**about, "method": f"dagopt ({result.method})", "status": result.status, "gap": result.gap,
           "share": result.gap_share, "seconds": seconds, "cpu": used, "shd": distance(by_lag, true)}  # fmt: skip
    for name, method in OTHERS.items() if others else ():
        begun, cpu = time.perf_counter(), time.process_time()
        try:
            found = method(data, lags)
        except ImportError as error:
            yield {**about, "method": name, "status": f"not installed: {error.name}"}
            continue
        seconds, used = time.perf_counter() - begun, time.process_time() - cpu
        yield {**about, "method": name, "status": "", "seconds": seconds, "cpu": used, "shd": distance(found, true)}


def main() -> None:
    """Print one line per draw and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--lags", type=int, nargs="+", default=[1])
    parser.add_argument("--moments", type=int, nargs="+", default=[2000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--others", action="store_true")
    asked = parser.parse_args()
    for series in asked.series:
        for lags in asked.lags:
            for moments in asked.moments:
                for seed in asked.seeds:
                    for row in rows(series, lags, moments, seed, asked.limit, asked.threads, asked.others):
                        print(row, flush=True)


if __name__ == "__main__":
    main()
