"""Algorithm 2 driven by scripted parts, with no solver at all: what is called, in which order, and when it ends."""

from types import SimpleNamespace

import numpy as np
import pytest

from dagopt.families.families import Family
from dagopt.integer.restricted_ip import IntegerSolution
from dagopt.methods.cg_dca.algorithm2 import ColumnGeneration, first_families
from dagopt.methods.cg_dca.pricer import Priced

EMPTY = np.zeros((2, 2), dtype=np.int8)
EDGE = np.array([[0, 1], [0, 0]], dtype=np.int8)
BACK = EDGE.T.copy()
PAIR = frozenset({0, 1})


class Script:
    """Every part of the loop: each call is written down, each answer is the next of its list, or the default."""

    def __init__(self, prices=None, clusters=(), dags=(EDGE,), n_nodes=2, stop_after=None):
        self.n_nodes = n_nodes
        self.calls = []
        self.told = []
        self.prices = {node: list(answers) for node, answers in (prices or {}).items()}
        self.separated = list(clusters)
        self.solutions = [d if isinstance(d, IntegerSolution) else solution(d) for d in dags]
        self.incumbents = []
        self.known = {"families": set(), "clusters": set()}
        self.stop_after = stop_after

    def _new(self, kind, parts):
        fresh = set(parts) - self.known[kind]
        self.known[kind] |= fresh
        return len(fresh)

    # the master
    def solve(self):
        self.calls.append("lp")
        return SimpleNamespace(number=self.calls.count("lp"))

    def add_families(self, families):
        return self._new("families", families)

    def add_clusters(self, clusters):
        return self._new("clusters", clusters)

    # the parts
    def price(self, node, lp):
        assert lp.number == self.calls.count("lp")
        self.calls.append(f"price {node}")
        answers = self.prices.get(node, [])
        return answers.pop(0) if answers else Priced([], 0.0, False)

    def separate(self, lp):
        assert lp.number == self.calls.count("lp")
        self.calls.append("separate")
        return self.separated.pop(0) if self.separated else []

    def solve_ip(self, incumbent):
        self.calls.append("ip")
        self.incumbents.append(incumbent)
        return self.solutions.pop(0) if len(self.solutions) > 1 else self.solutions[0]

    def stop(self):
        return self.stop_after is not None and len(self.calls) >= self.stop_after

    # the observer
    def families(self, lp, reduced_costs):
        self.told.append(("families", reduced_costs.tolist()))

    def rows(self, lp):
        self.told.append(("rows", None))

    def integers(self, solution, dag):
        self.told.append(("integers", dag))

    def after_pass(self, dag):
        self.calls.append("after")

    def run(self, dag=None, tolerance=1e-6):
        """Run the loop with these parts."""
        loop = ColumnGeneration(
            self, self.price, self.separate, self.solve_ip, self.stop, self, tolerance, self.after_pass
        )
        return loop.run(dag)


def solution(dag, clusters=()):
    """Return an integer solution."""
    return IntegerSolution(dag, 0.0, 0.0, tuple(clusters), "optimal")


def found(node, mask, cost):
    """Return what pricing says when it finds one family."""
    return Priced([Family(node, mask, 0.0)], cost, False)


def test_phases_come_in_the_order_of_the_paper():
    """A pass prices on the LP until nothing is negative, then separates on fresh LPs, then solves the IP."""
    script = Script({0: [found(0, 0b10, -3.0)]}, clusters=[[PAIR]])
    dag, converged = script.run()
    first = ["lp", "price 0", "price 1", "lp", "price 0", "lp", "separate", "lp", "separate", "ip", "after"]
    second = ["lp", "price 0", "price 1", "lp", "separate", "ip"]
    assert script.calls == first + second
    assert converged
    np.testing.assert_array_equal(dag, EDGE)
    assert script.known["clusters"] == {PAIR}


def test_a_node_that_is_priced_out_waits_for_the_next_pass():
    """Selective pricing: only nodes whose reduced cost was negative are priced again; all are in a new pass."""
    prices = {0: [found(0, 0b10, -3.0), found(0, 0b110, -2.0)], 2: [found(2, 0b1, -1.0)]}
    script = Script(prices, n_nodes=3)
    script.run()
    pricing = [call for call in script.calls if call.startswith(("price", "ip"))]
    nodes = [call[-1] for call in pricing]
    assert nodes == ["0", "1", "2", "0", "2", "0", "p", "0", "1", "2", "p"]
    assert script.told[0] == ("families", [-3.0, 0.0, -1.0])
    assert script.told[1] == ("families", [-2.0, 0.0, 0.0])


def test_nothing_new_is_priced_out():
    """A negative reduced cost whose families are all known ends the pricing of the node: no endless loop."""
    again = found(0, 0b10, -3.0)
    script = Script({0: [again, again, again, again]})
    _, converged = script.run()
    assert converged
    assert script.told[1] == ("families", [0.0, 0.0])
    assert script.calls[:5] == ["lp", "price 0", "price 1", "lp", "price 0"]
    assert script.calls[5:7] == ["lp", "separate"]


def test_a_reduced_cost_within_the_tolerance_is_not_negative():
    """-1e-7 ends the pricing of a node, -1e-5 does not."""
    script = Script({0: [found(0, 0b10, -1e-7)], 1: [found(1, 0b1, -1e-5)]})
    script.run()
    assert script.calls[:5] == ["lp", "price 0", "price 1", "lp", "price 1"]


def test_known_clusters_end_the_row_phase():
    """A separator that repeats itself adds nothing, and the loop goes on to the IP."""
    script = Script(clusters=[[PAIR], [PAIR], [PAIR]])
    script.run()
    assert script.calls[3:8] == ["lp", "separate", "lp", "separate", "ip"]


def test_it_ends_when_the_dag_repeats():
    """Three different DAGs and the third again: four passes, each IP started from the DAG before."""
    script = Script(dags=[EMPTY, EDGE, BACK, BACK])
    dag, converged = script.run()
    assert converged
    assert script.calls.count("ip") == 4
    assert script.calls.count("after") == 3
    np.testing.assert_array_equal(dag, BACK)
    for given, expected in zip(script.incumbents, [None, EMPTY, EDGE, BACK], strict=True):
        np.testing.assert_array_equal(given, expected)


def test_a_given_dag_is_the_first_incumbent():
    """A run that continues ends after one pass if the IP finds its DAG again."""
    script = Script(dags=[EDGE])
    _, converged = script.run(EDGE)
    assert converged
    assert script.calls.count("ip") == 1


def test_clusters_of_the_integer_phase_become_rows():
    """What was violated inside the IP is added to the master."""
    script = Script(dags=[solution(EDGE, [PAIR])])
    script.run()
    assert script.known["clusters"] == {PAIR}


def test_without_a_dag_the_last_one_stays():
    """An IP that ends without a DAG leaves the incumbent; none at all is no convergence."""
    script = Script(dags=[solution(EDGE), IntegerSolution(None, -np.inf, np.inf, (), "time_limit")], stop_after=11)
    dag, converged = script.run()
    assert script.calls.count("ip") == 2
    assert not converged
    np.testing.assert_array_equal(dag, EDGE)
    script = Script(dags=[solution(None)], stop_after=14)
    assert script.run() == (None, False)


@pytest.mark.parametrize(
    ("stop_after", "expected"),
    [
        (0, []),
        (2, ["lp", "price 0", "ip", "after"]),
        (3, ["lp", "price 0", "price 1", "ip", "after"]),
        (5, ["lp", "price 0", "price 1", "lp", "price 0", "ip", "after"]),
        (7, ["lp", "price 0", "price 1", "lp", "price 0", "lp", "separate", "ip", "after"]),
    ],
)
def test_stop_is_honoured_at_each_stage(stop_after, expected):
    """Within pricing and within separation the loop goes to the IP at once, and never begins another pass."""
    script = Script({0: [found(0, 0b10, -3.0)]}, clusters=[[PAIR]], stop_after=stop_after)
    dag, converged = script.run()
    assert script.calls == expected
    assert not converged
    assert (dag is None) == (not expected)


@pytest.mark.parametrize("stop_after", [8, 9])
def test_a_dag_that_repeats_in_a_pass_cut_short_is_no_convergence(stop_after):
    """Stopped in pricing or in separation of the second pass, the same DAG proves nothing."""
    script = Script(stop_after=stop_after)
    dag, converged = script.run()
    assert script.calls.count("ip") == 2
    assert not converged
    np.testing.assert_array_equal(dag, EDGE)


def test_a_dag_that_repeats_without_proof_is_no_convergence():
    """An IP stopped in the middle gives its incumbent back, which is not the best of the pool for all it knows."""
    cut = IntegerSolution(EDGE, 0.0, 5.0, (), "interrupted")
    script = Script(dags=[solution(EDGE), cut], stop_after=12)
    assert script.run()[1] is False


def test_the_observer_hears_every_step():
    """One word a round of pricing, a round of rows and a pass, in their order."""
    script = Script({0: [found(0, 0b10, -3.0)]}, clusters=[[PAIR]])
    script.run()
    assert [what for what, _ in script.told] == ["families", "families", "rows", "integers", "families", "integers"]


def test_the_first_columns_are_what_must_be():
    """Line 2: the empty set of each node, or its required parents, with their scores."""
    must = np.zeros((3, 3), dtype=bool)
    must[[0, 1], 2] = True
    families = first_families(lambda node, parents: 10.0 * node + len(parents), must)
    assert families == [Family(0, 0, 0.0), Family(1, 0, 10.0), Family(2, 0b011, 22.0)]
