"""Names that every reader of BIF accepts, with the true names stored as properties.

pgmpy and pyAgrum read words of letters, digits, ``_`` and ``-``, but no quoted names. Any other name or level is
written as such a word. Its true spelling is kept, percent-encoded, in a property of the variable, which other readers
skip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote, unquote

from dagopt.errors import InputError
from dagopt.schema import Misfit, items, parse_json, text

__all__ = ["read_property", "spelled", "spelled_levels", "written_properties"]

NAME_PROPERTY, LEVELS_PROPERTY = "dagopt_name", "dagopt_levels"
_NAME, _LEVELS = text(), items(text())

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WHOLE = re.compile(r"-?[0-9]+")
_KEYWORDS = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}


def spelled(names: Iterable[str]) -> list[str]:
    """Return distinct words for names: the name itself if every reader accepts it.

    Examples
    --------
    >>> spelled(["age", "blood pressure", "blood/pressure", "table"])
    ['age', 'blood_pressure', 'blood_pressure_2', '_table']
    """
    return _different(list(names), lambda name: bool(_WORD.fullmatch(name)))


def spelled_levels(levels: Iterable[str]) -> list[str]:
    """Return distinct words for the levels of a column; whole numbers are kept."""
    return _different(list(levels), lambda level: bool(_WORD.fullmatch(level) or _WHOLE.fullmatch(level)))


def _different(names: Sequence[str], is_plain: Callable[[str], bool]) -> list[str]:
    plain = [is_plain(name) and name.lower() not in _KEYWORDS for name in names]
    taken = {name for name, stays in zip(names, plain, strict=True) if stays}
    found = []
    for name, stays in zip(names, plain, strict=True):
        if stays:
            found.append(name)
            continue
        word = re.sub(r"[^A-Za-z0-9_-]", "_", name) or "_"
        if not _WORD.fullmatch(word) or word.lower() in _KEYWORDS:
            word = f"_{word}"
        first, k = word, 1
        while word in taken:
            k += 1
            word = f"{first}_{k}"
        taken.add(word)
        found.append(word)
    return found


def written_properties(name: str, word: str, levels: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return the properties of a variable that say what its words stand for; none if the words are the names."""
    lines = [f"property {NAME_PROPERTY} = {_encoded(json.dumps(name))} ;"] if name != word else []
    if list(levels) != list(words):
        lines.append(f"property {LEVELS_PROPERTY} = {_encoded(json.dumps(list(levels)))} ;")
    return lines


def read_property(given: str) -> tuple[str | None, tuple[str, ...] | None]:
    """Return the name or the levels stored in a property; None for properties of other programs."""
    key, _, value = (part.strip() for part in given.rstrip(" ;").partition("="))
    try:
        if key == NAME_PROPERTY:
            return _NAME(parse_json(unquote(value)), key), None
        if key == LEVELS_PROPERTY:
            return None, tuple(_LEVELS(parse_json(unquote(value)), key))
    except (InputError, Misfit):
        pass
    return None, None


def _encoded(text: str) -> str:
    return quote(text, safe="").replace("~", "%7E")
