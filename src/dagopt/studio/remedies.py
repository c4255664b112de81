"""The doctor's remedies as buttons: what each changes in the choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["remedies_for"]

LEAVE_OUT = (
    "identifier",
    "nearly-unique",
    "row-numbers",
    "time-index",
    "constant",
    "empty",
    "arity",
    "dates",
    "infinite",
    "unusable",
)
ONE_OF_SEVERAL = ("duplicate", "dependent", "nearly-dependent")  # the last of the columns is left out
BY_RANK = ("skewed", "heavy-tails", "outliers")


def remedies_for(code: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the remedies of a finding: the text of the button, and the choices that it adds."""
    if code in LEAVE_OUT or code in ONE_OF_SEVERAL:
        out = list(columns[-1:] if code in ONE_OF_SEVERAL else columns)
        return [_remedy(f"Leave out {_listed(out)}", {"exclude": out})] if out else []
    if code in BY_RANK:
        found = [_remedy("Use ranks", {"transform": dict.fromkeys(columns, "rank")})]
        return [*found, _remedy("Take logarithms", {"transform": dict.fromkeys(columns, "log")})]
    if code == "counts":
        return [_remedy("Read as counts", {"kind": dict.fromkeys(columns, "count")})]
    if code == "few-values":
        return [_remedy("Read as levels", {"kind": dict.fromkeys(columns, "discrete")})]
    if code == "missing":
        return [
            _remedy("Use all other cells (EM)", {"missing": "em"}),
            _remedy("Leave these rows out", {"missing": "drop"}),
            _remedy("Make it a level", {"missing": "level"}),
        ]
    return []


def _remedy(text: str, adds: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": text, "adds": dict(adds)}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
