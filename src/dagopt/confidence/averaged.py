"""Answers of many graphs, averaged, with the spread: all that fit nearly as well, or those of a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dagopt.arrays import Floats, Ints
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag
from dagopt.networks.fitted.fitting import fit_table
from dagopt.networks.questions import Expectation, Questions
from dagopt.results.graph_sample import GraphSample
from dagopt.results.rivals import Rivals

__all__ = ["averaged_predict", "averaged_query", "sampled_predict", "sampled_query"]


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
    return _asked_all(networks, target, evidence, lambda own: _ways(own, share), {"weight": covered})


def averaged_predict(
    rivals: Rivals,
    data: object,
    column: str,
    most: int,
    equivalent_sample_size: float,
) -> pd.DataFrame:
    """Return the same for every row; see ``Rivals.predict``."""
    networks, share, covered = _networks(rivals, None, most, equivalent_sample_size)
    return _predicted_by_all(networks, data, column, lambda own: _ways(own, share), {"weight": covered})


def sampled_query(
    sample: GraphSample,
    target: str,
    evidence: Mapping[str, object] | None,
    do: Mapping[str, object] | None,
    level: float,
    equivalent_sample_size: float,
) -> pd.DataFrame:
    """Return the answers of the learned graph and of a sample; see ``GraphSample.query``."""
    networks, share = _sampled_networks(sample, do, level, equivalent_sample_size)
    return _asked_all(networks, target, evidence, lambda own: _sampled_ways(own, share, level), {})


def sampled_predict(
    sample: GraphSample, data: object, column: str, level: float, equivalent_sample_size: float
) -> pd.DataFrame:
    """Return the same for every row; see ``GraphSample.predict``."""
    networks, share = _sampled_networks(sample, None, level, equivalent_sample_size)
    return _predicted_by_all(networks, data, column, lambda own: _sampled_ways(own, share, level), {})


def _asked_all(
    networks: list[Questions],
    target: str,
    evidence: Mapping[str, object] | None,
    ways: Callable[[_Answers], dict[str, Floats]],
    attrs: dict[Any, Any],
) -> pd.DataFrame:
    """Return what all networks answer to a question, in some ways."""
    answers = [_figures(network.query(target, evidence)) for network in networks]
    names = answers[0].index
    found = ways(_Answers(np.array([answer.to_numpy() for answer in answers]), "std" in names))
    frame = pd.DataFrame(found, index=names)
    frame.attrs = {"graphs": len(networks)} | attrs
    return frame


def _predicted_by_all(
    networks: list[Questions],
    data: object,
    column: str,
    ways: Callable[[_Answers], dict[str, Floats]],
    attrs: dict[Any, Any],
) -> pd.DataFrame:
    """Return what all networks predict for every row, in some ways."""
    answers = [network.predict_proba(data, column) for network in networks]
    names = answers[0].columns
    found = ways(_Answers(np.array([answer.to_numpy() for answer in answers]), "std" in names))
    parts = {name: pd.DataFrame(values, index=answers[0].index, columns=names) for name, values in found.items()}
    frame = pd.concat(parts, axis=1).swaplevel(axis=1)
    frame = frame[[(name, way) for name in names for way in found]]
    frame.attrs = {"graphs": len(networks)} | attrs
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


def _sampled_networks(
    sample: GraphSample, do: Mapping[str, object] | None, level: float, equivalent_sample_size: float
) -> tuple[list[Questions], Floats]:
    """Return the fitted network of the learned graph and of each different one of a sample, and their shares.

    Equivalent DAGs give the same answers unless something is set, so one of each class is asked.
    """
    if not 0 < level < 1:
        raise InputError(f"expected level= to be between 0 and 1 but got {level!r}; change the option")
    table = sample.problem.table
    by_class = not do and table.kind != "mixed"
    counts: dict[bytes, list[int]] = {}
    for k, dag in enumerate(sample.dags):
        counts.setdefault((cpdag(dag) if by_class else dag).tobytes(), []).append(k)
    asked = [sample.learned, *(sample.dags[own[0]] for own in counts.values())]
    networks: list[Questions] = []
    for dag in asked:
        network = fit_table(table, dag, equivalent_sample_size)
        networks.append(network.do(do) if do else network)
    return networks, np.array([0, *map(len, counts.values())]) / len(sample)


@dataclass(frozen=True, eq=False)
class _Answers:
    """Figures of several networks on the first axis; on the last axis levels, or a mean and a standard deviation."""

    values: Floats
    has_std: bool

    def average(self, share: Floats) -> Floats:
        """Return the average; the spread of a mixture has that of its parts and that between them."""
        mean = np.tensordot(share, self.values, axes=1)
        if self.has_std:
            squares = np.tensordot(share, self.values[..., 1] ** 2 + self.values[..., 0] ** 2, axes=1)
            mean[..., 1] = np.sqrt(np.maximum(squares - mean[..., 0] ** 2, 0.0))
        return np.asarray(mean)


def _ways(answers: _Answers, share: Floats) -> dict[str, Floats]:
    """Return the answer of the first network, the average, the lowest and the highest."""
    values = answers.values
    return {
        "best": values[0],
        "average": answers.average(share),
        "lowest": values.min(axis=0),
        "highest": values.max(axis=0),
    }


def _sampled_ways(answers: _Answers, share: Floats, level: float) -> dict[str, Floats]:
    """Return the answer of the first network, which is not in the sample, and average, spread and interval."""
    values = answers.values
    mean = np.tensordot(share, values, axes=1)
    spread = np.sqrt(np.tensordot(share, (values - mean) ** 2, axes=1))
    order = np.argsort(values[1:], axis=0, kind="stable")
    ranked = np.take_along_axis(values[1:], order, axis=0)
    reached = np.cumsum(share[1:][order], axis=0)
    # the smallest answer with at least this share of the graphs up to it
    lower, upper = (
        np.take_along_axis(
            ranked, (reached < goal - 1e-9).sum(axis=0, keepdims=True).clip(max=len(ranked) - 1), axis=0
        )[0]
        for goal in ((1 - level) / 2, (1 + level) / 2)
    )
    return {
        "learned": values[0],
        "average": answers.average(share),
        "spread": spread,
        "lower": lower,
        "upper": upper,
    }


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
