"""Sampled posteriors against the exact ones: edges, parent sets, knowledge, and the same answer on any threads."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.learning.posing import pose_table
from dagopt.methods.exact.edge_posterior import OrderSums, log_prior
from dagopt.methods.orders import order_chains, sum_tables
from dagopt.methods.orders.order_chains import OrderChains
from dagopt.progress import NoProgress
from dagopt.scores.score_options import ScoreOptions
from dagopt.workers import Workers


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Keep the walks short."""
    monkeypatch.setattr(order_chains, "STEPS_PER_PIECE", 20_000)
    monkeypatch.setattr(order_chains, "MOST_SWEEPS", 40_000)
    monkeypatch.setattr(sum_tables, "WARM_UP", 400)


def problem_of(constraints=None, n_nodes=7, kind="continuous"):
    """Return a problem with few rows, so that many graphs have a share."""
    if kind == "discrete":
        data = dagopt.datasets.load("asia", n_samples=150, random_state=2).data
    else:
        data = dagopt.simulate(n_nodes=n_nodes, degree=1.5, n_samples=60, random_state=3).data
    score = "bdeu" if kind == "discrete" else "bge"
    return pose_table(dagopt.as_table(data), ScoreOptions(score=score), constraints, None)[0]


def sampled(problem, prior="fair", n_jobs=1, node=-1, seed=0):
    """Return chains that have run."""
    with Workers(Deadline(), NoProgress(), n_jobs) as workers:
        chains = OrderChains(problem, log_prior(prior, problem.n_nodes), workers, seed, node)
        assert chains.run()
    return chains


def exact(problem, prior="fair"):
    """Return the exact sums."""
    return OrderSums(problem, prior, Workers(Deadline(), NoProgress(), 1).__enter__())


@pytest.mark.parametrize(("kind", "prior"), [("continuous", "fair"), ("discrete", "uniform")])
def test_edges_are_near_the_exact_ones(kind, prior):
    """Edge probabilities agree with the sums over all orders as well as the chains say."""
    problem = problem_of(kind=kind)
    chains = sampled(problem, prior)
    found = chains.agreement()
    assert found.is_reached
    assert found.left_out == 0
    edges, _ = exact(problem, prior).run()
    np.testing.assert_allclose(chains.edges(), edges, atol=0.02)


def test_parent_sets_are_near_the_exact_ones():
    """The probabilities of a node's parent sets agree with the exact ones, and sum to one."""
    problem = problem_of()
    sets, shares, each = sampled(problem, node=2).parents()
    masks, expected = exact(problem).parents_of(2)
    told = dict(zip(sets, shares, strict=True))
    for mask, share in zip(masks.tolist(), expected, strict=True):
        assert told.get(tuple(j for j in range(7) if mask >> j & 1), 0.0) == pytest.approx(share, abs=0.02)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(each.sum(axis=1), 1)


@pytest.mark.parametrize(
    "constraints", [None, {"forbidden": [("X0", "X1")], "required": [("X2", "X3")], "max_parents": 3}]
)
def test_whole_tables_are_those_of_candidates(constraints, monkeypatch):
    """The sums of the exact recursion give the same walks as tables filled for each node."""
    problem = problem_of(constraints)
    one = sampled(problem, node=2)
    monkeypatch.setattr(sum_tables, "_most_candidates", lambda problem: 2)
    monkeypatch.setattr(sum_tables, "_whole_fits", lambda problem, workers: True)
    other = sampled(problem, node=2)
    assert other.tables._whole is not None
    np.testing.assert_allclose(one.edges(), other.edges(), atol=0.02)
    told = dict(zip(*one.parents()[:2], strict=True))
    for parents, share in zip(*other.parents()[:2], strict=True):
        assert told.get(parents, 0.0) == pytest.approx(share, abs=0.02)


def test_knowledge_is_kept():
    """Required edges have probability 1, forbidden ones 0, and no node has more parents than allowed."""
    names = problem_of().names
    known = dagopt.Constraints(
        required=[(names[5], names[1])], forbidden=[(names[0], names[2]), (names[2], names[0])], max_parents=2
    )
    problem = problem_of(known)
    chains = sampled(problem)
    edges, _ = exact(problem).run()
    np.testing.assert_allclose(chains.edges(), edges, atol=0.02)
    assert chains.edges()[5, 1] == pytest.approx(1)
    assert chains.edges()[0, 2] == chains.edges()[2, 0] == 0
    assert chains.edges().sum(axis=0).max() <= 2 + 1e-9


def test_threads_do_not_matter():
    """The same seed gives the same probabilities on one thread and on three; another seed gives others."""
    problem = problem_of()
    one, three, other = (sampled(problem, n_jobs=jobs, seed=seed).edges() for jobs, seed in ((1, 0), (3, 0), (1, 1)))
    np.testing.assert_array_equal(one, three)
    assert (one != other).any()


def test_candidates_are_found(monkeypatch):
    """With few candidates per node, the likely parents are among them, and what is left out is said."""
    monkeypatch.setattr(sum_tables, "MOST", 4)
    monkeypatch.setattr(sum_tables, "FEWEST", 4)
    monkeypatch.setattr(sum_tables, "TABLE_ENTRIES", 200)
    monkeypatch.setattr(sum_tables, "WHOLE_ENTRIES", 200)
    data = dagopt.simulate(n_nodes=10, degree=1.0, n_samples=500, random_state=1).data
    problem = pose_table(dagopt.as_table(data), ScoreOptions(score="bge"), None, None)[0]
    chains = sampled(problem)
    assert max(map(len, chains.tables.candidates)) <= 4
    edges, _ = exact(problem).run()
    missing = max(edges[v, u] for u in range(10) for v in range(10) if v != u and v not in chains.tables.candidates[u])
    assert missing < 0.05
    np.testing.assert_allclose(chains.edges(), edges, atol=0.08)


def test_public_functions_sample_when_asked():
    """Edges and effects can be sampled, say so, and agree with the exact ones; a short clock gives what there is."""
    data = dagopt.simulate(n_nodes=6, degree=1.5, n_samples=80, random_state=4).data
    asked = {"method": "sampled", "progress": False}
    found = dagopt.edge_posterior(data, **asked)
    full = dagopt.edge_posterior(data, progress=False)
    assert full.agreement is None
    np.testing.assert_allclose(found.probabilities, full.probabilities, atol=0.02)
    assert "the probabilities are sampled, and the chains agree" in found.summary()
    assert found.to_dict()["agreement"]["n_chains"] == 4
    result = dagopt.learn(data, "exact", score="bge", progress=False)
    names = result.names
    mean, exact_mean = (
        result.effect_posterior(names[0], names[1], **one).summaries["mean"].iloc[0]
        for one in (asked, {"progress": False})
    )
    assert mean == pytest.approx(exact_mean, abs=0.02)
    assert "R-hat" in result.effect_posterior(names[0], names[1], **asked).summary()
    with pytest.raises(dagopt.InputError, match="method= to be 'auto'"):
        dagopt.edge_posterior(data, method="other")
    with pytest.raises(dagopt.InputError, match="random_state= to be a whole number"):
        dagopt.edge_posterior(data, method="sampled", random_state=-1)


def test_an_order_that_is_known_is_refused():
    """Walks go through all orders, so what is known about the order is refused, with a way out."""
    names = problem_of().names
    with pytest.raises(InputError, match="before= need exact sums; use method='exact'"):
        sampled(problem_of({"before": [(names[3], names[0])]}))
