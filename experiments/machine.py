"""The machine of a run: cores, processor, memory and versions, without names of hosts or users."""

from __future__ import annotations

import os
import platform
import re
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dagopt import __version__

__all__ = ["forget_peak", "machine", "peak_megabytes", "versions"]

PACKAGES = ("numpy", "scipy", "numba", "highspy", "pyscipopt")


@cache
def machine() -> str:
    """Return cores, processor, memory and system in one line."""
    parts = [f"{os.cpu_count()} cores", _processor()]
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        parts.append(f"{size / 2**30:.0f} GiB")
    except (AttributeError, ValueError, OSError):
        pass
    return ", ".join([*parts, f"{platform.system()} {platform.machine()}"])


@cache
def versions(*others: str) -> str:
    """Return the versions of Python, dagopt, its dependencies and other packages."""
    known = [f"python {platform.python_version()}", f"dagopt {__version__}"]
    for package in (*PACKAGES, *others):
        try:
            known.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(known)


def forget_peak() -> None:
    """Reset ``peak_megabytes``, if the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_megabytes() -> int | None:
    """Return the most memory that this process has had since ``forget_peak``, in MB of 10^6 bytes.

    If it cannot be reset, it is the peak since the start; None if that is not known either.
    """
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found:
        return round(int(found[1]) * 1024 / 1e6)
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / 1e6 if sys.platform == "darwin" else most * 1024 / 1e6)


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()
