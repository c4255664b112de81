"""A session's choices as arguments of the public functions, and as the Python code that repeats a run."""

from __future__ import annotations

from collections.abc import Mapping
from pprint import pformat
from typing import Any

__all__ = ["code_of", "learn_options", "problem_options", "table_options"]

DATA = ("exclude", "kind", "transform")


def table_options(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of ``as_table`` and ``examine`` that were chosen."""
    found = {name: choices[name] for name in DATA if choices.get(name)}
    if choices.get("missing", "error") != "error":
        found["missing"] = choices["missing"]
    return found


def problem_options(choices: Mapping[str, Any], knowledge: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that say which problem is solved."""
    found = table_options(choices) | {"score": choices["score"]}
    if choices.get("max_parents") is not None:
        found["max_parents"] = choices["max_parents"]
    known = {
        name: [tuple(one) if name != "tiers" else list(one) for one in own] for name, own in knowledge.items() if own
    }
    return found | ({"constraints": known} if known else {})


def learn_options(choices: Mapping[str, Any], knowledge: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of ``learn``."""
    return {
        "method": choices["method"],
        **problem_options(choices, knowledge),
        "time_limit": choices["time_limit"],
    }


def code_of(data: str, choices: Mapping[str, Any], knowledge: Mapping[str, Any]) -> str:
    """Return Python code that repeats a run and writes its report."""
    options = learn_options(choices, knowledge)
    lines = ["import dagopt", "", "result = dagopt.learn(", f"    {data!r},"]
    for name, value in options.items():
        if (name, value) not in (("method", "auto"), ("score", "auto")):
            shown = pformat(value, width=100, sort_dicts=False).replace("\n", "\n" + " " * (5 + len(name)))
            lines.append(f"    {name}={shown},")
    return "\n".join([*lines, ")", "print(result.summary())", 'result.report("report.html")', ""])
