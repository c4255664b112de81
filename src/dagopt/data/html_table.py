"""Small tables for notebooks: how an object is displayed when it is the last line of a cell."""

from __future__ import annotations

from html import escape

import pandas as pd

__all__ = ["html_of"]

MOST_ROWS = 20  # rows shown in a notebook


def html_of(text: str, frame: pd.DataFrame | None = None, drawing: str = "") -> str:
    """Return a few lines of text, a table cut to its first rows, and a drawing, as HTML.

    Parameters
    ----------
    text : str
        The text above; shown unchanged, line by line.
    frame : DataFrame, optional
        The table; of more than 20 rows only the first are shown, with the number of rows.
    drawing : str
        Trusted SVG or HTML.
    """
    parts = [f'<pre style="margin:0">{escape(text)}</pre>']
    if frame is not None and len(frame):
        parts.append(frame.head(MOST_ROWS).to_html(index=False, border=0, float_format="{:.4g}".format, na_rep=""))
        if len(frame) > MOST_ROWS:
            parts.append(f"<p>{len(frame) - MOST_ROWS} more rows</p>")
    return f"<div>{''.join(parts)}{drawing}</div>"
