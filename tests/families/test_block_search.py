"""Tests of the listing of undominated parent sets over blocks, against all subsets and against blocks of one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from test_undominated import listed

from brute_force import undominated
from dagopt.data.table import as_table
from dagopt.deadline import Deadline
from dagopt.families.block_search import BlockSearch
from dagopt.families.node_search import NodeSearch
from dagopt.families.undominated import Listing
from dagopt.graph.constraints import Constraints
from dagopt.networks.simulate import simulate
from dagopt.progress import NoProgress
from dagopt.scores.bge import BGeScore
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from made_problems import gaussian_table
from made_tables import mixed_table

KNOWN = Constraints(required=[("V0", "V1")], forbidden=[("V2", "V1"), ("V3", "V0")], max_parents=3)


@pytest.mark.few(12)
@pytest.mark.parametrize("constraints", [None, Constraints(max_parents=2), KNOWN])
@pytest.mark.parametrize("score", ["bic", "aic", "ebic"])
@pytest.mark.parametrize("seed", range(4))
def test_mixed_sets_are_those_that_no_subset_beats(seed, score, constraints):
    """With one number per continuous column and several per discrete one, for all kinds of knowledge."""
    table = mixed_table(seed, 6, rows=[40, 80, 400, 3000][seed])
    sets, _, made, knowledge = listed(table, constraints, score=score)
    for node in range(6):
        assert sets[node] == undominated(made, knowledge, node)


@pytest.mark.few(10)
@pytest.mark.parametrize("constraints", [None, KNOWN])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_bge_sets_are_those_that_no_subset_beats(seed, standardize, constraints):
    """Where the score has the log-determinant of the parents, too."""
    table = gaussian_table(seed, 6, rows=[12, 30, 80, 400, 3000, 200][seed])
    sets, _, made, knowledge = listed(table, constraints, score=partial(BGeScore, standardize=standardize))
    for node in range(6):
        assert sets[node] == undominated(made, knowledge, node)


@pytest.mark.parametrize("seed", range(4))
def test_sets_of_columns_in_a_basis_are_those_that_no_subset_beats(seed):
    """Where a continuous column is a block of polynomials, of a continuous and of a mixed table."""
    table = gaussian_table(seed, 5, rows=[60, 400][seed % 2]) if seed < 2 else mixed_table(seed, 5, rows=200)
    sets, _, made, knowledge = listed(table, score="basis")
    assert max(made.sizes) > 1
    for node in range(5):
        assert sets[node] == undominated(made, knowledge, node)


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_one_column_give_the_sets_of_the_faster_search(seed):
    """The general search on a Gaussian likelihood finds what the search for one column per node finds."""
    score = make_score(gaussian_table(seed, 9, rows=[50, 300, 2000][seed % 3]))
    own = score.block_likelihood.nodes[4]
    must, free = np.array([0] if seed % 2 else [], dtype=int), np.array([j for j in range(1, 9) if j != 4])
    general = BlockSearch(own, 4, must, free, 8)
    special = NodeSearch(own.matrix, score.n_samples, own.costs, 4, must, free, 8, own.margin)
    found = []
    for search in (general, special):
        while not search.over:
            search.run(50)
        found.append({tuple(np.flatnonzero(row)) for row in search.members(9)})
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(4))
def test_narrowing_keeps_every_parent_of_an_undominated_set(seed):
    """For blocks: parents that are forbidden are in no undominated set, and some are forbidden."""
    table = as_table(simulate(7, 500, 0.5, seed, kind="mixed").data)
    score, knowledge = make_score(table), Constraints().resolve(table.names)
    listing = Listing(score, knowledge, 10**6)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        listing.narrow(workers)
    for node in range(7):
        used = {j for own in undominated(score, knowledge, node) for j in own}
        assert used <= set(np.flatnonzero(listing.knowledge.may[:, node]))
    assert listing.knowledge.may.sum() < 42


def test_columns_without_numbers_are_in_no_set_unless_required():
    """A discrete column of one level has a block of no columns."""
    score = make_score(mixed_table(0, 4, rows=200))
    own = score.block_likelihood.nodes[0]
    starts = np.append(own.starts, own.starts[-1])
    edges = np.append(own.edges, 0.0)
    wider = replace(own, starts=starts, edges=edges, costs=np.zeros(5))
    for must, rows in (([], {()}), ([4], {(4,)})):
        search = BlockSearch(wider, 0, np.array(must, dtype=int), np.array([4] if not must else [], dtype=int), 5)
        search.run(100)
        assert search.over
        assert {tuple(np.flatnonzero(row)) for row in search.members(5)} == rows
