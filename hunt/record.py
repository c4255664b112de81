"""What a hunt has checked so far, kept in a file."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Record", "Wrong"]


class Wrong(AssertionError):
    """A claim that does not hold."""


@dataclass
class Record:
    """Counts and findings, and where to continue.

    Attributes
    ----------
    seed : int
        The seed of the hunt.
    next : dict
        For each part the number of the next instance.
    counts : dict of Counter
        For each part what was checked.
    findings : list of str
        What was wrong.
    """

    seed: int
    next: dict[str, int] = field(default_factory=dict)
    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    findings: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path | None, seed: int) -> Record:
        """Return the record in a file, a new one if there is none or it has another seed."""
        record = cls(seed)
        if path is not None and path.exists():
            saved = json.loads(path.read_text())
            if saved["seed"] == seed:
                record.next, record.findings = saved["next"], saved["findings"]
                for part, counts in saved["counts"].items():
                    record.counts[part] = Counter(counts)
        return record

    @classmethod
    def added(cls, records: Sequence[Record], seed: int) -> Record:
        """Return what several hunts with one seed, over different instances, have looked at together."""
        whole = cls(seed)
        for record in records:
            whole.findings += record.findings
            for part, counts in record.counts.items():
                whole.counts[part].update(counts)
        return whole

    def save(self, path: Path | None) -> None:
        """Write the record completely or not at all."""
        if path is not None:
            draft = path.with_suffix(".tmp")
            content = {"seed": self.seed, "next": self.next, "counts": self.counts, "findings": self.findings}
            draft.write_text(json.dumps(content, indent=1, sort_keys=True))
            draft.replace(path)

    def table(self) -> str:
        """Return the counts as a table in Markdown."""
        lines = ["| part | what | number |", "|---|---|---|"]
        for part in sorted(self.counts):
            lines += [f"| {part} | {what} | {number:,} |" for what, number in sorted(self.counts[part].items())]
        return "\n".join([*lines, f"| all | findings | {len(self.findings)} |"])
