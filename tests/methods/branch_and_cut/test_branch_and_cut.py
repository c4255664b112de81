"""Tests of branch and cut against the subset recursion over the same pool."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families, Family
from dagopt.graph.order import is_acyclic
from dagopt.integer.recursion import solve_pool
from dagopt.integer.scip import ScipBranchAndCut
from dagopt.lp.rows.clusters import ClusterRows
from dagopt.methods.branch_and_cut import gobnilp, lane
from dagopt.methods.branch_and_cut import tree as branch_and_cut
from dagopt.methods.branch_and_cut.gobnilp import best_over_families
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_pools import random_pool


def best_over(pool):
    """Return the score of the best DAG over a pool."""
    with Workers(Deadline(), NoProgress(), 1) as workers:
        return solve_pool(pool, workers)[1]


def stopping_after(count):
    """Return a deadline that comes after its clock was looked at so many times."""
    ticks = iter(range(10**9))
    return Deadline(float(count), clock=lambda: float(next(ticks)))


@pytest.mark.few(8)
@pytest.mark.parametrize("local_size", [0, 4, 8])
@pytest.mark.parametrize("seed", range(8))
def test_best_dag_over_a_pool(seed, local_size):
    """With clusters alone, where it has to branch, and with local cuts the optimum is that of the recursion."""
    pool = random_pool(np.random.default_rng(seed), 4 + seed, 14)
    families = pool.without_dominated()
    outcome = best_over_families(families, None, Deadline(), local_size=local_size)
    assert outcome.status == "optimal"
    assert outcome.score == pytest.approx(best_over(pool), rel=1e-9)
    assert outcome.bound == outcome.score
    assert outcome.root_bound >= outcome.score - 1e-6
    assert is_acyclic(families.adjacency(outcome.chosen))


def test_local_cuts_close_what_clusters_leave_open(monkeypatch):
    """On pools where clusters alone have to branch, local cuts leave a smaller gap at the root, never a larger one."""
    monkeypatch.setattr(lane, "SLOW", -np.inf)  # no search over prefixes, which ends the root sooner
    gaps = {0: 0.0, 8: 0.0}
    for seed in range(6):
        families = random_pool(np.random.default_rng(seed), 8, 25).without_dominated()
        for size in gaps:
            outcome = best_over_families(families, None, Deadline(), local_size=size)
            gaps[size] += outcome.root_bound - outcome.score
    assert -1e-6 <= gaps[8] < 0.5 * gaps[0]


@pytest.mark.parametrize("local_size", [0, 4])
@pytest.mark.parametrize("ticks", [1, 3, 8, 20, 50, 100, 200, 400])
def test_bound_is_true_wherever_it_stops(ticks, local_size):
    """Stopped at any point, the bound is at least the optimum and the score at most."""
    pool = random_pool(np.random.default_rng(3), 9, 20)
    families = pool.without_dominated()
    outcome = best_over_families(families, None, stopping_after(ticks), local_size=local_size)
    best = best_over(pool)
    assert outcome.score <= best + 1e-6
    assert outcome.bound >= best - 1e-6
    assert outcome.status in ("time_limit", "optimal")


def test_threads_and_seeds_give_the_same_optimum():
    """The number of threads changes nothing at all, the seed nothing in the score."""
    families = random_pool(np.random.default_rng(5), 9, 25).without_dominated()
    runs = [
        best_over_families(families, None, Deadline(), n_jobs=n_jobs, random_state=seed)
        for n_jobs, seed in ((1, 0), (3, 0), (2, 1))
    ]
    assert (runs[0].chosen == runs[1].chosen).all()
    assert (runs[0].n_cuts, runs[0].n_nodes) == (runs[1].n_cuts, runs[1].n_nodes)
    assert runs[0].score == pytest.approx(runs[2].score)


def by_branching(families, n_jobs=1, start=None, pairs=0, **more):
    """Run branch and cut that branches rather than cuts."""
    rules = branch_and_cut.Rules(rounds_back=(1, 1), share=(0.99, 0.99), most_rounds=1, pairs=pairs)
    run = branch_and_cut.Tree(families, start, Deadline(), lambda: [ClusterRows(1)], rules, n_jobs=n_jobs, **more)
    return run.run()


def facts(found):
    """Return all that two runs must agree on."""
    return found.n_nodes, found.n_lps, found.n_cuts, found.score, found.bound, found.chosen.tolist()


@pytest.mark.parametrize("pairs", [0, 6])
def test_the_tree_is_the_same_on_any_number_of_threads(pairs, monkeypatch):
    """One thread, three and sixteen work on the same nodes, and try the same pairs in the same LPs."""
    at_once, attempt = [], lane.Lane._try_all

    def counted(own, start, parts):
        at_once.append(len(parts))
        return attempt(own, start, parts)

    monkeypatch.setattr(lane.Lane, "_try_all", counted)
    families = random_pool(np.random.default_rng(4), 12, 30).without_dominated()
    runs = [facts(by_branching(families, n_jobs, pairs=pairs)) for n_jobs in (1, 3, 16)]
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][0] > (3 if pairs else 10)
    assert (max(at_once, default=0) > 1) == (pairs > 0)


@pytest.mark.few(3)
@pytest.mark.parametrize("memory", [0, 2000, 1 << 30])
@pytest.mark.parametrize("seed", range(2))
def test_branching_alone_finds_the_optimum(seed, memory):
    """Also if the open nodes take too much memory: their rows are forgotten, and the search dives."""
    pool = random_pool(np.random.default_rng(seed), 10, 30)
    outcome = by_branching(pool.without_dominated(), memory=memory)
    assert outcome.status == "optimal"
    assert outcome.n_nodes > 5
    assert outcome.score == pytest.approx(best_over(pool), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_children_together_have_the_best_dag(seed, monkeypatch):
    """Points are not rounded to DAGs, and only the empty one is known: the best DAG is that of a leaf."""
    monkeypatch.setattr(Families, "near", lambda families, values: None)
    pool = random_pool(np.random.default_rng(seed), 8, 20)
    outcome = by_branching(pool.without_dominated())
    assert outcome.n_nodes > 1
    assert outcome.score == pytest.approx(best_over(pool), rel=1e-9)


def test_diving_keeps_fewer_nodes_open(monkeypatch):
    """Without memory the deepest nodes come next, so fewer are open at a time than if the best one comes next."""
    families = random_pool(np.random.default_rng(4), 12, 30).without_dominated()
    push, sizes = branch_and_cut.Tree._push, []

    def push_and_count(tree, *new):
        push(tree, *new)
        sizes.append(len(tree._open))

    monkeypatch.setattr(branch_and_cut.Tree, "_push", push_and_count)
    by_branching(families, memory=0)
    diving, sizes[:] = max(sizes), []
    by_branching(families)
    assert diving < max(sizes)


@pytest.mark.parametrize("pairs", [0, 6])
@pytest.mark.parametrize(("rounds", "work"), [(2, 0), (5, 5_000)])
def test_a_search_goes_on_in_the_same_way_from_any_state(rounds, work, pairs, monkeypatch):
    """From each state that is told, at the root and below, the same nodes, LPs, cuts and DAG follow."""
    monkeypatch.setattr(branch_and_cut, "RENEWED_WORK", work)
    monkeypatch.setattr(lane, "RENEWED_ROUNDS", rounds)
    families = random_pool(np.random.default_rng(4), 12, 30).without_dominated()
    start, states = families.along(np.arange(12)), []
    alone = by_branching(families, start=start, pairs=pairs, note=states.append)
    assert rounds > 2 or any(state.cutting is not None for state in states)
    assert any(state.counts[0] > (1 if pairs else 10) for state in states)
    for state in states[:: max(len(states) // 2, 1)]:
        again = by_branching(families, start=start, pairs=pairs, note=lambda state: None, state=state)
        assert facts(again) == facts(alone)


def test_more_than_64_nodes():
    """Sets of more than one word: a chain of pairs, in each of which one of two arcs is left."""
    pool = []
    for node in range(70):
        pool.append(Family(node, 0, -10.0))
        pool.append(Family(node, 1 << (node ^ 1), -3.0 - 0.01 * node))
    outcome = best_over_families(Families.from_list(70, pool), None, Deadline())
    expected = sum(max(-13.0 - 0.01 * a, -13.0 - 0.01 * (a + 1)) for a in range(0, 70, 2))
    assert outcome.score == pytest.approx(expected)


def test_a_pool_without_a_dag():
    """Where every choice has a cycle there is no DAG; a node without families is an error."""
    pool = Families.from_list(2, [Family(0, 2, 1.0), Family(1, 1, 1.0)])
    outcome = best_over_families(pool, None, Deadline())
    assert outcome.chosen is None
    assert outcome.status == "optimal"
    lacking = Families.from_list(2, [Family(0, 0, 1.0)])
    with pytest.raises(InputError, match="no DAG can be made"):
        best_over_families(lacking, None, Deadline())


def sparse_pool(rng, n_nodes, n_families, near):
    """Return a pool of many nodes whose parents are among the next ``near`` nodes on either side."""
    pool = []
    for node in range(n_nodes):
        around = [j for j in range(node - near, node + near + 1) if 0 <= j < n_nodes and j != node]
        pool.append(Family(node, 0, 0.0))
        for _ in range(n_families - 1):
            parents = rng.choice(around, size=rng.integers(1, 4), replace=False)
            pool.append(Family(node, sum(1 << int(j) for j in parents), float(rng.gamma(2.0, 10.0))))
    return Families.from_list(n_nodes, pool)


@pytest.mark.parametrize(("seed", "n_nodes"), [(0, 63), (1, 100), (2, 200)])
def test_many_nodes_have_the_optimum_of_scip(seed, n_nodes):
    """Over random pools of 63 to 200 nodes with few parent sets the optimum is that of SCIP's branch and cut."""
    pool = sparse_pool(np.random.default_rng(seed), n_nodes, 5, 4)
    families = pool.without_dominated()
    outcome = best_over_families(families, families.start(None), Deadline())
    other = ScipBranchAndCut().solve(pool, [], None, Deadline())
    assert (outcome.status, other.status) == ("optimal", "optimal")
    assert is_acyclic(families.adjacency(outcome.chosen))
    assert outcome.score == pytest.approx(other.score, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_parts_that_do_not_touch_have_the_optima_of_the_parts(seed):
    """A problem of 90 nodes in ten parts, its nodes mixed, has the sum of the optima of the subset recursion."""
    rng = np.random.default_rng(seed)
    parts = [random_pool(rng, 9, 12) for _ in range(10)]
    number = rng.permutation(90)
    whole = []
    for p, part in enumerate(parts):
        for family in part:
            mask = sum(1 << int(number[9 * p + j]) for j in range(9) if family.mask >> j & 1)
            whole.append(Family(int(number[9 * p + family.node]), mask, family.score))
    families = Families.from_list(90, whole).without_dominated()
    outcome = best_over_families(families, families.start(None), Deadline())
    with Workers(Deadline(), NoProgress(), 1) as workers:
        expected = sum(solve_pool(part, workers)[1] for part in parts)
    assert outcome.status == "optimal"
    assert outcome.score == pytest.approx(expected, rel=1e-9)


@pytest.mark.few(8)
@pytest.mark.parametrize("local_size", [0, 3])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_tree_alone(seed, known, local_size, monkeypatch):
    """Without the search over prefixes, from no DAG or a worse one, the tree finds the optimum of the subset recursion.

    So last-node rows and orders that are branched on lose no best DAG, also where no DAG is known at first.
    """
    monkeypatch.setattr(gobnilp, "PrefixSearch", _Nothing)
    pool = random_pool(np.random.default_rng(seed), 7 + seed % 4, 40)
    families = Families.from_list(7 + seed % 4, pool).without_dominated()
    start = families.start(None) if known else None
    outcome = best_over_families(families, start, Deadline(), local_size=local_size)
    assert outcome.status == "optimal"
    assert outcome.score == pytest.approx(best_over(pool), rel=1e-9)
    assert is_acyclic(families.adjacency(outcome.chosen))


class _Nothing:
    """A search over prefixes that is given up at once."""

    finished = False

    def __init__(self, *facts):
        pass

    def run(self):
        """Find nothing."""
