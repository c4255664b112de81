"""What the processes of the studio do: calls of the public functions, with plain values in and out."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dagopt
from dagopt.errors import DataWarning, InputError
from dagopt.graph.formats import FORMATS
from dagopt.learning.learning import with_problem
from dagopt.networks.questions import Expectation
from dagopt.report.html import render_report
from dagopt.report.pictures import column_data, column_pictures
from dagopt.report.side_by_side import side_by_side
from dagopt.results.result import Result
from dagopt.studio.asking import learn_options, problem_options, table_options

__all__ = ["asking", "facts_of", "learning"]

Tell = Callable[[dict[str, Any]], None]
EVERY = 0.15  # seconds between reports of progress
FIRST_SHARE, MOST_FIRST = 0.1, 2.0  # of the time limit, and seconds, of the first search
FEW_COLUMNS = 12  # with fewer the answer is there at once
MOST_DRAWN = 100  # columns of two graphs that are drawn side by side
MOST_ASKED = 60  # columns whose distributions are shown together


class _Told:
    """Progress of a run as messages."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._last = 0.0

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Tell about the run, but not too often."""
        now = time.monotonic()
        if now - self._last < EVERY:
            return
        self._last = now
        shown = {name: value for name, value in facts.items() if isinstance(value, int | float | str)}
        self._tell({"phase": phase, "fraction": fraction, "facts": _plain(shown)})

    def note(self, message: str) -> None:
        """Tell a sentence."""
        self._tell({"note": message})

    def posed(self, kind: str, warnings: Sequence[Any]) -> None:
        """Do nothing: the result has the warnings."""

    def close(self) -> None:
        """Do nothing."""


def learning() -> dict[str, Callable[..., Any]]:
    """Return the functions of the process that learns."""
    return {"learn": _learn}


def asking() -> dict[str, Callable[..., Any]]:
    """Return the functions of the process that answers questions; it keeps results in memory."""
    known = _Known()
    return {
        "examine": _examine,
        "view": known.view,
        "ask": known.ask,
        "effect": known.effect,
        "report": known.report,
        "graph": known.graph,
        "compare": known.compare,
    }


def _learn(
    tell: Tell, data: str, choices: dict[str, Any], knowledge: dict[str, Any], start: Any, file: str
) -> dict[str, Any]:
    """Learn, first by a short search whose graph is shown at once, and write the result."""
    options = learn_options(choices, knowledge)
    shown = _Told(tell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the page shows the findings
        begin = _allowed_start(start, knowledge)
        if begin is None and options["method"] == "auto" and len(_names(data, choices)) > FEW_COLUMNS:
            limit = min(FIRST_SHARE * options["time_limit"], MOST_FIRST)
            first = dagopt.learn(data, **(options | {"method": "order", "time_limit": limit}), progress=shown)
            begin = first.graph.directed_edges
            tell({"graph": [list(edge) for edge in begin], "score": first.score})
        more: dict[str, Any] = (
            {} if begin is None or options["method"] in ("pc", "mmhc", "exact") else {"start": list(begin)}
        )
        try:
            result = dagopt.learn(data, **options, **more, progress=shown)
        except InputError:
            if not more:
                raise
            result = dagopt.learn(data, **options, progress=shown)  # the start breaks the new knowledge
    result.directions(time_limit=3.0)
    result.save(file)
    return facts_of(result)


def _names(data: str, choices: dict[str, Any]) -> tuple[str, ...]:
    return dagopt.as_table(data, **table_options(choices)).names


def _allowed_start(start: Any, knowledge: dict[str, Any]) -> list[tuple[str, str]] | None:
    """Return the edges of an earlier graph that are not forbidden now."""
    if not start:
        return None
    forbidden = {tuple(pair) for pair in knowledge["forbidden"]}
    tier = {name: k for k, group in enumerate(knowledge["tiers"]) for name in group}
    return [(a, b) for a, b in start if (a, b) not in forbidden and not (a in tier and b in tier and tier[a] > tier[b])]


def facts_of(result: dagopt.Result) -> dict[str, Any]:
    """Return what the page shows about a run."""
    words = [*result.directions().values()]
    return _plain(
        {
            "status": result.status,
            "score": result.score,
            "bound": result.bound,
            "gap": result.gap,
            "proof": result.proof,
            "scope": result.scope,
            "method": result.method,
            "seconds": result.seconds,
            "edges": [list(edge) for edge in result.graph.directed_edges],
            "directions": {word: words.count(word) for word in dict.fromkeys(words)},
            "misfits": len(result.misfits or {}),
            "score_label": result.score_label,
        }
    )


def _examine(tell: Tell, data: str, choices: dict[str, Any]) -> dict[str, Any]:
    """Return the columns and the doctor's findings."""
    options = table_options(choices)
    told: dict[str, Any] = {"columns": [], "findings": [], "error": ""}
    try:
        diagnosis = dagopt.examine(data, **options)
        told |= _plain(diagnosis.to_dict())
    except InputError as error:
        told["error"] = str(error)
    try:
        table = dagopt.as_table(data, **(options | ({} if "missing" in options else {"missing": "em"})))
        found = column_data(table)
        pictures = column_pictures(*found) if found is not None else [{} for _ in table.names]
        named = zip(table.names, pictures, strict=True)
        told["columns"] = [_plain({"name": name, "picture": one}) for name, one in named]
    except InputError as error:
        told["error"] = told["error"] or str(error)
        told["columns"] = [{"name": name, "picture": {}} for name in told.get("kinds", {})]
    return told


class _Known:
    """Results by their file, with their data."""

    def __init__(self) -> None:
        self._results: dict[str, dagopt.Result] = {}
        self._fitted: dict[str, Any] = {}

    def _result(self, data: str, run: dict[str, Any], file: str) -> dagopt.Result:
        if file not in self._results:
            options = problem_options(run["choices"], run["knowledge"])
            self._results[file] = with_problem(dagopt.Result.load(file), data, **options)
        return self._results[file]

    def _network(self, data: str, run: dict[str, Any], file: str) -> Any:
        if file not in self._fitted:
            result = self._result(data, run, file)
            smoothed = result.problem is not None and result.problem.table.kind == "discrete"
            self._fitted[file] = result.fit(equivalent_sample_size=1.0 if smoothed else 0.0)
        return self._fitted[file]

    def view(self, tell: Tell, data: str, run: dict[str, Any], file: str) -> str:
        """Return the graph as a page for a frame."""
        return render_report(self._result(data, run, file), embedded=True)

    def report(self, tell: Tell, data: str, run: dict[str, Any], file: str, with_data: bool) -> str:
        """Return the report."""
        return render_report(self._result(data, run, file), with_data=with_data)

    def graph(self, tell: Tell, data: str, run: dict[str, Any], file: str, format: str) -> str:
        """Return the graph as text in a format."""
        result = self._result(data, run, file)
        if format == "bif":
            return self._written(self._network(data, run, file), Path(file).with_suffix(".bif"))
        if format not in FORMATS:
            raise InputError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
        return FORMATS[format].render(result.graph)

    def _written(self, network: Any, path: Path) -> str:
        if not hasattr(network, "to_bif"):
            raise InputError("a BIF file holds discrete columns only; choose another format")
        network.to_bif(path)
        try:
            return path.read_text(encoding="utf-8")
        finally:
            path.unlink()

    def compare(self, tell: Tell, data: str, runs: list[dict[str, Any]], files: list[str]) -> dict[str, Any]:
        """Return what two runs have in common, and pictures of both if they are not too large to look at."""
        one, other = (self._result(data, run, file) for run, file in zip(runs, files, strict=True))
        first, second = set(one.graph.directed_edges), set(other.graph.directed_edges)
        turned = sorted(edge for edge in first - second if edge[::-1] in second)
        return _plain(
            {
                "both": sorted(first & second),
                "first": sorted(edge for edge in first - second if edge[::-1] not in second),
                "second": sorted(edge for edge in second - first if edge[::-1] not in first),
                "turned": turned,
                "pictures": _pictures(one, other),
            }
        )

    def ask(
        self, tell: Tell, data: str, run: dict[str, Any], file: str, evidence: dict[str, Any], do: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the distribution of every column given the evidence."""
        fitted = self._network(data, run, file)
        asked = fitted.do(do) if do else fitted
        found = []
        for name in fitted.names[:MOST_ASKED]:
            if name in evidence or name in do:
                found.append({"name": name, "given": evidence.get(name, do.get(name)), "levels": _levels(fitted, name)})
                continue
            answer = asked.query(name, evidence)
            if isinstance(answer, Expectation):
                found.append({"name": name, "mean": answer.mean, "sd": answer.std})
            else:
                found.append({"name": name, "levels": [str(one) for one in answer.index], "shares": [*answer]})
        return _plain({"columns": found, "left_out": max(len(fitted.names) - MOST_ASKED, 0)})

    def effect(self, tell: Tell, data: str, run: dict[str, Any], file: str, cause: str, outcome: str) -> dict[str, Any]:
        """Return the effect of one column on another, with its range over the class."""
        found = self._result(data, run, file).effect(cause, outcome)
        return _plain(
            {
                "identified": found.identified,
                "ranges": found.ranges.to_dict("records"),
                "assumptions": list(found.assumptions),
                "level": found.level,
            }
        )


def _pictures(one: Result, other: Result) -> tuple[str, ...]:
    """Return the graphs of two runs as SVG, with each column at the same place; nothing if they are large."""
    if one.names != other.names or len(one.names) > MOST_DRAWN:
        return ()
    return side_by_side(one.names, one.adjacency, other.adjacency)


def _levels(fitted: Any, name: str) -> list[str]:
    return [str(level) for level in fitted.network.levels_of(fitted.names.index(name)) or ()]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return values for JSON: numbers of Python, and None for what is not finite."""
    return {str(name): _plain_value(own) for name, own in values.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, dict):
        return _plain(value)
    if isinstance(value, list | tuple):
        return [_plain_value(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
