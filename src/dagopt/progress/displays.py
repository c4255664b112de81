"""How a run is shown: a live bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TextIO
from weakref import ref

from rich import progress as bars
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from dagopt.data.findings import Finding
    from dagopt.kernels.compiling import CompilationWatch

__all__ = ["LinesProgress", "LiveProgress", "NoProgress", "Progress", "display"]

BAR_WIDTH = 28  # characters
COMPILING = "compiling kernels, first use only"


class Progress(Protocol):
    """What a solver reports while it runs."""

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Report the phase, the true fraction of its work that is done (None if not known), and numbers.

        A display is told the fraction of the whole run, with the time that is left among the numbers.
        """

    def note(self, message: str) -> None:
        """Report something that should stay on the screen."""

    def posed(self, kind: str, warnings: Sequence[Finding]) -> None:
        """Report the kind of table, and the doctor's warnings, before the method starts."""

    def close(self) -> None:
        """End the display."""


class NoProgress:
    """Shows nothing."""

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Do nothing."""

    def posed(self, kind: str, warnings: Sequence[Finding]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class _Shown:
    """What the live bar and the plain lines share: when kernels are compiled for the first time they say so, once."""

    _watch: CompilationWatch | None = None
    _has_told = False

    def watch_compilation(self) -> None:
        """Report compilation from now on, until ``close``."""
        from dagopt.kernels.compiling import CompilationWatch

        shown = ref(self)

        def tell(begins: bool) -> None:
            still_there = shown()  # if it was dropped without being closed, it is silent
            if still_there is not None and not still_there._has_told:
                still_there._has_told = True
                still_there.note(COMPILING)

        self._watch = CompilationWatch(tell)
        self._watch.start()

    def posed(self, kind: str, warnings: Sequence[Finding]) -> None:
        """Do nothing: the result has the warnings."""

    def note(self, message: str) -> None:
        """Report something that should stay on the screen."""

    def close(self) -> None:
        """End the display."""
        if self._watch is not None:
            self._watch.stop()


class LinesProgress(_Shown):
    """Plain lines: one for each new phase, otherwise at most one every ``every`` seconds.

    Parameters
    ----------
    stream : text stream, optional
        Standard error unless given.
    every : float
        Seconds between lines of the same phase.
    """

    def __init__(self, stream: TextIO | None = None, every: float = 5.0) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._every = every
        self._start = time.perf_counter()
        self._phases: set[str] = set()
        self._last = -every

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Print a line if it is time for one."""
        now = time.perf_counter() - self._start
        if phase in self._phases and now - self._last < self._every:
            return
        self._phases.add(phase)
        self._last = now
        share = "" if fraction is None else f" {fraction:4.0%}"
        shown = "".join(f"  {name} {_shown(value)}" for name, value in facts.items())
        self._print(f"[{now:7.1f}s] {phase}{share}{shown}")

    def note(self, message: str) -> None:
        """Print the message."""
        self._print(message)

    def _print(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class LiveProgress(_Shown):
    """A line that refreshes itself: phase, bar, seconds; numbers beside it, or below if there is no room.

    Parameters
    ----------
    console : rich Console, optional
        Standard error unless given.
    """

    is_live = True

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._start = time.perf_counter()
        self._facts = ""
        columns = (
            bars.TextColumn("{task.description}", style="bold", markup=False),
            bars.BarColumn(BAR_WIDTH),
            _Clock(self),
        )
        self._bars = _Bars(self, *columns, console=self._console, refresh_per_second=8, transient=True)
        self._task: bars.TaskID | None = None

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Update the line; a separate thread draws it, so that the seconds keep counting while a solver is silent."""
        self._facts = "  ".join(f"{name} {_shown(value)}" for name, value in facts.items())
        if self._task is None:
            self._task = self._bars.add_task(phase, total=None)
            self._bars.start()
        self._bars.update(
            self._task, description=phase, total=None if fraction is None else 1.0, completed=fraction or 0.0
        )

    def note(self, message: str) -> None:
        """Print the message above the line."""
        self._console.print(message, highlight=False, markup=False)

    def close(self) -> None:
        """Remove the line."""
        super().close()
        if self._task is not None:
            self._bars.stop()
            self._task = None

    def seconds(self) -> float:
        """Return the seconds since the run started."""
        return time.perf_counter() - self._start

    def line(self) -> RenderableType:
        """Return the current line, with the numbers beside or below it."""
        grid = self._bars.make_tasks_table(self._bars.tasks)
        figures = Text(self._facts, style="dim")
        used = (
            max((len(task.description) for task in self._bars.tasks), default=0) + BAR_WIDTH + len("100%  9999.9 s") + 3
        )
        if not self._facts or used + len(self._facts) > self._console.width:
            return Group(grid, figures) if self._facts else grid
        beside = Table.grid(padding=(0, 1))
        beside.add_row(grid, figures)
        return beside


class _Clock(bars.ProgressColumn):
    """The share that is done, if it is known, and the seconds since the run started."""

    max_refresh = None

    def __init__(self, shown: LiveProgress) -> None:
        super().__init__()
        self._shown = shown

    def render(self, task: bars.Task) -> Text:
        share = "" if task.total is None else f"{task.completed:4.0%} "
        return Text.assemble(share, (f"{self._shown.seconds():6.1f} s", "cyan"))


class _Bars(bars.Progress):
    """rich's progress display with one line, and the numbers of the run beside or below it."""

    def __init__(self, shown: LiveProgress, *columns: bars.ProgressColumn, **options: Any) -> None:
        self._run = shown
        super().__init__(*columns, **options)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the line."""
        if self.tasks:
            yield self._run.line()


def display(progress: bool | Progress | None) -> Progress:
    """Return the display of a run.

    Parameters
    ----------
    progress : bool, Progress or None
        True shows progress (live on a terminal, otherwise plain lines), False does not, None shows it on a terminal and
        in a notebook; an object with ``update``, ``note`` and ``close`` is used as it is, and told the share of the
        whole run.
    """
    terminal = sys.stderr.isatty()
    if progress is None:
        progress = terminal or _in_notebook()
    if progress is False:
        return NoProgress()
    if progress is True:
        shown = LiveProgress() if terminal else LinesProgress()
        shown.watch_compilation()
        return shown
    return progress


def _shown(value: object) -> str:
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _in_notebook() -> bool:
    """Say whether the code runs in a Jupyter notebook, which shows lines of progress but is not a terminal."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return type(found).__name__ == "ZMQInteractiveShell"
