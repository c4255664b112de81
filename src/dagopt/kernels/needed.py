"""Which kernels are needed, and for which types: the list ``needed.json``, to compile them ahead of need.

A kernel that is called from Python has the runs that call it, such as ``"continuous auto"``. Its machine code contains
that of the kernels it calls. These are listed too, without a run: once they are compiled, by another process, what
remains of the first one takes a moment. The list is made by runs of many kinds (``python -m
benchmarks.needed_kernels``), not by hand. A kernel that is missing there is compiled when it is first called; one that
no longer exists is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numba.core
from numba.core import event

from dagopt.kernels.boxes import BoxType
from dagopt.kernels.compiling import COMPILES
from dagopt.kernels.store import Store

__all__ = ["LIST", "Needed", "as_type", "as_words", "key_of", "listed", "recording", "write_list"]

types: Any = numba.core.types  # untyped
LIST = Path(__file__).with_name("needed.json")
ROOM = "dagopt.kernels."


class Needed(NamedTuple):
    """A kernel that is to be compiled.

    Attributes
    ----------
    kernel : str
        Its module within ``kernels/`` and its name.
    types : tuple
        The types of its arguments, in words.
    runs : tuple of str
        The runs that call it from Python: the kind of table and the method. None if only other kernels call it.
    calls : tuple of int
        The places in the list of the kernels that it calls.
    """

    kernel: str
    types: tuple[Any, ...]
    runs: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()

    def found(self) -> tuple[Any, tuple[Any, ...]] | None:
        """Return the kernel and the types; None if there is no such kernel or type any more."""
        module, _, name = self.kernel.rpartition(".")
        try:
            return getattr(import_module(ROOM + module), name), tuple(map(as_type, self.types))
        except (ImportError, AttributeError, TypeError):
            return None

    @property
    def key(self) -> str:
        """The kernel and its types as text."""
        return f"{self.kernel} {json.dumps(self.types)}"


def key_of(function: Callable[..., Any], kinds: tuple[Any, ...]) -> str:
    """Return the key of a kernel that is called with these types."""
    return Needed(f"{function.__module__.removeprefix(ROOM)}.{function.__qualname__}", tuple(map(as_words, kinds))).key


@cache
def listed() -> list[Needed]:
    """Return the list: kernels that are called from Python in the order in which runs first called them."""
    file = json.loads(LIST.read_text())
    types, runs = file["types"], file["runs"]
    return [
        Needed(kernel, tuple(types[i] for i in of), tuple(runs[i] for i in by), tuple(calls))
        for kernel, of, by, calls in file["kernels"]
    ]


def write_list(needed: list[Needed]) -> None:
    """Write the list, one kernel per line; types and runs are written once and named by their places."""
    types = list(dict.fromkeys(json.dumps(kind, separators=(",", ":")) for each in needed for kind in each.types))
    runs = list(dict.fromkeys(run for each in needed for run in each.runs))
    kernels = []
    for each in needed:
        of = [types.index(json.dumps(kind, separators=(",", ":"))) for kind in each.types]
        row = [each.kernel, of, [runs.index(run) for run in each.runs], list(each.calls)]
        kernels.append(json.dumps(row, separators=(",", ":")))
    parts = {"types": types, "runs": [json.dumps(run) for run in runs], "kernels": kernels}
    written = (f'"{name}":[\n' + ",\n".join(lines) + "\n]" for name, lines in parts.items())
    LIST.write_text("{" + ",\n".join(written) + "}\n")
    listed.cache_clear()


@contextmanager
def recording() -> Iterator[list[Needed]]:
    """Record the kernels that are called from Python within, whether they are compiled or loaded."""
    found: dict[str, Needed] = {}
    depth = _Depth()

    def heard(function: Callable[..., Any], kinds: tuple[Any, ...]) -> None:
        if depth.value == 0 and function.__module__.startswith(ROOM):
            kernel = f"{function.__module__.removeprefix(ROOM)}.{function.__qualname__}"
            found.setdefault(f"{kernel}{kinds}", Needed(kernel, tuple(map(as_words, kinds))))

    record: list[Needed] = []
    event.register(COMPILES, depth)  # type: ignore[no-untyped-call]
    Store.asked = staticmethod(heard)
    try:
        yield record
    finally:
        Store.asked = None
        event.unregister(COMPILES, depth)  # type: ignore[no-untyped-call]
        record.extend(found.values())


class _Depth(event.Listener):
    """How many compilations are under way, one within the other."""

    value = 0

    def on_start(self, event: object) -> None:
        """Count one more."""
        self.value += 1

    def on_end(self, event: object) -> None:
        """Count one less."""
        self.value -= 1


def as_words(kind: Any) -> Any:
    """Return a type as text and lists."""
    if isinstance(kind, types.Array):
        return ["array", kind.dtype.name, kind.ndim, kind.layout, kind.mutable]
    if isinstance(kind, BoxType):
        return ["box", _name(kind.instance_class), *map(as_words, kind.fields)]
    if isinstance(kind, types.NamedUniTuple):
        return ["alike", _name(kind.instance_class), kind.count, as_words(kind.dtype)]
    if isinstance(kind, types.BaseNamedTuple):
        return ["named", _name(kind.instance_class), *map(as_words, kind.types)]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", *map(as_words, kind.types)]
    if isinstance(kind, types.Omitted):
        return ["default", kind.value]
    return kind.name


def as_type(words: Any) -> Any:
    """Return the type of ``as_words``."""
    match words:
        case ["array", dtype, ndim, layout, mutable]:
            return types.Array(getattr(types, dtype), ndim, layout, readonly=not mutable)
        case ["box", name, *fields]:
            return BoxType(_class(name), tuple(map(as_type, fields)))
        case ["alike", name, count, field]:
            return types.NamedUniTuple(as_type(field), count, _class(name))
        case ["named", name, *fields]:
            return types.NamedTuple(tuple(map(as_type, fields)), _class(name))
        case ["tuple", *fields]:
            return types.Tuple(tuple(map(as_type, fields)))
        case ["default", value]:
            return types.Omitted(value)
    return getattr(types, "boolean" if words == "bool" else words)


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> type:
    module, _, within = name.partition(":")
    found: type = getattr(import_module(module), within)
    return found
