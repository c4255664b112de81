"""How well graphs learned by a method predict held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dagopt.arrays import Ints
from dagopt.data.data_options import DataOptions
from dagopt.data.resampling import is_grouped, n_units, units_of_table
from dagopt.data.table import DiscreteTable, Table, as_table
from dagopt.deadline import Deadline
from dagopt.errors import InputError, checked_whole
from dagopt.learning.learning import learn
from dagopt.methods.registry import MethodName
from dagopt.scores.build import AUTO, chosen_score

__all__ = ["CrossValidation", "cross_validate"]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The fit of each part of the rows to the graph learned from the others.

    Attributes
    ----------
    folds : DataFrame
        One row per part: ``rows`` held out, ``edges`` learned without them, ``log_likelihood`` of the held-out rows
        under the network fitted to the others, and the same ``per_row``.
    label : str
        What was maximised.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> found = dagopt.cross_validate(data, "hc", folds=3)
    >>> print(found)
    held-out log-likelihood per row -5.5772 ± 0.0256 over 3 parts, 3.0 edges on average ...
    """

    folds: pd.DataFrame
    label: str

    @property
    def score(self) -> float:
        """The held-out log-likelihood per row, over all rows; higher is better.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> found = dagopt.cross_validate(data, "hc", folds=3)
        >>> round(found.score, 2)
        -5.58
        """
        return float(self.folds["log_likelihood"].sum() / self.folds["rows"].sum())

    @property
    def standard_error(self) -> float:
        """The standard error of the score over the parts.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> found = dagopt.cross_validate(data, "hc", folds=3)
        >>> found.standard_error < 0.2
        True
        """
        return float(self.folds["per_row"].std(ddof=1) / np.sqrt(len(self.folds)))

    def __str__(self) -> str:
        return (
            f"held-out log-likelihood per row {self.score:.4f} ± {self.standard_error:.4f} over {len(self.folds)} "
            f"parts, {self.folds['edges'].mean():.1f} edges on average ({self.label})"
        )


def cross_validate(
    data: object,
    method: MethodName = "auto",
    *,
    folds: int = 10,
    random_state: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> CrossValidation:
    """Evaluate a method and a score on held-out rows: k-fold cross-validation.

    The rows are divided at random into parts; with ``groups=``, the groups are. If rows are moments (``lags=``), each
    part is learned from earlier rows alone, and scored by the present given the past. For each part, a graph is learned
    and its parameters are fitted from the other parts only, and the complete rows of the part are scored by their
    log-likelihood. A graph with needless edges predicts worse, whatever was maximised, so penalties can be compared.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``.
    method : str
        As in ``learn``.
    folds : int
        The number of parts.
    random_state : int
        Seed of the division.
    time_limit : float, optional
        Seconds for everything.
    **options
        Passed to ``learn``.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.datasets.load("asia", n_samples=500, random_state=1)
    >>> dagopt.cross_validate(data, folds=5).score < 0
    True
    """
    deadline = Deadline(time_limit)
    reading = {name: options.pop(name) for name in DataOptions.defaults() if name in options}
    table = as_table(data, **reading)
    checked_whole("folds", folds, 2)
    units, what = n_units(table), "groups" if is_grouped(table) else "rows"
    if folds > units // 2:
        raise InputError(f"expected at most {units // 2} folds for {units} {what} but got {folds}; use fewer")
    options["score"], _ = chosen_score(table, options.get("score", AUTO))  # the same for all parts
    parts = _parts(table, units, folds, random_state)
    found, label = [], ""
    for k, (part, rest) in enumerate(parts):
        left = None if time_limit is None else max(deadline.remaining() / (folds - k), 1e-3)
        result = learn(units_of_table(table, rest), method, time_limit=left, **options)
        if result.dag is None:
            raise InputError(
                f"the graph that {method!r} learned without part {k + 1} has no DAG and cannot predict; use another "
                "method"
            )
        held_out = units_of_table(table, np.sort(part))
        if not isinstance(held_out, DiscreteTable) and not held_out.is_complete:
            held_out = held_out.take(np.flatnonzero(~held_out.missing.any(axis=1)))
        logs, rows = result.log_likelihood(held_out), held_out.n_samples
        found.append({"rows": rows, "edges": result.graph.n_edges, "log_likelihood": logs, "per_row": logs / rows})
        label = result.score_label
    return CrossValidation(pd.DataFrame(found, index=pd.RangeIndex(1, folds + 1, name="fold")), label)


def _parts(table: Table, units: int, folds: int, random_state: int) -> list[tuple[Ints, Ints]]:
    """Return the units held out and those to learn from, part by part.

    If rows are moments, those to learn from are the earlier ones of every unit in time: nothing is known of the future.
    """
    lags = table.lags
    if lags is None or lags.unit is None:
        parts = np.array_split(np.random.default_rng(random_state).permutation(units), folds)
        return [(part, np.sort(np.concatenate([other for other in parts if other is not part]))) for part in parts]
    sizes = np.diff(np.append(np.flatnonzero(np.diff(lags.unit, prepend=-1)), table.n_rows))
    age = np.concatenate([np.arange(size) / size for size in sizes])  # from 0, the first moment of a unit, to 1
    stage = np.minimum((age * (folds + 1)).astype(np.int64), folds)
    return [(np.flatnonzero(stage == k), np.flatnonzero(stage < k)) for k in range(1, folds + 1)]
