"""From names to scores, and the score of a DAG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from dagopt.data.chance import GAMMA, chance_edges, ebic_edge_cost
from dagopt.data.data_options import DataOptions
from dagopt.data.doctor import examine_table
from dagopt.data.table import ContinuousTable, Table, as_table
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted, unknown_name
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.order import MOST_DENSE, parent_lists
from dagopt.options import with_options
from dagopt.scores.base import Score
from dagopt.scores.basis import BasisScore
from dagopt.scores.bdeu import BDeuScore
from dagopt.scores.bge import BGeScore
from dagopt.scores.conditional_gaussian import ConditionalGaussianScore
from dagopt.scores.custom import custom_score, is_custom
from dagopt.scores.degenerate_gaussian import DegenerateGaussianScore
from dagopt.scores.gaussian import GaussianScore, gaussian_label, gaussian_total
from dagopt.scores.multinomial import MultinomialScore
from dagopt.scores.score_options import ScoreLike, ScoreOptions

__all__ = [
    "AUTO",
    "PENALTIES",
    "SCORES",
    "NamedScore",
    "chosen_score",
    "gaussian_penalty",
    "make_score",
    "penalty_value",
    "score",
    "score_of",
    "score_table",
]

LARGEST_PENALTY = 1e9  # per parameter: far above what any edge gains; sums of larger ones would lose the fit's digits


Maker = Callable[[Any, ScoreOptions, Deadline], Score]


@dataclass(frozen=True)
class NamedScore:
    """A score with a name: what it is, and how to make it for each kind of table.

    Attributes
    ----------
    text : str
        One line for help and documentation.
    makers : mapping of str to callable
        For each ``table.kind``, a function of the table, the ``ScoreOptions`` and the clock that returns the score.
    """

    text: str
    makers: Mapping[str, Maker]


def _likelihood(penalty: Callable[[int], float], gamma: float = 0.0) -> Mapping[str, Maker]:
    """Return makers of the likelihood minus ``penalty(N)`` per parameter and 2 γ log n per edge."""

    def per_edge(table: Table) -> float:
        return ebic_edge_cost(len(table.names), gamma)

    return {
        "continuous": lambda table, options, _: GaussianScore(
            table, penalty(table.n_samples) + per_edge(table), options.convention
        ),
        "discrete": lambda table, options, _: MultinomialScore(table, penalty(table.n_samples), per_edge(table)),
        "mixed": lambda table, options, _: DegenerateGaussianScore(table, penalty(table.n_samples), per_edge(table)),
    }


PENALTIES: Mapping[str, Callable[[int], float]] = {
    "bic": lambda n_samples: 0.5 * math.log(n_samples),
    "aic": lambda n_samples: 1.0,
    "loglik": lambda n_samples: 0.0,
}

SCORES: dict[str, NamedScore] = {
    "bic": NamedScore(
        "log-likelihood - log(N) / 2 x parameters, for any kind of data",
        _likelihood(PENALTIES["bic"]),
    ),
    "aic": NamedScore("log-likelihood - parameters, for any kind of data", _likelihood(PENALTIES["aic"])),
    "loglik": NamedScore("log-likelihood alone (no penalty), for any kind of data", _likelihood(PENALTIES["loglik"])),
    "ebic": NamedScore(
        "BIC minus log(n) for each edge, n the number of columns: hardly any edge appears by chance",
        _likelihood(PENALTIES["bic"], GAMMA),
    ),
    "cg": NamedScore(
        "conditional Gaussian: BIC with a Gaussian per configuration of the discrete columns, for mixed data",
        {"mixed": lambda table, options, _: ConditionalGaussianScore(table, PENALTIES["bic"](table.n_samples))},
    ),
    "basis": NamedScore(
        "BIC with continuous columns embedded in polynomials, which finds smooth nonlinear relations",
        {
            kind: lambda table, options, deadline: BasisScore(
                table, PENALTIES["bic"](table.n_samples), options.degree, deadline
            )
            for kind in ("continuous", "mixed")
        },
    ),
    "bdeu": NamedScore(
        "Bayesian Dirichlet equivalent uniform, for discrete data",
        {"discrete": lambda table, options, _: BDeuScore(table, options.equivalent_sample_size)},
    ),
    "bge": NamedScore(
        "Bayesian Gaussian equivalent of standardised columns, for continuous data",
        {"continuous": lambda table, options, _: BGeScore(table, options.equivalent_sample_size)},
    ),
    "bge-raw": NamedScore(
        "Bayesian Gaussian equivalent of the columns as given, so it depends on their units",
        {"continuous": lambda table, options, _: BGeScore(table, options.equivalent_sample_size, standardize=False)},
    ),
}


MOST_BY_CHANCE = 1.0  # edges; if more are expected by chance under BIC, ``"auto"`` is EBIC
AUTO: Final = "auto"  # the default


def chosen_score(table: Table, score: ScoreLike) -> tuple[ScoreLike, str]:
    """Return the score that ``"auto"`` stands for, and why, if that is not BIC; another score as it is.

    Under BIC, pairs of unrelated columns are joined by chance. If more than one such edge is expected, EBIC recovers
    more of the graph and predicts new rows better, except on discrete data: there BIC asks much of an edge already, and
    EBIC loses more true edges than false ones (docs/benchmarks.md).
    """
    if not (isinstance(score, str) and score.lower() == AUTO):
        return score, ""
    expected = chance_edges(table.sizes, PENALTIES["bic"](table.n_samples), lags=table.lags)
    if expected <= MOST_BY_CHANCE or table.kind == "discrete":
        return "bic", ""
    return "ebic", f"score: ebic, because bic would add about {expected:.0f} edges by chance"


@with_options(ScoreOptions, leave_out=["score"])
def make_score(table: Table, score: ScoreLike = AUTO, **options: Any) -> Score:
    """Return the score of a given name for a table.

    Parameters
    ----------
    table : Table
        The data; its kind decides between Gaussian and multinomial.
    score : str, float, Score or callable
        One of ``SCORES``, or ``"auto"``: BIC, or EBIC if BIC would add more than one edge by chance (continuous and
        mixed data); a number, the penalty Λ ≥ 0 of one parameter; or a score of your own: a ``Score``, a function of
        the table that returns one (such as a sub-class of ``Score``), or a function ``f(node, parents)`` that returns
        the local score of a column from its name and a tuple of its parents' names.
    {options}

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> scorer = dagopt.make_score(dagopt.as_table(data))
    >>> scorer.local(2, [0]) > scorer.local(2, [])
    True
    """
    return score_of(table, ScoreOptions(score=score, **options))


def score_of(table: Table, scoring: ScoreOptions, deadline: Deadline = FOREVER) -> Score:
    """Return the score that checked options name; the clock is looked at if the table must be measured for it."""
    score, reason = chosen_score(table, scoring.score)
    if is_custom(score):
        return custom_score(table, score)
    name = score.lower() if isinstance(score, str) else ""
    if name in SCORES:
        makers = SCORES[name].makers
    else:
        penalty = penalty_value(score, table.n_samples)  # type: ignore[arg-type]  # or it raises
        makers = _likelihood(lambda n_samples: penalty)
    if table.kind not in makers:
        others = [other for other, one in SCORES.items() if table.kind in one.makers and other not in PENALTIES]
        remedy = f"use {quoted(others)}" + (" or discretize=" if "discrete" in makers else "")
        raise InputError(f"score {score!r} needs {' or '.join(makers)} data but the table is {table.kind}; {remedy}")
    made = makers[table.kind](table, scoring, deadline)
    if name in ("bic", "aic", "ebic"):
        made.label = f"{name.upper()}: {made.label}"
    made.reason = reason
    return made


def gaussian_penalty(table: Table, scoring: ScoreOptions) -> tuple[float, str, str] | None:
    """Return Λ of a penalised Gaussian likelihood, what the score is, and why it was chosen; None for other scores."""
    score, reason = chosen_score(table, scoring.score)
    name = score.lower() if isinstance(score, str) else ""
    if is_custom(score) or (name in SCORES and name not in (*PENALTIES, "ebic")):
        return None
    if name == "ebic":
        penalty = PENALTIES["bic"](table.n_samples) + ebic_edge_cost(len(table.names))
    else:
        penalty = penalty_value(score, table.n_samples)  # type: ignore[arg-type]  # or it raises
    label = gaussian_label(penalty, scoring.convention)
    return penalty, f"{name.upper()}: {label}" if name in ("bic", "aic", "ebic") else label, reason


def penalty_value(score: str | float, n_samples: int) -> float:
    """Return Λ, the cost of one parameter, of a penalised likelihood."""
    if isinstance(score, str):
        score = score.lower()
        if score in PENALTIES:
            return PENALTIES[score](n_samples)
        try:
            score = float(score)
        except ValueError:
            raise unknown_name("score", score, [AUTO, *SCORES]) from None
    if isinstance(score, bool) or not isinstance(score, (int, float, np.number)):
        raise InputError(f"expected the name of a score ({quoted(SCORES)}) or a penalty >= 0 but got {score!r}")
    if not (math.isfinite(score) and score >= 0):
        raise InputError(f"expected a penalty >= 0 as the score but got {score}; change score=")
    if score > LARGEST_PENALTY:
        raise InputError(f"expected a penalty <= {LARGEST_PENALTY:g} as the score but got {score}; choose a lower one")
    return float(score)


@with_options(ScoreOptions, DataOptions, leave_out=["score"])
def score(data: object, dag: object, score: ScoreLike = AUTO, **options: Any) -> float:
    """Return the score of a DAG on data; higher is better. With ``lags`` it is that of the present given the past.

    The table is checked first, as in ``learn``: a column that is constant, or determined by others, is an error.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``.
    dag : networkx graph, edge list, adjacency array or path
        The DAG; ``[i, j] = 1`` of an array means i → j. Columns that it does not name have no edges.
    score : str, float, Score or callable
        As in ``make_score``.
    {options}

    Returns
    -------
    float

    Examples
    --------
    >>> import dagopt
    >>> data, dag = dagopt.datasets.load("asia", n_samples=1000, random_state=0)
    >>> dagopt.score(data, dag) > dagopt.score(data, [])
    True
    """
    table = _table(data, options)
    by_rows = _score_by_rows(table, dag, score, options)
    if by_rows is not None:
        return by_rows
    scorer, adjacency, past = _scorer(table, dag, score, options)
    return scorer.total(adjacency) - sum(scorer.local(i) for i in past)


@with_options(ScoreOptions, DataOptions, leave_out=["score"])
def score_table(data: object, dag: object, score: ScoreLike = AUTO, **options: Any) -> pd.DataFrame:
    """Return the score of a DAG node by node: parents, score, score without parents, gain.

    The parameters are those of :func:`score`.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> dagopt.score_table(data, [("X0", "X2")]).columns.tolist()
    ['parents', 'score', 'empty', 'gain']
    """
    scorer, adjacency, past = _scorer(_table(data, options), dag, score, options)
    return scorer.table(adjacency).iloc[: len(adjacency) - len(past)]


def _table(data: object, options: dict[str, Any]) -> Table:
    return as_table(data, **{name: options[name] for name in DataOptions.defaults() if name in options})


def _score_by_rows(table: Table, dag: object, score: Any, options: dict[str, Any]) -> float | None:
    """Return the score of a DAG over so many columns that not all pairs are measured; None for other tables."""
    scoring = ScoreOptions.taken_from({"score": score} | options)
    if len(table.names) <= MOST_DENSE or not isinstance(table, ContinuousTable) or not table.is_plain:
        return None
    found = gaussian_penalty(table, scoring)
    if found is None:
        return None
    graph = as_graph(dag, table.names)
    require_dag(graph)
    return gaussian_total(table, parent_lists(graph.adjacency), found[0], scoring.convention)


def _scorer(table: Table, dag: object, score: Any, options: dict[str, Any]) -> tuple[Score, Any, range]:
    """Return the score object, the adjacency of the DAG in column order, and the columns of the past, if any."""
    scoring = ScoreOptions.taken_from({"score": score} | options)
    graph = as_graph(dag, table.names)
    require_dag(graph)
    examine_table(table, int(graph.adjacency.sum(axis=0).max(initial=0))).raise_for_errors()
    n = len(table.names)
    past = range(n if table.lags is None else table.lags.n_series, n)
    return make_score(table, **scoring.to_dict()), graph.adjacency, past
