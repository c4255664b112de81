"""The sections of the report as HTML, with all texts escaped."""

from __future__ import annotations

from html import escape

import pandas as pd

from dagopt.networks.model_check import CHECKS
from dagopt.report.chart import convergence_svg, phases
from dagopt.report.origin import origin_line, origin_section
from dagopt.report.pictures import FEWEST_ROWS
from dagopt.report.residual_plots import residuals_svg
from dagopt.report.view import CLEAR, OVERWHELMING, Edge, View
from dagopt.report.words import counted, found, proven
from dagopt.results.figures import Figures
from dagopt.results.proof import badge_of, gap_in_words
from dagopt.results.result import Result

__all__ = ["EMBEDDED", "SECTIONS", "caption", "data_sentence", "header", "large_tools", "switch"]

MOST_ROWS = 100  # of the trace shown
MANY_COLUMNS = 30  # from here on the page has tools for large graphs
MANY_EDGES = 120  # beyond this only the strongest are drawn at first


def header(result: Result, view: View) -> str:
    """Return the top of the page: what was found, what is proven, and the main numbers."""
    short, kind = badge_of(result)
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in proven(result))
    return (
        f"<header>\n<h1>What was learned</h1>\n{origin_line(result)}"
        f'<p class="badges"><span class="badge {kind}">{escape(short)}</span>{_doubts(result)}</p>\n'
        f'<p id="found">{escape(found(result, view))}</p>\n'
        f'<h3>What is proven, and what is not</h3>\n<ul class="words" id="proven">{sentences}</ul>\n'
        f'<dl class="tiles">{"".join(_tile(*tile) for tile in _tiles(result))}</dl>\n</header>'
    )


def _doubts(result: Result) -> str:
    """Return what speaks against the model, beside the badge: findings on the data and failed checks."""
    said = []
    if result.findings:
        said.append(("#doctor", counted(len(result.findings), "finding on the data", "findings on the data")))
    if result.misfits:
        said.append(("#check", counted(len(result.misfits), "failed check", "failed checks")))
    return "".join(f' <a class="badge doubt" href="{link}">{escape(text)}</a>' for link, text in said)


def _tiles(result: Result) -> list[tuple[str, str, str]]:
    """Return the main numbers: name, value and a remark."""
    lags = result.lags
    if lags is None:
        tiles = [("Columns", f"{len(result.names):,}", "")]
    else:
        tiles = [("Series", f"{lags.n_series:,}", f"and {counted(lags.count, 'lag')}")]
    if result.n_samples:
        tiles.append(("Rows" if lags is None else "Moments", f"{result.n_samples:,}", ""))
    tiles.append(("Edges", f"{result.graph.n_edges:,}", ""))
    if result.score is not None:
        tiles.append(("Score", f"{result.score:,.3f}", _score_remark(result)))
    if result.bound is not None:
        gap = "" if result.gap is None else f"{gap_in_words(result)} above, "
        if result.status == "optimal":
            gap = "the score, up to rounding; "
        tiles.append(("Proven bound", f"{result.bound:,.3f}", f"{gap}over {result.scope}"))
    tiles.append(("Method", result.method, result.status.replace("_", " ")))
    if result.provenance is None:
        return [*tiles, ("Time", f"{result.seconds:,.2f} s", "")]
    compiling = result.provenance.compile_seconds
    remark = f"and {compiling:,.1f} s to compile, once per machine" if compiling >= 0.05 else ""
    return [*tiles, ("Time", f"{result.provenance.seconds:,.2f} s", remark)]


def _score_remark(result: Result) -> str:
    """Return the name of the score; its formula is in the section on the origin."""
    named = result.provenance.score if result.provenance else result.score_label
    return f"{named}, higher is better" if named else "higher is better"


def _tile(name: str, value: str, remark: str) -> str:
    small = f"<small>{escape(remark)}</small>" if remark else ""
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{small}</dd></div>"


def switch(view: View) -> str:
    """Return the switch between DAG and essential graph, if the class has a DAG, and the button that folds time."""
    button = (
        ""
        if view.lags is None
        else '<button type="button" id="fold-time" aria-pressed="false" title="Change between past and present side by '
        'side and one node per series, with lags beside the edges">One node per series</button>'
    )
    if not view.has_dag:
        return button
    options = [("dag", "DAG", view.starts_with_dag), ("essential", "Essential graph", not view.starts_with_dag)]
    inputs = "".join(
        f'<label><input type="radio" name="mode" value="{value}"{" checked" if on else ""}>{text}</label>'
        for value, text, on in options
    )
    return f'<fieldset class="switch"><legend class="hidden">Which graph</legend>{inputs}</fieldset>{button}'


def large_tools(view: View) -> str:
    """Return the tools for graphs of many columns: hide weak edges, show one column with its neighbours."""
    if len(view.names) < MANY_COLUMNS:
        return ""
    count, first = len(view.edges), shown_first(view)
    said = f"all {count} edges" if first == count else f"{first} of {count} edges"
    slider = (
        '<label class="strong">Strongest edges'
        f'<input id="strong" type="range" min="0" max="{count}" value="{first}" aria-describedby="strong-count"'
        f' autocomplete="off"><output id="strong-count" for="strong">{said}</output></label>'
        if count and all(edge.worth is not None for edge in view.edges)
        else ""
    )
    steps = "".join(f'<option value="{k}">{k} {"step" if k == 1 else "steps"}</option>' for k in (1, 2, 3))
    return (
        f'<span class="less" role="group" aria-label="Less at a time">{slider}'
        '<button type="button" id="alone" aria-pressed="false" disabled title="Select a column first">'
        f'Only its neighbours</button><label><span class="hidden">How far away</span><select id="steps">{steps}'
        '</select></label><button type="button" id="fold" aria-pressed="false" '
        'title="Hide columns with a single edge">Fold leaves</button></span>'
    )


def shown_first(view: View) -> int:
    """Return how many edges are drawn at first: all of a small graph, else those that are not weak, one per column."""
    if len(view.edges) <= MANY_EDGES or len(view.names) < MANY_COLUMNS:
        return len(view.edges)
    return min(sum(edge.weight != "weak" for edge in view.edges), max(len(view.names), MANY_EDGES))


def caption(view: View) -> str:
    """Return what colours, widths and missing heads mean."""
    said = '<span class="on-screen">Chosen column: parents blue, children green.</span>'
    if any(edge.worth is not None for edge in view.edges):
        said += (
            ' The wider a line, the more is lost without its edge: <span class="key is-weak"></span>weak, less '
            f'than {CLEAR:g} points; <span class="key is-clear"></span>clear; <span class="key is-overwhelming"></span>'
            f"overwhelming, {OVERWHELMING:g} points or more."
        )
    if any(edge.direction == "leaning" for edge in view.edges):
        said += " A grey head leans: a graph with the edge reversed, or without it, is nearly as good."
    if any(edge.undirected for edge in view.edges):
        said += (
            " In the essential graph, a line without a head is an undirected edge: it could point either way."
            if view.has_dag
            else " A line without a head is an undirected edge: it could point either way."
        )
    if view.lags is not None:
        said += (
            ' <span class="in-moments">The past is on the left, the present on the right; arcs on the right are edges '
            'within a moment.</span><span class="in-one">A number on an edge is its lag in moments: 0 is within a '
            "moment.</span>"
        )
    return said


def data_sentence(view: View) -> str:
    """Return which data are in the page."""
    if view.sample is not None:
        rows = len(view.sample[0]) if view.sample else 0
        return f"This page holds a sample of {counted(rows, 'row')} of the table."
    if view.pictures:
        return (
            f"No row of the table is in this page: pictures are drawn from counts, means and quartiles of at least "
            f"{FEWEST_ROWS} rows."
        )
    return "No data are in this page."


def course_section(result: Result, view: View) -> str:
    """Return how the answer was found: chart, phases, trace; empty if the run left no trace."""
    trace = result.trace
    chart = convergence_svg(trace)
    spent = phases(trace, result.seconds)
    if chart is None and not spent and trace.empty:
        return ""
    parts = ['<section id="course" aria-labelledby="course-title">\n<h2 id="course-title">How it was found</h2>']
    if chart is not None:
        bound = '<span class="key bound"></span>proven bound' if 'class="curve bound"' in chart else ""
        parts.append(f'<p class="hint"><span class="key"></span>score, higher is better{bound}</p>\n{chart}')
    if spent:
        whole = max(sum(seconds for _, seconds in spent), 1e-9)
        rows = "".join(
            f'<tr><td>{escape(name)}</td><td class="figure">{seconds:,.2f} s</td><td>'
            f'<span class="bar" style="width:{100 * seconds / whole:.1f}%"></span></td></tr>'
            for name, seconds in spent
        )
        parts.append(
            '<h3>Phases</h3>\n<table id="phases"><thead><tr><th>Phase</th><th class="figure">Time</th>'
            f'<th style="width:45%">Share</th></tr></thead><tbody>{rows}</tbody></table>'
        )
    if not trace.empty:
        parts.append(_trace_table(trace))
    return "\n".join([*parts, "</section>"])


def _trace_table(trace: pd.DataFrame) -> str:
    """Return the last rows of the trace, folded away."""
    last = trace.tail(MOST_ROWS)
    figure = [trace[name].dtype.kind in "iuf" for name in trace.columns]
    head = "".join(f"<th{_figure(f)}>{escape(str(n))}</th>" for n, f in zip(trace.columns, figure, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{_figure(f)}>{_cell(v)}</td>" for v, f in zip(row, figure, strict=True)) + "</tr>"
        for row in last.itertuples(index=False, name=None)
    )
    what = "" if len(last) == len(trace) else f"The last {len(last):,} of "
    return (
        f"<details><summary>{what}{counted(len(trace), 'event')} of the run</summary>\n"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


def _figure(figure: bool) -> str:
    return ' class="figure"' if figure else ""


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:,.6g}" if abs(value) < 1 else f"{value:,.4f}"
    return escape("" if value is None else str(value))


def doctor_section(result: Result, view: View) -> str:
    """Return the doctor's findings on the data."""
    found_any = "".join(
        f'<div class="finding {escape(finding.severity)}"><p>{_sentence(_capital(finding.message))}</p>'
        f'<p class="then">If nothing is done: {_sentence(finding.consequence)} Remedy: {_sentence(finding.remedy)}</p>'
        "</div>"
        for finding in result.findings
    )
    body = found_any or "<p>The doctor found nothing wrong with the data.</p>"
    return (
        f'<section id="doctor" aria-labelledby="doctor-title">\n<h2 id="doctor-title">The data</h2>\n{body}\n</section>'
    )


def check_section(result: Result, view: View) -> str:
    """Return whether the residuals fit the model, with pictures of those that do not; empty if not checked."""
    misfits = result.misfits
    if misfits is None:
        return ""
    head = '<section id="check" aria-labelledby="check-title">\n<h2 id="check-title">The residuals</h2>\n'
    if not misfits:
        return f"{head}<p>They are linear, normal, of even variance and independent, as the model says.</p>\n</section>"
    if result.problem is None:
        rows = "".join(f"<li>{escape(place)}: {escape(words)}</li>" for place, words in misfits.items())
        return f'{head}<ul class="words">{rows}</ul>\n</section>'
    check = result.check()
    failed = check.failed[["from", "to", "check", "effect", "remedy"]].head(MOST_ROWS)
    rows = "".join(
        f"<li>{escape(f'{a} → {b}' if a else b)}: {escape(CHECKS[kind][0])} ({effect:.2f}); {escape(remedy)}</li>"
        for a, b, kind, effect, remedy in failed.itertuples(index=False)
    )
    return f'{head}<ul class="words">{rows}</ul>\n<div class="scroll">{residuals_svg(check)}</div>\n</section>'


def _sentence(text: str) -> str:
    """Return a remark with a full stop."""
    return escape(text.rstrip(". ")) + "."


def _capital(text: str) -> str:
    """Return a text with a capital in front, unless its first word is code or a name in quotes."""
    word = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if word.isalpha() and word.isascii() else text


def edge_section(result: Result, view: View) -> str:
    """Return the table of edges, with its filter and one column for each number that edges have."""
    figures = [_figures_of(edge) for edge in view.edges]
    columns = list(dict.fromkeys(name for own in figures for name in own))
    weighed = any(edge.weight for edge in view.edges)
    texts = ("From", "To", "Direction", "Evidence") if weighed else ("From", "To", "Direction")
    heads = [(text, False) for text in texts] + [(name.capitalize(), True) for name in columns]
    head = "".join(
        f'<th aria-sort="none"{_figure(f)}><button type="button">{escape(text)}</button></th>' for text, f in heads
    )
    rows = "\n".join(
        _edge_row(k, edge, view, [own.get(name) for name in columns], weighed)
        for k, (edge, own) in enumerate(zip(view.edges, figures, strict=True))
    )
    body = (
        '<p class="filter"><label><span class="hidden">Filter the edges</span><input id="filter" type="search"'
        ' placeholder="Filter the edges" autocomplete="off"></label> '
        f'<span class="hint" id="count" aria-live="polite">{len(view.edges)} of {len(view.edges)} shown</span></p>\n'
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table of edges"><table id="edge-table">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
        if view.edges
        else "<p>There are no edges.</p>"
    )
    return (
        '<section id="edges-section" aria-labelledby="edges-title">\n<h2 id="edges-title">The edges</h2>\n'
        f"{body}\n</section>"
    )


def _figures_of(edge: Edge) -> dict[str, float]:
    strength = {} if edge.strength is None else {"score gained": edge.strength}
    return strength | edge.figures


def _edge_row(number: int, edge: Edge, view: View, figures: list[float | None], weighed: bool) -> str:
    ends = "".join(
        f'<td><button type="button" class="name" data-node="{k}">{escape(view.names[k])}</button></td>'
        for k in (edge.tail, edge.head)
    )
    way = f'<td><button type="button" class="plain">{edge.direction}</button></td>'
    if weighed:
        way += f'<td data-value="{-1 if edge.worth is None else edge.worth:.6g}">{edge.weight or ""}</td>'
    cells = "".join(
        '<td class="figure" data-value=""></td>'
        if value is None
        else f'<td class="figure" data-value="{value!r}">{_rounded(value)}</td>'
        for value in figures
    )
    return f'<tr data-edge="{number}">{ends}{way}{cells}</tr>'


def _rounded(value: float) -> str:
    return f"{value:,.3f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3g}"


def notes_section(result: Result, view: View) -> str:
    """Return the method's notes and numbers, and notes on the parameters; empty if there are none."""
    plain = {key: value for key, value in result.details.items() if isinstance(value, int | float | str)}
    said = (*result.notes, *view.notes)
    if not said and not plain:
        return ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in said)
    rows = "".join(f"<tr><td>{escape(Figures.words(key))}</td><td>{_cell(v)}</td></tr>" for key, v in plain.items())
    return (
        '<section aria-labelledby="notes-title">\n<h2 id="notes-title">What the method says</h2>\n'
        + (f'<ul class="words">{notes}</ul>\n' if notes else "")
        + (f'<table class="plain"><tbody>{rows}</tbody></table>\n' if rows else "")
        + "</section>"
    )


SECTIONS = (
    course_section,
    doctor_section,
    check_section,
    edge_section,
    notes_section,
    origin_section,
)  # below the graph, in this order
EMBEDDED = (edge_section,)  # in a frame of another page
