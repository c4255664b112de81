"""The trace: rows with the clock of the run, times of parts, and what the progress is told."""

import numpy as np

from dagopt.deadline import Deadline
from dagopt.methods.cg_dca.trace import COLUMNS, Trace


class Heard:
    """A progress that remembers what it was told."""

    def __init__(self):
        self.updates = []

    def update(self, phase, fraction=None, **facts):
        """Remember an update."""
        self.updates.append((phase, fraction, facts))


def ticking(*times):
    """Return a deadline whose clock shows these times one after the other."""
    left = list(times)
    return Deadline(clock=lambda: left.pop(0))


def test_a_row_says_where_the_run_is():
    """Seconds of the clock, pass, phase, LP, best score, sizes and the worst reduced cost."""
    trace = Trace(ticking(10.0, 12.5, 13.0), Heard())
    trace.add("families", -5.0, 7, 2, np.array([-3.0, 0.0, -8.0]))
    trace.best, trace.passes = -6.0, 2
    trace.add("integer", np.nan, 9, 3)
    frame = trace.frame()
    assert list(frame.columns[: len(COLUMNS)]) == COLUMNS
    first, second = frame.to_dict("records")
    assert (first["seconds"], first["pass"], first["phase"], first["lp"]) == (2.5, 1, "families", -5.0)
    assert (first["families"], first["rows"], first["reduced_cost"]) == (7, 2, -8.0)
    assert np.isnan(first["score"])
    assert (second["seconds"], second["pass"], second["score"]) == (3.0, 2, -6.0)
    assert np.isnan(second["lp"])
    assert np.isnan(second["reduced_cost"])


def test_a_node_that_was_not_priced_has_no_worst_reduced_cost():
    """Minus infinity, which stands for 'not yet', is left out."""
    heard = Heard()
    trace = Trace(Deadline(), heard)
    trace.add("families", 0.0, 1, 0, np.array([-np.inf, -1.0]))
    assert np.isnan(trace.frame()["reduced_cost"][0])
    assert "worst rc" not in heard.updates[0][2]


def test_the_progress_is_told_every_row():
    """Phase, pass, LP, best DAG, families, rows, worst reduced cost and the seconds of each part."""
    heard = Heard()
    trace = Trace(Deadline(), heard)
    with trace.timed("pricing"):
        pass
    trace.best = -6.0
    trace.add("families", -5.0, 7, 2, np.array([-3.0]))
    ((phase, fraction, facts),) = heard.updates
    assert (phase, fraction) == ("families", None)
    assert facts["pricing"].endswith("s")
    assert {key: facts[key] for key in ("pass", "LP", "best", "families", "rows", "worst rc")} == {
        "pass": 1,
        "LP": -5.0,
        "best": -6.0,
        "families": 7,
        "rows": 2,
        "worst rc": -3.0,
    }


def test_times_of_a_part_add_up():
    """Two blocks of one part count together, also where one of them fails."""
    trace = Trace(Deadline(), Heard())
    with trace.timed("lp"):
        once = sum(range(1000))
    before = trace.parts["lp"]
    try:
        with trace.timed("lp"):
            raise ValueError(once)
    except ValueError:
        pass
    assert trace.parts["lp"] > before > 0
    trace.add("rows", 0.0, 0, 0)
    assert trace.frame()["lp_seconds"][0] == trace.parts["lp"]


def test_a_resumed_trace_goes_on():
    """Rows of the earlier run stay, its passes are done, and seconds never go back."""
    trace = Trace(ticking(0.0, 1.0), Heard())
    trace.resume([{"seconds": 4.0, "pass": 1}, {"seconds": 9.0, "pass": 3}], 3)
    trace.add("families", 0.0, 0, 0)
    frame = trace.frame()
    assert frame["seconds"].tolist() == [4.0, 9.0, 10.0]
    assert frame["pass"].tolist() == [1, 3, 4]


def test_an_empty_trace_has_its_columns():
    """A run stopped before its first step still has a table to plot."""
    assert list(Trace(Deadline(), Heard()).frame().columns) == COLUMNS
