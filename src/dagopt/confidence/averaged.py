"""``rivals.query``: a question answered by every graph that fits nearly as well, averaged, with the spread."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dagopt.arrays import Floats, Ints
from dagopt.errors import InputError
from dagopt.networks.fitted.fitting import fit_table
from dagopt.networks.questions import Expectation, Questions
from dagopt.results.rivals import Rivals

__all__ = ["averaged_query"]


def averaged_query(
    rivals: Rivals,
    target: str,
    evidence: Mapping[str, object] | None,
    do: Mapping[str, object] | None,
    most: int,
    equivalent_sample_size: float,
) -> pd.DataFrame:
    """Return the answers of the best graph and of all of them; see ``Rivals.query``."""
    if rivals.problem is None or not len(rivals.losses):
        raise InputError("no graphs are listed, so there is nothing to average over; lower within=")
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise InputError(f"expected most= to be a whole number >= 1 but got {most!r}; 200 is usual")
    table = rivals.problem.table
    ranks, weights = _asked(rivals, by_class=not do and table.kind != "mixed")
    covered = float(weights[:most].sum() / weights.sum())
    answers = []
    for rank in ranks[:most].tolist():
        network: Questions = fit_table(table, rivals.adjacency(rank), equivalent_sample_size)
        answers.append(_figures((network.do(do) if do else network).query(target, evidence)))
    values = np.array([answer.to_numpy() for answer in answers])
    share = weights[: len(values)] / weights[: len(values)].sum()
    mean = share @ values
    names = answers[0].index
    if "std" in names:  # the spread of a mixture has that of its parts and that between them
        mean[1] = np.sqrt(share @ (values[:, 1] ** 2 + values[:, 0] ** 2) - mean[0] ** 2)
    frame = pd.DataFrame(
        {"best": values[0], "average": mean, "lowest": values.min(axis=0), "highest": values.max(axis=0)}, index=names
    )
    frame.attrs = {"graphs": len(values), "weight": covered}
    return frame


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
