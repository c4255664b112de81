"""A session: a folder with the choices, the knowledge and the runs, which can be opened again at any time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from dagopt.errors import InputError, shortened
from dagopt.files import write_text
from dagopt.schema import check, items, mapping, maybe, plain, read_json, record, text, whole

__all__ = ["CHOICES", "Session", "checked_choices", "checked_knowledge"]

FORMAT = "dagopt session 1"
CHOICES: dict[str, Any] = {
    "exclude": [],
    "kind": {},
    "transform": {},
    "missing": "error",
    "score": "auto",
    "method": "auto",
    "max_parents": None,
    "time_limit": 30.0,
}
MOST_PARENTS = 2**31  # more than any table has columns
KNOWLEDGE: dict[str, Any] = {"required": [], "forbidden": [], "tiers": []}


def _run(value: Any, where: str) -> dict[str, Any]:
    """Return a run; what was found is kept as it is."""
    needed = record(number=whole(1), status=text(), choices=mapping(plain), knowledge=mapping(plain))
    base = {"base": maybe(whole(1))(value.get("base"), f"{where}.base")} if isinstance(value, dict) else {}
    kept: dict[str, Any] = {**mapping(plain)(value, where), **needed(value, where), **base}
    return kept


FILE = record(
    format=text(FORMAT), data=maybe(text()), digest=text(), choices=mapping(plain), knowledge=mapping(plain),
    runs=items(_run),
)  # fmt: skip


@dataclass
class Session:
    """What a person did with one table.

    Attributes
    ----------
    folder : Path
        Where it is kept: ``session.json``, one file per run, and the table if it was uploaded.
    data : Path or None
        The table.
    digest : str
        Of the table, to notice that it has changed.
    choices, knowledge : dict
        What the next run is asked.
    runs : list of dict
        What was asked and found, in order; numbers start at 1.
    """

    folder: Path
    data: Path | None = None
    digest: str = ""
    choices: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(CHOICES)))
    knowledge: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(KNOWLEDGE)))
    runs: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, data: Path | None) -> Session:
        """Return the session of a folder, a new one if there is none; the table must be the same."""
        path = folder / "session.json"
        if not path.exists():
            _private_folder(folder)
            session = cls(folder)
            if data is not None:
                session.use(data)
            return session
        told = check(FILE, read_json(path), str(path), "choose another --session")
        session = cls(folder, Path(told["data"]) if told["data"] else None, told["digest"])
        try:
            session.choices |= checked_choices(told["choices"])
            session.knowledge |= checked_knowledge(told["knowledge"])
            for run in told["runs"]:
                checked_choices(run["choices"])
                checked_knowledge(run["knowledge"])
        except InputError as error:
            raise InputError(f"{path}: {error}, or choose another --session") from None
        session.runs = [one for one in told["runs"] if (folder / f"run{one['number']}.json").exists()]
        if data is not None and (session.data is None or data.resolve() != session.data):
            raise InputError(
                f"the session {str(folder)!r} is about {str(session.data)!r}, not {str(data)!r}; choose another "
                "--session"
            )
        return session

    def use(self, data: Path) -> None:
        """Take a table; earlier runs were about another one and are forgotten."""
        self.data, self.digest = data.resolve(), _digest(data)
        self.choices = json.loads(json.dumps(CHOICES))
        self.knowledge = json.loads(json.dumps(KNOWLEDGE))
        self.runs = []
        self.save()

    @property
    def is_changed(self) -> bool:
        """Whether the table is no longer what it was when the session began."""
        return self.data is not None and (not self.data.exists() or _digest(self.data) != self.digest)

    def run_file(self, number: int) -> Path:
        """Return the file of a run."""
        return self.folder / f"run{number}.json"

    def run(self, number: int) -> dict[str, Any]:
        """Return what is known about a run."""
        for one in self.runs:
            if one["number"] == number:
                return one
        raise InputError(f"there is no run {shortened(number)}; it has {len(self.runs)} runs")

    def save(self) -> None:
        """Write the session, completely or not at all."""
        told = {
            "format": FORMAT,
            "data": None if self.data is None else str(self.data),
            "digest": self.digest,
            "choices": self.choices,
            "knowledge": self.knowledge,
            "runs": self.runs,
        }
        write_text(json.dumps(told, indent=1), self.folder / "session.json")


def checked_choices(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices of known names and types, or raise an error; their values are checked by ``learn``."""
    found = {}
    for name, value in given.items():
        if name not in CHOICES:
            raise InputError(f"there is no choice {shortened(name)}; there are {', '.join(CHOICES)}")
        if name == "time_limit":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
                raise InputError(
                    f"expected a time limit between 0 and 86,400 seconds but got {shortened(value)}; change it"
                )
        elif name == "max_parents":
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_PARENTS
            ):
                raise InputError(f"expected a whole number of parents but got {shortened(value)}; change it")
        elif name == "exclude":
            _require_texts(name, value, list)
        elif name in ("kind", "transform"):
            _require_texts(name, value, dict)
        elif not _is_text(value):
            raise InputError(f"expected {name} to be a word but got {shortened(value)}; change it")
        found[name] = value
    return found


def checked_knowledge(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return knowledge of the right shape, or raise an error; names and contradictions are checked by ``learn``."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in KNOWLEDGE or not isinstance(value, list):
            raise InputError(f"expected lists of {', '.join(KNOWLEDGE)} but got {shortened(name)}; change it")
        for one in value:
            _require_texts(name, one, list)
            if name != "tiers" and len(one) != 2:
                raise InputError(f"expected pairs of columns for {name} but got {shortened(one)}; change it")
        found[name] = value
    return found


def _require_texts(name: str, value: Any, kind: type[list[Any]] | type[dict[str, Any]]) -> None:
    texts: list[Any] = [None]
    if isinstance(value, kind):
        texts = [*value, *value.values()] if isinstance(value, dict) else list(value)
    if not all(map(_is_text, texts)):
        raise InputError(f"expected {name} to hold names of columns but got {shortened(value)}; change it")


def _is_text(value: object) -> bool:
    """Say whether a value is text that can be written; half of a pair of surrogates cannot."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _digest(path: Path) -> str:
    facts = path.stat()
    return _digest_of(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=8)
def _digest_of(path: Path, size: int, changed: int) -> str:
    """Return the digest of a file; it is read again only if its size or its time has changed."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _private_folder(path: Path) -> None:
    """Create a folder that only its owner can read, where the system knows owners."""
    path.mkdir(parents=True, exist_ok=True)
    if os.name == "posix":
        path.chmod(0o700)
