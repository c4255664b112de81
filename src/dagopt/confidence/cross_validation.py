"""How well graphs learned by a method predict held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.data_options import DataOptions
from dagopt.data.resampling import rows_of_table
from dagopt.data.table import Table, as_table
from dagopt.deadline import Deadline
from dagopt.errors import InputError, checked_whole
from dagopt.learning import learn
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
    """

    folds: pd.DataFrame
    label: str

    @property
    def score(self) -> float:
        """The held-out log-likelihood per row, over all rows; higher is better."""
        return float(self.folds["log_likelihood"].sum() / self.folds["rows"].sum())

    @property
    def standard_error(self) -> float:
        """The standard error of the score over the parts."""
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

    The rows are divided at random into parts. For each part, a graph is learned and its parameters are fitted from the
    other parts only, and the complete rows of the part are scored by their log-likelihood. A graph with needless
    edges predicts worse, whatever was maximised, so penalties can be compared.

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
    n_rows = table.n_rows
    if folds > n_rows // 2:
        raise InputError(f"expected at most {n_rows // 2} folds for {n_rows} rows but got {folds}; use fewer")
    options["score"], _ = chosen_score(table, options.get("score", AUTO))  # the same for all parts
    parts = np.array_split(np.random.default_rng(random_state).permutation(n_rows), folds)
    found, label = [], ""
    for k, part in enumerate(parts):
        rest = np.sort(np.concatenate([other for other in parts if other is not part]))
        left = None if time_limit is None else max(deadline.remaining() / (folds - k), 1e-3)
        result = learn(_part(table, rest), method, time_limit=left, **options)
        if result.dag is None:
            raise InputError(
                f"the graph that {method!r} learned without part {k + 1} has no DAG and cannot predict; use another "
                "method"
            )
        whole = part if table.is_complete else part[~table.missing[part].any(axis=1)]  # type: ignore[union-attr]
        logs = result.log_likelihood(_part(table, np.sort(whole)))
        found.append(
            {"rows": len(whole), "edges": result.graph.n_edges, "log_likelihood": logs, "per_row": logs / len(whole)}
        )
        label = result.score_label
    return CrossValidation(pd.DataFrame(found, index=pd.RangeIndex(1, folds + 1, name="fold")), label)


def _part(table: Table, rows: NDArray[np.int64] | Sequence[int]) -> Table:
    return rows_of_table(table, np.asarray(rows, dtype=np.int64))
