"""Give up an exact run as soon as it is seen that it would end too late: it has nothing to return before its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dagopt.deadline import Deadline, Stopped
from dagopt.methods.exact.plan import Estimate
from dagopt.methods.exact.subset_dp import POTENTIALS, RECURSION
from dagopt.progress import Progress

if TYPE_CHECKING:
    from dagopt.data.findings import Finding

__all__ = ["InTime"]

LEAST_SEEN = 0.2  # of the potentials, before their pace counts: memory that is new takes longer
FASTEST = 2.0  # times the speed of the estimate that the recursion may have, which was met where memory was not new


class InTime:
    """Shows a run over tables of all parent sets, and ends it with ``Stopped`` once it would not end in time.

    What is left of the potentials is expected at their pace so far. The recursion uses new memory at its begin, so its
    own pace says little: it is given up where it would be too late even at ``FASTEST``.

    Parameters
    ----------
    progress : Progress
        Where the run is shown.
    estimate : Estimate
        What the run was expected to take.
    deadline : Deadline
        When it must end.
    """

    def __init__(self, progress: Progress, estimate: Estimate, deadline: Deadline) -> None:
        self._progress = progress
        self._recursion = estimate.seconds - estimate.potential_seconds
        self._deadline = deadline
        self._begin = deadline.elapsed()

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Show it; raise ``Stopped`` if what is left takes longer than the time that is left."""
        self._progress.update(phase, fraction, **facts)
        done = 0.0 if fraction is None else fraction
        left = (1.0 - done if phase == RECURSION else 1.0) * self._recursion / FASTEST
        if phase == POTENTIALS and done >= LEAST_SEEN:
            left += (self._deadline.elapsed() - self._begin) * (1.0 - done) / done
        if left > self._deadline.remaining():
            raise Stopped

    def note(self, message: str) -> None:
        """Show a note."""
        self._progress.note(message)

    def posed(self, kind: str, warnings: Sequence[Finding]) -> None:
        """Show the kind of table."""
        self._progress.posed(kind, warnings)

    def close(self) -> None:
        """Leave the display to whoever opened it."""
