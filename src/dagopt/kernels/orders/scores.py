"""Local scores for each kind of score: each function calls ``logdets.py``, ``counts.py`` or ``blocks.py``.

``score`` is a ``LogDets``, ``CountScore`` or ``BlockForm``. Which one is decided when a kernel is compiled, so
kernels for Gaussian data contain no code for discrete data. If compilation is switched off, it is decided in each call.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian.blocks import BlockForm
from dagopt.kernels.orders import blocks, counts, logdets

__all__ = ["additions", "local_score", "removals"]


def local_score(score: Any, v: Any, parents: Any) -> Any:
    """Return the score of v with these parents."""
    return _uncompiled(score).local_score(score, v, parents)


def removals(score: Any, v: Any, parents: Any, values: Any) -> None:
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""
    _uncompiled(score).removals(score, v, parents, values)


def additions(score: Any, v: Any, parents: Any, candidates: Any, enough: Any, keys: Any) -> Any:
    """Return the score of v with these parents; fill ``keys`` with numbers that sort the candidates.

    They sort like the scores with one more parent. A candidate that is a parent, or that does not raise the score by
    ``enough``, gets -inf.
    """
    return _uncompiled(score).additions(score, v, parents, candidates, enough, keys)


MODULES = {logdets.LogDets: logdets, counts.CountScore: counts, BlockForm: blocks}


def _kind(score: Any) -> Any:
    """Return the module for a score, by its NamedTuple."""
    return MODULES[score.instance_class]


def _uncompiled(score: Any) -> Any:
    """Return the module for a score, which may be in a box."""
    return MODULES[score.kind.instance_class if isinstance(score, Box) else type(score)]


@overload(local_score)  # numba wants no annotations from here on
def _local_score(score, v, parents):
    chosen = _kind(score).local_score
    return lambda score, v, parents: chosen(score, v, parents)


@overload(removals)
def _removals(score, v, parents, values):
    chosen = _kind(score).removals
    return lambda score, v, parents, values: chosen(score, v, parents, values)


@overload(additions)
def _additions(score, v, parents, candidates, enough, keys):
    chosen = _kind(score).additions
    return lambda score, v, parents, candidates, enough, keys: chosen(score, v, parents, candidates, enough, keys)
