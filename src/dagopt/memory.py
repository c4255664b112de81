"""How much memory the machine has free."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from dagopt.errors import InputError

__all__ = ["available_bytes", "parse_bytes", "readable"]

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def available_bytes() -> int:
    """Return the bytes that can be taken without swapping, and 2 GiB where that cannot be found out."""
    free = _from_meminfo() or _from_windows() or _from_sysconf()
    limit = _from_cgroup()
    known = [value for value in (free, limit) if value is not None]
    return min(known) if known else 2 * 2**30


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


def _from_meminfo() -> int | None:
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


def _from_cgroup() -> int | None:
    """Return what a container may still take."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        cached = re.search(r"^inactive_file (\d+)", Path("/sys/fs/cgroup/memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    kept = used - (int(cached[1]) if cached else 0)  # files in the cache make room when memory is wanted
    return None if limit == "max" else max(int(limit) - kept, 0)


def _from_sysconf() -> int | None:
    """Return half of the memory of systems that do not tell what is free (macOS)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return None


def _from_windows() -> int | None:
    if os.name != "nt":
        return None
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", "c", "d", "e", "f", "g")),
        )

    status = Status()
    status.length = ctypes.sizeof(Status)
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return int(status.free)
