"""Every integer solver finds the best DAG over a pool, as the subset recursion does."""

import importlib.util
import itertools

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families, Family
from dagopt.graph.order import is_acyclic
from dagopt.integer.restricted_ip import SubsetRecursion, make_integer_solver
from made_pools import can_be_violated, random_pool, score_of

HAS_GUROBI = importlib.util.find_spec("gurobipy") is not None
NEEDS_GUROBI = pytest.mark.skipif(not HAS_GUROBI, reason="needs gurobipy")
SOLVERS = ["scip", pytest.param("gurobi", marks=NEEDS_GUROBI)]
EVERY_SOLVER = ["dp", *SOLVERS]
SIZES = [(4, 3), (4, 8), (5, 12), (6, 20), (7, 6), (8, 25), (9, 10), (10, 30), (11, 8), (12, 15), (12, 40)]


def optimum(pool):
    """Return the best score by the subset recursion."""
    return SubsetRecursion().solve(pool, [], None, Deadline()).score


def cyclic_pool(n_nodes=9, seed=4, n_families=20):
    """Return a pool in which good families contradict each other."""
    return random_pool(np.random.default_rng(seed), n_nodes, n_families)


@pytest.mark.few(18)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n_nodes", "n_families"), SIZES)
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_the_subset_recursion(solver, n_nodes, n_families, seed):
    """The score is the recursion's to 1e-6, proven, with a DAG that has it."""
    rng = np.random.default_rng([seed, n_nodes, n_families])
    pool = random_pool(rng, n_nodes, n_families)
    found = make_integer_solver(solver, n_nodes).solve(pool, [], None, Deadline())
    assert found.status == "optimal"
    assert found.score == pytest.approx(optimum(pool), rel=0, abs=1e-6)
    assert found.bound == pytest.approx(found.score, rel=0, abs=1e-6)
    assert is_acyclic(found.adjacency)
    assert score_of(pool, found.adjacency) == pytest.approx(found.score, rel=0, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_given_clusters_and_incumbents_change_nothing(solver, seed):
    """Any clusters are valid for all DAGs, and any incumbent will do: in the pool, outside, the optimum itself."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, 7, 12)
    best = SubsetRecursion().solve(pool, [], None, Deadline())
    sizes = rng.integers(1, 8, size=20)
    clusters = [frozenset(int(i) for i in rng.choice(7, size=size, replace=False)) for size in sizes]
    full = np.triu(np.ones((7, 7), dtype=np.int8), 1)
    for incumbent in (None, best.adjacency, full):
        found = make_integer_solver(solver, 7).solve(pool, clusters, incumbent, Deadline())
        assert found.status == "optimal"
        assert found.score == pytest.approx(best.score, rel=0, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_pools_without_empty_sets(solver):
    """Where no DAG exists every solver says so, and where one does it is found."""
    solved = refused = 0
    for seed in range(12):
        pool = random_pool(np.random.default_rng(seed), 5, 6, empty=False)
        pool = pool.joined(Families.from_list(5, [Family(0, 0, -1e5)]))
        try:
            expected = optimum(pool)
        except InputError:
            refused += 1
            with pytest.raises(InputError, match="add the empty set"):
                make_integer_solver(solver, 5).solve(pool, [], None, Deadline())
        else:
            solved += 1
            found = make_integer_solver(solver, 5).solve(pool, [], None, Deadline())
            assert found.score == pytest.approx(expected, rel=0, abs=1e-6)
    assert solved
    assert refused


@pytest.mark.parametrize("solver", SOLVERS)
def test_clusters_returned_can_cut(solver):
    """Some choice of families violates each returned cluster, and no choice that is a DAG does."""
    pool = random_pool(np.random.default_rng(2), 5, 5)
    found = make_integer_solver(solver, 5).solve(pool, [], None, Deadline())
    assert found.clusters
    assert all(can_be_violated(pool, cluster) for cluster in found.clusters)
    for chosen in itertools.product(*(range(*pool.offsets[node : node + 2]) for node in range(5))):
        graph = pool.adjacency(np.array(chosen))
        if is_acyclic(graph):
            for cluster in map(sorted, found.clusters):
                assert graph[np.ix_(cluster, cluster)].any(axis=0).sum() < len(cluster)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("calls", [0, 1, 2, 5, 20])
def test_a_stop_gives_a_dag_and_a_true_bound(solver, calls):
    """Stopped by the clock after some looks at it, the DAG is one, and the bound is not below the optimum."""
    ticks = itertools.count()

    def clock():
        return 0.0 if next(ticks) < calls + 1 else 1e6

    pool = cyclic_pool(12, 3, 40)
    found = make_integer_solver(solver, 12).solve(pool, [], None, Deadline(1000.0, clock))
    assert found.status == "time_limit"
    assert is_acyclic(found.adjacency)
    assert score_of(pool, found.adjacency) == pytest.approx(found.score, rel=0, abs=1e-6)
    assert found.score - 1e-6 <= optimum(pool) <= found.bound + 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_interrupt_in_the_middle(solver, monkeypatch):
    """A request to stop that comes during the solve ends it with the best DAG so far."""
    deadline = Deadline()
    taken = Families.taken

    def interrupting(self, values):
        deadline.interrupt()
        return taken(self, values)

    monkeypatch.setattr(Families, "taken", interrupting)
    pool = cyclic_pool(12, 3, 40)
    found = make_integer_solver(solver, 12).solve(pool, [], None, deadline)
    assert found.status == "interrupted"
    assert is_acyclic(found.adjacency)
    assert found.score - 1e-6 <= optimum(pool) <= found.bound + 1e-6


@pytest.mark.parametrize("solver", EVERY_SOLVER)
def test_an_interrupt_before_the_start_keeps_the_incumbent(solver):
    """Nothing is claimed, and what came in is not made worse."""
    pool = cyclic_pool()
    best = SubsetRecursion().solve(pool, [], None, Deadline())
    deadline = Deadline()
    deadline.interrupt()
    found = make_integer_solver(solver, 9).solve(pool, [], best.adjacency, deadline)
    assert found.status == "interrupted"
    assert found.score == pytest.approx(best.score, rel=0, abs=1e-6)
    assert found.bound >= best.score - 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_error_in_a_callback_is_raised(solver, monkeypatch):
    """What goes wrong inside a solver's callback is not lost."""

    def broken(self, values):
        raise ZeroDivisionError("from the callback")

    monkeypatch.setattr(Families, "taken", broken)
    with pytest.raises(ZeroDivisionError, match="from the callback"):
        make_integer_solver(solver, 12).solve(cyclic_pool(12, 5), [], None, Deadline())


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_answer_twice(solver):
    """Two solves of one pool give the same DAG and the same clusters."""
    pool = cyclic_pool(10, 6)
    first, second = (make_integer_solver(solver, 10).solve(pool, [], None, Deadline()) for _ in range(2))
    np.testing.assert_array_equal(first.adjacency, second.adjacency)
    assert first.clusters == second.clusters


@pytest.mark.parametrize("solver", EVERY_SOLVER)
def test_one_node(solver):
    """A single node takes its only family."""
    pool = Families.from_list(1, [Family(0, 0, -3.0)])
    found = make_integer_solver(solver, 1).solve(pool, [], None, Deadline())
    assert (found.score, found.status) == (-3.0, "optimal")


def test_more_nodes_than_a_word_has_bits():
    """A ring of 70 nodes whose best families all point one way loses the cheapest of them."""
    around = [Family(node, 1 << (node + 1) % 70, -100.0 - node % 7) for node in range(70)]
    pool = Families.from_list(70, [*around, *(Family(node, 0, -1000.0) for node in range(70))])
    found = make_integer_solver("scip", 70).solve(pool, [], None, Deadline())
    assert found.status == "optimal"
    assert found.score == pytest.approx(-1000.0 + 106.0 + sum(-100.0 - node % 7 for node in range(70)))
