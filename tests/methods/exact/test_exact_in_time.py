"""An exact run that would end too late is given up, and one that may end in time is not."""

from dataclasses import replace

import numpy as np
import pytest

from dagopt.deadline import Deadline, Stopped
from dagopt.methods.exact.exact import exact_in_time, solve_exact
from dagopt.methods.exact.in_time import FASTEST, LEAST_SEEN, InTime
from dagopt.methods.exact.plan import Estimate, plan_exact
from dagopt.methods.exact.subset_dp import POTENTIALS, RECURSION
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from every_dag import make_problem
from made_problems import quiet, stopped_after

WORKED = Estimate("table", 0, seconds=10.0, fits=True, potential_seconds=4.0)


def fate(limit, reports):
    """Return the moment at which a run is given up that reports (seconds, phase, fraction); None if it is not."""
    now = [0.0]
    watch = InTime(NoProgress(), WORKED, Deadline(limit, lambda: now[0]))
    for now[0], phase, fraction in reports:
        try:
            watch.update(phase, fraction)
        except Stopped:
            return now[0]
    return None


@pytest.mark.parametrize(
    ("limit", "reports", "expected"),
    [
        (12.0, [(2.0, POTENTIALS, 0.5), (4.0, POTENTIALS, 1.0), (7.0, RECURSION, 0.5), (10.0, RECURSION, 1.0)], None),
        (12.0, [(4.0, POTENTIALS, LEAST_SEEN / 2), (5.0, POTENTIALS, 0.5)], 5.0),  # at first memory is new
        (12.0, [(4.0, POTENTIALS, 0.5), (8.0, POTENTIALS, 1.0), (8.5, "memory", 1.0), (9.0, RECURSION, 0.1)], None),
        (12.0, [(8.0, POTENTIALS, 1.0), (9.5, RECURSION, 0.1)], 9.5),  # 0.9 of 6 s at twice the speed take 2.7 s
        (12.0, [(8.0, POTENTIALS, 1.0), (9.5, RECURSION, 0.2), (11.5, RECURSION, 0.9)], None),
        (float("inf"), [(1e9, POTENTIALS, 0.3), (2e9, RECURSION, 0.1)], None),
    ],
)  # fmt: skip
def test_when_a_run_is_given_up(limit, reports, expected):
    """The potentials go on at their pace; the recursion may be twice as fast as was expected."""
    assert FASTEST == 2.0
    assert fate(limit, reports) == expected


def test_what_ends_in_time_is_the_answer_of_exact():
    """The same DAG, with the same claim; nothing if the clock stops it."""
    problem = make_problem("gaussian", 9, 0)
    plan = plan_exact(problem, Workers(Deadline(), NoProgress(), 1), None, "cpu")
    best, found = solve_exact(problem, **quiet()), exact_in_time(problem, plan, Deadline())
    assert found.status == best.status == "optimal"
    assert np.array_equal(found.adjacency, best.adjacency)
    assert exact_in_time(problem, plan, stopped_after(3)) is None
    slow = replace(plan, estimate=replace(plan.estimate, seconds=1e9))
    assert exact_in_time(problem, slow, Deadline(60.0)) is None
