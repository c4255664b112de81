r"""The effect of setting two columns at once, from the parents of both.

Let A come before B, with P the parents of A, and Q those of B that are neither A nor in P. What is set from outside
does not depend on P and Q any more, but Q may depend on A:

.. math:: P(y | do(a, b)) = \sum_p P(p) \sum_q P(q | a, p) P(y | a, b, p, q).

References
----------
P. Nandy, M. H. Maathuis, T. S. Richardson, "Estimating the effect of joint interventions from observational data in
sparse high-dimensional settings", Annals of Statistics 45(2), 2017, DOI 10.1214/16-AOS1462.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from dagopt.arrays import Floats, Ints
from dagopt.data.mixed import MixedTable
from dagopt.data.table import ContinuousTable, DiscreteTable, Table
from dagopt.errors import InputError
from dagopt.graph.cpdag import extend_pdag
from dagopt.networks.effects.adjustment import oriented_graphs, reached
from dagopt.networks.effects.effect import ASSUMED, ASSUMED_NEAR, LINEAR, Effect, checked_pair
from dagopt.networks.effects.estimates import PRIOR_ROWS

__all__ = ["checked_causes", "joint_effect_in", "joint_effect_of_dags"]

DRAWS = 1_000  # of probabilities from their posterior, for the intervals of discrete columns
MOST_CELLS = 200_000  # of the tables that are drawn
DEPENDENT = 1e-12  # smallest eigenvalue of the correlations of the regressors, relative to the largest


@dataclass(frozen=True)
class _Setting:
    """What an effect of two columns depends on: the order, the parents of both, and which of them act on the outcome.

    ``second`` are the parents of the later column that are neither the earlier one nor parents of it.
    """

    causes: tuple[int, int]
    parents: tuple[int, ...]
    second: tuple[int, ...]
    acts: tuple[bool, bool]

    @classmethod
    def of(cls, dag: NDArray[np.int8], causes: tuple[int, int], outcome: int) -> _Setting:
        """Return that of a DAG."""
        edges = dag != 0
        first, last = causes if not reached(edges, causes[1])[causes[0]] else causes[::-1]
        parents = tuple(np.flatnonzero(edges[:, first]).tolist())
        second = tuple(j for j in np.flatnonzero(edges[:, last]).tolist() if j != first and j not in parents)
        cut = edges.copy()
        cut[:, last] = False  # paths through the later column are not its own any more
        return cls(
            (first, last), parents, second, (bool(reached(cut, first)[outcome]), bool(reached(edges, last)[outcome]))
        )

    def told(self, names: Sequence[str]) -> dict[str, str]:
        """Return the order and the parents in words."""
        first, last = (names[i] for i in self.causes)
        own, later = ("{" + ", ".join(names[i] for i in which) + "}" for which in (self.parents, self.second))
        return {"parents": f"{first}: {own}, then {last}: {later}", "adjustment": f"{own}, then {later}"}


def checked_causes(
    table: Table | MixedTable, causes: Sequence[str], outcome: str, level: float
) -> tuple[tuple[int, int], int]:
    """Return the positions of two causes and of the outcome, or raise an error."""
    if len(causes) != 2 or causes[0] == causes[1]:
        raise InputError(f"expected one cause or two different ones but got {list(causes)!r}; name two columns")
    if isinstance(table, MixedTable) or not isinstance(table, ContinuousTable | DiscreteTable):
        raise InputError(
            "the effect of two columns at once is for continuous or discrete columns but the table is mixed; ask the "
            "fitted network: result.fit().do({...}).query(...), or choose columns= of one kind"
        )
    pairs = [checked_pair(table, cause, outcome, level) for cause in causes]
    return (pairs[0][0], pairs[1][0]), pairs[0][1]


def joint_effect_in(
    table: Table | MixedTable,
    adjacency: NDArray[np.int8],
    causes: Sequence[str],
    outcome: str,
    level: float = 0.95,
    limits: Ints | None = None,
) -> Effect:
    """Return the effect of setting two columns in a DAG, or in all DAGs of a class within limits on parents."""
    (a, b), _ = checked_causes(table, causes, outcome, level)
    dags = []
    for one in oriented_graphs(adjacency, a, None):
        for both in oriented_graphs(one, b, limits):
            dag = extend_pdag(both)
            if dag is not None:
                dags.append(dag)
    return joint_effect_of_dags(table, dags, None, causes, outcome, level)


def joint_effect_of_dags(
    table: Table | MixedTable,
    dags: Iterable[NDArray[np.int8]],
    near: tuple[Floats, float] | None,
    causes: Sequence[str],
    outcome: str,
    level: float = 0.95,
    prices: Sequence[str] | None = None,
) -> Effect:
    """Return the effects of setting two columns in some DAGs, each different one once.

    ``near`` has how many points each of the DAGs loses, from the best down, and the limit, if they are all those near
    the best; ``prices`` says at which price of parameters, if there are two.
    """
    pair, y = checked_causes(table, causes, outcome, level)
    first: dict[_Setting, int] = {}
    for k, dag in enumerate(dags):
        first.setdefault(_Setting.of(dag, pair, y), k)
    frames = []
    for setting, k in first.items():
        if isinstance(table, ContinuousTable):
            rows = _slopes(table, setting, pair, y, level)
        else:
            assert isinstance(table, DiscreteTable)
            rows = _changes(table, setting, pair, y, level)
        if prices is not None:
            rows.insert(0, "price", prices[k])
        if near is not None:
            rows.insert(0, "loss", float(near[0][k]))
        for place, (name, text) in enumerate(setting.told(table.names).items()):
            rows.insert(place, name, text)
        frames.append(rows)
    assumed: tuple[str, ...] = ASSUMED if near is None else ASSUMED_NEAR
    if isinstance(table, ContinuousTable):
        assumed = (*assumed, LINEAR)
    label = " and ".join(causes)
    frame = pd.concat(frames, ignore_index=True)
    return Effect(label, outcome, frame, level, assumed, None if near is None else near[1])


def _slopes(table: ContinuousTable, setting: _Setting, pair: tuple[int, int], y: int, level: float) -> pd.DataFrame:
    """Return the change of the outcome's mean for one unit of each cause while the other is held where it is set.

    The earlier cause also acts through the columns Q: its coefficient beside Q, and the coefficients of Q times what
    the cause does to them, given its parents. Both regressions have independent errors.
    """
    first, last = setting.causes
    found = {last: (0.0, 0.0), first: (0.0, 0.0)}
    freedom = table.n_samples - 2 - len(setting.parents) - len(setting.second) - 1
    if y not in setting.parents:
        through = [] if y in setting.second else list(setting.second)
        used = [first, *setting.parents, *([] if y in setting.second else [last, *through])]
        slopes, covariance = _regressed(table, used, [y])
        start = len(used) - len(through)
        weights = np.zeros(len(used))
        weights[0] = 1.0
        own = 0.0
        if through:
            passed, errors = _regressed(table, [first, *setting.parents], through)
            weights[start:] = passed[0]
            own = float(slopes[start:, 0] @ errors[0, 0] @ slopes[start:, 0])
        spread = float(weights @ covariance[:, :, 0, 0] @ weights)
        found[first] = (float(weights @ slopes[:, 0]), float(np.sqrt(max(spread + own, 0.0))))
        if y not in setting.second:
            found[last] = (float(slopes[start - 1, 0]), float(np.sqrt(covariance[start - 1, start - 1, 0, 0])))
    reach = float(stdtrit(max(freedom, 1), (1 + level) / 2))
    rows = []
    for cause in pair:
        effect, error = found[cause] if setting.acts[setting.causes.index(cause)] else (0.0, 0.0)
        unit = float(table.scale[y] / table.scale[cause])
        effect, error = effect * unit, error * unit
        rows.append({"of": table.names[cause], "effect": effect, "standard_error": error})
        rows[-1] |= {"lower": effect - reach * error, "upper": effect + reach * error}
    return pd.DataFrame(rows)


def _regressed(table: ContinuousTable, used: list[int], targets: list[int]) -> tuple[Floats, Floats]:
    """Return coefficients in standard units, ``[regressor, target]``, and covariances ``[r, s, target, target]``."""
    correlation = table.correlation[np.ix_(used, used)]
    sizes = np.linalg.eigvalsh(correlation)
    freedom = table.n_samples - len(used) - 1
    if sizes[0] <= DEPENDENT * sizes[-1] or freedom <= 0:
        names = ", ".join(table.names[i] for i in used)
        raise InputError(f"{table.n_samples} rows do not tell the effects of {names} apart; give more rows")
    inverse = np.linalg.inv(correlation)
    cross = table.correlation[np.ix_(used, targets)]
    slopes = inverse @ cross
    left = (table.correlation[np.ix_(targets, targets)] - cross.T @ slopes) / freedom
    return slopes, inverse[:, :, None, None] * left


def _changes(table: DiscreteTable, setting: _Setting, pair: tuple[int, int], y: int, level: float) -> pd.DataFrame:
    """Return the change of each level's probability when both causes are set to other levels than their first ones.

    The effect is that of the shares in the data; the interval has the quantiles of draws from the posterior of all
    probabilities, with half a row in every cell.
    """
    weights = table.weights / table.copies
    first, last = setting.causes
    given, later = (_configurations(table, which) for which in (setting.parents, setting.second))
    if y in setting.parents or y in setting.second:  # its own cells: known, and not changed by the later cause
        later = _configurations(table, tuple(j for j in setting.second if j != y))
    shape = tuple(
        int(size)
        for size in (
            given.max() + 1,
            len(table.levels[first]),
            later.max() + 1,
            len(table.levels[last]),
            len(table.levels[y]),
        )
    )
    if np.prod(shape) > MOST_CELLS:
        raise InputError(
            f"the joint effect needs a table of {np.prod(shape):,} cells, more than {MOST_CELLS:,}; set max_parents="
        )
    counts = np.zeros(shape)
    np.add.at(counts, (given, table.codes[first], later, table.codes[last], table.codes[y]), weights)
    means = _standardised(counts, None)
    draws = _standardised(counts, np.random.default_rng(0))
    if not setting.acts[1]:  # nothing of what the later cause does reaches the outcome
        means, draws = (_without_last(counts, own) for own in (None, np.random.default_rng(0)))
    if not any(setting.acts):
        means, draws = np.zeros_like(means), np.zeros_like(draws)
    rows = []
    levels = [table.levels[cause] for cause in pair]
    tails = [(1 - level) / 2, (1 + level) / 2]
    for codes in product(*(range(len(own)) for own in levels)):
        if codes == (0, 0):
            continue
        at = codes if pair == setting.causes else codes[::-1]
        change = draws[:, at[0], at[1]] - draws[:, 0, 0]
        for k, name in enumerate(table.levels[y]):
            effect = float(means[0, at[0], at[1], k] - means[0, 0, 0, k])
            lower, upper = np.quantile(change[:, k], tails)
            rows.append(
                {
                    "level": name,
                    "from": ", ".join(str(own[0]) for own in levels),
                    "to": ", ".join(str(own[code]) for own, code in zip(levels, codes, strict=True)),
                    "effect": effect,
                    "standard_error": float(change[:, k].std()),
                    "lower": min(float(lower), effect),
                    "upper": max(float(upper), effect),
                }
            )
    return pd.DataFrame(rows)


def _configurations(table: DiscreteTable, which: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the number of each distinct row's combination of levels."""
    if not which:
        return np.zeros(table.codes.shape[1], dtype=np.int64)
    return np.asarray(np.unique(table.codes[list(which)].T, axis=0, return_inverse=True)[1]).ravel()


def _standardised(counts: Floats, random: np.random.Generator | None) -> Floats:
    """Return ``[draw, a, b, y]``, the probabilities of the outcome when both are set: of the shares, or of draws."""
    outcome = _shares(counts, random)  # [draw, p, a, q, b, y]
    between = _shares(counts.sum(axis=(3, 4)), random)  # [draw, p, a, q]
    given = _shares(counts.sum(axis=(1, 2, 3, 4)), random, prior=0.0)  # [draw, p]
    return np.asarray(np.einsum("dp,dpaq,dpaqby->daby", given, between, outcome, optimize=True))


def _without_last(counts: Floats, random: np.random.Generator | None) -> Floats:
    """Return the same if the later cause does not act: only the earlier one is set."""
    outcome = _shares(counts.sum(axis=(2, 3)), random)  # [draw, p, a, y]
    given = _shares(counts.sum(axis=(1, 2, 3, 4)), random, prior=0.0)
    found = np.einsum("dp,dpay->day", given, outcome)
    return np.repeat(found[:, :, None, :], counts.shape[3], axis=2)


def _shares(counts: Floats, random: np.random.Generator | None, prior: float = PRIOR_ROWS) -> Floats:
    """Return probabilities along the last axis, one draw after the other; pooled shares where there are no rows."""
    if random is not None:
        drawn = random.standard_gamma(np.broadcast_to(counts + prior, (DRAWS, *counts.shape)))
        return np.asarray(drawn / np.maximum(drawn.sum(axis=-1, keepdims=True), 1e-300))
    totals = counts.sum(axis=-1, keepdims=True)
    pooled = counts.reshape(-1, counts.shape[-1]).sum(axis=0) / counts.sum()
    if counts.ndim == 5:  # given both causes, whatever is adjusted for
        both = counts.sum(axis=(0, 2), keepdims=True)
        rows = both.sum(axis=-1, keepdims=True)
        pooled = np.where(rows > 0, both / np.maximum(rows, 1e-300), pooled)
    return np.asarray(np.where(totals > 0, counts / np.maximum(totals, 1e-300), pooled))[None]
