"""How often intervals of effects after some moments contain the truth, and what shares of block bootstraps are worth.

    python -m benchmarks.series_coverage                       # 200 draws of 4 series with 300 moments
    python -m benchmarks.series_coverage --draws 40 --resamples 50
    python -m benchmarks.series_coverage --levels --draws 100  # series with two levels

Series are drawn from random vector autoregressions with effects within a moment. For each number of moments one line
has the coverage of 95 % intervals of all effects that the learned graph does not fix at zero, over all draws, and over
the draws in which the learned edges are the true ones. With ``--resamples``, the same for intervals over that many
block resamples (``Bootstrap.effects``), which allow for other graphs: of the same effects, and of all effects, zero or
not. One line per range of shares says how many of the edges that so many block resamples join are true.

With ``--levels``, series have two levels, and effects are changes of probabilities: for parameters fitted to the true
graph, and for the learned one. The truth is that of the true tables, averaged over the pasts of the same rows.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import dagopt
from dagopt.data.lags import Lags
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.fitted.fitting import fit_table
from dagopt.networks.series.dynamics import Dynamics
from dagopt.networks.series.futures import Chain, futures
from dagopt.networks.series.responses import responses

BURN_IN = 200  # moments that are dropped

ROUNDING = 1e-9  # of an effect
SHARES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


def drawn_levels(n: int, moments: int, seed: int) -> tuple[pd.DataFrame, DiscreteNetwork, Lags]:
    """Return series with two levels and the network behind them: own past, others' past, and edges within a moment."""
    rng = np.random.default_rng(seed)
    lags = Lags(tuple(f"x{j}" for j in range(n)), 1)
    order = rng.permutation(n)
    parents: list[tuple[int, ...]] = []
    for j in range(n):
        within = [i for i in range(n) if order[i] < order[j] and rng.random() < 1 / n]
        past = [n + i for i in range(n) if i == j or rng.random() < 1 / n]
        parents.append((*within, *past))
    tables = [rng.uniform(0.15, 0.85, size=(2,) * len(own)) for own in parents]
    both = [np.stack([1 - table, table], axis=-1) for table in tables] + [np.full(2, 0.5)] * n
    network = DiscreteNetwork(lags.names, (("no", "yes"),) * 2 * n, (*parents, *((),) * n), tuple(both))
    values = futures(network, lags, np.zeros((1, 1, n)), BURN_IN + moments, rng, {})[0, BURN_IN:]
    return pd.DataFrame(np.where(values > 0, "yes", "no"), columns=list(lags.series)), network, lags


def of_levels(draws: int, n: int, moments: int, steps: int) -> None:
    """Print the coverage of effects on probabilities by step."""
    hits = np.zeros((2, steps + 1, 2))  # [true or learned graph, step, covered or asked]
    for seed in range(draws):
        data, network, lags = drawn_levels(n, moments, seed)
        result = dagopt.learn(data, lags=1, progress=False)
        table = result.problem.table
        true = np.zeros((2 * n, 2 * n), dtype=np.int8)
        for j, own in enumerate(network.parents):
            true[list(own), j] = 1
        chain = Chain([2] * n, 1, network.parents[:n], network.tables[:n])
        past = chain.past_of((data.to_numpy()[:-1] == "yes").astype(np.intp))
        for k, dynamics in enumerate((Dynamics(fit_table(table, true), table.lags, table), result.dynamics())):
            for i, cause in enumerate(lags.series):
                low, high = (chain.marginals(past, steps, i, value) for value in (0, 1))
                frame = dynamics.effects(cause, steps=steps, change=("no", "yes")).query("level == 'yes'")
                for one in frame[frame["standard_error"] > ROUNDING].itertuples():
                    j = lags.series.index(one.outcome)
                    value = high[one.step][j][1] - low[one.step][j][1]
                    hits[k, one.step] += (one.low <= value <= one.high, 1)
    print({"draws": draws, "series with levels": n, "moments": moments})
    for step in range(steps + 1):
        shown = {name: f"{one[step, 0] / max(one[step, 1], 1):.3f} of {one[step, 1]:.0f}"
                 for name, one in zip(("true graph", "learned graph"), hits, strict=True)}  # fmt: skip
        print({"step": step, **shown})


def main() -> None:
    """Print the coverage by step, and the worth of shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--series", type=int, default=4)
    parser.add_argument("--moments", type=int, default=300)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--resamples", type=int, default=0)
    parser.add_argument("--levels", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.levels:
        of_levels(asked.draws, asked.series, asked.moments, asked.steps)
        return
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
