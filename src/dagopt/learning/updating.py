"""``update``: learn again after rows have arrived, from the last graph, and say what changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dagopt.errors import InputError, quoted
from dagopt.learning.learning import learn
from dagopt.methods.registry import METHODS, MethodName, method_name
from dagopt.results.changes import differences
from dagopt.results.result import Result

__all__ = ["update"]


def update(result: Result, data: object, method: MethodName = "auto", **options: Any) -> Result:
    """Learn again after rows have arrived, from where the last search ended, and say what changed.

    Parameters
    ----------
    result : Result
        The last answer, over the same columns.
    data : Statistics, path, frame, ...
        All rows, such as the statistics of the old rows plus those of the new ones (``summarise``).
    method, **options
        As in ``learn``; give those of the last answer, which are not repeated by themselves.

    Returns
    -------
    Result
        Its notes say which edges are new, gone or directed differently.

    Examples
    --------
    >>> import dagopt
    >>> frame = dagopt.simulate(5, 2000, 1.0, 0).data
    >>> statistics = dagopt.summarise(frame[:1000])
    >>> first = dagopt.learn(statistics)
    >>> second = dagopt.update(first, statistics + frame[1000:])
    >>> second.n_samples
    2000
    """
    name = method_name(method)
    if "start" in METHODS[name].options():
        options = {"start": result.dag, **options}
    learned = learn(data, method, **options)
    if set(learned.names) != set(result.names):
        strange = sorted(set(learned.names) ^ set(result.names))
        raise InputError(f"expected the columns of the last answer but {quoted(strange)} differ; use learn instead")
    return replace(learned, notes=(*learned.notes, _changes(result, learned)))


def _changes(before: Result, after: Result) -> str:
    """Return what changed since the last graph, in words."""
    said = differences(before, after)
    rows = f"since the last graph, of {before.n_samples} rows"
    return f"{rows}, edges are {said}" if said else f"{rows}, no edge has changed"
