"""How certain each edge is: regrets, resamples and probabilities as numbers on the edges of a result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.errors import InputError, quoted
from dagopt.results.explanation import arrow
from dagopt.results.result import Result
from dagopt.results.rivals import Rivals

if TYPE_CHECKING:
    from dagopt.confidence.agreement import Bootstrap
    from dagopt.confidence.posterior import EdgePosterior

__all__ = ["LOST", "with_evidence"]

Figures = dict[str, dict[str, float]]

LOST = {"neither": "lost if not joined", "reversed": "lost if reversed"}


def with_evidence(
    result: Result,
    *,
    regrets: pd.DataFrame | None = None,
    bootstrap: Bootstrap | None = None,
    posterior: EdgePosterior | None = None,
    rivals: Rivals | None = None,
) -> Result:
    """Return a result that also says how certain its edges are.

    Parameters
    ----------
    result : Result
        What was learned.
    regrets : DataFrame, optional
        What ``result.regrets()`` returned: ``lost if not joined`` and ``lost if reversed``.
    bootstrap : Bootstrap, optional
        For the same columns: the share of resamples in which the edge's columns are ``joined``, and joined
        ``this way``; undirected edges count half each way.
    posterior : EdgePosterior, optional
        For the same columns: the probability that they are joined, and joined this way.
    rivals : Rivals, optional
        What ``result.rivals()`` returned: the share of the graphs that fit nearly as well in which they are joined, and
        joined this way.

    Returns
    -------
    Result
        With the numbers added to ``details["edge_figures"]``, and a note on each source.
    """
    figures: Figures = {name: dict(own) for name, own in (result.figures.edge_figures or {}).items()}
    notes = list(result.notes)
    if regrets is not None:
        figures |= _of_regrets(regrets)
        notes.append(_said_of(regrets))
    if bootstrap is not None:
        _require_same_columns("bootstrap", bootstrap.names, result.names)
        if bootstrap.n_done:
            figures |= _of_pairs(result, bootstrap.frequency, "joined in resamples", "this way in resamples")
        notes.append(bootstrap.summary().splitlines()[0])
    if posterior is not None:
        _require_same_columns("posterior", posterior.names, result.names)
        figures |= _of_pairs(result, posterior.probabilities, "probability", "probability this way")
        notes.append(f"probabilities by {posterior.score_label}, {posterior.prior} prior, over all orders and DAGs")
    if rivals is not None:
        _require_same_columns("rivals", rivals.names, result.names)
        figures |= _of_pairs(result, rivals.shares, "joined in rivals", "this way in rivals")
        notes.append(f"what else fits: {rivals.told}")
    return replace(result, figures=replace(result.figures, edge_figures=figures), notes=tuple(notes))


def _of_regrets(regrets: pd.DataFrame) -> Figures:
    wanted = ["from", "to", *LOST, "proven"]
    lacking = [name for name in wanted if name not in regrets.columns]
    if lacking:
        raise InputError(
            f"expected regrets= to come from result.regrets() but it has no column {quoted(lacking)}; give that frame"
        )
    edges = [arrow(tail, head) for tail, head in zip(regrets["from"], regrets["to"], strict=True)]
    return {
        text: {edge: float(value) for edge, value in zip(edges, regrets[name], strict=True) if np.isfinite(value)}
        for name, text in LOST.items()
    }


def _said_of(regrets: pd.DataFrame) -> str:
    if regrets["proven"].all():
        return "the losses without an edge are exact: the best other DAGs are proven"
    return "the losses without an edge were found by search: the true losses are at most these"


def _of_pairs(result: Result, share: NDArray[np.float64], joined: str, this_way: str) -> Figures:
    """Return the numbers of every edge from a matrix with a share for each direction."""
    edges = {arrow(result.names[i], result.names[j]): (i, j) for i, j in np.argwhere(result.adjacency)}
    known = {edge: (i, j) for edge, (i, j) in edges.items() if np.isfinite(share[i, j])}
    return {
        joined: {edge: float(share[i, j] + share[j, i]) for edge, (i, j) in known.items()},
        this_way: {edge: float(share[i, j]) for edge, (i, j) in known.items()},
    }


def _require_same_columns(name: str, given: tuple[str, ...], own: tuple[str, ...]) -> None:
    if tuple(given) != tuple(own):
        raise InputError(
            f"expected {name}= to have the columns {quoted(own, 5)} but got {quoted(given, 5)}; use the same data"
        )
