"""The reference: names of the package as Markdown, from signatures and numpydoc docstrings as Python sees them."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

from griffe import Docstring, DocstringSection, Parser

TABLES = ("parameters", "other parameters", "attributes")
NOT_OURS = ("set_fit_request", "set_score_request", "set_predict_request")  # scikit-learn makes them
LONGEST = 88  # characters of a signature in one line


def described(name: str) -> str:
    """Return a name of the package, such as ``learn`` or ``networks.bundled.load``, as Markdown."""
    thing, shown = _found(name), f"dagopt.{name}".replace("networks.bundled", "datasets")
    parts = [f"## `{shown}`", *_body(thing, shown)]
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for own, member in _members(thing):
            parts += [f"### `{shown.rpartition('.')[2]}.{own}`", *_body(member, own)]
    return "\n\n".join(parts)


def _found(name: str) -> Any:
    found: Any = import_module("dagopt")
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _members(cls: type) -> list[tuple[str, Any]]:
    """Return the public methods and properties that a class of this package defines, in their order."""
    found = {}
    for base in reversed([one for one in cls.__mro__ if one.__module__.startswith("dagopt")]):
        found |= {
            name: member for name, member in vars(base).items() if not name.startswith("_") and name not in NOT_OURS
        }
    return [(name, member) for name, member in found.items() if _is_documented(member)]


def _is_documented(member: Any) -> bool:
    callable_or_property = callable(member) or hasattr(member, "__get__")
    return callable_or_property and not inspect.isclass(member) and bool(inspect.getdoc(member))


def _body(thing: Any, name: str) -> list[str]:
    """Return signature and docstring."""
    if isinstance(thing, classmethod | staticmethod):
        thing = thing.__func__
    text = inspect.getdoc(thing) or ""
    sections = Docstring(text, parser=Parser.numpy, lineno=1).parse(warnings=False)
    parts = [_section(section) for section in sections]
    return [_signature(thing, name), *filter(None, parts)] if callable(thing) else list(filter(None, parts))


def _signature(thing: Any, name: str) -> str:
    """Return how it is called, without annotations, in one line or one line per parameter."""
    try:
        own = inspect.signature(thing)
    except ValueError:
        return ""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in own.parameters.values() if one.name != "self"]
    line = f"{name}{own.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"
    if len(line) > LONGEST:
        each = re.split(r"(?<!\()(?<=,) (?=[\w*/])", line[len(name) + 1 : -1])
        line = name + "(\n    " + "\n    ".join(each) + ",\n)"
    return f"```text\n{line}\n```"


def _section(section: DocstringSection) -> str:
    """Return one section of a docstring."""
    kind, value = section.kind.value, section.value
    if kind == "text":
        return _prose(value)
    if kind in TABLES:
        rows = "\n".join(f"| `{one.name}` | {_cell(one.annotation)} | {_cell(one.description)} |" for one in value)
        return f"**{kind.capitalize()}**\n\n| name | type | meaning |\n|---|---|---|\n{rows}"
    if kind in ("returns", "yields", "raises"):
        items = "\n".join(f"- {_item(one)}" for one in value)
        return f"**{kind.capitalize()}**\n\n{items}"
    if kind == "examples":
        shown = [text if what.value == "text" else f"```pycon\n{text}\n```" for what, text in value]
        return "\n\n".join(["**Examples**", *shown])
    if kind == "admonition":
        return f"**{section.title}**\n\n{_prose(value.contents)}"
    return ""


def _item(one: Any) -> str:
    said = " ".join(_prose(one.description or "").split())
    return f"`{one.annotation}`" + (f": {said}" if said else "")


def _cell(text: Any) -> str:
    return " ".join(_prose(str(text or "")).split()).replace("|", "\\|")


def _prose(text: str) -> str:
    """Return text with the few marks of reStructuredText that docstrings have as Markdown."""
    text = re.sub(r"^\.\. \[(\w+)\]", r"\n[\1]", text, flags=re.MULTILINE)
    text = re.sub(r"\[(\w+)\]_", r"[\1]", text)
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", text)
