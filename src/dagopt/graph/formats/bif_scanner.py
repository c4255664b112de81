"""The tokens of a BIF text, one by one, and the line of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from dagopt.errors import InputError

__all__ = ["Scanner", "shown"]

_BLANK = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_WORD = re.compile(r'(?:(?!//|/\*)[^\s{}()\[\]|,;"])+')
_PROPERTY = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^";])*;', re.DOTALL)


def shown(token: str | None) -> str:
    """Return a token, or the end of the file, for a message."""
    return "the end of the file" if token is None else repr(token)


@dataclass
class Scanner:
    """Returns the tokens of a text one by one and keeps the line of the last."""

    text: str
    source: str
    place: int = 0
    start: int = 0
    literal: bool = False  # whether the last token was quoted
    counted: int = 0  # the lines up to this position have been counted
    lines: int = 1

    def next(self) -> str | None:
        """Return the next token, unquoted, or None at the end."""
        while blank := _BLANK.match(self.text, self.place):
            self.place = blank.end()
        self.start = self.place
        if self.place == len(self.text):
            return None
        string = _QUOTED.match(self.text, self.place)
        self.literal = string is not None
        if string:
            self.place = string.end()
            return re.sub(r"\\(.)", r"\1", string[1], flags=re.DOTALL)
        if word := _WORD.match(self.text, self.place):
            self.place = word.end()
            return word[0]
        if self.text[self.place] in '"/':
            self.fail("expected a closed string or comment but got one without an end; close it")
        self.place += 1
        return self.text[self.start]

    def is_mark(self, token: str | None, marks: str) -> bool:
        """Say whether the last token is one of these punctuation marks, and not a quoted name."""
        return token is not None and len(token) == 1 and token in marks and not self.literal

    def expect(self, wanted: str) -> None:
        """Read the next token, which must be ``wanted``."""
        token = self.next()
        if token != wanted or self.literal:
            self.fail(f"expected {wanted!r} but got {shown(token)}")

    def names(self, closing: str) -> list[str]:
        """Read names up to a closing mark; commas and bars are separators."""
        found: list[str] = []
        while not self.is_mark(token := self.next(), closing):
            if token is None or self.is_mark(token, "{}()[];"):
                self.fail(f"expected a name or {closing!r} but got {shown(token)}")
            if not self.is_mark(token, ",|"):
                found.append(token)
        return found

    def read_property(self) -> str:
        """Read the rest of a property, up to its semicolon."""
        rest = _PROPERTY.match(self.text, self.place)
        if rest is None:
            self.fail("expected ';' after the property but got the end of the file; add it")
        self.place = rest.end()
        return rest[0]

    @property
    def line(self) -> int:
        """The line on which the last token starts."""
        self.lines += self.text.count("\n", self.counted, self.start)
        self.counted = self.start
        return self.lines

    def fail(self, message: str) -> NoReturn:
        """Raise an error with the line of the last token."""
        raise InputError(f"{self.source}, line {self.line}: {message}")
