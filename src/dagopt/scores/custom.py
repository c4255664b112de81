"""Scores supplied by the user: a plain function, a sub-class of ``Score``, or a function of the table."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.data.table import Table
from dagopt.errors import InputError
from dagopt.scores.base import Score
from dagopt.scores.digits import UNIT

__all__ = ["FunctionScore", "ScaledScore", "custom_score", "is_custom", "is_made_from_table", "power_to_usual_size"]

BOUND_ROUNDING = 1e-9  # share of a score by which a bound of the user may be below it
USUAL_SIZES = (1.0, 2.0**40)  # of local scores: the tolerances of the methods are made for these


class FunctionScore(Score):
    """The score of a plain function of a column and its parents.

    Parameters
    ----------
    table : Table
        The table whose columns are scored; the function gets its data elsewhere.
    function : callable
        ``function(node, parents)`` returns the local score, higher being better: ``node`` is the name of a column and
        ``parents`` a tuple of the names of its parents, in the order of the columns. It must return the same number
        for the same arguments, and may be called by several threads at once. Minus infinity rules a set out.
        It may have an attribute ``bound``, a function ``bound(node, parents, candidates)`` of names: a number that no
        score of the node with these parents and any of the candidates exceeds. A bound that is below the score of the
        parents themselves is an error; otherwise it is believed.
    """

    def __init__(self, table: Table, function: Callable[[str, tuple[str, ...]], float]) -> None:
        self.names = table.names
        self.n_samples = table.n_samples
        self.label = f"{getattr(function, '__name__', type(function).__name__)} (a score of your own)"
        self._function = function
        self._largest = np.zeros(len(self.names))
        self._empty = np.zeros(len(self.names))

    @property
    def rounding(self) -> float:
        """How far the sum of local scores, which count as exact, can be off, for DAGs no worse than the empty one.

        With P the sum of the largest local scores so far, as far as they are positive, and E the score of the empty
        DAG, the negative local scores of such a DAG add up to at most P - E.
        """
        size = 2 * self._largest.sum() + abs(self._empty.sum())
        return float((self.n_nodes + 4) * UNIT * size)

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the value of the function, or raise an error if it is not a number."""
        name, others = self.names[node], tuple(self.names[j] for j in sorted(parents))
        value = self._function(name, others)
        if not isinstance(value, int | float | np.number) or math.isnan(value) or value == math.inf:
            raise InputError(
                f"expected a number from the score function but score({name!r}, {others!r}) returned {value!r}; "
                f"return a float, where higher is better"
            )
        self._largest[node] = max(self._largest[node], value)
        if not others:
            self._empty[node] = value
        return float(value)

    @property
    def bounds_sets(self) -> bool:
        """Whether the function has a bound."""
        return getattr(self._function, "bound", None) is not None

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return the user's bound; infinite without one."""
        if not self.bounds_sets:
            return math.inf
        return self._checked_bound(node, parents, candidates, self.local(node, parents))

    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores of packed sets, and for each the user's bound on all its supersets."""
        scores, bounds = self.local_packed(nodes, flat, offsets), np.full(len(nodes), math.inf)
        if self.bounds_sets:
            for k, i in enumerate(nodes.tolist()):
                own = flat[offsets[k] : offsets[k + 1]]
                others = np.delete(np.arange(self.n_nodes), np.append(own, i))
                bounds[k] = self._checked_bound(i, own, others, float(scores[k]))
        return scores, bounds

    def _checked_bound(self, node: int, parents: Ints, candidates: Ints, score: float) -> float:
        """Return the user's bound, or raise an error if it is below the score of the parents themselves."""
        find: Callable[..., object] = getattr(self._function, "bound")  # noqa: B009  any callable may have it
        name = self.names[node]
        own, more = (tuple(self.names[j] for j in sorted(some)) for some in (parents, candidates))
        value = find(name, own, more)
        if not isinstance(value, int | float | np.number) or math.isnan(value):
            raise InputError(f"expected a number from bound({name!r}, ...) of the score but got {value!r}; check it")
        if value < score - BOUND_ROUNDING * max(abs(score), 1.0):
            raise InputError(
                f"expected bound({name!r}, {own!r}, {more!r}) to exceed all scores between, but it is {value!r} "
                f"and score({name!r}, {own!r}) is {score!r}; correct the bound"
            )
        return float(value)


class ScaledScore(Score):
    """A score times a power of two, which is exact: the same DAGs are best, and tolerances fit the numbers.

    Parameters
    ----------
    score : Score
        The score.
    power : int
        Of two.
    """

    def __init__(self, score: Score, power: int) -> None:
        self.names, self.n_samples, self.label = score.names, score.n_samples, score.label
        self.seconds_per_local, self.is_score_equivalent = score.seconds_per_local, score.is_score_equivalent
        self.way_to_bound = score.way_to_bound
        self._score, self._power = score, power

    @property
    def has_classes(self) -> bool:
        """Whether DAGs of one class score the same."""
        return self._score.has_classes

    @property
    def directed_pairs(self) -> Bools | None:
        """Pairs of columns whose edge gets its direction from interventions."""
        return self._score.directed_pairs

    @property
    def rounding(self) -> float:
        """That of the score, times the power of two."""
        return math.ldexp(self._score.rounding, self._power)

    def unbounded(self, node: int, parents: Ints) -> bool:
        """Say whether parents determine a column."""
        return self._score.unbounded(node, parents)

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score times the power of two."""
        return math.ldexp(self._score.local(node, parents), self._power)

    @property
    def bounds_sets(self) -> bool:
        """Whether the score has bounds."""
        return self._score.bounds_sets

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return the bound of the score times the power of two."""
        return math.ldexp(self._score.bound(node, parents, candidates), self._power)


def power_to_usual_size(values: Iterable[float]) -> int:
    """Return the power of two by which to multiply scores like these, so that the largest is of a usual size."""
    size = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return 0 if size == 0 or USUAL_SIZES[0] <= size <= USUAL_SIZES[1] else 11 - math.frexp(size)[1]


def is_custom(score: object) -> bool:
    """Say whether a score is supplied by the user, not a name or a penalty."""
    return isinstance(score, Score) or callable(score)


def is_made_from_table(score: object) -> bool:
    """Say whether a score can be rebuilt for other rows: not an instance or a function of node and parents."""
    return not is_custom(score) or (not isinstance(score, Score) and _takes_table(score))


def custom_score(table: Table, score: Any) -> Score:
    """Return the user's score for a table.

    Parameters
    ----------
    table : Table
        The data.
    score : Score, type or callable
        A ``Score`` of these columns; or a callable that takes the table alone and returns one, such as a sub-class of
        ``Score``; or a function ``f(node, parents)`` of names, see ``FunctionScore``.
    """
    made = score
    if not isinstance(score, Score):
        made = score(table) if _takes_table(score) else FunctionScore(table, score)
    if not isinstance(made, Score):
        raise InputError(f"expected score= to return a Score when called with the table but got {made!r}; check it")
    for part in ("names", "n_samples", "label"):
        if not hasattr(made, part):
            raise InputError(f"expected the score to have the attribute {part!r}; set it in __init__")
    if tuple(made.names) != tuple(table.names):
        raise InputError(
            f"expected a score of the columns {_few(table.names)} but got one of {_few(made.names)}; make it from "
            f"this table, or give the class as score="
        )
    for node, name in enumerate(table.names):
        value = made.local(node, ())
        if not math.isfinite(value):
            raise InputError(f"expected a finite score of {name!r} without parents but got {value}; check the score")
    return made


def _takes_table(score: Any) -> bool:
    """Say whether a callable takes the table: it needs one argument, while a local score needs two."""
    if isinstance(score, type):
        return True
    try:
        parameters = inspect.signature(score).parameters.values()
    except (TypeError, ValueError):  # a function without a signature
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters if one.kind in positional and one.default is one.empty]
    several = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)
    if len(needed) > 2 or (len(needed) < 1 and not several):
        raise InputError(
            f"expected score= to be a function f(node, parents), or one of the table alone, but {score!r} needs "
            f"{len(needed)} arguments; change its signature"
        )
    return len(needed) == 1 and not several


def _few(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(map(repr, shown[:4])) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
