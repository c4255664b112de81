"""How often intervals of effects after some moments contain the truth, and what shares of block bootstraps are worth.

    python -m benchmarks.series_coverage                       # 200 draws of 4 series with 300 moments
    python -m benchmarks.series_coverage --draws 40 --resamples 50

Series are drawn from random vector autoregressions with effects within a moment. For each number of moments one line
has the coverage of 95 % intervals of all effects that the learned graph does not fix at zero, over all draws, and over
the draws in which the learned edges are the true ones. With ``--resamples``, the same for intervals over that many
block resamples (``Bootstrap.effects``), which allow for other graphs: of the same effects, and of all effects, zero or
not. One line per range of shares says how many of the edges that so many block resamples join are true.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import dagopt
from dagopt.networks.series.responses import responses

ROUNDING = 1e-9  # of an effect
SHARES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


def main() -> None:
    """Print the coverage by step, and the worth of shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--series", type=int, default=4)
    parser.add_argument("--moments", type=int, default=300)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--resamples", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    n, steps = asked.series, asked.steps
    hits = np.zeros((2, steps + 1, 2))  # [all draws or the right graph, step, covered or asked]
    over = np.zeros((2, steps + 1, 2))  # [the same effects or all of them, step, covered or asked]
    edges = np.zeros((len(SHARES) - 1, 2))  # [range of shares, true or found]
    n_right = 0
    for seed in range(asked.draws):
        data, weights = dagopt.simulate_series(n, asked.moments, 1, seed)
        result = dagopt.learn(data, lags=1, progress=False)
        truth, true = responses(weights, steps), weights != 0
        found = np.stack([result.adjacency[:n, :n], result.adjacency[n:, :n]]) != 0
        right = bool((found == true).all())
        n_right += right
        drawn = None
        if asked.resamples:
            drawn = dagopt.bootstrap(data, asked.resamples, lags=1, random_state=seed, n_jobs=1, progress=False)
        for i, cause in enumerate(data.columns):
            frame = result.dynamics().effects(cause, steps=steps)
            for one in frame[frame["standard_error"] > 0].itertuples():
                value = truth[one.step, i, list(data.columns).index(one.outcome)]
                hits[: 2 if right else 1, one.step] += (one.low <= value <= one.high, 1)
            if drawn is None:
                continue
            resampled = drawn.effects(cause, steps=steps)
            for one, fixed in zip(resampled.itertuples(), frame["standard_error"] == 0, strict=True):
                value = truth[one.step, i, list(data.columns).index(one.outcome)]
                inside = one.low - ROUNDING <= value <= one.high + ROUNDING
                if one.step or one.outcome != cause:  # what is set is known
                    over[int(fixed) :, one.step] += (inside, 1)
        if drawn is not None:
            for one in drawn.edges.itertuples():
                tail, _, past = str(getattr(one, "_1", None) or one[1]).partition("(")
                i, j = list(data.columns).index(tail), list(data.columns).index(one.to)
                is_true = true[1][i, j] if past else true[0][i, j] or true[0][j, i]
                place = min(int(np.searchsorted(SHARES, one.strength, "right")) - 1, len(SHARES) - 2)
                edges[place] += (is_true, 1)
    print({"draws": asked.draws, "series": n, "moments": asked.moments, "right graphs": n_right})
    for step in range(steps + 1):
        shown = {name: f"{one[step, 0] / max(one[step, 1], 1):.3f} of {one[step, 1]:.0f}"
                 for name, one in zip(("all draws", "right graphs"), hits, strict=True)}  # fmt: skip
        if asked.resamples:
            shown |= {name: f"{one[step, 0] / max(one[step, 1], 1):.3f} of {one[step, 1]:.0f}"
                      for name, one in zip(("resamples", "resamples, all effects"), over, strict=True)}  # fmt: skip
        print({"step": step, **shown})
    for low, high, (good, count) in zip(SHARES, SHARES[1:], edges, strict=False):
        if count:
            print({"share of resamples": f"{low} to {high}", "edges": int(count), "true": f"{good / count:.3f}"})


if __name__ == "__main__":
    main()
