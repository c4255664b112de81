"""CG-MINLP end to end: exact optima as the judge, the true graph, knowledge, limits and errors."""

import os
import signal

import numpy as np
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.graph.order import is_acyclic
from dagopt.methods.cg_dca.trace import COLUMNS
from dagopt.progress import NoProgress


def small(n, seed, n_samples=300, degree=0.5):
    """Return simulated data and its proven best DAG."""
    data, _ = dagopt.simulate(n, n_samples, degree, seed)
    return data, dagopt.learn(data, "exact")


@pytest.mark.parametrize(("n", "seed", "status"), [(4, 0, "optimal"), (4, 3, "optimal"), (4, 6, "converged")])
def test_few_columns_are_solved_as_by_the_subset_recursion(n, seed, status):
    """The DAG has the score of the proven optimum; where the LP is tight the result says optimal, where not, not."""
    data, exact = small(n, seed)
    result = dagopt.learn(data, "cg-minlp")
    assert result.score == pytest.approx(exact.score, abs=1e-6)
    assert result.status == status
    assert result.bound >= exact.score
    assert (result.bound - exact.score < 1e-3) == (status == "optimal")
    assert result.scope == exact.scope == "all DAGs"
    assert result.method == "cg-minlp"


@pytest.mark.parametrize("seed", [0, 6])
def test_the_bound_is_above_every_dag(seed):
    """For denser graphs, too: the score is at most the optimum, the bound at least."""
    data, exact = small(5, seed, 500, 1.0)
    result = dagopt.learn(data, "cg-minlp")
    assert result.score <= exact.score + 1e-6
    assert result.bound >= exact.score - 1e-6
    assert result.score == pytest.approx(dagopt.score(data, result.dag))
    assert result.details["programs_stopped"] == 0
    assert result.details["programs_solved"] >= 2 * 5
    assert any("programs solved" in note for note in result.notes)


def test_the_true_graph_of_the_gaussian_test_network():
    """As in section 5.1 of the paper."""
    data, true = dagopt.datasets.load("gaussian_test")
    assert dagopt.compare(dagopt.learn(data, "cg-minlp").dag, true).shd == 0


def test_bnlearns_convention_and_another_integer_solver():
    """The penalty that is convex in the number of parents is priced right."""
    data, _ = small(4, 1)
    exact = dagopt.learn(data, "exact", convention="bnlearn")
    result = dagopt.learn(data, "cg-minlp", convention="bnlearn", integer_solver="scip")
    assert result.score == pytest.approx(exact.score, abs=1e-6)
    assert result.bound >= exact.score
    assert "integer master: scip" in result.notes


def test_knowledge_is_honoured():
    """Required and forbidden edges, tiers and a limit hold in the answer, and the bound is within them."""
    data, _ = small(6, 2, 500, 1.0)
    names = list(data.columns)
    known = Constraints(
        required=[(names[0], names[1]), (names[2], names[1])],
        forbidden=[(names[3], names[4]), (names[4], names[3])],
        tiers=[names[:4], names[4:]],
        max_parents=2,
    )
    result = dagopt.learn(data, "cg-minlp", constraints=known)
    exact = dagopt.learn(data, "exact", constraints=known)
    assert known.resolve(names).allows_dag(result.adjacency)
    assert result.score <= exact.score + 1e-6 <= result.bound + 2e-6
    assert result.scope == exact.scope


def test_equal_runs_are_equal():
    """Nothing is drawn: two runs are the same step by step."""
    data, _ = small(4, 2)
    steps = ["pass", "phase", "lp", "score", "families", "rows", "reduced_cost"]
    one, two = (dagopt.learn(data, "cg-minlp").trace[steps] for _ in range(2))
    assert one.equals(two)


def test_many_columns_need_a_time_limit():
    """Without one the error names the remedies; with one, or with more families allowed, the method runs."""
    data, _ = dagopt.simulate(11, 100, 0.5, 0)
    with pytest.raises(
        InputError, match=r"at most 10 columns.*without a time limit but got 11.*time_limit=.*max_nodes="
    ):
        dagopt.learn(data, "cg-minlp")
    with pytest.raises(InputError, match="at most 3 columns"):
        dagopt.learn(data.iloc[:, :4], "cg-minlp", max_nodes=3)
    assert dagopt.learn(data, "cg-minlp", time_limit=1e-9).status == "time_limit"
    assert dagopt.learn(data.iloc[:, :3], "cg-minlp", max_nodes=3).status in ("optimal", "converged")


def test_a_tiny_time_limit_still_gives_a_dag():
    """The best DAG so far comes back with the reason, and with no other bound than that of the likelihood."""
    data, _ = small(6, 0)
    result = dagopt.learn(data, "cg-minlp", time_limit=1e-9)
    assert result.status == "time_limit"
    assert result.bound == dagopt.learn(data, "hc", time_limit=1e-9).bound
    assert is_acyclic(result.adjacency)
    assert list(result.trace.columns[: len(COLUMNS)]) == COLUMNS


def test_programs_that_are_stopped_leave_a_valid_bound():
    """With no time for any program nothing is found, but the bound still holds, and the result counts them."""
    data, exact = small(6, 0, 500, 1.0)
    result = dagopt.learn(data, "cg-minlp", node_time_limit=1e-9)
    assert result.status == "converged"
    assert result.details["programs_stopped"] > 0
    assert exact.score <= result.bound < np.inf
    assert result.score <= exact.score


class StopsAt(NoProgress):
    """A progress that sends Ctrl-C at its n-th row."""

    def __init__(self, rows):
        self.left = rows

    def update(self, phase, fraction=None, **facts):
        """Count, and send it."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("rows", [1, 3, 5])
def test_an_interrupt_returns_the_best_so_far(rows):
    """A Ctrl-C ends the run with a DAG; a bound of a whole round before it is kept, and holds."""
    data, exact = small(6, 4, 500, 1.0)
    result = dagopt.learn(data, "cg-minlp", progress=StopsAt(rows))
    assert result.status == "interrupted"
    assert is_acyclic(result.adjacency)
    assert result.score <= exact.score + 1e-6 <= result.bound + 2e-6


def test_a_limit_on_passes_is_told():
    """One pass, and a note that says so; the bound of its rounds stays."""
    data, exact = small(6, 2, 500, 1.0)
    result = dagopt.learn(data, "cg-minlp", max_passes=1)
    assert result.details["passes"] == 1
    assert "stopped by the limit on passes" in result.notes
    assert result.bound >= exact.score


def test_discrete_data_and_bayesian_scores_are_refused():
    """The error says what the method needs and what to choose instead."""
    asia, _ = dagopt.datasets.load("asia", n_samples=100)
    with pytest.raises(InputError, match=r"CG-MINLP needs continuous data.*method='cg-dca'"):
        dagopt.learn(asia, "cg-minlp")
    with pytest.raises(InputError, match=r"CG-MINLP needs.*score='bic'"):
        dagopt.learn(dagopt.simulate(3, 50, 1.0, 0).data, "cg-minlp", score="bge")


@pytest.mark.parametrize(
    "option",
    [
        {"integer_solver": "cplex"},
        {"tolerance": 0.0},
        {"gap": -1},
        {"node_time_limit": 0},
        {"max_nodes": 0},
        {"max_passes": 1.5},
    ],
)
def test_wrong_options_are_named(option):
    """Each error names the option."""
    with pytest.raises(InputError, match=next(iter(option))):
        dagopt.learn(dagopt.simulate(3, 50, 1.0, 0).data, "cg-minlp", **option)
