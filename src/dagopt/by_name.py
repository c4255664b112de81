"""Parts that are loaded by name when they are called: the one way to use a room above one's own.

The registry of methods names each method in this way, so that a method is imported only when it runs. A result
names the functions behind ``plot``, ``report``, ``explain`` and ``regrets``, which work on results and so stand above.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["by_name"]


def by_name(module: str, name: str) -> Any:
    """Return a part of the package, such as ``by_name("report.plots", "plot_graph")``."""
    return getattr(import_module(f"dagopt.{module}"), name)
