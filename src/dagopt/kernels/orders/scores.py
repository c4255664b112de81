"""Local scores by the kind of the score: each function goes to ``logdets.py``, ``counts.py`` or ``blocks.py``.

``score`` is the tuple of one of the three. Which one is seen from its types when a kernel is compiled, so that kernels
for Gaussian data hold no code for discrete data.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from dagopt.kernels.orders import blocks, counts, logdets

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


def _kind(score: Any) -> Any:
    """Return the module for a score, by its types: codes, or a matrix whose columns are single or grouped."""
    if score[0].dtype != types.float64:
        return counts
    return blocks if score[2].dtype == types.int64 else logdets


@overload(local_score)  # numba wants no annotations from here on
def _local_score(score, v, parents):  # type: ignore[no-untyped-def]
    chosen = _kind(score).local_score
    return lambda score, v, parents: chosen(score, v, parents)


@overload(removals)
def _removals(score, v, parents, values):  # type: ignore[no-untyped-def]
    chosen = _kind(score).removals
    return lambda score, v, parents, values: chosen(score, v, parents, values)


@overload(additions)
def _additions(score, v, parents, candidates, number, before, last, enough, keys):  # type: ignore[no-untyped-def]
    def by_logdet(score, v, parents, candidates, number, before, last, enough, keys):  # type: ignore[no-untyped-def]
        logdets.bring_to(score, v, candidates, parents, number, before, last)
        return logdets.additions(score, v, candidates, enough, keys)

    anew = _kind(score).additions

    def by_set(score, v, parents, candidates, number, before, last, enough, keys):  # type: ignore[no-untyped-def]
        return anew(score, v, parents, candidates, enough, keys)

    return by_logdet if _kind(score) is logdets else by_set


@overload(forget)
def _forget(score):  # type: ignore[no-untyped-def]
    if _kind(score) is logdets:
        return lambda score: logdets.forget(score)
    return lambda score: None
