"""Arguments and options that several commands share, and flags made from options.

A command names its options by their dataclass, such as ``reading: DataOptions``; ``with_flags`` gives it
one flag for each of them, with the text, the default and the spelling from the dataclass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from dagopt.data.data_options import DataOptions
from dagopt.methods.method_options import FLAGGED
from dagopt.options import Option, Options
from dagopt.scores.score_options import ScoreOptions

__all__ = [
    "ABOUT_OUTPUT",
    "FLAGS",
    "Data",
    "Graph",
    "Jobs",
    "Json",
    "Quiet",
    "Smoothing",
    "WithData",
    "Without",
    "flag_of",
    "help_of",
    "listed",
    "with_flags",
]

# Headings of the help, under which options of one kind are grouped.
ABOUT_OUTPUT = "Output"
PANELS: dict[type[Options], str] = {DataOptions: "Data", ScoreOptions: "Score"}

Data = Annotated[
    str, typer.Argument(help="CSV, TSV or Parquet file; - for standard input.", show_default=False, metavar="DATA")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No warnings and no progress display.", rich_help_panel=ABOUT_OUTPUT),
]
WithData = Annotated[
    bool,
    typer.Option(
        "--with-data",
        help="Put a sample of the rows into the report; else it holds only counts, means and quartiles.",
        rich_help_panel=ABOUT_OUTPUT,
    ),
]
Graph = Annotated[
    str, typer.Argument(help="File with a DAG (see convert), or a model string such as '[A][B|A]'.", metavar="GRAPH")
]
Smoothing = Annotated[
    float, typer.Option("--ess", help="Weight, in rows, of the prior that smooths the tables of discrete data.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.", rich_help_panel=ABOUT_OUTPUT)]


@dataclass(frozen=True)
class Without:
    """Options of a dataclass that a command does not have: ``Annotated[ScoreOptions, Without("score")]``."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


def flag_of(name: str, about: Option) -> list[str]:
    """Return the spellings of an option on the command line, the usual one first."""
    return (about.flag or f"--{name.replace('_', '-')}").split("/")


# The flags of all options that have one, by the names of the options.
FLAGS = {
    **{one.name: flag_of(one.name, kind.about(one))[0] for kind in (DataOptions, ScoreOptions) for one in fields(kind)},
    **{name: flag_of(name, made.metadata["option"])[0] for name, made in FLAGGED.items()},
}


def flag_for(name: str, type_: str, default: Any, about: Option, panel: str | None = None) -> Any:
    """Return the annotation that makes typer show an option as a flag."""
    kinds: dict[str, Any] = {"int": int, "float": float, "bool": bool, "list[str]": list[str], "Path": Path}
    kind = str if about.parse is not None and type_ != "Path" else kinds.get(type_.removesuffix(" | None"), str)
    given = typer.Option(
        *flag_of(name, about),
        help=help_of(about),
        metavar=about.metavar or None,
        min=about.least,
        show_default=about.unset or default is not None,
        rich_help_panel=panel,
    )
    return Annotated[kind if default is not None and about.parse is None else kind | None, given]


def help_of(about: Option) -> str:
    """Return the text of an option, with its possible values if there are few."""
    choices = [str(choice) for choice in about.check.choices if choice is not None]
    missing = [choice for choice in choices if choice not in about.text]
    return f"{about.text} One of {', '.join(choices)}." if missing else about.text


def _unset(name: str, type_: str = "str") -> Any:
    """Return the flag of a method's option, which is passed on only if it is given."""
    return flag_for(name, type_, None, FLAGGED[name].metadata["option"])


Jobs = _unset("n_jobs", "int")
MemoryLimit = _unset("memory_limit")
Seed = _unset("random_state", "int")
Start = _unset("start", "Path")
Device = _unset("device")
NBest = _unset("n_best", "int")


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each parameter whose type is a dataclass of options is replaced by flags."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type[Options], tuple[str, ...]]] = {}
    for one in inspect.signature(command).parameters.values():
        kind, left_out = _options_in(hints[one.name])
        if kind is None:
            parameters.append(one.replace(annotation=hints[one.name]))
            continue
        groups[one.name] = kind, left_out
        parameters += [
            inspect.Parameter(made.name, one.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
            for made, default, annotation in _flags(kind, left_out)
        ]

    @wraps(command)
    def called(**given: Any) -> None:
        for name, (kind, left_out) in groups.items():
            given[name] = _collected(kind, given, left_out)
        command(**given)

    # typer needs arguments without a default before those with one
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _options_in(hint: Any) -> tuple[type[Options] | None, tuple[str, ...]]:
    """Return the dataclass of options that a type hint names, if any, and the options to leave out."""
    kind, *extras = (hint.__origin__, *hint.__metadata__) if hasattr(hint, "__metadata__") else (hint,)
    left_out = next((extra.names for extra in extras if isinstance(extra, Without)), ())
    return (kind if isinstance(kind, type) and issubclass(kind, Options) else None), left_out


def _flags(kind: type[Options], left_out: Sequence[str]) -> list[tuple[Any, Any, Any]]:
    """Return the fields of a dataclass of options with default and annotation of their flags."""
    panel = next((panel for known, panel in PANELS.items() if issubclass(kind, known)), None)
    found = []
    for one in fields(kind):
        if one.name not in left_out:
            about = kind.about(one)
            default = None if about.parse is not None else one.default
            found.append((one, default, flag_for(one.name, str(one.type), default, about, panel)))
    return found


def _collected(kind: type[Options], given: dict[str, Any], left_out: Sequence[str] = ()) -> Options:
    """Remove the values of flags from those given, and return them as options."""
    values = {}
    for one in fields(kind):
        if one.name in given and one.name not in left_out:
            value, about = given.pop(one.name), kind.about(one)
            if about.parse is None:
                values[one.name] = value
            elif value is not None:
                values[one.name] = about.parse(value)
    return kind(**values)


def listed(text: str) -> list[str]:
    """Return the parts between commas, without blanks."""
    return [part.strip() for part in text.split(",") if part.strip()]
