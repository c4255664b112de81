"""The store of compiled kernels: ``njit`` as in numba, with machine code that outlives a new version of the package.

Each compiled kernel is one file. Its name contains a digest of all that the machine code depends on: the source of the
kernel's module and of the modules of dagopt that it imports, the types of the arguments, the versions of numba and
Python, and the processor. So a kernel is compiled again when it or a kernel that it calls has changed, and only
then; processes that compile at the same time do not disturb each other.

A wheel may ship machine code for a common kind of processor (``GENERIC``) in the folder ``SHIPPED``; it is looked for
there first. The user's store is ``$NUMBA_CACHE_DIR``, or the folder ``dagopt`` among the user's caches. A file that is
damaged counts as absent. Where nothing can be written, kernels are compiled in every run.

numba takes half a second to load. So it is not imported before a kernel is called, and is given each at its first call.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import platform
import re
import sys
import time
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from threading import RLock
from typing import Any

from dagopt.kernels import compiling

__all__ = ["GENERIC", "SHIPPED", "Kernel", "Store", "folder", "is_stored", "njit"]

UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}  # the same as in boxes.py, without numba
PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = PACKAGE / "kernels" / "compiled"
FORMAT = "1"  # of the files
DIGEST_BYTES = 32  # of SHA-256, before the machine code
SUPERSEDED_SECONDS = 30 * 86_400  # after which an older version of a kernel is removed, when a newer one is stored
IMPORTED = re.compile(r"^\s*from (dagopt\.[\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)

# The processor that shipped machine code is made for, by kind of machine: its name for the compiler, and features that
# a processor must have. x86-64-v3 is what Intel has made since 2013 and AMD since 2015.
KINDS = {
    "x86_64": ("x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")),
    "amd64": ("x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")),
    "aarch64": ("generic", ()),
    "arm64": ("generic", ()),
}
GENERIC, _FEATURES = KINDS.get(platform.machine().lower(), ("", ()))


def njit(*, cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like numba's ``njit``, with the store in place of numba's own cache."""

    def compiled(function: Callable[..., Any]) -> Any:
        return function if UNCOMPILED else Kernel(function, cache, options)

    return compiled


class Kernel:
    """A function that numba compiles or loads when it is first called; all else is as in numba's dispatcher.

    numba compiles a kernel once more for each combination of literals such as 0 in calls from other kernels. Here a
    literal is a number like any other: where it matters, inlining finds it.

    Parameters
    ----------
    function : callable
        The kernel as Python.
    cache : bool
        Whether machine code is stored.
    options : dict
        Options of numba's ``njit``.
    """

    loaded = False  # whether numba has been given a kernel in this process
    _lock = RLock()

    def __init__(self, function: Callable[..., Any], cache: bool, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._cache = Store(function) if cache else None
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the compiled kernel."""
        return (self._dispatcher or self.dispatcher)(*arguments, **named)

    @property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        with Kernel._lock:
            if self._dispatcher is None:
                self._dispatcher = self._made()
            return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba takes the kernel for where other kernels call it."""
        return self.dispatcher._numba_type_

    @property
    def is_in_use(self) -> bool:
        """Whether the kernel has been called in this process; asked before every call, so it takes no list."""
        return self._dispatcher is not None and bool(self._dispatcher.overloads)

    @property
    def signatures(self) -> list[Any]:
        """The types that the kernel has been called with in this process."""
        return [] if self._dispatcher is None else list(self._dispatcher.signatures)

    def _made(self) -> Any:
        import numba
        from numba.core import types

        Kernel.loaded = True
        compiling.hear()
        made: Any = numba.njit(**self._options)(self.py_func)
        unliteral: Any = types.unliteral
        find = made.get_call_template
        made.get_call_template = lambda args, kws: find(
            tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()}
        )
        if self._cache is not None:
            made._cache = self._cache
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_dispatcher" not in self.__dict__:  # asked for while it is copied
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


def folder() -> Path:
    """Return the folder of the user's store."""
    import numba
    import numba.misc.appdirs

    config: Any = numba.config  # untyped
    directories: Any = numba.misc.appdirs.AppDirs
    return Path(config.CACHE_DIR or directories(appname="dagopt", appauthor=False).user_cache_dir) / "kernels"


def is_stored(kernel: Any) -> bool:
    """Say whether some version of a kernel is stored, here or in the wheel, for these sources."""
    store = getattr(kernel, "_cache", None)
    return isinstance(store, Store) and store.has_any()


class Store:
    """The compiled versions of one kernel.

    Parameters
    ----------
    function : callable
        The kernel as Python.
    """

    asked: Callable[[Callable[..., Any], tuple[Any, ...]], None] | None = None  # called with all that is looked for
    absent: Callable[[Callable[..., Any], tuple[Any, ...]], bool] | None = None  # says if what is not stored is now

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._name = f"{function.__module__.removeprefix('dagopt.kernels.')}.{function.__qualname__}"
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(folder())

    def enable(self) -> None:
        """Use the store."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write."""
        self._enabled = False

    def flush(self) -> None:
        """Remove all stored versions of the kernel."""
        for path in folder().glob(f"{self._name}-*"):
            path.unlink(missing_ok=True)

    def has_any(self) -> bool:
        """Say whether a version for these sources is stored, for some types and some processor."""
        own = f"{self._name}-{self._sources()}-"
        return self._enabled and any(name.startswith(own) for place in (SHIPPED, folder()) for name in _names(place))

    def has(self, types: tuple[Any, ...], codegen: Any) -> bool:
        """Say whether the kernel is stored for these types."""
        return any(path.exists() for path in self._paths(types, codegen.magic_tuple()))

    def load_overload(self, sig: tuple[Any, ...], target_context: Any) -> Any:
        """Return the compiled kernel, or None if it is not stored."""
        if Store.asked is not None:
            Store.asked(self._function, sig)
        if not self._enabled:
            return None
        target_context.refresh()
        found = self._found(sig, target_context)
        if found is None and Store.absent is not None and Store.absent(self._function, sig):
            found = self._found(sig, target_context)
        return found

    def _found(self, sig: tuple[Any, ...], target_context: Any) -> Any:
        """Return the compiled kernel, or None if it is not stored."""
        for path in self._paths(sig, target_context.codegen().magic_tuple()):
            found = _read(path, target_context)
            if found is not None and tuple(found.signature.args) == tuple(sig):
                return found
        return None

    def save_overload(self, sig: tuple[Any, ...], data: Any) -> None:
        """Store a compiled kernel, unless it contains addresses of this process or nothing can be written."""
        if not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        import numba.core

        dumps: Any = numba.core.serialize.dumps
        path = self._paths(sig, data.codegen.magic_tuple())[-1]
        content = dumps(data._replace(type_annotation="")._reduce())
        own = path.with_name(f"{path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            own.write_bytes(hashlib.sha256(content).digest() + content)
            own.replace(path)
            self._remove_superseded(path)

    def _paths(self, types: tuple[Any, ...], processor: tuple[str, ...]) -> list[Path]:
        """Return where the kernel may be stored: in the wheel if this processor is able to run that, and here."""
        paths = [folder() / self._file(types, processor)]
        if _runs_generic():
            paths.insert(0, SHIPPED / self._file(types, (processor[0], GENERIC, "")))
        return paths

    def generic_file(self, types: tuple[Any, ...], codegen: Any) -> str:
        """Return the name of the file that a wheel ships."""
        return self._file(types, (codegen.magic_tuple()[0], GENERIC, ""))

    def _file(self, types: tuple[Any, ...], processor: tuple[str, ...]) -> str:
        """Return the name of the file: the kernel, digests of its sources, and of types, versions and processor."""
        import numba

        made_by = (FORMAT, numba.__version__, sys.implementation.cache_tag, getattr(sys, "abiflags", ""))
        rest = _digest(repr((str(types), made_by, processor)).encode())
        return f"{self._name}-{self._sources()}-{rest}.kernel"

    def _sources(self) -> str:
        """Return a digest of the source of the kernel's module and of all modules of dagopt that it imports."""
        return _sources(self._function.__module__, self._function.__code__.co_filename)

    def _remove_superseded(self, kept: Path) -> None:
        """Remove versions of the kernel from other sources that were stored long ago."""
        before = time.time() - SUPERSEDED_SECONDS
        for path in kept.parent.glob(f"{self._name}-*"):
            if not path.name.startswith(f"{self._name}-{self._sources()}-") and path.stat().st_mtime < before:
                path.unlink(missing_ok=True)


def _read(path: Path, target_context: Any) -> Any:
    """Return a stored kernel; None if the file is absent, damaged, or not for this version of dagopt."""
    import numba.core.compiler

    try:
        content = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content[DIGEST_BYTES:]).digest() != content[:DIGEST_BYTES]:
        return None
    try:
        rebuild: Any = numba.core.compiler.CompileResult._rebuild
        return rebuild(target_context, *pickle.loads(content[DIGEST_BYTES:]))
    except (pickle.UnpicklingError, AttributeError, ImportError, TypeError, ValueError):
        return None


@cache
def _runs_generic() -> bool:
    """Say whether shipped machine code is there and runs on this processor."""
    if not GENERIC or not SHIPPED.is_dir():
        return False
    import llvmlite.binding

    try:
        features = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:
        return False
    return all(features.get(feature, False) for feature in _FEATURES)


@cache
def _names(place: Path) -> list[str]:
    """Return the names of the files in a folder when it was first asked for."""
    return os.listdir(place) if place.is_dir() else []


@cache
def _sources(module: str, file: str) -> str:
    """Return a digest of the source of a module and of the modules of dagopt that it imports."""
    seen: dict[str, bytes] = {}
    waiting = {module: Path(file)}
    while waiting:
        name, path = waiting.popitem()
        text = path.read_bytes().replace(b"\r\n", b"\n")  # a checkout may have other ends of lines than the wheel
        seen[name] = hashlib.sha256(text).digest()
        waiting |= {other: where for other, where in _imports(text.decode()).items() if other not in seen}
    return _digest(b"".join(name.encode() + seen[name] for name in sorted(seen)))


def _imports(text: str) -> dict[str, Path]:
    """Return the modules of dagopt that a source imports, except this one, which leaves no trace in machine code."""
    found = {}
    for source, names in IMPORTED.findall(text):
        for module in (source, *(f"{source}.{name}" for name in re.findall(r"\w+", names))):
            path = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
            if module != __name__ and path.is_file():
                found[module] = path
    return found


def _unlock() -> None:
    """Make the locks anew in a copy of the process, whose other threads, which may have held them, are not there."""
    Kernel._lock = RLock()
    numba_lock: Any = sys.modules.get("numba.core.compiler_lock")
    if numba_lock is not None:
        numba_lock.global_compiler_lock._lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
