"""`effect`: the total effect of one column on another, over all DAGs that the data cannot tell apart.

With adjustment for the parents of the cause an effect depends on these parents alone, so the effects in many DAGs are
those of the parent sets that the cause has in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.by_name import by_name
from dagopt.data.mixed import MixedTable
from dagopt.data.table import ContinuousTable, Table, as_table
from dagopt.errors import InputError, unknown_name
from dagopt.graph.cpdag import extend_pdag, meek_closure
from dagopt.graph.dag import as_graph
from dagopt.graph.order import is_sparse
from dagopt.networks.effects.adjustment import Possibility, parent_sets_by_neighbours, possibilities
from dagopt.networks.effects.estimates import Rows, estimate

__all__ = ["Effect", "checked_pair", "effect", "effect_in", "effect_of_parents"]

FIGURES = ("effect", "standard_error", "lower", "upper")
CONTRASTS = ("of", "level", "from", "to")  # columns that say which change of which level an effect is about
NO_EFFECT = "no effect"  # instead of an adjustment set, where the cause does not act on the outcome
MOST_ROWS_SHOWN = 12  # rows of the table in a summary

ASSUMED = (
    "every edge is causal: the graph, or its class, is the true one",
    "there is no hidden common cause of two columns, and no selection of rows by measured columns",
    "the intervals ignore that the graph was learned from the same rows",
)
ASSUMED_NEAR = (
    "every edge is causal: one of these DAGs is the true one",
    ASSUMED[1],
    "the hull of the intervals allows for the choice among these DAGs; DAGs that score less are left out",
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
    within : float or None
        If the DAGs are all those within some points of the best, these points; the table then has one row for each
        parent set, and ``loss``, how many points the best DAG with it loses. None for a DAG or a class. If a parameter
        has a price and an edge can cost several, ``price`` is "full" if the set is within by the score, and "half" if
        it is only within at half the price of parameters; ``loss`` is then the loss at that price.
    n_undecided : int
        How many of these parent sets were neither shown nor ruled out in time; the ranges hold with them.
    """

    cause: str
    outcome: str
    table: pd.DataFrame
    level: float
    assumptions: tuple[str, ...]
    within: float | None = None
    n_undecided: int = 0

    @property
    def identified(self) -> bool:
        """Whether all these DAGs have the same effect."""
        return len(self.table[["parents", "adjustment"]].drop_duplicates()) == 1

    @property
    def value(self) -> float | None:
        """The effect, if it is identified and a single number; otherwise None."""
        return float(self.table["effect"].iloc[0]) if self.identified and len(self.table) == 1 else None

    @property
    def ranges(self) -> pd.DataFrame:
        """One row for each change of the cause and each level of the outcome, over all these DAGs.

        ``lowest`` and ``highest`` effect, the hull of all intervals (``lower``, ``upper``), the ``sign`` that most
        rows of the table have, and the ``share`` of the rows that have it: 1 if all agree. Where an effect cannot be
        estimated the hull has no end.
        """
        keys = [name for name in CONTRASTS if name in self.table]
        groups = self.table.groupby(keys, sort=False, dropna=False) if keys else [((), self.table)]
        rows = []
        for key, own in groups:
            known = own["effect"].notna()
            signs = np.sign(own["effect"][known]).astype(int)
            often = signs.value_counts()
            rows.append(
                {
                    **dict(zip(keys, key, strict=True)),
                    "lowest": own["effect"].min(),
                    "highest": own["effect"].max(),
                    "lower": own["lower"].min() if known.all() else -np.inf,
                    "upper": own["upper"].max() if known.all() else np.inf,
                    "sign": {1: "+", -1: "-", 0: "0"}[int(often.index[0])] if len(often) else "",
                    "share": float(often.iloc[0] / len(own)) if len(often) else 0.0,
                }
            )
        return pd.DataFrame(rows)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The smallest and the largest possible effect, if it is a single number; see ``ranges`` for levels."""
        found = self.ranges
        return (float(found["lowest"][0]), float(found["highest"][0])) if len(found) == 1 else None

    def summary(self) -> str:
        """Return the effects, whether they agree, and what is assumed."""
        lines = self._over_class() if self.within is None else self._over_near()
        return "\n".join([*lines, *(f"assumed: {one}" for one in self.assumptions)])

    def _over_class(self) -> list[str]:
        """Return the table, and whether the effect is identified: for each level on its own."""
        title = f"total effect of {self.cause} on {self.outcome}, {self.level:.0%} intervals"
        lines = [title, self.table.round(6).to_string(index=False)]
        if self.identified:
            return [*lines, "identified: all DAGs of the class have this effect"]
        said = "not identified: DAGs that the data cannot tell apart have effects"
        for row in self.ranges.to_dict("records"):
            about = f" on {self.outcome} = {row['level']}" if "level" in row else ""
            about += f" of {row['of']}" if "of" in row else ""
            if "from" in row:
                about += f" of {self.cause} from {row['from']} to {row['to']}"
            lines.append(f"{said}{about} from {row['lowest']:.4g} to {row['highest']:.4g}")
        return lines

    def _over_near(self) -> list[str]:
        """Return the ranges over all DAGs near the best, and the parent sets that lose least."""
        sets = self.table["parents"].nunique()
        count = "1 parent set" if sets == 1 else f"all {sets} parent sets"
        over = f"every DAG within {self.within:g} points of the best"
        if "price" in self.table:
            half = self.table["parents"][self.table["price"] == "half"].nunique()
            over += ", by the score or at half the price of parameters"
            count += f" ({half} at half the price only)" if half else ""
        shown = self.table.head(MOST_ROWS_SHOWN)
        lines = [
            f"total effect of {self.cause} on {self.outcome} in {over}:",
            f"{count} of {self.cause}, proven complete; {self.level:.0%} intervals",
            self.ranges.round(6).to_string(index=False),
            "",
            shown.round(6).to_string(index=False),
        ]
        if self.n_undecided:
            lines.append(
                f"{self.n_undecided} of the sets were not ruled out in time: none is missing, but the range may be too "
                f"wide"
            )
        if len(self.table) > len(shown):
            lines.append(f"... and {len(self.table) - len(shown)} rows more in the table")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "cause": self.cause,
            "outcome": self.outcome,
            "identified": self.identified,
            "level": self.level,
            "within": self.within,
            "n_undecided": self.n_undecided,
            "ranges": _plain(self.ranges),
            "effects": _plain(self.table),
            "assumptions": list(self.assumptions),
        }

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return str(by_name("report.notebook", "effect_html")(self))


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON: None for numbers that are not finite."""
    return [
        {
            str(name): None if isinstance(value, float) and not np.isfinite(value) else value
            for name, value in row.items()
        }
        for row in frame.to_dict("records")
    ]


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
    if is_sparse(drawn):
        return _effect_by_parents(table, drawn, cause, outcome, level)
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
    x, y = checked_pair(table, cause, outcome, level)
    found: Rows = []
    for adjustment, parents in _distinct(possibilities(adjacency, x, y, limits)).items():
        rows = _none(table, x, y) if adjustment is None else estimate(table, x, y, adjustment, level)
        told = {
            "parents": " or ".join(_spelled(table, own) for own in parents),
            "adjustment": NO_EFFECT if adjustment is None else _spelled(table, adjustment),
        }
        found += [told | row for row in rows]
    return Effect(cause, outcome, pd.DataFrame(found), level, _assumed(table, ASSUMED))


def _effect_by_parents(table: Table | MixedTable, adjacency: Any, cause: str, outcome: str, level: float) -> Effect:
    """Return the total effect in a graph with very many columns, adjusted for the parents of the cause."""
    x, y = checked_pair(table, cause, outcome, level)
    if not isinstance(table, ContinuousTable):
        raise InputError(
            f"with {len(table.names):,} columns effects are those of numbers but the table is {table.kind}; choose "
            f"fewer columns with columns="
        )
    found: Rows = []
    for parents in parent_sets_by_neighbours(adjacency.tocsr(), x):
        rows = _none(table, x, y)
        if y not in parents:
            some = table.select([x, y, *parents])  # nothing is computed for other columns
            rows = estimate(some, 0, 1, range(2, 2 + len(parents)), level)
        found += [_of_parents(table, parents, y) | row for row in rows]
    return Effect(cause, outcome, pd.DataFrame(found), level, _assumed(table, ASSUMED))


def effect_of_parents(
    table: Table | MixedTable,
    cause: str,
    outcome: str,
    parent_sets: Sequence[tuple[int, ...]],
    losses: Sequence[float],
    within: float,
    level: float = 0.95,
    n_undecided: int = 0,
    prices: Sequence[str] | None = None,
) -> Effect:
    """Return the effects for given parent sets of the cause: all those of the DAGs within some points of the best.

    ``prices`` says for each set at which price of parameters it is, "full" or "half", if there are two.
    """
    x, y = checked_pair(table, cause, outcome, level)
    none, found = _none(table, x, y), Rows()
    near = zip(prices or [""] * len(losses), losses, parent_sets, strict=True)
    for price, loss, parents in sorted(near, key=lambda one: (one[0], one[1], len(one[2]), one[2])):
        rows = none if y in parents else _estimated(table, x, y, parents, level)
        told = _of_parents(table, parents, y) | {"loss": loss} | ({"price": price} if price else {})
        found += [told | row for row in rows]
    return Effect(cause, outcome, pd.DataFrame(found), level, _assumed(table, ASSUMED_NEAR), within, n_undecided)


def checked_pair(table: Table | MixedTable, cause: str, outcome: str, level: float) -> tuple[int, int]:
    """Return the positions of cause and outcome, or raise an error."""
    for name in (cause, outcome):
        if name not in table.names:
            raise unknown_name("column", name, table.names)
    if cause == outcome:
        raise InputError(f"expected two different columns but got {cause!r} twice; name two columns")
    if not 0 < level < 1:
        raise InputError(f"expected level= to be between 0 and 1 but got {level!r}; change the option")
    return table.names.index(cause), table.names.index(outcome)


def _assumed(table: Table | MixedTable, always: tuple[str, ...]) -> tuple[str, ...]:
    return always if table.kind == "discrete" else (*always, LINEAR)


def _spelled(table: Table | MixedTable, columns: Sequence[int]) -> str:
    return "{" + ", ".join(table.names[i] for i in columns) + "}"


def _of_parents(table: Table | MixedTable, parents: Sequence[int], outcome: int) -> dict[str, str]:
    """Return the first columns of the table if the effect is adjusted for the parents of the cause."""
    spelled = _spelled(table, parents)
    return {"parents": spelled, "adjustment": NO_EFFECT if outcome in parents else spelled}


def _estimated(table: Table | MixedTable, x: int, y: int, adjustment: tuple[int, ...], level: float) -> Rows:
    """Return the estimate; without figures where the adjustment leaves nothing of the cause."""
    try:
        return estimate(table, x, y, adjustment, level)
    except InputError:
        return [row | dict.fromkeys(FIGURES, np.nan) for row in _none(table, x, y)]


def _distinct(found: list[Possibility]) -> dict[tuple[int, ...] | None, list[tuple[int, ...]]]:
    """Return the parent sets of the cause by adjustment set: equal sets have equal effects."""
    grouped: dict[tuple[int, ...] | None, list[tuple[int, ...]]] = {}
    for one in sorted(found, key=lambda one: (len(one.parents), one.parents)):
        grouped.setdefault(one.adjustment, []).append(one.parents)
    return grouped


def _none(table: Table | MixedTable, cause: int, outcome: int) -> Rows:
    """Return the rows for a cause that is not an ancestor of the outcome: exactly zero, whatever the levels."""
    zero = dict.fromkeys(FIGURES, 0.0)
    if isinstance(table, ContinuousTable):
        return [zero]
    causes, outcomes = table.levels[cause], table.levels[outcome]
    if isinstance(table, MixedTable):
        about = [{"level": one} for one in outcomes] or [{}]
        pairs = [{"from": causes[0], "to": one} for one in causes[1:]] or [{}]
        return [{**own, **pair, **zero} for pair in pairs for own in about]
    counts = np.bincount(table.codes[outcome], weights=table.weights, minlength=len(outcomes)) / table.weights.sum()
    return [
        {"level": y, "from": causes[0], "to": x, "probability": share, **zero, "unsupported": 0.0}
        for x in causes[1:]
        for y, share in zip(outcomes, counts, strict=True)
    ]
