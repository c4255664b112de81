"""``rivals.query``, ``rivals.predict``: answers of all graphs that fit nearly as well, averaged, with the spread."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dagopt.arrays import Floats, Ints
from dagopt.errors import InputError
from dagopt.networks.fitted.fitting import fit_table
from dagopt.networks.questions import Expectation, Questions
from dagopt.results.rivals import Rivals

__all__ = ["averaged_predict", "averaged_query"]


def averaged_query(
    rivals: Rivals,
    target: str,
    evidence: Mapping[str, object] | None,
    do: Mapping[str, object] | None,
    most: int,
    equivalent_sample_size: float,
) -> pd.DataFrame:
    """Return the answers of the best graph and of all of them; see ``Rivals.query``."""
    networks, share, covered = _networks(rivals, do, most, equivalent_sample_size)
    answers = [_figures(network.query(target, evidence)) for network in networks]
    names = answers[0].index
    ways = _ways(np.array([answer.to_numpy() for answer in answers]), share, "std" in names)
    frame = pd.DataFrame(ways, index=names)
    frame.attrs = {"graphs": len(networks), "weight": covered}
    return frame


def averaged_predict(
    rivals: Rivals,
    data: object,
    column: str,
    most: int,
    equivalent_sample_size: float,
) -> pd.DataFrame:
    """Return the same for every row; see ``Rivals.predict``."""
    networks, share, covered = _networks(rivals, None, most, equivalent_sample_size)
    answers = [network.predict_proba(data, column) for network in networks]
    names = answers[0].columns
    ways = _ways(np.array([answer.to_numpy() for answer in answers]), share, "std" in names)
    parts = {name: pd.DataFrame(values, index=answers[0].index, columns=names) for name, values in ways.items()}
    frame = pd.concat(parts, axis=1).swaplevel(axis=1)
    frame = frame[[(name, way) for name in names for way in ways]]
    frame.attrs = {"graphs": len(networks), "weight": covered}
    return frame


def _networks(
    rivals: Rivals, do: Mapping[str, object] | None, most: int, equivalent_sample_size: float
) -> tuple[list[Questions], Floats, float]:
    """Return the fitted networks that are asked, the best first, their shares, and their weight among all listed."""
    if rivals.problem is None or not len(rivals.losses):
        raise InputError("no graphs are listed, so there is nothing to average over; lower within=")
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise InputError(f"expected most= to be a whole number >= 1 but got {most!r}; 200 is usual")
    table = rivals.problem.table
    ranks, weights = _asked(rivals, by_class=not do and table.kind != "mixed")
    networks: list[Questions] = []
    for rank in ranks[:most].tolist():
        network = fit_table(table, rivals.adjacency(rank), equivalent_sample_size)
        networks.append(network.do(do) if do else network)
    share = weights[:most] / weights[:most].sum()
    return networks, share, float(weights[:most].sum() / weights.sum())


def _ways(values: Floats, share: Floats, has_std: bool) -> dict[str, Floats]:
    """Return the answer of the first network, the average, the lowest and the highest; figures are on the last axis."""
    mean = np.tensordot(share, values, axes=1)
    if has_std:  # the spread of a mixture has that of its parts and that between them
        squares = np.tensordot(share, values[..., 1] ** 2 + values[..., 0] ** 2, axes=1)
        mean[..., 1] = np.sqrt(np.maximum(squares - mean[..., 0] ** 2, 0.0))
    return {"best": values[0], "average": mean, "lowest": values.min(axis=0), "highest": values.max(axis=0)}


def _asked(rivals: Rivals, by_class: bool) -> tuple[Ints, Floats]:
    """Return which graphs are asked, the best first, and their weights e^score.

    Equivalent DAGs give the same answers unless something is set, so one of each class is asked, with the weight of
    all its DAGs.
    """
    weights = np.exp(-rivals.losses)
    if not by_class:
        return np.arange(len(weights)), weights
    first, _, place = rivals.class_of
    total = np.zeros(len(first))
    np.add.at(total, place, weights)
    return first, total


def _figures(answer: pd.Series[float] | Expectation) -> pd.Series[float]:
    """Return an answer as numbers by name."""
    if isinstance(answer, Expectation):
        return pd.Series({"mean": answer.mean, "std": answer.std})
    return answer
