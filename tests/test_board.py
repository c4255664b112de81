"""The board: what is entered into the record, what is called worse, and the page that is made from it."""

import itertools
import json
import time
from argparse import Namespace
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import dagopt
from benchmarks import board, board_page, board_record
from benchmarks.growth import shares


def line(score, bound, **changes):
    """Return a run of an instance."""
    facts = {"instance": "zoo", "columns": 17, "rows": 101, "empty": -1000.0, "status": "time_limit", "seconds": 60.0}
    return facts | {
        "limit": 60.0, "clock": "wall", "threads": 2, "version": "1.0", "commit": "", "known": "", "score": score,
        "bound": bound, **changes,
    }  # fmt: skip


def test_the_best_of_all_runs_is_kept():
    """The best score and the best bound may be of two runs, and each is kept with its version."""
    record = {}
    assert not list(board_record.enter(record, line(-612.0, -600.0)))
    assert not list(board_record.enter(record, line(-613.0, -605.0, limit=10.0, version="1.1")))
    assert record["zoo"]["score"]["value"] == -612.0
    assert record["zoo"]["bound"]["value"] == -605.0
    assert [record["zoo"][name]["version"] for name in ("score", "bound")] == ["1.0", "1.1"]
    assert board_record.left(record["zoo"]) == (7.0, 7.0 / 388.0)


def test_what_gets_worse_is_named():
    """With the same limit and threads; a bound below a score is always named."""
    record = {}
    list(board_record.enter(record, line(-612.0, -600.0)))
    assert [one.split(":")[0] for one in board_record.enter(record, line(-612.5, -599.0))] == ["zoo", "zoo"]
    assert not list(board_record.enter(record, line(-613.0, -590.0, threads=16)))
    (worse,) = board_record.enter(record, line(-612.0, None, limit=60.0))
    assert "is now none" in worse
    (wrong,) = board_record.enter(record, line(-611.0, -611.9, limit=600.0))
    assert "is below the score" in wrong


def test_the_clocks_are_kept_apart():
    """A run whose limit counts CPU seconds is kept apart, and the page says which it is."""
    record = {}
    list(board_record.enter(record, line(-612.0, -605.0)))
    assert not list(board_record.enter(record, line(-613.0, -600.0, threads=1, clock="cpu")))
    assert not list(board_record.enter(record, line(-612.5, -600.0, threads=2, clock="cpu")))
    assert set(record["zoo"]["runs"]) == {"60 s, 2 threads", "60 CPU s, 1 threads", "60 CPU s, 2 threads"}
    assert list(board_record.enter(record, line(-613.5, -600.0, threads=1, clock="cpu")))
    list(board_record.enter(record, line(-611.0, -600.0, threads=1, clock="cpu", seconds=9.0)))
    assert board_page.cells("zoo", record["zoo"])[7:10] == ["9 s CPU", "60 s", "60 s"]


def test_missing_leaves_out_what_this_commit_has_run():
    """Only with the same limit, clock, threads, version and commit; what no commit has run comes first."""
    record = {}
    here = {"version": dagopt.__version__, "commit": "abc"}
    for one in (
        line(-1.0, 0.0, instance="old", **(here | {"commit": "abb"})),
        line(-1.0, 0.0, instance="done", **here),
        line(-1.0, 0.0, instance="cpu", clock="cpu", **here),
        line(-1.0, 0.0, instance="short", limit=5.0, **here),
    ):
        list(board_record.enter(record, one))
    names = ["old", "done", "cpu", "short", "new"]
    assert board.missing(names, record, board_record.manner(60.0, "wall", 2), "abc") == ["cpu", "short", "new", "old"]


def test_a_stopped_board_is_a_fair_part():
    """Every beginning of the order has as many of each group as of any other that has more left."""
    groups = board.instances()
    names = board.order(groups)
    assert sorted(names) == sorted(name for group in groups.values() for name in group)
    group_of = {name: group for group, cases in groups.items() for name in cases}
    for count in range(len(names) + 1):
        run = Counter(group_of[name] for name in names[:count])
        for one, other in itertools.permutations(groups, 2):
            assert run[one] >= min(run[other], len(groups[one])) - 1
    cells = [name.rpartition("-")[0] for name in names if name.startswith("cell-")]
    assert all(len(set(cells[at : at + 9])) == 9 for at in range(0, len(cells), 9))


def test_the_clock_of_a_run(monkeypatch):
    """With ``--cpu`` the limit counts CPU seconds, and the line says so."""
    clocks = []
    monkeypatch.setattr(board, "counting", lambda clock: nullcontext(clocks.append(clock)))
    case = board.instances()["simulated cells"]["cell-25-2-0"]
    case = case._replace(pose=lambda _: board.Posed(dagopt.simulate(5, 100, 1.0, 0).data, {}))
    for cpu in (True, False):
        given = Namespace(limit=5.0, threads=1, shared=Path(), cpu=cpu)
        assert board.run_one("five", case, given)["clock"] == ("cpu" if cpu else "wall")
    assert clocks == [time.process_time, time.perf_counter]


def test_a_record_of_another_machine_is_taken_in():
    """Its runs are entered as if they were made here."""
    there, here = {}, {}
    for one in (line(-612.0, -600.0), line(-613.0, -605.0, limit=10.0), line(-612.0, None, instance="wine")):
        list(board_record.enter(there, one))
    for one in board_record.lines_of(there):
        list(board_record.enter(here, one))
    assert here == there


def test_the_page_is_made_from_the_record():
    """docs/board.md is what the command writes."""
    record = json.loads(board.RECORD.read_text(encoding="utf-8"))
    assert board.PAGE.read_text(encoding="utf-8") == board_page.page(record, board.instances())
    cases = {name for group in board.instances().values() for name in group}
    assert record.keys() <= cases


def test_shares_of_unseen_draws():
    """The share proven and the median gap of the rest, per cell and limit."""
    made = [
        {"columns": 50, "degree": 1.0, "limit": 60.0, "threads": 2, "status": status, "gap": gap, "share": gap / 1000,
         "seconds": seconds}
        for status, gap, seconds in (("optimal", 0.0, 5.0), ("time_limit", 10.0, 60.0), ("time_limit", 30.0, 60.0))
    ]  # fmt: skip
    assert shares(made).splitlines()[2] == "| 50 | 1 | 60 s | 2 | 3 | 33% | 5.0 | 20.0 | 2.000 |"
