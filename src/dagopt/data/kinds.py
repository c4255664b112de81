"""Which columns are continuous and which are discrete: by type, by number of values, or by option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dagopt.data.columns import Column
from dagopt.errors import InputError, quoted, unknown_name

__all__ = ["KINDS", "MOST_WHOLE_LEVELS", "TRANSFORMED", "checked_kinds", "with_kinds"]

KINDS = ("auto", "continuous", "discrete", "ordinal", "count")
TRANSFORMED = {"ordinal": "rank", "count": "root"}  # kinds that are continuous after a transformation

MOST_WHOLE_LEVELS = 10  # up to this many distinct whole numbers are read as levels


def checked_kinds(kind: str | Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the requested kind of each column, ``auto`` by default."""
    told = dict.fromkeys(names, kind) if isinstance(kind, str) else {str(name): kind[name] for name in kind}
    known = set(names)
    for name, value in told.items():
        if name not in known:
            raise unknown_name("column", name, list(names))
        if value not in KINDS:
            raise InputError(f"expected kind= to be one of {quoted(KINDS)} but got {value!r}; change the option")
    return {name: told.get(name, "auto") for name in names}


def with_kinds(columns: Sequence[Column], kind: str | Mapping[str, str] = "auto") -> list[Column]:
    """Return the columns with their kinds.

    Parameters
    ----------
    columns : sequence of Column
        As they were read.
    kind : {"auto", "continuous", "discrete", "ordinal", "count"} or mapping of names to these
        For all columns, or for some; the others are ``auto``: floats are continuous, whole numbers with more than
        ``MOST_WHOLE_LEVELS`` distinct values too, everything else is discrete.
    """
    told = checked_kinds(kind, [column.name for column in columns])
    found = []
    for column in columns:
        wanted = told[column.name]
        if wanted == "auto" and column.whole and len(column.levels) > MOST_WHOLE_LEVELS:
            wanted = "continuous"
        if wanted == "ordinal":
            column = column.as_ordered()
        elif wanted in ("continuous", "count"):
            column = column.as_continuous()
        elif wanted == "discrete":
            column = column.as_discrete()
        found.append(column)
    return found
