"""What a missing Gurobi, or one without a large licence, says."""

import importlib.util
import sys

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families, Family
from dagopt.integer.gurobi import GurobiBranchAndCut


def small_pool():
    """Return a pool of one node."""
    return Families.from_list(1, [Family(0, 0, 0.0)])


def test_a_missing_gurobi_names_the_remedy(monkeypatch):
    """The message says what to install and what to use instead."""
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    with pytest.raises(InputError, match=r"dagopt\[gurobi\].*integer_solver='scip'"):
        GurobiBranchAndCut().solve(small_pool(), [], None, Deadline())


@pytest.mark.skipif(importlib.util.find_spec("gurobipy") is None, reason="needs gurobipy")
def test_a_refused_licence_names_the_remedy(monkeypatch):
    """An error of the licence becomes a message with the other solver in it."""
    import gurobipy

    def refused(*args, **kwargs):
        raise gurobipy.GurobiError(gurobipy.GRB.Error.NO_LICENSE, "no licence")

    monkeypatch.setattr(gurobipy, "Env", refused)
    with pytest.raises(InputError, match="integer_solver='scip'"):
        GurobiBranchAndCut().solve(small_pool(), [], np.zeros((1, 1), dtype=np.int8), Deadline())
