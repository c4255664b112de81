"""A watch tells when compilations begin and end, and nothing that happens outside of it."""

import io

import pytest

from dagopt.kernels.compiling import CompilationWatch
from dagopt.kernels.store import njit
from dagopt.progress import LinesProgress
from dagopt.progress.displays import COMPILING

pytestmark = pytest.mark.compiled


def test_every_compilation_is_told():
    """One kernel is compiled for two types, and one with a kernel that it calls: three beginnings, three ends."""
    told = []
    watch = CompilationWatch(told.append)
    one, inner = njit(cache=False)(lambda x: x + 1), njit(cache=False)(lambda x: x - 1)
    other = njit(cache=False)(lambda x: inner(x) * 2)
    watch.start()
    one(1), one(1), other(1.5), one(1.5)
    watch.stop()
    assert told == [True, False] * 3


def test_progress_says_once_that_kernels_are_compiled():
    """The first compilation has a line that stays; the phase is the same before and after."""
    stream = io.StringIO()
    shown = LinesProgress(stream, every=0.0)
    shown.watch_compilation()
    shown.update("searching", 0.5, score=3)
    njit(cache=False)(lambda x: x + 2)(1)
    njit(cache=False)(lambda x: x + 4)(1)
    shown.update("searching", 0.75)
    shown.close()
    lines = [line.split("] ")[-1] for line in stream.getvalue().splitlines()]
    assert lines == ["searching  50%  score 3", COMPILING, "searching  75%"]


def test_nothing_is_told_outside_of_the_watch():
    """Compilation before the start and after the end is not told, nor is the use of a compiled kernel between."""
    told = []
    watch = CompilationWatch(told.append)
    watch.stop()
    kernel = njit(cache=False)(lambda x: x * 3)
    kernel(1)
    watch.start()
    kernel(2)
    watch.stop()
    watch.stop()
    kernel(1.5)
    assert told == []
