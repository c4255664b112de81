"""Tests of edge probabilities: against all orders, all DAGs, another formula, and the prior itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.methods.exact.edge_posterior import PRIORS, OrderSums, estimate_order_sums
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.workers import Stopped, Workers
from every_dag import SCORES, continuous_table, local_scores, make_problem, members, problems, totals
from every_order import inside, log_prior, over_dags, over_orders


@dataclass
class GivenPotentials:
    """As much of a score as the sums use: a table of potentials."""

    potential: np.ndarray
    is_score_equivalent = True
    seconds_per_potential = 0.0
    counts = None

    @property
    def n_nodes(self):
        return self.potential.size.bit_length() - 1

    def fill_potentials(self, high, low_bits, out, node=0):
        out[:] = self.potential[high << low_bits : (high + 1) << low_bits]

    def local(self, node, parents):
        mask = sum(1 << int(j) for j in parents)
        return self.potential[mask | 1 << node] - self.potential[mask]


def given_problem(potential, known=None):
    """Return a problem with these potentials."""
    score = GivenPotentials(potential)
    table = continuous_table(score.n_nodes, 0)
    return Problem(table, score, (known or Constraints()).resolve(table.names))


def sums(problem, prior="uniform", n_jobs=1):
    """Return edge probabilities and log-evidence."""
    with Workers(Deadline(), NoProgress(), n_jobs) as workers:
        return OrderSums(problem, prior, workers).run()


def by_exclusion(local, n, prior):
    """Return edge probabilities by another formula: for each edge, the sum of all that does without it.

    Sets are places of arrays, one axis of length 2 a node, the highest first.
    """
    choice = [local[i] + log_prior(prior, n) for i in range(n)]
    for i in range(n):
        choice[i][(np.arange(1 << n) >> i & 1) == 1] = -np.inf
        for b in range(n):
            halves = choice[i].reshape(-1, 2, 1 << b)
            halves[:, 1] = np.logaddexp(halves[:, 0], halves[:, 1])
    before, after = np.full((2, 1 << n), -np.inf)
    before[0] = after[-1] = 0.0
    for mask in range(1, 1 << n):
        before[mask] = np.logaddexp.reduce([before[mask ^ 1 << i] + choice[i][mask ^ 1 << i] for i in members(mask)])
    for mask in range((1 << n) - 2, -1, -1):
        outside = members(~mask & ((1 << n) - 1))
        after[mask] = np.logaddexp.reduce([after[mask | 1 << i] + choice[i][mask] for i in outside])
    edges = np.zeros((n, n))
    sets = np.arange(1 << n)
    for i in range(n):
        others = sets[(sets >> i & 1) == 0]
        for j in (j for j in range(n) if j != i):
            without = before[others] + choice[i][others & ~(1 << j)] + after[others | 1 << i]
            edges[j, i] = -np.expm1(min(np.logaddexp.reduce(without) - before[-1], 0.0))
    return edges


# --- brute force ----------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(problem=problems(min_nodes=1), prior=st.sampled_from(list(PRIORS)))
def test_probabilities_are_those_of_all_orders(problem, prior):
    """Probabilities and evidence agree with the sum over every order, for any score and knowledge."""
    edges, evidence = sums(problem, prior)
    expected, its_evidence = over_orders(local_scores(problem.score, problem.knowledge), prior)
    np.testing.assert_allclose(edges, expected, atol=1e-10)
    assert evidence == pytest.approx(its_evidence, rel=1e-10)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("pairs", [[("b", "d")], [("e", "a"), ("a", "c"), ("b", "c")]])
def test_orders_against_what_is_known_have_no_weight(pairs, prior):
    """With ``before`` the sums are over the orders that agree with it, for edges, evidence and parent sets."""
    known = Constraints(forbidden=[("a", "b")], before=pairs)
    problem = make_problem("gaussian", 5, 4, known)
    edges, evidence = sums(problem, prior)
    local = local_scores(problem.score, problem.knowledge)
    expected, its_evidence = over_orders(local, prior, problem.knowledge.before)
    np.testing.assert_allclose(edges, expected, atol=1e-10)
    assert evidence == pytest.approx(its_evidence, rel=1e-10)
    assert np.abs(expected - over_orders(local, prior)[0]).max() > 1e-3
    with Workers(Deadline(), NoProgress(), 1) as workers:
        masks, shares = OrderSums(problem, prior, workers).parents_of(2)
    np.testing.assert_allclose([shares[(masks >> j & 1) == 1].sum() for j in range(5)], expected[:, 2], atol=1e-8)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("known", [Constraints(), Constraints([("a", "c")], [("d", "b")], [["e"], ["b"]], 3)])
@pytest.mark.parametrize("prior", PRIORS)
def test_probabilities_are_those_of_all_dags(kind, known, prior):
    """They agree with the sum over all DAGs on five nodes, each as often as orders agree with it."""
    problem = make_problem(kind, 5, 4, known)
    edges, _ = sums(problem, prior)
    np.testing.assert_allclose(edges, over_dags(totals(problem.score, problem.knowledge), 5, prior), atol=1e-10)


@pytest.mark.parametrize("scale", [0.01, 10.0, 3000.0])
@pytest.mark.parametrize("n", [4, 5])
def test_any_range_of_scores(n, scale, rng):
    """Random potentials of any size, far beyond the range of exponentials, give the sums over all orders."""
    problem = given_problem(rng.normal(size=1 << n) * scale + 1e4)
    local = local_scores(problem.score, problem.knowledge)
    for prior in PRIORS:
        edges, evidence = sums(problem, prior)
        expected, its_evidence = over_orders(local, prior)
        np.testing.assert_allclose(edges, expected, atol=1e-10)
        assert evidence == pytest.approx(its_evidence, rel=1e-11, abs=1e-8)


# --- beyond brute force ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_more_nodes_than_a_chunk(scale, rng):
    """On thirteen nodes, where tables are summed in several steps, another formula gives the same."""
    n = 13
    potential = rng.normal(size=1 << n) * scale
    sets = np.arange(1 << n)
    local = np.array([potential[sets | 1 << i] - potential[sets & ~(1 << i)] for i in range(n)])
    edges, _ = sums(given_problem(potential), "fair")
    np.testing.assert_allclose(edges, by_exclusion(local, n, "fair"), atol=1e-9)


@pytest.mark.parametrize("kind", ["bge", "bdeu"])
def test_the_same_bits_for_any_number_of_threads(kind):
    """One, two and three threads give the same probabilities and evidence to the last bit."""
    problem = make_problem(kind, 14, 3)
    first, evidence = sums(problem, n_jobs=1)
    for n_jobs in (2, 3):
        other, its_evidence = sums(problem, n_jobs=n_jobs)
        np.testing.assert_array_equal(first, other)
        assert evidence == its_evidence


def test_the_order_of_the_columns_does_not_matter(rng):
    """Permuted potentials give permuted probabilities, across all the bits of a table."""
    n = 13
    score = make_problem("bge", n, 6).score
    potential = np.empty(1 << n)
    score.fill_potentials(0, n, potential)
    order = rng.permutation(n)
    moved = np.zeros(1 << n, dtype=np.int64)
    for new, old in enumerate(order):
        moved |= (np.arange(1 << n) >> new & 1) << old
    first, evidence = sums(given_problem(potential))
    other, its_evidence = sums(given_problem(potential[moved]))
    np.testing.assert_allclose(other, first[np.ix_(order, order)], atol=1e-11)
    assert evidence == pytest.approx(its_evidence, rel=1e-12)


# --- knowledge and prior --------------------------------------------------------------------------------------


def test_knowledge_is_certain():
    """Required edges have probability 1, forbidden ones exactly 0, and a tier is before the next one."""
    known = Constraints([("a", "b"), ("c", "b")], [("d", "e"), ("e", "d")], [["f"], ["g", "a"]])
    edges, _ = sums(make_problem("bge", 8, 1, known))
    assert edges[0, 1] == pytest.approx(1.0, abs=1e-12)
    assert edges[2, 1] == pytest.approx(1.0, abs=1e-12)
    assert edges[1, 0] == pytest.approx(0.0, abs=1e-300)
    assert (edges[[3, 4, 6, 0], [4, 3, 5, 5]] == 0.0).all()
    assert ((edges >= 0) & (edges <= 1)).all()
    assert (np.diag(edges) == 0).all()


@pytest.mark.parametrize("known", [Constraints(max_parents=1), Constraints([("a", "b")], max_parents=2)])
def test_the_number_of_parents_is_limited(known):
    """The expected number of parents of a node is at most its limit."""
    edges, _ = sums(make_problem("bdeu", 7, 2, known))
    assert (edges.sum(axis=0) <= known.max_parents + 1e-12).all()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("known", [Constraints(), Constraints(max_parents=2), Constraints([("a", "b")], [("c", "d")])])
def test_data_that_say_nothing_leave_the_prior(prior, known):
    """With all scores equal the evidence is that of one graph, and without knowledge every edge is equally likely."""
    n = 9
    sizes = np.array([mask.bit_count() for mask in range(1 << n)])
    edges, evidence = sums(given_problem(-2.5 * sizes, known), prior)
    assert evidence == pytest.approx(-2.5 * n, rel=1e-12)
    if not known.required:
        apart = edges[~np.eye(n, dtype=bool)]
        np.testing.assert_allclose(apart, apart[0], rtol=1e-12)


def test_fair_prior_of_two_nodes_is_known():
    """Of two nodes with equal scores the later one has a parent or none, with equal weight in either prior."""
    for prior in PRIORS:
        edges, _ = sums(given_problem(np.zeros(4)), prior)
        np.testing.assert_allclose(edges, [[0, 0.25], [0.25, 0]], rtol=1e-14)
    weights = log_prior("fair", 4)
    assert np.exp(weights[inside(0b0111, 4)]).sum() == pytest.approx(4)  # one for each of 0, 1, 2 and 3 parents


# --- limits ---------------------------------------------------------------------------------------------------


def test_the_deadline_stops_it():
    """Work ends when the time is over."""
    deadline = Deadline()
    deadline.interrupt()
    with Workers(deadline, NoProgress(), 1) as workers, pytest.raises(Stopped):
        OrderSums(make_problem("bge", 12, 0), "fair", workers).run()


def test_memory_is_what_the_estimate_says():
    """The tables that are allocated are within the estimate, and not far below it."""
    import tracemalloc

    problem = make_problem("bge", 15, 0)
    sums(problem)
    tracemalloc.start()
    sums(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = estimate_order_sums(problem, 1 << 40, 1)
    assert 0.8 * estimate.n_bytes < peak < 1.1 * estimate.n_bytes
    assert estimate.fits
    assert not estimate_order_sums(problem, estimate.n_bytes - 1, 1).fits
