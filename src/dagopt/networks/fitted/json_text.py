"""JSON that people can read: short or deeply nested values are on one line."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["json_text"]

SHORT = 100  # a list or object of at most this many characters is written on one line


def json_text(values: dict[str, Any], depth: int = 2) -> str:
    """Return JSON text with long lists and objects spread over lines to a depth; short or deeper ones take one line.

    Parameters
    ----------
    values : dict
        Plain values; numbers that JSON does not have, such as NaN, become null.
    depth : int
        How many levels may be spread over lines; the first one always is.

    Examples
    --------
    >>> print(json_text({"a": 1, "b": [[1, 2], [3]], "c": ["long" * 20, "x" * 20]}), end="")
    {
      "a": 1,
      "b": [[1, 2], [3]],
      "c": [
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong",
        "xxxxxxxxxxxxxxxxxxxx"
      ]
    }
    """
    parts = [f"  {_plain(str(key))}: {_opened(_finite(value), depth - 1, '  ')}" for key, value in values.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _opened(value: Any, depth: int, margin: str) -> str:
    text = _plain(value)
    if depth == 0 or len(text) <= SHORT or not isinstance(value, dict | list):
        return text
    inner = margin + "  "
    if isinstance(value, dict):
        parts = [f"{_plain(str(key))}: {_opened(entry, depth - 1, inner)}" for key, entry in value.items()]
    else:
        parts = [_opened(entry, depth - 1, inner) for entry in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{inner}" + f",\n{inner}".join(parts) + f"\n{margin}{end}"


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """Return the value with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
