"""The graph of the report as a widget for notebooks: the same page in a frame, which says what is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dagopt.errors import DagoptError, checked_truth, checked_whole
from dagopt.report.html import render_report

if TYPE_CHECKING:
    from dagopt.results.result import Result

__all__ = ["FRAME", "widget_of"]

FRAME = """
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    frame.title = "The graph, with its columns and edges";
    frame.style.cssText = "width: 100%; border: 0;";
    const resize = () => { frame.style.height = `${model.get("height")}px`; };
    const heard = (event) => {
      if (event.source !== frame.contentWindow || !event.data || typeof event.data.dagopt !== "object") return;
      model.set("chosen", event.data.dagopt);
      model.save_changes();
    };
    resize();
    frame.srcdoc = model.get("page");
    window.addEventListener("message", heard);
    model.on("change:height", resize);
    el.append(frame);
    return () => window.removeEventListener("message", heard);
  },
};
"""


def widget_of(result: Result, *, height: int, with_data: bool) -> Any:
    """Return the widget of a result; an error says what to install if ``anywidget`` is absent."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise DagoptError("a widget needs anywidget, which is not installed; pip install 'dagopt[widget]'") from None

    class ReportWidget(anywidget.AnyWidget):
        """The graph of a report; ``chosen`` is the column or edge that was clicked last."""

        _esm = FRAME
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        chosen = traitlets.Dict().tag(sync=True)

    checked_truth("with_data", with_data)
    page = render_report(result, with_data=with_data, embedded=True)
    return ReportWidget(page=page, height=checked_whole("height", height, 1))
