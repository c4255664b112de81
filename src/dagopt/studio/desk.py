"""What the studio knows and does: one session, two processes, and a number that grows with every change."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagopt.errors import DagoptError, InputError
from dagopt.results.result import Result
from dagopt.studio.asking import code_of
from dagopt.studio.process import Process
from dagopt.studio.remedies import remedies_for
from dagopt.studio.session import Session, checked_choices, checked_knowledge
from dagopt.studio.work import asking, facts_of, learning

__all__ = ["Desk"]


class Desk:
    """The state that all tabs share. Its methods may be called from any thread.

    Parameters
    ----------
    session : Session
        What was done so far.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._changed = threading.Condition()
        self.version = 1
        self._table: dict[str, Any] = {"columns": [], "findings": [], "error": ""}
        self._progress: dict[str, Any] | None = None  # of the run that is under way
        self._error = ""
        self._learner, self._asker = Process(learning), Process(asking)
        self._collect()
        if session.data is not None:
            threading.Thread(target=self._examine, daemon=True).start()

    def state(self, after: int, patience: float) -> dict[str, Any]:
        """Return everything that the page shows, once it is newer than a version, or after some seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.version > after, patience)
            session = self.session
            return {
                "version": self.version,
                "data": None if session.data is None else session.data.name,
                "folder": str(session.folder),
                "changed": session.is_changed if session.data is not None else False,
                "table": self._table,
                "choices": session.choices,
                "knowledge": session.knowledge,
                "runs": session.runs,
                "progress": self._progress,
                "error": self._error,
            }

    def choose(self, given: Mapping[str, Any]) -> None:
        """Change choices; the table is examined again if they concern it."""
        checked = checked_choices(given)
        with self._changing():
            self.session.choices |= checked
        if set(checked) & {"exclude", "kind", "transform", "missing"}:
            threading.Thread(target=self._examine, daemon=True).start()

    def know(self, given: Mapping[str, Any]) -> None:
        """Change the knowledge."""
        checked = checked_knowledge(given)
        with self._changing():
            self.session.knowledge |= checked

    def use(self, data: Path) -> None:
        """Take another table."""
        if self._progress is not None:
            raise InputError("a run is under way; stop it first")
        with self._changing():
            self.session.use(data)
            self._table = {"columns": [], "findings": [], "error": ""}
        threading.Thread(target=self._examine, daemon=True).start()

    def learn(self, base: int | None) -> int:
        """Begin a run, from the graph of an earlier one if that is given, and return its number."""
        session = self.session
        if session.data is None:
            raise InputError("there is no table; choose one first")
        start = None if base is None else session.run(base).get("edges")
        with self._changing():
            if self._progress is not None:
                raise InputError("a run is under way; stop it first")
            number = 1 + max((one["number"] for one in session.runs), default=0)
            asked = {"choices": session.choices, "knowledge": session.knowledge}
            run = {"number": number, "base": base, "status": "running", **json.loads(json.dumps(asked))}
            session.runs.append(run)
            self._progress = {
                "number": number,
                "phase": "starting",
                "fraction": None,
                "facts": {},
                "begun": time.time(),
            }
            self._error = ""
        threading.Thread(target=self._learn, args=(run, start), daemon=True).start()
        return number

    def stop(self) -> None:
        """Ask the run to end with the best so far."""
        self._learner.stop()

    def close(self) -> None:
        """End both processes; a run that is under way writes what it has."""
        self._learner.end()
        self._asker.end()

    def forget(self, number: int) -> None:
        """Remove a run."""
        self.session.run(number)
        if self._progress is not None and self._progress["number"] == number:
            raise InputError("this run is under way; stop it first")
        with self._changing():
            self.session.runs = [one for one in self.session.runs if one["number"] != number]
            self.session.run_file(number).unlink(missing_ok=True)

    def answer(self, name: str, number: int, **arguments: Any) -> Any:
        """Return what the second process says about a run."""
        run = self.session.run(number)
        if run["status"] == "running":
            raise InputError(f"run {number} is still under way; wait for it, or stop it")
        about = {"data": str(self.session.data), "run": run, "file": str(self.session.run_file(number))}
        return self._asker.call(name, about | arguments)

    def compare(self, one: int, other: int) -> dict[str, Any]:
        """Return how the graphs of two runs differ."""
        runs = [self.session.run(number) for number in (one, other)]
        files = [str(self.session.run_file(number)) for number in (one, other)]
        found: dict[str, Any] = self._asker.call(
            "compare", {"data": str(self.session.data), "runs": runs, "files": files}
        )
        return found

    def code(self, number: int) -> str:
        """Return Python code that repeats a run."""
        run = self.session.run(number)
        return code_of(str(self.session.data), run["choices"], run["knowledge"])

    def knowledge_file(self) -> str:
        """Return the knowledge as TOML, as ``--knowledge`` reads it."""
        lines = [
            f"{name} = {json.dumps(own, ensure_ascii=False)}" for name, own in self.session.knowledge.items() if own
        ]
        return "\n".join([*lines, ""])

    def _learn(self, run: dict[str, Any], start: Any) -> None:
        number = run["number"]
        asked = {
            "data": str(self.session.data),
            "choices": run["choices"],
            "knowledge": run["knowledge"],
            "start": start,
            "file": str(self.session.run_file(number)),
        }
        try:
            found, error = self._learner.call("learn", asked, self._told), ""
        except DagoptError as refused:
            found, error = None, str(refused)
        except Exception as failed:
            found, error = None, f"this should not have happened: {failed}"
        with self._changing():
            self._progress = None
            self._error = error
            if found is None:
                self.session.runs = [one for one in self.session.runs if one["number"] != number]
            else:
                run |= found

    def _told(self, message: dict[str, Any]) -> None:
        with self._changing(save=False):
            if self._progress is not None:
                self._progress = {**self._progress, **message}

    def _examine(self) -> None:
        try:
            found = self._asker.call("examine", {"data": str(self.session.data), "choices": self.session.choices})
        except Exception as error:
            found = {"columns": [], "findings": [], "error": str(error)}
        for one in found["findings"]:
            one["remedies"] = remedies_for(one["code"], one["columns"])
        with self._changing(save=False):
            self._table = found

    def _collect(self) -> None:
        """Take over the answers of runs whose server ended before them; forget runs without an answer."""
        kept = []
        for run in self.session.runs:
            if run["status"] == "running":
                run |= facts_of(Result.load(self.session.run_file(run["number"])))
            kept.append(run)
        self.session.runs = kept

    def _changing(self, *, save: bool = True) -> _Changing:
        return _Changing(self, save)


class _Changing:
    """While the state changes: nobody else changes it; afterwards it is written, and those who wait are told."""

    def __init__(self, desk: Desk, save: bool) -> None:
        self._desk = desk
        self._save = save

    def __enter__(self) -> None:
        self._desk._changed.acquire()

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self._save:
                self._desk.session.save()
            self._desk.version += 1
            self._desk._changed.notify_all()
        finally:
            self._desk._changed.release()
