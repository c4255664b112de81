"""What each piece of a proof adds: which runs are made, that a piece is left out, and the table."""

import itertools
import json

import pytest

import dagopt
from benchmarks import bounds, bounds_pieces, jobs
from dagopt.methods.branch_and_cut import branch_and_cut, suffix_search


def line(name, without, status, gap, cpu=1.0, **changes):
    """Return the figures of a run."""
    facts = {"name": name, "kind": "gaussian", "limit": 30.0, "threads": 1, "clock": "cpu"}
    return facts | {"without": without, "status": status, "gap": gap, "cpu": cpu} | changes


def test_every_beginning_of_the_unseen_draws_is_a_fair_part():
    """All runs of a draw follow each other, a seed's cells come before the next seed, and none is there twice."""
    runs = list(bounds_pieces.unseen_draws())
    assert len(set(runs)) == len(runs)
    draws = [draw for draw, _ in itertools.groupby(runs, key=lambda run: run[0])]
    assert len(set(draws)) == len(draws)
    assert [seed for *_, seed in draws] == sorted(seed for *_, seed in draws)
    assert {seed for *_, seed in draws} == set(range(100, 120))
    for (n, degree, _), own in itertools.groupby(runs, key=lambda run: run[0]):
        dense = (n, degree) in bounds_pieces.DENSE
        pieces = bounds_pieces.DENSE_PIECES if dense else bounds_pieces.TREE_PIECES
        assert [piece for _, piece in own] == ["", *pieces]


def test_the_table_compares_the_same_draws():
    """A draw that was run without a piece but not with it, or with another limit, does not count."""
    lines = [
        line("a", [], "optimal", 0.002, 2.0),
        line("a", ["local"], "optimal", 0.001, 4.0),
        line("b", [], "optimal", 0.002, 9.0),
        line("b", ["local"], "time_limit", 3.0, 30.0),
        line("c", [], "time_limit", 1.0, 30.0),
        line("c", ["local"], "time_limit", 5.0, 30.0),
        line("c", ["pairs"], "time_limit", None, 30.0),
        line("d", ["local"], "time_limit", 99.0, 30.0),
        line("d", [], "time_limit", 99.0, 30.0, limit=5.0),
    ]
    rows = bounds_pieces.piece_table(lines).splitlines()[2:]
    assert rows == [
        "| local | 3 | 67% | 33% | 0.50 | 4.00 | 1 | 2.00 | 4.00 |",
        "| pairs | 1 | 0% | 0% | 1.00 | no bound | 0 | - | - |",
    ]


@pytest.mark.parametrize("piece", ["", *bounds_pieces.TREE_PIECES])
def test_a_piece_of_the_tree_is_left_out(piece, monkeypatch):
    """The answer is the same and proven without any of them."""
    monkeypatch.setattr(bounds, "instance", lambda *cell: dagopt.simulate(9, 300, 1.5, cell[2]).data.to_numpy())
    task = bounds.Task("nine", (9, 1.5, 3), 60.0, (piece,) if piece else (), exact=True, threads=1, cpu=True)
    found = bounds.run(task)
    assert found["true"]
    assert (found["status"], found["clock"], found["without"]) == ("optimal", "cpu", [piece] if piece else [])
    assert found["score"] == pytest.approx(found["optimum"])


def test_rules_of_the_tree_are_put_back():
    """Inside the block one pair is tried or no family fixed, and after it the rules are as before."""
    before = branch_and_cut.RULES
    with bounds_pieces.without_pieces(["strong branching", "fixing"]):
        assert (branch_and_cut.RULES.pairs, branch_and_cut.RULES.fixing) == (1, False)
    assert branch_and_cut.RULES is before
    assert (before.pairs > 1, before.fixing) == (True, True)


@pytest.mark.parametrize("piece", ["", *bounds_pieces.DENSE_PIECES])
def test_a_bound_on_all_sets_is_left_out(piece, monkeypatch):
    """What it would add to the figures is not there; the bound holds."""
    monkeypatch.setattr(branch_and_cut, "MOST_SETS", 20)
    monkeypatch.setattr(suffix_search, "FEWEST_NODES", 5)
    data = dagopt.simulate(9, 300, 1.5, 3).data
    best = dagopt.learn(data, "exact", n_jobs=1, progress=False).score
    without = [piece, "search from the end"] if piece in ("pairs", "pricing") else [piece] if piece else []
    with bounds_pieces.without_pieces(without):
        result = dagopt.learn(data, "branch-and-cut", n_jobs=1, progress=False)
    assert result.score == pytest.approx(best)
    assert result.bound >= best - 1e-9 * abs(best)
    ended = "search from the end" not in without  # it proves the answer, so that no other bound is computed
    shown = {"n_states": ended, "pair_bound": not ended and piece != "pairs"}
    shown["n_pricing_rounds"] = not ended and piece != "pricing"
    assert {figure: figure in result.details for figure in shown} == shown


def test_what_is_in_the_file_is_not_run_again(tmp_path):
    """With the same limit, clock and threads."""
    path = tmp_path / "pieces.jsonl"
    tasks = [
        bounds.Task(name, None, 30.0, without, threads=1, cpu=True) for name in "ab" for without in ((), ("local",))
    ]
    assert bounds.not_run(tasks, path) == tasks
    lines = [line("a", ["local"], "optimal", 0.0), line("b", [], "optimal", 0.0, clock="wall")]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert bounds.not_run(tasks, path) == [tasks[0], *tasks[2:]]


@pytest.mark.parametrize("count", [1, 2])
def test_no_run_begins_after_the_time(count, monkeypatch):
    """The clock is asked once at first and once before each run."""
    ticks = itertools.count()
    monkeypatch.setattr(jobs, "time", type("Clock", (), {"monotonic": staticmethod(lambda: next(ticks))}))
    assert sorted(jobs.answers(abs, [-1, -2, -3, -4, -5], count, within=4)) == [1, 2, 3]
