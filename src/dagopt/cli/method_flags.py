"""Flags for the options of a single method, made from the dataclass of its options."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import Field, fields
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dagopt.cli.flags import FLAGS, flag_of, help_of
from dagopt.errors import InputError
from dagopt.methods.registry import METHODS, method_name
from dagopt.options import Option, Options

__all__ = ["all_flags", "method_in", "own_flags", "refuse_flags_of_others", "value_of"]

METAVARS = {"int": "N", "float": "NUMBER", "path": "FILE"}


def method_in(arguments: Sequence[str]) -> str:
    """Return the method that a command line asks for; ``"auto"`` if it names none or an unknown one."""
    asked = "auto"
    for one, after in pairwise((*arguments, "")):
        flag, equals, value = one.partition("=")
        if flag == "--method":
            asked = value if equals else after
    return asked if asked in METHODS else "auto"


def own_flags(method: str) -> list[Any]:
    """Return the parser's flags for the options of a method that ``dagopt learn`` does not already have."""
    kind = METHODS[method_name(method)].options_type()
    own = [one for one in fields(kind) if one.name not in FLAGS]

    def taken(**_: Any) -> None:
        """Do nothing; only the flags are needed."""

    made = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(one),
            annotation=_annotation(one, kind.about(one), f"Options of {method}"),
        )
        for one in own
    ]
    taken.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    taken.__annotations__ = {one.name: one.annotation for one in made}
    app = typer.Typer(add_completion=False)
    app.command()(taken)
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand)
    return [one for one in command.params if one.name in taken.__annotations__]


def _annotation(one: Field[Any], about: Option, panel: str) -> Any:
    """Return the typer annotation of a method's option; a switch has two flags, all other options are text."""
    flag = flag_of(one.name, about)[0]
    is_switch = str(one.type) == "bool"
    words = METAVARS.get(about.check.words, "NAME")
    shown = typer.Option(
        f"{flag}/--no-{flag[2:]}" if is_switch else flag,
        help=help_of(about),
        metavar=None if is_switch else about.metavar or words,
        show_default=about.unset or one.default is not None,
        rich_help_panel=panel,
    )
    return Annotated[bool if is_switch else str | None, shown]


def _default(one: Field[Any]) -> str | bool | None:
    """Return a default as it would be typed."""
    if one.default is None or isinstance(one.default, bool):
        return one.default
    return ",".join(one.default) if isinstance(one.default, tuple) else str(one.default)


def value_of(method: str, name: str, text: str | bool) -> Any:
    """Return the value of an option from its text, by the option's own rule if it has one.

    Otherwise the value is a number, a truth value, None or text.
    """
    kind = METHODS[method].options_type()
    parse = next((kind.about(one).parse for one in fields(kind) if one.name == name), None)
    if isinstance(text, bool):
        return text
    return _plain(text) if parse is None else parse(text)


def _plain(text: str) -> Any:
    if text.lower() == "none":
        return None
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def all_flags(kind: type[Options]) -> dict[str, str]:
    """Return the flag of each option of a method."""
    return {one.name: FLAGS.get(one.name, flag_of(one.name, kind.about(one))[0]) for one in fields(kind)}


def refuse_flags_of_others(method: str, arguments: Sequence[str], known: Sequence[str]) -> None:
    """Raise an error for the first flag that the command does not know but another method has."""
    for argument in arguments:
        flag = argument.partition("=")[0]
        if not flag.startswith("--") or flag in known:
            continue
        name = flag[2:].replace("-", "_")
        others = [other for other, one in METHODS.items() if name in one.options()]
        if others:
            taken = ", ".join(all_flags(METHODS[method].options_type()).values())
            raise InputError(f"method {method!r} has no {flag}; it has {taken}; {flag} is for {' and '.join(others)}")
