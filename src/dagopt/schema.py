"""Schemas of files: what plain values must look like, checked before anything is made from them.

A shape is a function of a value and its place that returns the value, or raises ``Misfit``. Shapes are small functions
rather than a package of schemas: the checks that matter most here compare parts of a file with each other (positions
below a number of nodes, names that exist, sizes against the free memory), and those must be written by hand anyway.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dagopt.errors import InputError, shortened
from dagopt.files import read_text

__all__ = [
    "Misfit",
    "Shape",
    "check",
    "fields_of",
    "items",
    "mapping",
    "maybe",
    "number",
    "parse_json",
    "plain",
    "read_json",
    "record",
    "row",
    "text",
    "truth",
    "whole",
]

Shape = Callable[[Any, str], Any]

JSON_BYTES = 24  # of memory per byte of text: "[]," becomes a list of 64 bytes and a place of 8
DEEPEST = 20  # levels of nested plain values


class Misfit(Exception):
    """A value does not have the shape that is expected at its place."""

    def __init__(self, where: str, expected: str, value: object) -> None:
        super().__init__(f"expected {expected}{f' at {where}' if where else ''} but got {shortened(value)}")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return the content of a JSON file, or raise an error that names the file."""
    return parse_json(read_text(path, bytes_per_byte=JSON_BYTES), str(path))


def parse_json(content: str, source: str = "") -> Any:
    """Return the value of a JSON text; ``source``, if given, names the text in errors."""
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        reason = f"{error.msg.lower()} at line {error.lineno}"
    except ValueError:  # Python refuses to convert thousands of digits
        reason = "a number has thousands of digits"
    except RecursionError:
        reason = "it has too many nested levels"
    raise InputError(f"{source}{': ' if source else ''}expected JSON but {reason}; check the file")


def check(shape: Shape, value: Any, source: str, remedy: str) -> Any:
    """Return a value of the shape, or raise an error that names the source, the place and the remedy."""
    try:
        return shape(value, "")
    except Misfit as error:
        raise InputError(f"{source}: {error}; {remedy}") from None


def text(*choices: str) -> Shape:
    """Return the shape of a text, or of one of a few."""
    expected = f"one of {', '.join(map(repr, choices))}" if choices else "text"

    def shape(value: Any, where: str) -> str:
        if not isinstance(value, str) or (choices and value not in choices):
            raise Misfit(where, expected, value)
        return value

    return shape


def truth(value: Any, where: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise Misfit(where, "true or false", value)
    return value


def whole(least: int = 0, most: int = 2**63 - 1) -> Shape:
    """Return the shape of a whole number."""

    def shape(value: Any, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Misfit(where, f"a whole number from {least} to {most}", value)
        return value

    return shape


def number(least: float = -math.inf, *, finite: bool = True) -> Shape:
    """Return the shape of a number."""
    expected = ("a number" if not finite else "a finite number") + (f" >= {least:g}" if least > -math.inf else "")

    def shape(value: Any, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Misfit(where, expected, value)
        try:
            value = float(value)
        except OverflowError:
            raise Misfit(where, expected, value) from None
        if (finite and not math.isfinite(value)) or value < least:
            raise Misfit(where, expected, value)
        return float(value)

    return shape


def items(of: Shape, least: int = 0) -> Shape:
    """Return the shape of a list of any length from ``least`` on."""

    def shape(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list) or len(value) < least:
            raise Misfit(where, "a list" if not least else f"a list of at least {least}", value)
        return [of(one, f"{where}[{k}]") for k, one in enumerate(value)]

    return shape


def row(*of: Shape) -> Shape:
    """Return the shape of a list with one entry per shape."""

    def shape(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(of):
            raise Misfit(where, f"a list of {len(of)}", value)
        return tuple(one(entry, f"{where}[{k}]") for k, (one, entry) in enumerate(zip(of, value, strict=True)))

    return shape


def record(**of: Shape) -> Shape:
    """Return the shape of an object with these keys; others, as later versions may write them, are left out."""

    def shape(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise Misfit(where, f"an object with {', '.join(map(repr, of))}", value)
        for key in of:
            if key not in value:
                raise Misfit(where, f"the key {key!r}", list(value))
        return {key: one(value[key], f"{where}.{key}" if where else key) for key, one in of.items()}

    return shape


def fields_of(kind: type, *, finite: bool = True) -> Shape:
    """Return the shape of an object with the fields of a dataclass, by their types; those with a default may lack."""
    hints = get_type_hints(kind)
    shapes = {one.name: _shape_of(hints[one.name], finite) for one in fields(kind)}
    needed = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]

    def shape(value: Any, where: str) -> dict[str, Any]:
        given = mapping(plain)(value, where)
        present = {name: one for name, one in shapes.items() if name in given or name in needed}
        found: dict[str, Any] = record(**present)(given, where)
        return found

    return shape


def _shape_of(hint: Any, finite: bool) -> Shape:
    """Return the shape of a value with a type: plain types, and lists, mappings and choices of them."""
    origin, of = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is float:
        return number(finite=finite)
    if origin is Literal:
        return text(*of)
    if origin in (UnionType, Union) and len(of) == 2 and type(None) in of:
        return maybe(_shape_of(next(one for one in of if one is not type(None)), finite))
    if origin in (list, tuple):
        entries = items(_shape_of(of[0], finite))
        return entries if origin is list else lambda value, where: tuple(entries(value, where))
    if origin in (dict, Mapping):
        return mapping(_shape_of(of[1], finite))
    raise TypeError(f"no shape for {hint}")


def mapping(of: Shape) -> Shape:
    """Return the shape of an object with any keys."""

    def shape(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise Misfit(where, "an object", value)
        return {key: of(one, f"{where}.{shortened(key)}") for key, one in value.items()}

    return shape


def maybe(of: Shape) -> Shape:
    """Return the shape of a value that may be null."""
    return lambda value, where: None if value is None else of(value, where)


def plain(value: Any, where: str) -> Any:
    """Return any plain value that is not nested too deeply."""
    _refuse_deeper(value, where, DEEPEST)
    return value


def _refuse_deeper(value: Any, where: str, left: int) -> None:
    if left == 0:
        raise Misfit(where, f"at most {DEEPEST} nested levels", value)
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_deeper(one, where, left - 1)


_PLAIN: dict[Any, Shape] = {Any: plain, str: text(), int: whole(), bool: truth}
