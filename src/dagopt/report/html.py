"""The report: one self-contained HTML page about a result, which needs no network and no server."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from dagopt import __version__
from dagopt.files import write_text
from dagopt.report.part import shown_part
from dagopt.report.pictures import FEWEST_ROWS
from dagopt.report.sections import EMBEDDED, SECTIONS, caption, data_sentence, header, large_tools, switch
from dagopt.report.svg import edge_paths, folded, graph_svg, line_width
from dagopt.report.view import CLEAR, OVERWHELMING, View, page_view_of
from dagopt.report.words import title_of
from dagopt.results.result import Result

__all__ = ["render_report", "write_report"]

SCRIPTS = ("page.js", "page.pictures.js", "page.panel.js", "page.tools.js", "page.large.js", "page.time.js")
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def write_report(result: Result, path: str | os.PathLike[str], *, with_data: bool = False) -> Path:
    """Write the report of a result.

    Parameters
    ----------
    result : Result
        What ``learn`` returned. The report shows ``details["node_scores"]`` (by column: a number, a mapping or a row of
        a frame), ``details["edge_gain"]`` (``"a -> b"`` to the score gained) and ``details["edge_figures"]`` (a name to
        such a mapping, shown as a separate column) as given. Missing scores, gains and parameters are computed from the
        data.
    path : path
        The file, usually ``.html``; written completely or not at all.
    with_data : bool
        Whether the page holds a sample of the rows; without it, only counts, means and quartiles.

    Returns
    -------
    Path
        The file.
    """
    target = Path(path)
    write_text(render_report(result, with_data=with_data), target)
    return target


def render_report(result: Result, *, with_data: bool = False, embedded: bool = False) -> str:
    """Return the page as text; ``embedded``, for a frame of another page, is only the graph and its edges."""
    result = shown_part(result)
    view = page_view_of(result, with_data=with_data)
    drawing, payload = drawn(view)
    parts = {
        "place": "embedded" if embedded else "alone",
        "title": escape(f"{title_of(result)} – dagopt"),
        "style": _asset("page.css"),
        "header": "" if embedded else header(result, view),
        "switch": switch(view),
        "large": large_tools(view),
        "graph": drawing,
        "caption": caption(view),
        "data": data_sentence(view),
        "sections": "\n".join(
            filter(None, (section(result, view) for section in (EMBEDDED if embedded else SECTIONS)))
        ),
        "version": escape(__version__),
        "payload": as_json(payload),
        "script": _script(),
    }
    return _filled(_asset("page.html"), parts)


def drawn(view: View) -> tuple[str, dict[str, Any]]:
    """Return the drawing of a view, and what the scripts know about its nodes and edges."""
    drawing, layout = graph_svg(view)
    pictures = view.pictures or ({},) * len(view.names)
    failed = view.failed or ("",) * len(view.names)
    nodes = [
        {
            "x": round(float(x), 1),
            "y": round(float(y), 1),
            "figures": figures,
            "fit": fit,
            "picture": picture,
            "failed": words,
        }
        for (x, y), figures, fit, picture, words in zip(
            layout.centres, view.figures, view.estimates, pictures, failed, strict=True
        )
    ]
    edge_pictures = view.edge_pictures or ({},) * len(view.edges)
    return drawing, {
        "names": list(view.names),
        "nodes": nodes,
        "edges": [
            {**asdict(edge), "picture": picture} for edge, picture in zip(view.edges, edge_pictures, strict=True)
        ],
        "width": round(max(layout.width, 1.0), 1),
        "height": round(max(layout.height, 1.0), 1),
        "startsWithDag": view.starts_with_dag,
        "sample": view.sample,
        "fewest": FEWEST_ROWS,
        "heavy": [CLEAR, OVERWHELMING],
        "folded": _folded(view),
    }


def _folded(view: View) -> dict[str, Any] | None:
    """Return where nodes and edges are if there is one node per series; None if rows are not moments."""
    layout = folded(view)
    if layout is None or view.lags is None:
        return None
    largest = max((edge.worth or 0.0 for edge in view.edges), default=0.0)
    n = view.lags.n_series
    return {
        "series": n,
        "places": [[round(float(x), 1), round(float(y), 1)] for x, y in layout.centres[:n]],
        "paths": [edge_paths(layout, (edge.tail, edge.head), line_width(edge.worth, largest)) for edge in view.edges],
        "width": round(layout.width, 1),
        "height": round(layout.height, 1),
    }


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element: no character in it can end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Put the parts into their slots in one pass, so that no part is read as a template."""
    return _SLOT.sub(lambda slot: parts[slot[1]], template)


def _script() -> str:
    """Return the scripts as one, wrapped in a function so that they do not leak into the global scope."""
    return "\n".join(["(() => {", '"use strict";', *map(_asset, SCRIPTS), "})();"])


def _asset(name: str) -> str:
    return (files("dagopt") / "report" / name).read_text(encoding="utf-8").strip()
