"""Tests of how a run is shown."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from dagopt import progress as module
from dagopt.progress import LinesProgress, LiveProgress, NoProgress, make_progress


def terminal(width=100):
    """Return a console that writes to memory as if to a terminal."""
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def drawn(shown, width=100):
    """Return what the line looks like now, and close it."""
    console = terminal(width)
    console.print(shown.line())
    shown.close()
    return console.file.getvalue()


# --- lines ----------------------------------------------------------------------------------------------------


def test_lines_at_new_phases_and_then_seldom():
    """A line comes for each new phase, and for phases that were there only when the interval is over."""
    stream = io.StringIO()
    shown = LinesProgress(stream, every=3600)
    for k in range(5):
        shown.update("first", k / 4)
    shown.update("second", 0.5)
    shown.update("first", 1.0)
    lines = stream.getvalue().splitlines()
    assert [line.split("] ")[1] for line in lines] == ["first   0%", "second  50%"]


def test_every_line_with_no_interval():
    """With an interval of zero every update is a line."""
    stream = io.StringIO()
    shown = LinesProgress(stream, every=0)
    for k in range(5):
        shown.update("first", k / 4)
    assert len(stream.getvalue().splitlines()) == 5


def test_lines_have_figures_and_notes():
    """Figures follow the phase, numbers with separators; a fraction that is not known is left out."""
    stream = io.StringIO()
    shown = LinesProgress(stream)
    shown.note("starting")
    shown.update("climbing", None, score=-1234.56789, sets=12345, best="yes")
    shown.close()
    first, second = stream.getvalue().splitlines()
    assert first == "starting"
    assert second.endswith("climbing  score -1,234.5679  sets 12,345  best yes")
    assert "%" not in second


def test_lines_go_to_standard_error(capsys):
    """Unless told otherwise, lines leave standard output alone."""
    LinesProgress().update("phase", 0.25)
    out, err = capsys.readouterr()
    assert out == ""
    assert "phase  25%" in err


# --- live -----------------------------------------------------------------------------------------------------


def test_live_line_shows_phase_fraction_and_figures():
    """The live line has the phase, the percentage, seconds and figures, and goes when closed."""
    console = terminal()
    shown = LiveProgress(console)
    shown.update("best orders", 0.5, sets=1000)
    shown._bars.refresh()
    shown.note("a note with [brackets]")
    shown.close()
    text = console.file.getvalue()
    assert "best orders" in text
    assert "50%" in text
    assert "sets 1,000" in text
    assert "a note with [brackets]" in text


def test_live_line_without_a_known_fraction():
    """A fraction that is not known gives a bar that moves, and no percentage."""
    console = terminal()
    shown = LiveProgress(console)
    shown.update("climbing")
    shown._bars.refresh()
    shown.close()
    assert "climbing" in console.file.getvalue()
    assert "%" not in console.file.getvalue()


def test_live_figures_stand_below_where_there_is_no_room():
    """On a narrow terminal no figure is cut: they have a line of their own."""
    for width, n_lines in ((120, 1), (60, 2)):
        shown = LiveProgress(terminal(width))
        shown.update("cutting planes", 0.25, score=-23142.3415, bound=-20619.0512)
        lines = drawn(shown, width).splitlines()
        assert len(lines) == n_lines
        assert "25%" in lines[0]
        assert "bound -20,619.0512" in lines[-1]


def test_live_seconds_go_on_while_nothing_is_told(monkeypatch):
    """The line is drawn anew with the time of the drawing, not of the last update."""
    shown = LiveProgress(terminal())
    shown.update("silent", 0.5)
    later = module.time.perf_counter() + 100
    monkeypatch.setattr(module.time, "perf_counter", lambda: later)
    assert re.search(r"100\.\d s", drawn(shown))


def test_live_line_may_be_closed_before_and_after():
    """Closing a line that was never shown, or twice, does nothing."""
    console = terminal()
    shown = LiveProgress(console)
    shown.close()
    assert console.file.getvalue() == ""
    shown.update("phase", 0.0)
    shown.close()
    shown.close()


# --- the choice -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked, on_terminal, kind",
    [
        (None, True, LiveProgress),
        (None, False, NoProgress),
        (True, True, LiveProgress),
        (True, False, LinesProgress),
        (False, True, NoProgress),
        (False, False, NoProgress),
    ],
)
def test_choice_by_option_and_terminal(monkeypatch, asked, on_terminal, kind):
    """None shows on a terminal only, True always, False never."""
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: on_terminal, raising=False)
    shown = make_progress(asked)
    assert isinstance(shown, kind)
    shown.close()


def test_own_object_is_used_as_it_is():
    """An object that can update, note and close is returned."""
    own = NoProgress()
    assert make_progress(own) is own
    own.update("phase", 0.5, sets=1)
    own.note("note")
    own.close()
