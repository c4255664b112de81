"""The command ``dagopt info``: the machine and the versions, for bug reports."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import typer

import dagopt
from dagopt.cli import flags as shared
from dagopt.cli.show import print_json

__all__ = ["about_machine", "info"]

OPTIONAL = ("pyarrow", "polars", "gurobipy", "cupy-cuda12x", "distributed", "pyagrum")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def info(as_json: shared.Json = False) -> None:
    """Print versions, cores, memory, GPU and threads, for bug reports.

    **Examples:**

    `dagopt info`

    `dagopt info --json`
    """
    found = about_machine()
    if as_json:
        print_json(found)
        return
    wide = max(map(len, found))
    for name, value in found.items():
        typer.echo(f"{name:<{wide}}  {_in_words(value)}")


def about_machine() -> dict[str, Any]:
    """Return what is known about this installation and machine, as plain values."""
    from dagopt.kernels.store import SHIPPED, folder
    from dagopt.memory import available_bytes, readable

    return {
        "dagopt": dagopt.__version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": _cores(),
        "memory": f"{readable(available_bytes())} available",
        "gpu": _gpu(),
        "threads": {name: os.environ[name] for name in THREADS if name in os.environ},
        "compiled kernels": f"{folder()}{'; also shipped' if SHIPPED.is_dir() else ''}",
        "packages": {name: _version(name) for name in _dependencies()},
        "optional packages": {name: found for name in OPTIONAL if (found := _version(name)) is not None},
    }


def _cores() -> str:
    """Return how many cores there are, and how many of them this process may use."""
    from dagopt.workers import thread_count

    every, usable = os.cpu_count() or 1, thread_count(None)
    return f"{every}" if usable == every else f"{usable} of {every}"


def _gpu() -> str:
    """Return the CUDA device, or why there is none."""
    from dagopt.errors import InputError
    from dagopt.memory import readable
    from dagopt.methods.exact.gpu import find_device

    try:
        _, name, free = find_device()
    except InputError as error:
        if isinstance(error.__cause__, ImportError):
            return "none: CuPy is not installed"
        return f"none: {type(error.__cause__).__name__}: {str(error.__cause__).splitlines()[0]}"
    return f"{name}, {readable(free)} free"


def _dependencies() -> list[str]:
    """Return the names of the packages that are always needed."""
    try:
        listed = requires("dagopt") or []
    except PackageNotFoundError:  # run from the source, not installed
        return []
    return [line.split(">")[0].strip() for line in listed if "extra ==" not in line]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {of or 'not installed'}" for name, of in value.items()) or "none set"
    return str(value)
