"""The pricing program on SCIP: all sets as the judge, limits, failures, and models that are freed."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.deadline import Deadline
from dagopt.methods.cg_dca import minlp_program as scip_pricing
from dagopt.methods.cg_dca.minlp_program import SAFETY, PricingProgram, solve_pricing
from made_masters import subsets

GAP = 1e-4

REPEATED = """
import numpy as np
from dagopt.methods.cg_dca.minlp_program import PricingProgram, solve_pricing
from dagopt.deadline import Deadline

program = PricingProgram(500.0, np.eye(4), np.ones(4), np.full(4, 2.0), 3.0 * np.arange(5), [(frozenset({0, 1}), 2.0)])
kept = [solve_pricing(program, 1e4, 1e-4, None, Deadline(limit)) for limit in (None, None, 1e-3, None)]
print(sorted({outcome.complete for outcome in kept}))
"""


def made_program(seed, size, curved=False, most=None):
    """Return a program of random data: the regression of a column on others, with random penalties and clusters."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(50, size + 1)) @ rng.normal(size=(size + 1, size + 1))
    factor = np.linalg.cholesky(np.corrcoef(rows.T)).T
    least = factor[-1, -1]
    inverse = np.linalg.inv(factor[:-1, :-1])
    steps = np.sort(rng.exponential(3.0, size)) if curved else np.full(size, rng.exponential(3.0))
    clusters = [(rng.choice(size, rng.integers(1, size + 1), replace=False), 5 * rng.random()) for _ in range(3)]
    return PricingProgram(
        float(rng.choice([20, 500, 10_000])),
        factor[:-1, :-1] / least,
        factor[:-1, -1] / least,
        np.sqrt((1 - least**2) * (inverse**2).sum(axis=1)),
        np.concatenate([[0.0], np.cumsum(steps)])[: size + 1 if most is None else most + 1],
        [(frozenset(members.tolist()), dual) for members, dual in clusters],
    )


def objective(program, chosen):
    """Return the objective of a set from its definition, with a normal equation for the coefficients."""
    U, d = program.factor[:, list(chosen)], program.target
    off = d - U @ np.linalg.solve(U.T @ U, U.T @ d) if chosen else d
    met = sum(dual for members, dual in program.clusters if members & set(chosen))
    return program.half_samples * math.log(1 + off @ off) + program.penalties[len(chosen)] + met


@settings(deadline=None, max_examples=18)
@given(st.integers(0, 2**16), st.integers(1, 5), st.booleans(), st.booleans())
def test_the_least_objective_is_found_and_proven(seed, size, curved, limited):
    """The best set, its value and the bound are those of all sets; the sets come in order and below the cutoff."""
    program = made_program(seed, size, curved, max(size - 1, 1) if limited else None)
    values = {own: objective(program, own) for own in subsets(range(size)) if len(own) < len(program.penalties)}
    least = min(values.values())
    cutoff = values[()] + 1.0
    outcome = solve_pricing(program, cutoff, GAP, None, Deadline())
    found = [values[own] for own in outcome.sets]
    assert outcome.complete
    assert found[0] == pytest.approx(least, abs=GAP)
    assert least - 10 * GAP <= outcome.bound <= least
    assert (np.diff(found) >= -1e-8).all()
    assert max(found) < cutoff
    assert program.objective(outcome.sets[0]) == pytest.approx(found[0], abs=1e-7)


def test_nothing_below_the_cutoff():
    """With a cutoff below every set none is returned, and the bound says that there is none."""
    program = made_program(1, 4)
    cutoff = min(objective(program, own) for own in subsets(range(4))) - 1.0
    outcome = solve_pricing(program, cutoff, GAP, None, Deadline())
    assert outcome.sets == []
    assert outcome.complete
    assert outcome.bound == cutoff - SAFETY


@pytest.mark.parametrize("stopped", ["seconds", "deadline", "interrupt"])
def test_what_is_stopped_has_a_valid_bound(stopped):
    """At a limit, or after Ctrl-C, the outcome is incomplete and its bound below the least objective."""
    program = made_program(2, 12)
    deadline = Deadline(1e-9 if stopped == "deadline" else None)
    if stopped == "interrupt":
        deadline.interrupt()
    outcome = solve_pricing(program, objective(program, ()), GAP, 1e-9 if stopped == "seconds" else None, deadline)
    assert not outcome.complete
    assert outcome.bound <= min(objective(program, own) for own in subsets(range(12)))


@pytest.mark.parametrize("failures", [1, 2])
def test_an_lp_that_cannot_be_solved(monkeypatch, failures):
    """After PySCIPOpt's exception the program is solved in another way; after a second one nothing is proven."""
    left = [failures]

    class Failing(scip_pricing.Model):
        def optimize(self):
            left[0] -= 1
            if left[0] >= 0:
                raise Exception("SCIP: error in LP solver!")
            super().optimize()

    program = made_program(0, 3)
    expected = solve_pricing(program, 1e9, GAP, None, Deadline())
    monkeypatch.setattr(scip_pricing, "Model", Failing)
    outcome = solve_pricing(program, 1e9, GAP, None, Deadline())
    assert outcome.complete == (failures == 1)
    assert outcome.sets[:1] == (expected.sets[:1] if failures == 1 else [])
    assert outcome.bound == (pytest.approx(expected.bound, abs=2 * GAP) if failures == 1 else -math.inf)


def test_an_error_in_the_heuristic_is_raised(monkeypatch):
    """SCIP would swallow it."""

    def broken(self, chosen):
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(PricingProgram, "objective", broken)
    with pytest.raises(ZeroDivisionError, match="broken"):
        solve_pricing(made_program(0, 3), 1e9, GAP, None, Deadline())


def test_repeated_solves_and_exit():
    """Several solves, one of them out of time, and a clean and silent end."""
    done = subprocess.run([sys.executable, "-c", REPEATED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout in ("[False, True]\n", "[True]\n"), done.stderr) == (0, True, "")
