"""Local scores by the kind of the score: each function goes to ``logdets.py`` or ``counts.py``.

``score`` is the tuple of one of the two. Which one is seen from its types when a kernel is compiled, so that kernels
for Gaussian data hold no code for discrete data.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from dagopt.kernels.orders import counts, logdets

__all__ = ["additions", "forget", "local_score", "removals"]


def local_score(score: Any, v: Any, parents: Any) -> Any:
    """Return the score of v with these parents."""


def removals(score: Any, v: Any, parents: Any, values: Any) -> None:
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""


def additions(
    score: Any, v: Any, parents: Any, candidates: Any, number: Any, before: Any, last: Any, enough: Any, keys: Any
) -> Any:
    """Fill ``keys`` with numbers that sort the candidates as their scores with the parents; return that without any.

    A candidate that is a parent, or that does not raise the score by ``enough``, has -inf. ``number`` is the caller's
    for this set of parents; ``before`` is that of the set without the parent ``last``, or -1.
    """


def forget(score: Any) -> None:
    """Say that the caller's numbers now mean other sets."""


def _is_logdet(score: Any) -> bool:
    return bool(score[0].dtype == types.float64)  # a matrix, not codes


@overload(local_score)  # numba wants no annotations from here on
def _local_score(score, v, parents):  # type: ignore[no-untyped-def]
    chosen = logdets.local_score if _is_logdet(score) else counts.local_score
    return lambda score, v, parents: chosen(score, v, parents)


@overload(removals)
def _removals(score, v, parents, values):  # type: ignore[no-untyped-def]
    chosen = logdets.removals if _is_logdet(score) else counts.removals
    return lambda score, v, parents, values: chosen(score, v, parents, values)


@overload(additions)
def _additions(score, v, parents, candidates, number, before, last, enough, keys):  # type: ignore[no-untyped-def]
    def by_logdet(score, v, parents, candidates, number, before, last, enough, keys):  # type: ignore[no-untyped-def]
        logdets.bring_to(score, v, candidates, parents, number, before, last)
        return logdets.additions(score, v, candidates, enough, keys)

    def by_counts(score, v, parents, candidates, number, before, last, enough, keys):  # type: ignore[no-untyped-def]
        return counts.additions(score, v, parents, candidates, enough, keys)

    return by_logdet if _is_logdet(score) else by_counts


@overload(forget)
def _forget(score):  # type: ignore[no-untyped-def]
    if _is_logdet(score):
        return lambda score: logdets.forget(score)
    return lambda score: None
