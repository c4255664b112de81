"""One bar for a whole run: its parts follow each other, and the share that is done never goes back.

A run has parts, such as reading, checking and the method, and a method reports phases. Where a part knows in advance
how long its phases take, it says so (``expect``); what has happened since corrects the estimate. Where only an end is
known by which it must be done, such as a time limit, the bar shows the time that is left at most. Otherwise it only
moves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dagopt.progress.displays import NoProgress, Progress, display

if TYPE_CHECKING:
    from dagopt.data.findings import Finding

__all__ = ["Forecast", "WholeRun", "begin_part", "expect", "make_progress"]

TRUST = 0.25  # the weight of an estimate against what is measured: that of so much of the estimated work
OVERDUE = 0.1  # what is left of a part that takes longer than expected, as a share of what has passed
LEAST_SHARE = 0.05  # of a phase without an estimate; before this, its speed says nothing
MOST_SHARE = 0.99  # until the end, because an estimate may be too short
SHOWN_SECONDS = 1.0  # a shorter time left is not shown


@dataclass(frozen=True)
class Forecast:
    """How long a run still takes.

    Attributes
    ----------
    seconds : float
        Until its end.
    at_most : bool
        Whether it may end much sooner.
    """

    seconds: float
    at_most: bool = False

    def __str__(self) -> str:
        seconds = self.seconds
        shown = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 5400 else "hours"
        return f"{'at most' if self.at_most else 'about'} {shown}"


class WholeRun:
    """Reports to a display which share of the whole run is done, and how long the rest takes.

    Parameters
    ----------
    shown : Progress
        The display. It is given the share of the whole run in place of that of the phase, and the time that is left.
    """

    def __init__(self, shown: Progress) -> None:
        self.shown = shown
        self.first: Forecast | None = None  # how long the whole run takes, as it was first said
        self._start = self._since = time.perf_counter()
        self._phases: dict[str, float] = {}  # expected seconds of the phases of this part, in their order
        self._ends: float | None = None  # by when this part is done at the latest
        self._done_so_far = 0.0  # expected seconds of what is done of this part
        self._share = 0.0
        self._is_last = True
        self._part, self._part_began = "", self._start

    def part(self, name: str, is_last: bool = True) -> None:
        """Begin a part; before one of unknown length, what it expects says nothing about the whole run."""
        self._is_last = is_last
        self._phases, self._ends, self._done_so_far = {}, None, 0.0
        self._since = time.perf_counter()
        self._end_part()
        self._part, self._part_began = name, self._since
        if getattr(self.shown, "is_live", False):  # lines of parts that take no time would be noise
            self.update(name)

    def _end_part(self) -> None:
        """Note how long the last part took, if that is worth a line."""
        seconds = time.perf_counter() - self._part_began
        if self._part in ("reading", "checking") and seconds >= SHOWN_SECONDS:
            self.note(f"{self._part}: {seconds:.1f} s")

    def expect(self, phases: Mapping[str, float] | float) -> None:
        """Take the expected seconds of the phases of this part, or those by whose end it is done at the latest.

        The phase "" stands for all phases, if only their sum is known. For a single phase of unknown length, 0 seconds
        say that its fraction is that of the whole part.
        """
        self._since, self._done_so_far = time.perf_counter(), 0.0
        if isinstance(phases, Mapping):
            self._phases, self._ends = dict(phases), None
        else:
            self._phases, self._ends = {}, self._since + phases
        self._remember(self._left("", None))

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Report the phase, the fraction of its work that is done (None if not known), and numbers."""
        left = self._left(phase, fraction)
        self._remember(left)
        if left is None:
            self.shown.update(phase, None, **facts)
            return
        passed = time.perf_counter() - self._start
        share = passed / max(passed + left.seconds, 1e-9)
        self._share = min(max(self._share, share), MOST_SHARE)
        if left.seconds >= SHOWN_SECONDS:
            facts["left"] = str(left)
        self.shown.update(phase, self._share, **facts)

    def _remember(self, left: Forecast | None) -> None:
        """Keep the first forecast, as one of the whole run."""
        if self.first is None and left is not None:
            self.first = Forecast(time.perf_counter() - self._start + left.seconds, left.at_most)

    def _left(self, phase: str, fraction: float | None) -> Forecast | None:
        """Return how long the rest of the run takes, None if that is not known."""
        now = time.perf_counter()
        if not self._is_last:
            return None
        if self._ends is not None:
            return Forecast(max(self._ends - now, 0.0), at_most=True)
        if self._phases:
            passed, whole, done = now - self._since, sum(self._phases.values()), self._done(phase, fraction)
            if "" in self._phases:  # which share is done is not known
                return Forecast(max(whole - passed, OVERDUE * passed))
            if whole:  # what is measured corrects the estimate, the more the further the work is
                pace = (passed + TRUST * whole) / (done + TRUST * whole)
                return Forecast((whole - done) * pace)
            if phase in self._phases and fraction is not None and fraction >= LEAST_SHARE:
                return Forecast(passed * (1 - fraction) / fraction)
        return None

    def _done(self, phase: str, fraction: float | None) -> float:
        """Return the expected seconds of what is done: all earlier phases, and the fraction of this one."""
        before = 0.0
        for name, seconds in self._phases.items():
            if name == phase:
                self._done_so_far = before + seconds * (fraction or 0.0)
            before += seconds
        return self._done_so_far  # of the last phase with an estimate, if this one has none

    def note(self, message: str) -> None:
        """Report something that should stay on the screen."""
        self.shown.note(message)

    def posed(self, kind: str, warnings: Sequence[Finding]) -> None:
        """Report the kind of table, and the doctor's warnings, before the method starts."""
        if hasattr(self.shown, "posed"):  # an own display may leave it out
            self.shown.posed(kind, warnings)

    def close(self) -> None:
        """End the display."""
        self.shown.close()


def begin_part(progress: object, name: str, is_last: bool = True) -> None:
    """Begin a part of the run that a progress object shows, if it shows a whole run."""
    if isinstance(progress, WholeRun):
        progress.part(name, is_last)


def expect(progress: object, phases: Mapping[str, float] | float) -> None:
    """Tell a progress object how long the phases of this part take, if it shows a whole run."""
    if isinstance(progress, WholeRun):
        progress.expect(phases)


def make_progress(progress: bool | Progress | None) -> Progress:
    """Return what a run reports to: a display of the whole run, or nothing. The argument is that of ``display``."""
    shown = display(progress)
    return shown if isinstance(shown, WholeRun | NoProgress) else WholeRun(shown)
