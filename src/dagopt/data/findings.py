"""The findings of the doctor: each names the columns, the consequence and the remedy."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pandas as pd

from dagopt.data.html_table import html_of
from dagopt.errors import DataWarning, InputError

__all__ = ["Diagnosis", "Finding", "warn_of"]

# The findings under which the best graph of the score may well be wrong, with what each is about in a few words.
AGAINST_THE_MODEL = {
    "serial": "successive rows are alike",
    "sorted": "rows are sorted by something outside the table",
    "units": "rows of one unit are alike",
    "grouped": "rows of one group are alike",
    "repeated-rows": "rows repeat",
    "outliers": "single rows decide on edges",
    "skewed": "columns are skewed",
    "heavy-tails": "columns have heavy tails",
    "counts": "counts are modelled as Gaussian",
    "identifier": "a column looks like an identifier",
    "row-numbers": "a column counts the rows",
    "time-index": "a column is an index of time",
    "survival": "times are cut off before their events",
}


@dataclass(frozen=True)
class Finding:
    """One actual or possible problem with the data.

    Attributes
    ----------
    severity : {"error", "warning"}
        Errors stop learning, warnings do not.
    code : str
        A short fixed name of the kind of finding.
    columns : tuple of str
        The columns concerned.
    message : str
        What was found, with the columns.
    consequence : str
        What happens if nothing is done.
    remedy : str
        What to do.
    """

    severity: Literal["error", "warning"]
    code: str
    columns: tuple[str, ...]
    message: str
    consequence: str
    remedy: str

    @property
    def doubt(self) -> str:
        """Why the graph may be wrong although it is proven to be the best; empty if this finding is no reason."""
        return AGAINST_THE_MODEL.get(self.code, "")

    @property
    def line(self) -> str:
        """The finding and its remedy in one line."""
        return f"{self.message}; {self.remedy}"

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}\n    if nothing is done: {self.consequence}\n    remedy: {self.remedy}"


@dataclass(frozen=True)
class Diagnosis:
    """All findings on one table.

    Attributes
    ----------
    kind : str
        ``continuous``, ``discrete`` or ``mixed``.
    n_samples, n_columns : int
        Size of the table as it was given.
    findings : tuple of Finding
        Errors first.
    kinds : dict of str to str
        How each column was read.
    taken : str
        The same in words.
    """

    kind: str
    n_samples: int
    n_columns: int
    findings: tuple[Finding, ...]
    kinds: dict[str, str] = field(default_factory=dict)
    taken: str = ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that stop learning."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that do not stop learning."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    def raise_for_errors(self) -> None:
        """Raise an error with the first error found, and say how many more there are."""
        if self.errors:
            more = f" (and {len(self.errors) - 1} more errors: see dagopt doctor)" if len(self.errors) > 1 else ""
            raise InputError(self.errors[0].line + more)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": self.kind,
            "n_samples": self.n_samples,
            "n_columns": self.n_columns,
            "kinds": self.kinds,
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def _repr_html_(self) -> str:
        rows = pd.DataFrame([asdict(one) for one in self.findings])
        return html_of(str(self).partition("\n")[0], rows.drop(columns=["code", "columns"], errors="ignore"))

    def __str__(self) -> str:
        head = f"{self.n_samples} rows, {self.n_columns} {self.kind} columns: "
        counts = {"error": len(self.errors), "warning": len(self.warnings)}
        said = [f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count]
        head += ", ".join(said) or "no problems found"
        return "\n".join([head, *([self.taken] if self.taken else []), *(str(finding) for finding in self.findings)])


def warn_of(findings: Iterable[Finding]) -> None:
    """Warn, at the line of the user's code that called the library, of findings under which the answer may be wrong."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "dagopt":
        level, frame = level + 1, frame.f_back
    for finding in findings:
        if finding.doubt:
            warnings.warn(finding.line, DataWarning, stacklevel=level)
