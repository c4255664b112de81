"""Local scores by the kind of the score: each function goes to ``logdets.py``, ``counts.py`` or ``blocks.py``.

``score`` is ``LogDets``, ``CountScore`` or ``BlockForm``. Which one is decided when a kernel is compiled, so that the
kernels for Gaussian data hold no code for discrete data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from dagopt.kernels.gaussian.blocks import BlockForm
from dagopt.kernels.orders import blocks, counts, logdets

__all__ = ["Grown", "additions", "forget", "local_score", "removals"]


class Grown(NamedTuple):
    """A parent set that is to be grown.

    Attributes
    ----------
    parents : int array
        Its members, in the order in which they were added.
    number : int64
        The caller's number of this set.
    before, last : int64
        The number of the set without its last member, and that member; -1 where there is none.
    """

    parents: NDArray[np.int64]
    number: np.int64
    before: np.int64
    last: np.int64


def local_score(score: Any, v: Any, parents: Any) -> Any:
    """Return the score of v with these parents."""


def removals(score: Any, v: Any, parents: Any, values: Any) -> None:
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""


def additions(score: Any, v: Any, grown: Any, candidates: Any, enough: Any, keys: Any) -> Any:
    """Return the score of v with the parents of ``grown``; fill ``keys`` with numbers that sort the candidates.

    They sort like the scores with one candidate more. A candidate that is a parent, or that does not raise the score by
    ``enough``, has -inf.
    """


def forget(score: Any) -> None:
    """Say that the caller's numbers now mean other sets."""


MODULES = {logdets.LogDets: logdets, counts.CountScore: counts, BlockForm: blocks}


def _kind(score: Any) -> Any:
    """Return the module for a score, by its NamedTuple."""
    return MODULES[score.instance_class]


@overload(local_score)  # numba wants no annotations from here on
def _local_score(score, v, parents):  # type: ignore[no-untyped-def]
    chosen = _kind(score).local_score
    return lambda score, v, parents: chosen(score, v, parents)


@overload(removals)
def _removals(score, v, parents, values):  # type: ignore[no-untyped-def]
    chosen = _kind(score).removals
    return lambda score, v, parents, values: chosen(score, v, parents, values)


@overload(additions)
def _additions(score, v, grown, candidates, enough, keys):  # type: ignore[no-untyped-def]
    def by_logdet(score, v, grown, candidates, enough, keys):  # type: ignore[no-untyped-def]
        logdets.bring_to(score, v, candidates, grown)
        return logdets.additions(score, v, candidates, enough, keys)

    anew = _kind(score).additions

    def by_set(score, v, grown, candidates, enough, keys):  # type: ignore[no-untyped-def]
        return anew(score, v, grown.parents, candidates, enough, keys)

    return by_logdet if _kind(score) is logdets else by_set


@overload(forget)
def _forget(score):  # type: ignore[no-untyped-def]
    if _kind(score) is logdets:
        return lambda score: logdets.forget(score)
    return lambda score: None
