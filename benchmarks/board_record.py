"""The record of the board: the best score and the best bound of each instance, and the last run under each limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAME = 1e-7  # of a score: a smaller difference is none
WORSE = 0.02  # of the gap: a bound that is higher by more is worse; runs with a time limit vary
HOW = ("seconds", "limit", "clock", "threads", "version", "commit")  # how a run was made


def manner(limit: float, clock: str, threads: int) -> str:
    """Return under what a run is kept: its limit with its clock, and its threads."""
    return f"{limit:g} {'CPU ' if clock == 'cpu' else ''}s, {threads} threads"


def enter(record: dict[str, Any], line: dict[str, Any]) -> Iterator[str]:
    """Take a run into the record; yield what is worse than it was, or contradicts it."""
    name, score, bound = line["instance"], line["score"], line["bound"]
    own = record.setdefault(name, {"score": None, "bound": None, "runs": {}})
    own |= {key: line[key] for key in ("columns", "rows", "empty", "known")}
    how = {key: line[key] for key in HOW}
    within = SAME * max(abs(score), 1.0)
    key = manner(line["limit"], line["clock"], line["threads"])
    last = own["runs"].get(key)
    if last is not None:
        if score < last["score"] - within:
            yield f"{name}: the score with {key} was {last['score']:.4f} ({last['version']}) and is now {score:.4f}"
        gap = None if last["bound"] is None else last["bound"] - last["score"]
        if gap is not None and (bound is None or bound > last["bound"] + within + WORSE * gap):
            shown = "none" if bound is None else f"{bound:.4f}"
            yield f"{name}: the bound with {key} was {last['bound']:.4f} ({last['version']}) and is now {shown}"
    own["runs"][key] = {"score": score, "bound": bound, **how}
    if own["score"] is None or score > own["score"]["value"] + within:
        own["score"] = {"value": score, **how}
    if bound is not None and (own["bound"] is None or bound < own["bound"]["value"] - within):
        own["bound"] = {"value": bound, **how}
    if own["bound"] is not None and own["bound"]["value"] < own["score"]["value"] - within:
        yield f"{name}: the bound {own['bound']['value']:.6f} is below the score {own['score']['value']:.6f}"


def lines_of(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the runs of a record."""
    for name, own in record.items():
        facts = {key: own[key] for key in ("columns", "rows", "empty", "known")}
        for run in own["runs"].values():
            proven = run["bound"] is not None and run["bound"] - run["score"] <= SAME * max(abs(run["score"]), 1.0)
            yield {"instance": name, "status": "optimal" if proven else "time_limit", **facts, **run}


def left(own: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the gap in points, and as a share of what the graph explains; None where it is not known."""
    if own["bound"] is None:
        return None, None
    score = own["score"]["value"]
    gap = max(own["bound"]["value"] - score, 0.0)
    gap = 0.0 if gap <= SAME * max(abs(score), 1.0) else gap
    gain = None if own["empty"] is None else score - own["empty"]
    return gap, None if not gain or gain <= SAME * abs(score) else gap / gain


def save(record: dict[str, Any], path: Path) -> None:
    """Write the record, one instance per line."""
    lines = [f"{json.dumps(name)}: {json.dumps(record[name])}" for name in sorted(record)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
