"""How a run is shown: displays, and the one bar of a whole run that is made of what its parts report."""

from dagopt.progress.displays import LinesProgress, LiveProgress, NoProgress, Progress, display
from dagopt.progress.whole_run import WholeRun, begin_part, expect, make_progress

__all__ = [
    "LinesProgress",
    "LiveProgress",
    "NoProgress",
    "Progress",
    "WholeRun",
    "begin_part",
    "display",
    "expect",
    "make_progress",
]
