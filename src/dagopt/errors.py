"""The errors that users see: each message says what was expected, what was given and what to do."""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from reprlib import Repr
from typing import Any

__all__ = [
    "DagoptError",
    "DataWarning",
    "InputError",
    "OutOfMemory",
    "checked_choice",
    "checked_jobs",
    "checked_number",
    "checked_share",
    "checked_truth",
    "checked_whole",
    "quoted",
    "shortened",
    "unknown_name",
]

CHANGE = "change the option"
LONGEST = 2000  # characters of a message; a sentence with several names has some hundred

_SHORT = Repr()  # characters and entries of a value that a message shows
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


class DagoptError(Exception):
    """Base class of every error that dagopt raises deliberately.

    Examples
    --------
    >>> import dagopt
    >>> try:
    ...     dagopt.learn("absent.csv")
    ... except dagopt.DagoptError as error:
    ...     print(type(error).__name__)
    InputError
    """

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: the line of the user's code, and the message."""
        frames = traceback.extract_tb(self.__traceback__)
        own = [one for one in frames if not one.filename.startswith(os.path.dirname(__file__))][-1:]
        shown = [f"line {one.lineno}: {one.line}" for one in own if one.line]
        return [*shown, f"{type(self).__name__}: {self}"]


class DataWarning(UserWarning):
    """The doctor found something in the data that may make the answer wrong; the message names the remedy.

    Examples
    --------
    >>> import warnings
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=3, n_samples=100, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", dagopt.DataWarning)  # stop if the doctor finds something
    ...     result = dagopt.learn(data)
    """


class InputError(DagoptError, ValueError):
    """The data, the graph or an option given cannot be used; the message names it and the remedy.

    Examples
    --------
    >>> import dagopt
    >>> try:
    ...     dagopt.learn([[1.0, 2.0], [2.0, 4.5]], "magic")
    ... except dagopt.InputError as error:
    ...     print(str(error)[:24])
    unknown method 'magic';
    """

    def __init__(self, message: str = "") -> None:
        if len(message) > LONGEST:  # a name or a cell may be of any length
            message = f"{message[: LONGEST // 2]} ... {message[-LONGEST // 4 :]}"
        super().__init__(message)


class OutOfMemory(DagoptError, MemoryError):
    """The memory did not suffice; the message says how much is free and what takes less."""


def shortened(value: object) -> str:
    """Return a value as it is written in Python, shortened to a part of a sentence."""
    return _SHORT.repr(value)


def quoted(names: Iterable[object], most: int = 6) -> str:
    """Join names for a message: ``'a', 'b' and 3 more``."""
    listed = [shortened(str(name)) for name in names]
    if len(listed) > most:
        return f"{', '.join(listed[:most])} and {len(listed) - most} more"
    return ", ".join(listed)


def unknown_name(what: str, name: object, known: Sequence[str]) -> InputError:
    """Return the error for an unknown name, with the nearest known spelling."""
    near = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {quoted(known, 12)}"
    return InputError(f"unknown {what} {shortened(str(name))}{hint}")


def checked_whole(option: str, value: Any, least: int, most: int | None = None, remedy: str = CHANGE) -> int:
    """Return a whole number, or raise an error that names the option."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"expected {option}= to be a whole number >= {least} but got {value!r}; {remedy}")
    if most is not None and int(value) > most:
        raise InputError(f"expected {option}= to be a whole number, at most {most}, but got {value!r}; {remedy}")
    return int(value)


def checked_number(option: str, value: Any, *, least: float | None = None, remedy: str = CHANGE) -> float:
    """Return a number above zero, or of at least ``least``, or raise an error that names the option."""
    number = _number(value)
    if not (number > 0 if least is None else number >= least) or number == math.inf:
        wanted = "> 0" if least is None else f">= {least:g}"
        raise InputError(f"expected {option}= to be a number {wanted} but got {value!r}; {remedy}")
    return number


def checked_share(option: str, value: Any, *, ends: bool = False, remedy: str = CHANGE) -> float:
    """Return a number between 0 and 1, or raise an error that names the option; ``ends`` allows 0 and 1."""
    number = _number(value)
    if not (0 <= number <= 1 if ends else 0 < number < 1):
        wanted = "from 0 to 1" if ends else "between 0 and 1"
        raise InputError(f"expected {option}= to be a number {wanted} but got {value!r}; {remedy}")
    return number


def _number(value: Any) -> float:
    """Return a value as a number, NaN if it is not one."""
    return float(value) if not isinstance(value, bool) and isinstance(value, Real) else math.nan


def checked_truth(option: str, value: Any) -> bool:
    """Return True or False, or raise an error that names the option."""
    if not isinstance(value, bool):
        raise InputError(f"expected {option}= to be True or False but got {value!r}; change the option")
    return bool(value)


def checked_choice(option: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return one of a few values, or raise an error that lists them."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"expected {option}= to be one of {listed} but got {value!r}; change the option")
    return value


def checked_jobs(option: str, value: Any) -> int | None:
    """Return a number of threads, or None for all cores, or raise an error that names the option."""
    if value is None or value == -1:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(f"expected {option}= to be a whole number >= 1 but got {value!r}; -1 is all cores")
    return int(value)
