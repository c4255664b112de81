"""Tests of the search over prefixes against the subset recursion over the same pool."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.graph.order import is_acyclic
from dagopt.integer.recursion import solve_pool
from dagopt.kernels.cuts import prefixes as kernels
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.clusters import pair_rows
from dagopt.methods.branch_and_cut import prefix_search as prefixes
from dagopt.methods.branch_and_cut.gobnilp import best_over_families
from dagopt.methods.branch_and_cut.prefix_search import PrefixSearch
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_pools import random_pool


def posed(seed, n_nodes=9, n_families=25):
    """Return families, their LP point with clusters of pairs, and the best score."""
    pool = random_pool(np.random.default_rng(seed), n_nodes, n_families)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        best = solve_pool(pool, workers)[1]
    families = pool.without_dominated()
    lp = Relaxation(families, (), families.offsets[:-1], 100)
    lp.add(pair_rows(families))
    return families, lp.solve(np.ones(len(families.node), dtype=np.bool_), Deadline()), best


def search(point, score, n_threads=1, deadline=None, most=np.inf):
    """Run the search from a known score; return it and what it found."""
    alive = point.bound + point.excess >= score
    with ThreadPoolExecutor(n_threads) as threads:
        one = PrefixSearch(point, alive, score, deadline or Deadline(), threads, n_threads, most)
        return one, one.run()


@pytest.mark.few(8)
@pytest.mark.parametrize("foreseen", [0, 10**9])
@pytest.mark.parametrize("seed", range(12))
def test_best_dag_from_a_worse_one(seed, foreseen, monkeypatch):
    """From far below and from just below, with groups and without, the DAG found is the best."""
    monkeypatch.setattr(prefixes, "FORESEEN_FROM", foreseen)
    monkeypatch.setattr(prefixes, "GROUP", 4)
    families, point, best = posed(seed, 6 + seed % 5)
    for below in (2000.0, 30.0, 0.01):
        done, chosen = search(point, best - below)
        assert done.finished
        assert families.total(chosen) == pytest.approx(best, rel=1e-9)
        assert is_acyclic(families.adjacency(chosen))


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_better_than_the_best(seed):
    """With the best score known the search ends with nothing."""
    _, point, best = posed(seed)
    done, chosen = search(point, best)
    assert done.finished
    assert chosen is None


def test_threads_do_not_matter(monkeypatch):
    """One thread or three: the same DAG and the same number of prefixes."""
    monkeypatch.setattr(prefixes, "CHUNK", 7)
    families, point, best = posed(3, 10, 40)
    (one, first), (three, second) = (search(point, best - 500.0, n) for n in (1, 3))
    assert one.n_prefixes == three.n_prefixes
    assert (first == second).all()
    assert families.total(first) == pytest.approx(best, rel=1e-9)


def test_it_is_given_up_where_prefixes_are_too_many_or_time_is_over(monkeypatch):
    """Then nothing is claimed."""
    _, point, best = posed(1, 10, 40)
    assert not search(point, best - 500.0, deadline=Deadline(1e-9))[0].finished
    monkeypatch.setattr(prefixes, "MOST_PREFIXES", 5)
    done, chosen = search(point, best - 500.0)
    assert not done.finished
    assert chosen is None


def test_it_keeps_only_as_many_prefixes_as_it_may():
    """With one fewer than it needs it is given up, and nothing is claimed; with as many it ends."""
    families, point, best = posed(1, 10, 40)
    needed = search(point, best - 500.0)[0].n_prefixes
    done, chosen = search(point, best - 500.0, most=needed - 1)
    assert (done.finished, chosen) == (False, None)
    done, chosen = search(point, best - 500.0, most=needed)
    assert done.finished
    assert families.total(chosen) == pytest.approx(best, rel=1e-9)


def test_branch_and_cut_ends_with_it():
    """With clusters alone the root stalls, and the search over prefixes ends it without branching."""
    for seed in range(6):
        families, _, best = posed(seed, 10, 40)
        outcome = best_over_families(families, None, Deadline(), local_size=0)
        assert outcome.status == "optimal"
        assert outcome.score == pytest.approx(best, rel=1e-9)
        assert outcome.n_nodes <= 1


def test_the_first_set_that_fits():
    """The kernel finds what a look at every set finds, with lists of more than one word."""
    rng = np.random.default_rng(0)
    masks = rng.integers(1, 1 << 9, 150).astype(np.uint64)
    bits = np.zeros((3, 10), dtype=np.uint64)
    kernels.fill_bits(masks, bits)
    lists = kernels.Lists(bits, np.array([0, 3]), np.arange(150.0), np.array([0, 150]))
    for _ in range(200):
        out = rng.permutation(10)[: rng.integers(1, 10)]
        behind = sum(1 << int(j) for j in out)
        fitting = [k for k, mask in enumerate(masks) if not int(mask) & behind]
        assert kernels.first_fitting(lists, 0, out, len(out)) == (fitting[0] if fitting else -1)
