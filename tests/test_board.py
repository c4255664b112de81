"""The board: what is entered into the record, what is called worse, and the page that is made from it."""

import json

from benchmarks import board
from benchmarks.growth import shares


def line(score, bound, **changes):
    """Return a run of an instance."""
    facts = {"instance": "zoo", "columns": 17, "rows": 101, "empty": -1000.0, "status": "time_limit", "seconds": 60.0}
    return facts | {
        "limit": 60.0, "threads": 2, "version": "1.0", "known": "", "score": score, "bound": bound, **changes
    }  # fmt: skip


def test_the_best_of_all_runs_is_kept():
    """The best score and the best bound may be of two runs, and each is kept with its version."""
    record = {}
    assert not list(board.enter(record, line(-612.0, -600.0)))
    assert not list(board.enter(record, line(-613.0, -605.0, limit=10.0, version="1.1")))
    assert record["zoo"]["score"]["value"] == -612.0
    assert record["zoo"]["bound"]["value"] == -605.0
    assert [record["zoo"][name]["version"] for name in ("score", "bound")] == ["1.0", "1.1"]
    assert board.left(record["zoo"]) == (7.0, 7.0 / 388.0)


def test_what_gets_worse_is_named():
    """With the same limit and threads; a bound below a score is always named."""
    record = {}
    list(board.enter(record, line(-612.0, -600.0)))
    assert [one.split(":")[0] for one in board.enter(record, line(-612.5, -599.0))] == ["zoo", "zoo"]
    assert not list(board.enter(record, line(-613.0, -590.0, threads=16)))
    (worse,) = board.enter(record, line(-612.0, None, limit=60.0))
    assert "is now none" in worse
    (wrong,) = board.enter(record, line(-611.0, -611.9, limit=600.0))
    assert "is below the score" in wrong


def test_a_record_of_another_machine_is_taken_in():
    """Its runs are entered as if they were made here."""
    there, here = {}, {}
    for one in (line(-612.0, -600.0), line(-613.0, -605.0, limit=10.0), line(-612.0, None, instance="wine")):
        list(board.enter(there, one))
    for one in board.lines_of(there):
        list(board.enter(here, one))
    assert here == there


def test_the_page_is_made_from_the_record():
    """docs/board.md is what the command writes."""
    record = json.loads(board.RECORD.read_text(encoding="utf-8"))
    assert board.PAGE.read_text(encoding="utf-8") == board.page(record)
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
