"""How much memory the machine has free."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import psutil

from dagopt.errors import InputError, OutOfMemory

__all__ = ["available_bytes", "parse_bytes", "readable", "require_memory", "with_memory_in_words"]

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

# What Python and the system say if there is no memory for the stack of a thread, or for a library that is loaded late.
OUT_OF_ROOM = ("can't start new thread", "failed to map segment from shared object", "Cannot allocate memory")
MATTERS = 10**8  # bytes: the free memory is not looked up for less

CGROUP = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")  # one line per hierarchy: number, controllers, path of this process's group


class _Hierarchy(NamedTuple):
    """A version of cgroups: where its groups are, and the files of the limit, of what is used and of the cache."""

    controller: str
    folder: str
    limit: str
    used: str
    cache: str


HIERARCHIES = (
    _Hierarchy("", "", "memory.max", "memory.current", "inactive_file"),
    _Hierarchy("memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def available_bytes() -> int:
    """Return the bytes that can be used without swapping, given the machine, the container and this process."""
    limits = (_left_in_cgroup(), _left_of_address_space())
    return min([int(psutil.virtual_memory().available), *(left for left in limits if left is not None)])


def require_memory(size: int, what: str, remedy: str = "use a larger machine") -> None:
    """Raise an error before an allocation of this many bytes that the free memory does not suffice for."""
    if size > MATTERS and size > (free := available_bytes()):
        raise InputError(f"{what} would take {readable(size)} of memory but {readable(free)} are free; {remedy}")


def with_memory_in_words(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Return the function, ending in a sentence where the memory runs out."""

    @functools.wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        try:
            return function(*args, **kwargs)
        except OutOfMemory:
            raise
        except (MemoryError, RuntimeError, ImportError, OSError) as error:
            if not _is_want_of_memory(error):
                raise
            asked = str(error).partition(" for an array")[0] or "an allocation failed"
            raise OutOfMemory(
                f"the memory does not suffice: {asked}, with {readable(psutil.Process().memory_info().rss)} in use and "
                f"{readable(available_bytes())} free; give fewer columns=, a smaller max_parents=, n_jobs=1, or a "
                "higher limit"
            ) from error

    return called


def _is_want_of_memory(error: BaseException | None) -> bool:
    """Say whether an error, or one that it comes from, says that memory ran out."""
    while error is not None:
        if isinstance(error, MemoryError) or any(said in str(error) for said in OUT_OF_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False


def parse_bytes(size: int | float | str) -> int:
    """Return a number of bytes from a number or from text such as ``"8GB"``."""
    number = float(size) if not isinstance(size, str) else math.nan
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)i?b?\s*", size, flags=re.IGNORECASE)
        if match is not None:
            number = float(match[1]) * _UNITS[match[2].lower()]
    if not 1 <= number < math.inf:
        raise InputError(f"expected memory_limit= to be bytes > 0 or text such as '8GB' but got {size!r}; change it")
    return int(number)


def readable(size: float) -> str:
    """Return a number of bytes in readable form."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def _left_in_cgroup() -> int | None:
    """Return what a container may still use: the least that any group of this process leaves; None without a limit.

    Groups are nested, and the limits of the outer groups hold as well.
    """
    paths = _own_groups()
    left = [
        _left_in_group(CGROUP / kind.folder / group, kind)
        for kind in HIERARCHIES
        for group in _with_parents(paths.get(kind.controller, "/"))
    ]
    return min((size for size in left if size is not None), default=None)


def _own_groups() -> dict[str, str]:
    """Return the path of this process's group for each controller; that of version 2 has the name ""."""
    try:
        lines = [line.split(":", 2) for line in OWN_GROUPS.read_text().splitlines()]
    except OSError:
        return {}
    return {name: parts[2] for parts in lines if len(parts) == 3 for name in parts[1].split(",")}


def _with_parents(group: str) -> list[str]:
    """Return a group and all groups that contain it, as paths below the root."""
    parts = [part for part in group.split("/") if part not in ("", "..")]
    return ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]


def _left_in_group(folder: Path, kind: _Hierarchy) -> int | None:
    """Return what one group leaves; None if it is not there or has no limit."""
    try:
        most = int((folder / kind.limit).read_text())  # "max" if there is no limit
        taken = int((folder / kind.used).read_text())
        files = re.search(rf"^{kind.cache} (\d+)", (folder / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    kept = taken - (int(files[1]) if files else 0)  # cached files are dropped when memory is needed
    return max(most - kept, 0)


def _left_of_address_space() -> int | None:
    """Return what ``ulimit -v`` leaves this process; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return None
    return max(most - int(psutil.Process().memory_info().vms), 0)
