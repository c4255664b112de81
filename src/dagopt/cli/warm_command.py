"""The command ``dagopt warm``: compile the kernels before they are needed."""

from __future__ import annotations

import typer

from dagopt.cli import flags as shared
from dagopt.cli.show import FOUND_SOMETHING
from dagopt.progress import make_progress

__all__ = ["warm"]


def warm(n_jobs: shared.Jobs = None, quiet: shared.Quiet = False) -> None:
    """Compile all kernels now, on all cores, so that no run has to: for images, clusters and classrooms.

    Compiled kernels are kept in the folder that `dagopt info` shows; `NUMBA_CACHE_DIR` names another one. What is
    there already is not compiled again.

    **Examples:**

    `dagopt warm`

    `NUMBA_CACHE_DIR=/shared/kernels dagopt warm --jobs 16`
    """
    from dagopt.kernels import store, warming
    from dagopt.workers import thread_count

    progress = make_progress(False if quiet else None)
    try:
        warmed = warming.warm(thread_count(n_jobs), lambda fraction: progress.update("compiling kernels", fraction))
    finally:
        progress.close()
    if not quiet:
        there = f"{store.folder()} has them" if warmed.compiled else "all kernels were there already"
        typer.echo(f"{warmed.compiled} kernels compiled; {there}")
    if warmed.failed:
        typer.echo(f"not compiled: {', '.join(sorted(set(warmed.failed)))}; they are when a run needs them", err=True)
        raise typer.Exit(FOUND_SOMETHING)
