"""The command ``dagopt``.

Exit codes: 0, success; 1, a finding or a difference; 2, bad input, reported in one line.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from copy import copy
from typing import Annotated

import typer
from typer.models import CommandInfo

import dagopt
from dagopt.cli import bootstrap_command as bootstrap
from dagopt.cli import explain_command as explain
from dagopt.cli import path, show_command
from dagopt.cli import posterior_command as posterior
from dagopt.cli.about import info
from dagopt.cli.fit_command import fit
from dagopt.cli.graphs import compare, convert, networks
from dagopt.cli.learn_command import LearnCommand, learn
from dagopt.cli.open_command import open_studio
from dagopt.cli.question_commands import effect, query
from dagopt.cli.report_command import report
from dagopt.cli.rivals_command import rivals
from dagopt.cli.row_commands import impute, predict, sample
from dagopt.cli.show import INTERRUPTED, complain
from dagopt.cli.tables import doctor, score, simulate, summarise
from dagopt.cli.verify_command import verify
from dagopt.cli.warm_command import warm
from dagopt.errors import DagoptError

__all__ = ["app", "main", "run"]


app = typer.Typer(
    name="dagopt",
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=LearnCommand, rich_help_panel="Learn")(learn)
app.command("open", rich_help_panel="Learn")(open_studio)
for panel, commands in {
    "Learn": (doctor, summarise, score, fit, report),
    "How sure?": (explain.explain, rivals, bootstrap.bootstrap, posterior.posterior, path.path, verify),
    "Ask it": (query, effect, predict, impute, sample),
    "Graphs and data": (show_command.show, compare, convert, simulate, networks),
    "This installation": (info, warm),
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"dagopt {dagopt.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn the structure of a Bayesian network by optimisation, with a proof of how good the answer is.

    **Example:** `dagopt learn data.csv --out results`
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None, commands: typer.Typer = app, name: str = "dagopt") -> None:
    """Run the command; every expected failure is one line on standard error and exit code 2."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # with which batch systems end a job: like Ctrl-C
    code = run(arguments, commands, name)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe, as in `dagopt ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _only_asked(commands: typer.Typer, arguments: Sequence[str]) -> typer.Typer:
    """Return the commands with the one that is asked for alone: to make the flags of all takes a tenth of a second."""
    asked = [one for one in commands.registered_commands if arguments[:1] == [_name(one)]]
    if not asked or commands.registered_callback is None:  # alone and without a root it would have no name
        return commands
    alone = copy(commands)
    alone.registered_commands = asked
    return alone


def _name(command: CommandInfo) -> str:
    """Return the name that a command has on the command line."""
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def run(arguments: Sequence[str] | None = None, commands: typer.Typer = app, name: str = "dagopt") -> int:
    """Run the command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _only_asked(commands, given)(args=given, prog_name=name, standalone_mode=False)
        if code == INTERRUPTED:
            complain("interrupted")
        return code if isinstance(code, int) else 0
    except DagoptError as error:
        return complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # the parser of the command line ends with 1 then
            return 0
        raise
    except OSError as error:
        return complain(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    except MemoryError:
        return complain("there is not enough memory; choose fewer columns= or a smaller max_parents=")
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the command line parser
            command = getattr(getattr(error, "ctx", None), "command_path", name)
            return complain(f"{error.format_message()} (see {command} --help)")
        raise
