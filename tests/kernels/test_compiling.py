"""A watch tells the first compilation of a kernel, and neither later ones nor what happens outside of it."""

from numba import njit

from dagopt.kernels.compiling import CompilationWatch


def test_only_the_first_compilation_is_told():
    """Two kernels are compiled, one of them for two types: one call. Kernels that are there are no compilation."""
    told = []
    watch = CompilationWatch(lambda: told.append(1))
    one, other = njit(lambda x: x + 1), njit(lambda x: x - 1)
    watch.start()
    one(1), one(1), other(1.5), one(1.5)
    watch.stop()
    assert told == [1]


def test_nothing_is_told_outside_of_the_watch():
    """Compilation before the start and after the end is not told, nor is the use of a compiled kernel between."""
    told = []
    watch = CompilationWatch(lambda: told.append(1))
    watch.stop()
    kernel = njit(lambda x: x * 3)
    kernel(1)
    watch.start()
    kernel(2)
    watch.stop()
    watch.stop()
    kernel(1.5)
    assert told == []
