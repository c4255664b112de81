"""The command ``dagopt open``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from dagopt.errors import InputError

__all__ = ["open_studio"]


def open_studio(
    data: Annotated[
        Path | None, typer.Argument(help="CSV, TSV or Parquet file; without it, the page asks for one.", metavar="DATA")
    ] = None,
    session: Annotated[
        Path | None,
        typer.Option(help="Folder of the session.", metavar="FOLDER", show_default="DATA.dagopt beside the data"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 chooses a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Open the studio: a page for the whole way from a table to answers, served by this machine to this machine.

    The address holds a random token; only who has it can use the page. Everything is kept in the session's folder, and
    the same command goes on from there. Ctrl-C ends it.

    **Examples:** `dagopt open data.csv`, `dagopt open data.csv --session study1 --no-browser`
    """
    try:
        from dagopt.studio.server import serve, session_folder
    except ImportError as error:
        raise InputError(
            f"the studio needs {error.name}, which is not installed; pip install 'dagopt[studio]'"
        ) from None
    from dagopt.studio.session import Session

    if data is not None and not data.is_file():
        raise InputError(f"there is no file {str(data)!r}; check the path")
    opened = Session.open(session_folder(data) if session is None else session, data)

    def told(address: str) -> None:
        typer.echo(f"the studio is at {address}")
        typer.echo(f"session: {opened.folder}; Ctrl-C ends it and loses nothing", err=True)
        if browser:
            webbrowser.open(address)

    serve(opened, port, told)
