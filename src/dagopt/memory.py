"""How much memory the machine has free."""

from __future__ import annotations

import math
import re
from pathlib import Path

import psutil

from dagopt.errors import InputError

__all__ = ["available_bytes", "parse_bytes", "readable"]

CGROUP = Path("/sys/fs/cgroup")
CGROUPS = (  # files of the limit, of what is used and of its parts, and the part that is files in the cache
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def available_bytes() -> int:
    """Return the bytes that can be taken without swapping: of the machine, the container and this process."""
    limits = (_left_in_cgroup(), _left_of_address_space())
    return min([int(psutil.virtual_memory().available), *(left for left in limits if left is not None)])


def parse_bytes(size: int | float | str) -> int:
    """Return a number of bytes from a number or from text such as ``"8GB"``."""
    number = float(size) if not isinstance(size, str) else math.nan
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)i?b?\s*", size, flags=re.IGNORECASE)
        if match is not None:
            number = float(match[1]) * _UNITS[match[2].lower()]
    if not 1 <= number < math.inf:
        raise InputError(f"expected memory_limit= as bytes > 0 or text such as '8GB' but got {size!r}")
    return int(number)


def readable(size: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def _left_in_cgroup() -> int | None:
    """Return what a container may still take, by cgroups of version 2 or else 1; None without a limit."""
    for limit, used, stat, cache in CGROUPS:
        try:
            most = int((CGROUP / limit).read_text())  # "max" where there is no limit
            taken = int((CGROUP / used).read_text())
            files = re.search(rf"^{cache} (\d+)", (CGROUP / stat).read_text(), re.MULTILINE)
        except (OSError, ValueError):
            continue
        kept = taken - (int(files[1]) if files else 0)  # files in the cache make room when memory is wanted
        return max(most - kept, 0)
    return None


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
