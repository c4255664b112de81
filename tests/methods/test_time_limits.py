"""Tests that the parts of methods look at the clock: a stop within a step, not after it."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import dagopt
from dagopt.bits import members
from dagopt.deadline import Deadline
from dagopt.families import listing, undominated
from dagopt.families.undominated import TooMany
from dagopt.lp.restricted_master import RestrictedMaster
from dagopt.methods.branch_and_cut.gobnilp import solve_gobnilp
from dagopt.methods.cg_dca import gaussian_cost
from dagopt.methods.cg_dca.algorithm2 import first_families
from dagopt.methods.cg_dca.bases import SetFunction
from dagopt.methods.cg_dca.dca_pricing import DcaPricer
from dagopt.methods.cg_dca.kelley import KelleyCuts
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.exact.subset_dp import all_potentials
from dagopt.methods.orders.order import solve_order
from dagopt.progress import NoProgress
from dagopt.scores import gaussian as gaussian_scores
from dagopt.scores import long_chains
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


@pytest.mark.parametrize("step", ["kelley", "min-norm"])
@pytest.mark.parametrize("looks", [0, 1, 3, 8, 20])
def test_pricing_ends_within_a_chain(step, looks, monkeypatch):
    """Long chains look at the clock: after it says stop no block of any chain is made, and what was visited counts."""
    problem = make_problem("gaussian", 12, 1)
    master = RestrictedMaster(12)
    master.add_families(first_families(problem.score.local, problem.knowledge.must))
    lp, late = master.solve(), []
    monkeypatch.setattr(gaussian_scores, "LONG", 1)
    monkeypatch.setattr(gaussian_cost, "LONG", 1)
    monkeypatch.setattr(gaussian_cost, "MOST_COMPILED", 1)
    monkeypatch.setattr(long_chains, "BLOCK", 4)

    class Looks(Deadline):
        left = looks

        @property
        def reason(self):
            self.left -= 1
            late.append(self.left < 0)
            return "time_limit" if self.left < 0 else None

    priced = DcaPricer(problem, step, rng=np.random.default_rng(0)).price(3, lp, np.full(11, 0.5), Looks())
    assert sum(late) <= 4  # each of the loops that are left looks once
    assert all(problem.score.local(3, members(one.mask)) == pytest.approx(one.score) for one in priced.families)


def test_nodes_are_not_got_ready_after_the_deadline(monkeypatch):
    """A listing for thousands of columns ends with the DAG that was given, and no bound of its own."""
    problem, made = make_problem("multinomial", 9, 0), []
    monkeypatch.setattr(listing, "FEW_NODES", 3)
    grow = listing.NodeGrowth
    monkeypatch.setattr(listing, "NodeGrowth", lambda *facts: made.append(1) or grow(*facts))
    ended = Deadline()
    ended.interrupt()
    start = solve_hc(problem, deadline=Deadline(), progress=NoProgress()).adjacency
    found = solve_gobnilp(problem, deadline=ended, progress=NoProgress(), start=start)
    assert (len(made), found.status, found.certificate) == (0, "interrupted", None)
    assert found.score == pytest.approx(problem.score.total(start))


@pytest.mark.parametrize(("seconds", "error"), [(None, None), (1000.0, None), (0.5, TooMany)])
def test_an_inverse_that_does_not_fit_is_not_begun(seconds, error, monkeypatch):
    """The listing of pairs needs the inverse of a matrix, whose cost is known: the listing is given up instead."""
    problem = make_problem("gaussian", 6, 0)
    monkeypatch.setattr(undominated, "MOST_SWEPT", 1)
    monkeypatch.setattr(undominated, "INVERTED_PER_SECOND", 6**3 / 10.0)
    made = undominated.Listing(problem.score, problem.knowledge, 1000)
    deadline = Deadline(seconds, lambda: 0.0)
    with Workers(deadline, NoProgress(), 1) as workers, nullcontext() if error is None else pytest.raises(error):
        made.narrow(workers)
