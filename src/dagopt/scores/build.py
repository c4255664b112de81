"""From names to scores, and the score of a DAG."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pandas as pd

from dagopt.data.doctor import examine_table
from dagopt.data.table import ContinuousTable, Table, as_table
from dagopt.errors import InputError, quoted, unknown_name
from dagopt.graph.dag import as_graph, require_dag
from dagopt.scores.base import Score
from dagopt.scores.bdeu import BDeuScore
from dagopt.scores.bge import BGeScore
from dagopt.scores.gaussian import GaussianScore
from dagopt.scores.multinomial import MultinomialScore

__all__ = ["SCORES", "make_score", "penalty_value", "score", "score_table"]

SCORES = {
    "bic": "log-likelihood - log(N) / 2 x parameters, for either kind of data (the default)",
    "aic": "log-likelihood - parameters, for either kind of data",
    "loglik": "log-likelihood alone (no penalty), for either kind of data",
    "bdeu": "Bayesian Dirichlet equivalent uniform, for discrete data",
    "bge": "Bayesian Gaussian equivalent, for continuous data",
}

LARGEST_PENALTY = 1e9  # of one parameter: no edge pays long before, and sums of larger ones would lose the fit

Convention = Literal["paper", "bnlearn"]


def make_score(
    table: Table,
    score: str | float = "bic",
    *,
    convention: Convention = "paper",
    equivalent_sample_size: float = 1.0,
) -> Score:
    """Return the score of a given name for a table.

    Parameters
    ----------
    table : Table
        The data; its kind decides between Gaussian and multinomial.
    score : str or float
        One of ``SCORES``, or a number: the penalty Λ ≥ 0 of one parameter.
    convention : {"paper", "bnlearn"}
        How a penalised Gaussian likelihood counts parameters; see ``GaussianScore``.
    equivalent_sample_size : float
        Weight of the prior of BDeu, or of the prior mean of BGe.
    """
    if convention not in ("paper", "bnlearn"):
        raise InputError(f"expected convention= 'paper' or 'bnlearn' but got {convention!r}")
    continuous = isinstance(table, ContinuousTable)
    if score == "bdeu":
        if isinstance(table, ContinuousTable):
            raise InputError("score 'bdeu' needs discrete data but the table is continuous; use 'bge' or discretize=")
        return BDeuScore(table, equivalent_sample_size)
    if score == "bge":
        if not isinstance(table, ContinuousTable):
            raise InputError("score 'bge' needs continuous data but the table is discrete; use 'bdeu'")
        return BGeScore(table, equivalent_sample_size)
    penalty = penalty_value(score, table.n_samples)
    if continuous:
        assert isinstance(table, ContinuousTable)
        return GaussianScore(table, penalty, convention)
    assert not isinstance(table, ContinuousTable)
    return MultinomialScore(table, penalty)


def penalty_value(score: str | float, n_samples: int) -> float:
    """Return Λ, the cost of one parameter, of a penalised likelihood."""
    if isinstance(score, str):
        named = {"bic": 0.5 * math.log(n_samples), "aic": 1.0, "loglik": 0.0}
        if score in named:
            return named[score]
        try:
            score = float(score)
        except ValueError:
            raise unknown_name("score", score, list(SCORES)) from None
    if isinstance(score, bool) or not isinstance(score, (int, float, np.number)):
        raise InputError(f"expected the name of a score ({quoted(SCORES)}) or a penalty >= 0 but got {score!r}")
    if not (math.isfinite(score) and score >= 0):
        raise InputError(f"expected a penalty >= 0 as the score but got {score}")
    if score > LARGEST_PENALTY:
        raise InputError(f"expected a penalty <= {LARGEST_PENALTY:g} as the score but got {score}; choose less")
    return float(score)


def score(
    data: object,
    dag: object,
    score: str | float = "bic",
    *,
    convention: Convention = "paper",
    equivalent_sample_size: float = 1.0,
    **options: Any,
) -> float:
    """Return the score of a DAG on data; higher is better.

    The doctor looks at the table first, as ``learn`` has it: a column that is constant or that others determine is
    refused.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``, which also takes the further ``options``.
    dag : networkx graph, edge list, adjacency array or path
        The DAG; ``[i, j] = 1`` of an array means i → j. Columns that it does not name have no edges.
    score : str or float
        ``"bic"``, ``"aic"``, ``"loglik"``, ``"bdeu"``, ``"bge"``, or the penalty Λ of one parameter.
    convention : {"paper", "bnlearn"}
        How a penalised Gaussian likelihood counts parameters.
    equivalent_sample_size : float
        Weight of the prior of BDeu or BGe.
    **options
        Passed to ``as_table``: ``columns``, ``kind``, ``discretize``, ``bins``, ``missing``, ``na_values``.

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
    scorer, adjacency = _scorer(data, dag, score, convention, equivalent_sample_size, options)
    return scorer.total(adjacency)


def score_table(
    data: object,
    dag: object,
    score: str | float = "bic",
    *,
    convention: Convention = "paper",
    equivalent_sample_size: float = 1.0,
    **options: Any,
) -> pd.DataFrame:
    """Return the score of a DAG node by node: parents, score, score without parents, gain.

    The parameters are those of :func:`score`.
    """
    scorer, adjacency = _scorer(data, dag, score, convention, equivalent_sample_size, options)
    return scorer.table(adjacency)


def _scorer(
    data: object,
    dag: object,
    score: str | float,
    convention: Convention,
    equivalent_sample_size: float,
    options: dict[str, Any],
) -> tuple[Score, Any]:
    """Return the score object and the adjacency of the DAG in column order."""
    table = as_table(data, **options)
    graph = as_graph(dag, table.names)
    require_dag(graph)
    examine_table(table, int(graph.adjacency.sum(axis=0).max(initial=0))).raise_for_errors()
    scorer = make_score(table, score, convention=convention, equivalent_sample_size=equivalent_sample_size)
    return scorer, graph.adjacency
