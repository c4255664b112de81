"""``EffectPosterior``: an effect averaged over parent sets of the cause, each with its probability.

References
----------
Pensar, Talvitie, Hyttinen, Koivisto (2020). A Bayesian approach for estimating causal effects from observational data.
AAAI 34.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from dagopt.arrays import Floats
from dagopt.by_name import by_name
from dagopt.data.mixed import MixedTable
from dagopt.data.table import Table
from dagopt.networks.effects.effect import CONTRASTS, NO_EFFECT, Effect, effect_of_parents

__all__ = ["EffectPosterior", "effect_mixture"]

LIKELY = 0.99  # of the probability: with these parent sets, each on its own, an interval has its level
HALVINGS = 200  # of an interval around a quantile, at most; 60 reach the last digit of a double


@dataclass(frozen=True, eq=False)
class EffectPosterior:
    """The distribution of an effect: a mixture over all parent sets of the cause.

    Attributes
    ----------
    cause, outcome : str
        The columns.
    table : DataFrame
        One row for each parent set and, for discrete columns, each level: ``parents``,
        ``probability_of_parents``, ``effect``, ``standard_error``, ``lower``, ``upper``.
    summaries : DataFrame
        One row for each level: ``mean``, ``lower``, ``upper``, the probability that the effect is ``positive``,
        ``negative``, or that there is none (``zero``: the outcome is a parent of the cause). The interval has the
        level in the whole mixture, in its part with an effect, and given each of the most probable parent sets, which
        have 99 % of the probability together.
    level : float
        The level of the intervals.
    covered : float
        The probability of the parent sets in the table; the rest is shared among them in proportion.
    prior : str
        The prior over parent sets; see ``edge_posterior``.
    score_label : str
        The score whose exponential is the likelihood.
    assumptions : tuple of str
        What the effects assume.
    sampling : str
        How well the chains agree if the probabilities of the parent sets are sampled; empty if they are exact.
    orders : str
        The orders that are averaged over, in words.
    """

    cause: str
    outcome: str
    table: pd.DataFrame
    summaries: pd.DataFrame
    level: float
    covered: float
    prior: str
    score_label: str
    assumptions: tuple[str, ...]
    sampling: str = ""
    orders: str = "all orders of the columns"

    def summary(self) -> str:
        """Return the mixture in words."""
        sets = self.table["parents"].nunique()
        return "\n".join(
            [
                f"total effect of {self.cause} on {self.outcome}, averaged over all DAGs: {sets} parent sets of "
                f"{self.cause} with probability {self.covered:.6f}; {self.level:.0%} intervals; {self.score_label}",
                self.summaries.round(6).to_string(index=False),
                f"prior: {self.prior}, {self.orders} equally likely, so not uniform over DAGs",
                *([f"sampled: {self.sampling}"] if self.sampling else []),
                *(f"assumed: {one}" for one in self.assumptions),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "cause": self.cause,
            "outcome": self.outcome,
            "level": self.level,
            "covered": self.covered,
            "prior": self.prior,
            "score_label": self.score_label,
            "sampling": self.sampling,
            "orders": self.orders,
            "summaries": self.summaries.to_dict("records"),
            "parents": self.table.to_dict("records"),
            "assumptions": list(self.assumptions),
        }

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return str(by_name("report.notebook", "effect_posterior_html")(self))


def effect_mixture(
    table: Table | MixedTable,
    cause: str,
    outcome: str,
    parent_sets: Sequence[tuple[int, ...]],
    probabilities: Floats,
    level: float,
    prior: str,
    score_label: str,
) -> EffectPosterior:
    """Return the mixture of the effects for these parent sets of the cause, which sum to at most 1."""
    order = np.argsort(-probabilities, kind="stable")
    ranked = [parent_sets[k] for k in order]
    effects: Effect = effect_of_parents(table, cause, outcome, ranked, list(range(len(ranked))), 0.0, level)
    found = effects.table.dropna(subset=["effect"])
    found.insert(1, "probability_of_parents", probabilities[order][found["loss"].to_numpy(dtype=np.int64)])
    found = found.drop(columns="loss")
    keys = [name for name in CONTRASTS if name in found]
    groups = found.groupby(keys, sort=False, dropna=False) if keys else [((), found)]
    rows = [{**dict(zip(keys, key, strict=True)), **_mixed(own, level)} for key, own in groups]
    covered = float(found.drop_duplicates("parents")["probability_of_parents"].sum())
    assumed = (
        "every edge is causal, and the score is the logarithm of a marginal likelihood",
        *effects.assumptions[1:2],
        "given the parents of the cause, the estimated effect is normal around the true one",
        *effects.assumptions[3:],
    )
    return EffectPosterior(cause, outcome, found, pd.DataFrame(rows), level, covered, prior, score_label, assumed)


def _mixed(rows: pd.DataFrame, level: float) -> dict[str, float]:
    """Return mean, interval and probabilities of signs of a mixture of normals and points.

    The interval is the hull of that of the whole mixture, that of its part in which there is an effect, and those of
    the most probable parent sets. The first alone promises its level on average, over columns with and without an
    effect and over all parent sets. If the true set has a probability of a third and the largest effect, a tail of 2.5
    % of the mixture is one of 7.5 % given that set, so that the interval misses the truth three times as often.
    """
    weights = rows["probability_of_parents"].to_numpy(dtype=np.float64)
    weights = weights / weights.sum()
    lower, upper = (rows[name].to_numpy(dtype=np.float64) for name in ("lower", "upper"))
    # each part is a normal with the interval of its row: a little wider than the standard error with few rows
    means, spreads = (lower + upper) / 2, (upper - lower) / (2 * float(ndtri((1 + level) / 2)))
    none = (rows["adjustment"] == NO_EFFECT).to_numpy()
    kept = [np.ones(len(none), dtype=np.bool_), *([~none] if none.any() and weights[~none].sum() > 0 else [])]
    tails = [
        [_quantile(share, weights[own] / weights[own].sum(), means[own], spreads[own]) for own in kept]
        for share in ((1 - level) / 2, (1 + level) / 2)
    ]
    likely = np.argsort(-weights, kind="stable")[: int(np.searchsorted(np.cumsum(np.sort(weights)[::-1]), LIKELY)) + 1]
    below = float(weights @ _below(0.0, means, spreads, strictly=True))
    up_to = float(weights @ _below(0.0, means, spreads))
    return {
        "mean": float(weights @ rows["effect"].to_numpy(dtype=np.float64)),
        "lower": min(*tails[0], float(lower[likely].min())),
        "upper": max(*tails[1], float(upper[likely].max())),
        "positive": max(1.0 - up_to, 0.0),
        "negative": below,
        "zero": float(weights[none].sum()),
    }


def _below(value: float, means: Floats, spreads: Floats, strictly: bool = False) -> Floats:
    """Return the probability of each part that it is at most a value, or below it."""
    points = means < value if strictly else means <= value
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spreads > 0, ndtr((value - means) / spreads), points)


def _quantile(share: float, weights: Floats, means: Floats, spreads: Floats) -> float:
    """Return the smallest value with at least this share of the mixture up to it, by halving."""
    reach = 40 * spreads.max(initial=0.0) + 1e-12
    low, high = float(means.min() - reach), float(means.max() + reach)
    if weights @ _below(0.0, means, spreads) >= share > weights @ _below(0.0, means, spreads, strictly=True):
        return 0.0  # inside the step of the parts that have no effect
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if weights @ _below(middle, means, spreads) >= share:
            high = middle
        else:
            low = middle
    return high
