"""Names in the form in which they are drawn: printable, not too long, with their width."""

from __future__ import annotations

from unicodedata import category, east_asian_width

__all__ = ["label", "label_width"]

LONGEST = 28  # characters of a name in a drawing
NARROW = frozenset("iIjl|!.,:;'`ft-/\\ ")
WIDE = frozenset("mwMW@%&QGOD_")


def label(name: str, longest: int = LONGEST) -> str:
    """Return a name in one line without control characters; the middle is left out if it is too long."""
    plain = "".join(" " if category(char) in ("Cc", "Zl", "Zp") else char for char in name)
    if len(plain) <= longest:
        return plain
    head = (longest - 1) // 2 + (longest - 1) % 2
    return f"{plain[:head]}…{plain[len(plain) - (longest - 1 - head) :]}"


def label_width(text: str, size: float) -> float:
    """Return the approximate width of a text in a sans-serif font of the given size, rounded up."""
    return size * sum(_width(char) for char in text)


def _width(char: str) -> float:
    """Return the width of a character relative to the font size."""
    if category(char) in ("Mn", "Me", "Cf"):  # combining marks have no width
        return 0.0
    if east_asian_width(char) in "WF":
        return 1.05
    if char in NARROW:
        return 0.34
    if char in WIDE:
        return 0.86
    return 0.7 if char.isupper() else 0.58
