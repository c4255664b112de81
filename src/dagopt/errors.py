"""The errors a user can meet: each message says what was expected, what came and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

__all__ = ["DagoptError", "InputError", "checked_number", "checked_whole", "quoted", "unknown_name"]


class DagoptError(Exception):
    """Base class of every error that dagopt raises on purpose."""


class InputError(DagoptError, ValueError):
    """The data, the graph or an option given cannot be used; the message names it and the remedy."""


def quoted(names: Iterable[object], most: int = 6) -> str:
    """Join names for a message: ``'a', 'b' and 3 more``."""
    listed = [repr(str(name)) for name in names]
    if len(listed) > most:
        return f"{', '.join(listed[:most])} and {len(listed) - most} more"
    return ", ".join(listed)


def unknown_name(what: str, name: object, known: Sequence[str]) -> InputError:
    """Return the error for a name that is not among the known ones, with the nearest spelling."""
    near = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {quoted(known, 12)}"
    return InputError(f"unknown {what} {str(name)!r}{hint}")


def checked_whole(option: str, value: Any, least: int) -> int:
    """Return a whole number, or raise the error that names the option."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"expected {option}= a whole number >= {least} but got {value!r}; change the option")
    return int(value)


def checked_number(option: str, value: Any) -> float:
    """Return a number above zero, or raise the error that names the option."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise InputError(f"expected {option}= a number > 0 but got {value!r}; change the option")
    return float(value)
