"""Compile ahead of need: when a run meets a kernel that is not stored, processes begin with all that the run will call.

A run says what it is, such as ``"continuous auto"`` (``expect``). Nothing else happens while kernels are found in the
store. At the first one that is not, one process per core begins to compile the kernels of ``needed.json`` that such
runs call. The run waits for a kernel that they compile, and compiles the others itself.

So that the first run on a machine ends in time too,

* hill climbing needs no compiled kernel on tables of usual size (``plain.py``), so there is soon an answer;
* what would wait for long asks first whether all is ready (``ready``), with a clock;
* a search that can return what it has found runs ``in_time``: if a kernel is not there when the time is over, or if
  there is no answer yet, ``Late`` is raised in place of waiting.

Otherwise a kernel that is not finished in time is compiled by the run itself. A copy of the process (``os.fork``) has
no threads that drive the processes, so it begins afresh.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any

from dagopt.deadline import COMPILING
from dagopt.kernels import compiling, store

if TYPE_CHECKING:
    from dagopt.deadline import Deadline
    from dagopt.kernels.warming import Warming

__all__ = ["LATE", "Late", "expect", "in_time", "is_cold", "ready", "under_way"]

LATE = (
    "the time was over while kernels were still being compiled, which happens once on a machine: dagopt warm does it "
    "ahead"
)
UNLISTED_SECONDS = 2.0  # that a kernel takes to compile which is not in the list; with less time it is not begun
_lock = Lock()
_clocks: list[tuple[int, Deadline]] = []  # of what runs in time, with its thread; the innermost last
_runners: set[int] = set()  # threads that began a run, which have a clock of their own or none
_expected = [""]  # the run that is under way
_begun: dict[str, tuple[Warming, dict[str, int]]] = {}  # by run, with the places in the list by key
_stored: set[tuple[str, str]] = set()  # runs all of whose kernels were found stored, with the folder of the store
_of_others: list[object] = []  # in a copy of a process, what that process began: kept, so that nothing closes its pipes
NICE = 5  # of the processes: a run that computes goes first
INNER = "DAGOPT_COMPILES"  # set in the environment of the processes, which begin none themselves


class Late(Exception):
    """A kernel is not compiled when the time is over, or before there is any answer."""


@contextmanager
def in_time(deadline: Deadline) -> Iterator[None]:
    """Raise ``Late`` within in place of waiting for a kernel until after the deadline.

    A run with a time limit that has no answer yet does not wait at all: kernels are compiled by other processes while
    the run finds an answer without them.
    """
    own = (get_ident(), deadline)
    _clocks.append(own)
    try:
        yield
    finally:
        _clocks.remove(own)


def under_way() -> bool:
    """Say whether processes compile kernels of the run now."""
    begun = _warming()
    return begun is not None and not begun[0].wait(begun[1].values(), 0.0)


def expect(run: str) -> None:
    """Say which run begins: the kind of table and the method."""
    _expected[0] = run
    _runners.add(get_ident())
    store.Store.absent = staticmethod(_await) if not store.UNCOMPILED else None


def is_cold() -> bool:
    """Say whether kernels that the run will call are not stored, and if so, begin to compile them.

    Looking for all of them takes a tenth of a second, so a process looks until they are there, and not again.
    """
    run = (_expected[0], str(store.folder()))
    if store.UNCOMPILED or run in _stored:
        return False
    if _warming() is None:
        from dagopt.kernels.warming import missing

        if not missing(_expected[0]):
            _stored.add(run)
            return False
    begun = _warming(begin=True)
    return begun is not None and not begun[0].wait(begun[1].values(), 0.0)


def ready(deadline: Deadline, method: str = "") -> bool:
    """Wait until the kernels of the run are compiled, at most until the deadline; say whether they are.

    If no kernel has been found absent so far, nothing is asked: what a run needs is nearly always stored as a whole.

    Parameters
    ----------
    deadline : Deadline
        The clock: that of the whole run counts, because the clock of a part does not count compiling.
    method : str
        Only the kernels that this method calls.
    """
    begun = _warming()
    if begun is None:
        return True
    run = f"{_expected[0].split()[0]} {method}" if method else _expected[0]
    with compiling.told():
        return begun[0].wait(_places(run), deadline.whole.remaining())


def _await(function: Callable[..., Any], types: tuple[Any, ...]) -> bool:
    """Wait for a kernel that is not stored, if processes compile it; say whether they did."""
    from dagopt.kernels.needed import key_of, listed

    key = key_of(function, types)
    begun = _warming(begin=any(listed()[place].key == key for place in _places(_expected[0])))
    place = None if begun is None else begun[1].get(key)
    seconds = _patience()
    if begun is None or place is None:
        if seconds < UNLISTED_SECONDS:
            raise Late
        return False
    with compiling.told():
        if not begun[0].wait([place], seconds):
            raise Late
    return place not in begun[0].failed


def _patience() -> float:
    """Return how long a run waits for a kernel: 0 if it is to find an answer without it first."""
    clock = _clock()
    if clock is None or not isfinite(clock.time_limit) or COMPILING.is_under_way:  # a compilation goes on to its end
        return inf
    return clock.remaining() if clock.has_answer else 0.0


def _clock() -> Deadline | None:
    """Return the clock of the run in whose thread, or in one of whose threads, a kernel is called."""
    me = get_ident()
    own = [clock for thread, clock in _clocks if thread == me]
    if not own and (me in _runners or len({thread for thread, _ in _clocks}) != 1):
        return None
    return (own or [clock for _, clock in _clocks])[-1].whole


def _warming(begin: bool = False) -> tuple[Warming, dict[str, int]] | None:
    """Return the processes of the run under way, and the places of the kernels that they compile, by key."""
    run = _expected[0]
    with _lock:
        if begin and run not in _begun and not os.environ.get(INNER):
            from dagopt.kernels.needed import listed
            from dagopt.kernels.warming import Warming, cores

            later = _places(f"{run.split()[0]} cg-dca") if run.endswith(" auto") else []  # at the end of such a run
            warming = Warming([*_places(run), *later], {INNER: "1"}, nice=NICE)
            _begun[run] = warming, {listed()[place].key: place for place in warming.places}
            warming.start(cores())
        return _begun.get(run)


def _leave() -> None:
    """Begin nothing more: this process ends, and the others after the kernel that each of them compiles.

    If they were ended at once, a kernel that takes longer than the time limit of every run would never be stored.
    """
    for warming, _ in list(_begun.values()):
        warming.leave()


def _begin_afresh() -> None:
    """Forget the processes in a copy of the process that began them; their pipes stay as they are."""
    global _lock
    _lock = Lock()
    _of_others.extend(_begun.values())
    _begun.clear()


atexit.register(_leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_afresh)


def _places(run: str) -> list[int]:
    """Return the places in the list of the kernels that a run calls; those of the first searches come first."""
    from dagopt.kernels.needed import listed

    kind = run.split()[0] if run else ""
    places = [place for place, each in enumerate(listed()) if run in each.runs]
    first = {name: number for number, name in enumerate((f"{kind} hc", f"{kind} order"))}
    return sorted(places, key=lambda place: min((first[by] for by in listed()[place].runs if by in first), default=2))
