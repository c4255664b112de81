"""Tests of how a run is shown."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from dagopt.progress import LinesProgress, LiveProgress, NoProgress, WholeRun, make_progress, whole_run
from dagopt.progress import displays as module


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
    assert isinstance(shown.shown if isinstance(shown, WholeRun) else shown, kind)
    shown.close()


def test_own_object_is_used_as_it_is():
    """An object that can update, note and close is returned."""
    own = NoProgress()
    assert make_progress(own) is own
    own.update("phase", 0.5, sets=1)
    own.note("note")
    own.close()
    run = make_progress(LinesProgress(io.StringIO()))
    assert make_progress(run) is run


# --- the whole run --------------------------------------------------------------------------------------------


class Recorded:
    """A display that keeps what it is told; it has no ``posed``."""

    def __init__(self, is_live=False):
        self.told, self.notes, self.is_live = [], [], is_live

    def update(self, phase, fraction=None, **facts):
        self.told.append((phase, fraction, facts.get("left")))

    def note(self, message):
        self.notes.append(message)

    def close(self):
        pass


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of whole runs."""
    own = Clock()
    monkeypatch.setattr(whole_run, "time", own)
    return own


def test_the_share_of_the_whole_run_is_exact_when_the_estimate_is(clock):
    """Phases that take the expected time move the bar evenly, from the first part to the last."""
    display = Recorded()
    run = WholeRun(display)
    run.part("reading")
    clock.now += 10
    run.part("exact")
    run.expect({"first": 30.0, "second": 60.0})
    assert run.first == whole_run.Forecast(100.0)
    for phase, seconds in (("first", 30), ("second", 60)):
        for k in range(1, 4):
            clock.now += seconds / 3
            run.update(phase, k / 3)
    shares = [share for _, share, _ in display.told if share is not None]
    assert shares == pytest.approx([0.2, 0.3, 0.4, 0.6, 0.8, 0.99])
    assert display.told[0] == ("first", pytest.approx(0.2), "about 80 s")
    assert display.notes == ["reading: 10.0 s"]


def test_only_a_live_display_shows_parts_that_begin():
    """Lines about parts that take no time would be noise."""
    for is_live, phases in ((True, ["reading", "checking"]), (False, [])):
        display = Recorded(is_live)
        run = WholeRun(display)
        run.part("reading")
        run.part("checking")
        assert [phase for phase, _, _ in display.told] == phases
        assert display.notes == []


def test_the_bar_never_goes_back(clock):
    """New parts, phases without an estimate and slower work than expected leave the bar where it is, or further."""
    display = Recorded()
    run = WholeRun(display)
    run.part("exact")
    run.expect({"first": 1.0, "second": 1.0})
    for phase, fraction in (("first", 0.5), ("memory", 1.0), ("second", 0.0), ("second", 0.1), ("other", None)):
        clock.now += 1.5
        run.update(phase, fraction)
    run.part("directions")
    run.expect(20.0)
    run.update("other DAGs", 0.0)
    shares = [share for _, share, _ in display.told if share is not None]
    assert len(shares) >= 6
    assert shares == sorted(shares)


def test_a_limit_is_called_one(clock):
    """Where only the latest end is known, the bar is that of the clock and says at most."""
    display = Recorded()
    run = WholeRun(display)
    run.expect(50.0)
    clock.now += 10
    run.update("cutting planes", None, score=1.0)
    assert display.told == [("cutting planes", pytest.approx(0.2), "at most 40 s")]


def test_a_slow_machine_corrects_the_estimate(clock):
    """Half of the work in twice the time: more than the estimate is left, less than the measured pace says."""
    display = Recorded()
    run = WholeRun(display)
    run.expect({"phase": 40.0})
    clock.now += 40
    run.update("phase", 0.5)
    left = float(display.told[-1][2].split()[1])
    assert 20 < left < 40


def test_a_sum_of_phases_is_counted_down(clock):
    """If only the sum is known, the clock counts it down; after that a little is always left."""
    display = Recorded()
    run = WholeRun(display)
    run.expect({"": 100.0})
    for seconds in (60, 60, 60):
        clock.now += seconds
        run.update("pairs", 0.5)
    assert [left for _, _, left in display.told] == ["about 40 s", "about 12 s", "about 18 s"]
    assert [share for _, share, _ in display.told] == sorted(share for _, share, _ in display.told)


def test_one_phase_of_unknown_length_tells_by_its_fraction(clock):
    """After a little of it the rest follows; a phase that was not announced says nothing."""
    display = Recorded()
    run = WholeRun(display)
    run.part("all rows", is_last=False)
    run.expect({"first": 1.0})
    run.update("first", 0.5)
    assert display.told.pop() == ("first", None, None)
    run.part("resamples")
    run.expect({"resamples": 0.0})
    clock.now += 5
    run.update("resamples", 0.01)
    run.update("other", 0.5)
    run.update("resamples", 0.25)
    assert display.told == [
        ("resamples", None, None),
        ("other", None, None),
        ("resamples", pytest.approx(0.25), "about 15 s"),
    ]
    run.posed("discrete", ())
