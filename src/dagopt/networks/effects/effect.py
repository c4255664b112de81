"""`effect`: the total effect of one column on another, over all DAGs that the data cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.mixed import MixedTable
from dagopt.data.table import ContinuousTable, Table, as_table
from dagopt.errors import InputError, unknown_name
from dagopt.graph.cpdag import extend_pdag, meek_closure
from dagopt.graph.dag import as_graph
from dagopt.networks.effects.adjustment import Possibility, possibilities
from dagopt.networks.effects.estimates import estimate

__all__ = ["Effect", "effect", "effect_in"]

FIGURES = ("effect", "standard_error", "lower", "upper")

ASSUMED = (
    "every edge is causal: the graph, or its class, is the true one",
    "there is no hidden common cause of two columns, and no selection of rows by measured columns",
    "the intervals ignore that the graph was learned from the same rows",
)
LINEAR = "effects are linear and do not depend on other columns (no interactions)"


@dataclass(frozen=True, eq=False)
class Effect:
    """The total effect of a cause on an outcome.

    Attributes
    ----------
    cause, outcome : str
        The columns.
    table : DataFrame
        One row for each effect that DAGs of the class can have: the ``parents`` of the cause, the ``adjustment`` set,
        ``effect``, ``standard_error``, ``lower``, ``upper``. If the cause is discrete, also the levels ``from`` and
        ``to``; if the outcome is, also its ``level``, the ``probability`` of that level when the cause is set, and
        ``unsupported``, the share of rows whose adjustment levels never occur with one of the two levels of the cause.
    level : float
        The level of the intervals.
    assumptions : tuple of str
        What the effects assume.
    """

    cause: str
    outcome: str
    table: pd.DataFrame
    level: float
    assumptions: tuple[str, ...]

    @property
    def identified(self) -> bool:
        """Whether all DAGs of the class have the same effect."""
        return len(self.table[["parents", "adjustment"]].drop_duplicates()) == 1

    @property
    def value(self) -> float | None:
        """The effect, if it is identified and a single number; otherwise None."""
        return float(self.table["effect"].iloc[0]) if self.identified and len(self.table) == 1 else None

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible effect."""
        return float(self.table["effect"].min()), float(self.table["effect"].max())

    def summary(self) -> str:
        """Return the table, whether the effect is identified, and what is assumed."""
        low, high = self.bounds
        lines = [
            f"total effect of {self.cause} on {self.outcome}, {self.level:.0%} intervals",
            self.table.round(6).to_string(index=False),
            "identified: all DAGs of the class have this effect"
            if self.identified
            else f"not identified: DAGs that the data cannot tell apart have effects from {low:.4g} to {high:.4g}",
            *(f"assumed: {one}" for one in self.assumptions),
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "cause": self.cause,
            "outcome": self.outcome,
            "identified": self.identified,
            "level": self.level,
            "effects": self.table.to_dict("records"),
            "assumptions": list(self.assumptions),
        }

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        words = self.summary().splitlines()[-len(self.assumptions) - 1 :]
        said = "".join(f"<li>{escape(one)}</li>" for one in words)
        return f"{self.table.to_html(index=False)}<ul>{said}</ul>"


def effect(data: object, graph: object, cause: str, outcome: str, *, level: float = 0.95, **options: Any) -> Effect:
    """Estimate the total effect of one column on another in a given graph.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``.
    graph : networkx graph, edge list, adjacency array or path
        A DAG, or the graph of a class, in which undirected edges are given in both directions.
    cause, outcome : str
        The columns.
    level : float
        The level of the intervals.
    **options
        Passed to ``as_table``.

    Returns
    -------
    Effect

    Examples
    --------
    >>> import dagopt
    >>> data, dag = dagopt.datasets.load("gaussian_test", n_samples=2000, random_state=0)
    >>> found = dagopt.effect(data, dag, "A", "F")
    >>> found.identified
    True
    """
    table = as_table(data, **options)
    drawn = as_graph(graph, table.names).adjacency
    if extend_pdag(drawn) is None:
        raise InputError("no DAG extends this graph, so it has no effects; give a DAG")
    return effect_in(table, meek_closure(drawn), cause, outcome, level)


def effect_in(
    table: Table | MixedTable,
    adjacency: NDArray[np.int8],
    cause: str,
    outcome: str,
    level: float = 0.95,
    limits: NDArray[np.int64] | None = None,
) -> Effect:
    """Return the total effect in a DAG, or in all DAGs of a class within limits on parents, over a table's columns."""
    for name in (cause, outcome):
        if name not in table.names:
            raise unknown_name("column", name, table.names)
    if cause == outcome:
        raise InputError(f"expected two different columns but got {cause!r} twice; name two columns")
    if not 0 < level < 1:
        raise InputError(f"expected level= to be between 0 and 1 but got {level!r}; change the option")
    x, y = table.names.index(cause), table.names.index(outcome)
    frames = []
    for adjustment, parents in _distinct(possibilities(adjacency, x, y, limits)).items():
        rows = _none(table, x, y) if adjustment is None else estimate(table, x, y, adjustment, level)
        spelled = " or ".join("{" + ", ".join(table.names[i] for i in own) + "}" for own in parents)
        chosen = "no effect" if adjustment is None else "{" + ", ".join(table.names[i] for i in adjustment) + "}"
        rows.insert(0, "adjustment", chosen)
        rows.insert(0, "parents", spelled)
        frames.append(rows)
    assumed = ASSUMED if table.kind == "discrete" else (*ASSUMED, LINEAR)
    return Effect(cause, outcome, pd.concat(frames, ignore_index=True), level, assumed)


def _distinct(found: list[Possibility]) -> dict[tuple[int, ...] | None, list[tuple[int, ...]]]:
    """Return the parent sets of the cause by adjustment set: equal sets have equal effects."""
    grouped: dict[tuple[int, ...] | None, list[tuple[int, ...]]] = {}
    for one in sorted(found, key=lambda one: (len(one.parents), one.parents)):
        grouped.setdefault(one.adjustment, []).append(one.parents)
    return grouped


def _none(table: Table | MixedTable, cause: int, outcome: int) -> pd.DataFrame:
    """Return the rows for a cause that is not an ancestor of the outcome: exactly zero, whatever the levels."""
    zero = dict.fromkeys(FIGURES, 0.0)
    if isinstance(table, ContinuousTable):
        return pd.DataFrame([zero])
    causes, outcomes = table.levels[cause], table.levels[outcome]
    if isinstance(table, MixedTable):
        pairs = [{"from": causes[0], "to": one} for one in causes[1:]] or [{}]
        return pd.DataFrame([{**zero, **pair} for pair in pairs])
    counts = np.bincount(table.codes[outcome], weights=table.weights, minlength=len(outcomes)) / table.n_samples
    return pd.DataFrame(
        [
            {"level": y, "from": causes[0], "to": x, "probability": share, **zero, "unsupported": 0.0}
            for x in causes[1:]
            for y, share in zip(outcomes, counts, strict=True)
        ]
    )
