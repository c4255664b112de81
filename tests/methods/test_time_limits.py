"""Tests that the parts of methods look at the clock: a stop within a step, not after it."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.methods.cg_dca.bases import SetFunction
from dagopt.methods.cg_dca.kelley import KelleyCuts
from dagopt.methods.exact.subset_dp import all_potentials
from dagopt.methods.orders.order import solve_order
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from every_dag import make_problem


def test_kelley_stops_within_a_step():
    """The cutting planes end at the round in which the stop comes, with the best set so far."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(12, 12))
    matrix = factor @ factor.T
    linear = rng.normal(size=12)
    called = []

    def chain(order):
        called.append(1)
        return np.array([0.0, *(np.linalg.slogdet(matrix[np.ix_(order[:k], order[:k])])[1] for k in range(1, 13))])

    KelleyCuts(SetFunction(chain), 12)(linear, np.full(12, 0.5), 1e-9)
    to_the_end = len(called)
    called.clear()
    ended = Deadline()
    ended.interrupt()
    KelleyCuts(SetFunction(chain), 12)(linear, np.full(12, 0.5), 1e-9, ended)
    assert len(called) == 1 < to_the_end


def test_potentials_are_filled_in_small_pieces():
    """Slices of 2^12 sets at most, whatever the number of columns, so that the clock is looked at between them."""
    sizes = []
    problem = make_problem("multinomial", 17, 0)
    fill = problem.score.fill_potentials

    class Watched:
        is_score_equivalent = True
        n_nodes = 17
        counts = problem.score.counts

        def fill_potentials(self, high, low, out, node):
            sizes.append(len(out))
            fill(high, low, out, node)

    with Workers(Deadline(), NoProgress(), 1) as workers:
        all_potentials(Watched(), workers)
    assert max(sizes) <= 1 << 12
    assert len(sizes) == 32


@pytest.mark.parametrize("jobs", [1, 2])
def test_very_many_restarts_end_at_the_limit(jobs):
    """A number of restarts that nobody could wait for: the seeds are not all drawn, and none begins after the limit."""
    problem = make_problem("gaussian", 6, 0)
    asked = {"random_state": 3, "n_jobs": jobs, "kicks": 1}
    few = solve_order(problem, deadline=Deadline(), progress=NoProgress(), restarts=4, **asked)
    many = solve_order(problem, deadline=Deadline(0.5), progress=NoProgress(), restarts=10**12, **asked)
    assert many.status == "time_limit"
    assert many.score >= few.score - 1e-9


def test_very_many_resamples_end_at_the_limit():
    """The resamples done by then count, and they are those of a shorter run."""
    data = dagopt.simulate(n_nodes=5, n_samples=60, random_state=0).data
    asked = {"method": "hc", "n_jobs": 1, "random_state": 4, "progress": False}
    found = dagopt.bootstrap(data, 10**12, time_limit=1.0, **asked)
    assert found.status == "time_limit"
    assert found.n_done > 0
    again = dagopt.bootstrap(data, found.n_done, **asked)
    assert found.edges.equals(again.edges)
