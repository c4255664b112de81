"""Knowledge in files: TOML and JSON with the keys of ``Constraints``, and Tetrad's knowledge files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from dagopt.errors import InputError
from dagopt.files import read_text, write_text
from dagopt.schema import parse_json

__all__ = ["parse_tetrad", "read_knowledge", "write_knowledge"]

TETRAD = "/knowledge"
SECTIONS = ("addtemporal", "forbiddirect", "requiredirect", "forbiddengroup", "requiredgroup")


def read_knowledge(path: str | Path) -> dict[str, Any]:
    """Return what a knowledge file says by the keys of ``Constraints``: JSON by its suffix, Tetrad by its head."""
    text = read_text(path, may_be_empty=True)
    if text.lstrip().startswith(TETRAD):
        return parse_tetrad(text, str(path))
    if Path(path).suffix.lower() == ".json":
        content = parse_json(text, str(path))
        if not isinstance(content, dict):
            raise InputError(f"expected an object in the knowledge file {path} but got {content!r}; check the file")
        return content
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(
            f"cannot read the knowledge file {path}: it has too many nested levels; check the file"
        ) from None
    except ValueError as error:  # a TOMLDecodeError, or thousands of digits
        raise InputError(f"cannot read the knowledge file {path}: {error}") from error


def parse_tetrad(text: str, source: str) -> dict[str, Any]:
    """Return Tetrad's knowledge: tiers in time (a star after the number forbids edges inside), edges, no groups."""
    tiers: dict[int, list[str]] = {}
    found: dict[str, Any] = {"required": [], "forbidden": []}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0] == TETRAD:
            continue
        if words[0].lower() in SECTIONS:
            section = words[0].lower()
        elif section == "addtemporal" and words[0].rstrip("*-").isdigit():
            own = tiers.setdefault(int(words[0].rstrip("*-")), [])
            own += words[1:]
            if words[0].endswith("*"):
                found["forbidden"] += list(permutations(words[1:], 2))
        elif section in ("forbiddirect", "requiredirect") and len(words) == 2:
            found["required" if section == "requiredirect" else "forbidden"].append((words[0], words[1]))
        else:
            raise InputError(
                f"{source}, line {number}: expected a tier such as '1 A B' or a pair 'A B' but got {line.strip()!r}; "
                "correct the line, or write the knowledge as TOML"
            )
    return {**found, "tiers": [tiers[k] for k in sorted(tiers)]}


def write_knowledge(content: Mapping[str, Any], path: str | Path) -> None:
    """Write knowledge as JSON or TOML by the suffix, completely or not at all."""
    if Path(path).suffix.lower() == ".json":
        write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", path)
        return
    lines = [f"{key} = {_toml(value)}" for key, value in content.items() if not isinstance(value, Mapping)]
    for key, value in content.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{key}]", *(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items())]
    write_text("\n".join(lines) + "\n", path)


def _toml(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(_toml(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False)
