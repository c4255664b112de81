"""Sets that the penalty rules out of a best DAG: the promise of ``Score.for_best``, by all parent sets."""

import numpy as np
import pytest

import dagopt
from dagopt.scores import multinomial
from dagopt.scores.build import make_score

ARITY = (2, 3, 4, 2, 5, 3)


@pytest.fixture(params=[40, 400])
def table(request):
    """Return rows in which columns depend on the one before them."""
    rng = np.random.default_rng(request.param)
    columns = [rng.integers(0, ARITY[0], request.param)]
    for a in ARITY[1:]:
        noise = rng.integers(0, a, request.param)
        columns.append(np.where(rng.random(request.param) < 0.6, columns[-1] % a, noise))
    return dagopt.as_table(np.stack(columns, axis=1).astype(str))


def _potentials(score):
    out = np.empty(1 << score.n_nodes)
    score.fill_potentials(0, score.n_nodes, out)
    return out


@pytest.mark.parametrize("name", ["bic", "ebic"])
def test_what_is_ruled_out_scores_less_than_its_members(table, name):
    """A set keeps its local score, or scores less than no parent and than each member, before and after."""
    score = make_score(table, name)
    whole, best = _potentials(score), _potentials(score.for_best())
    ruled_out = 0
    for node in range(score.n_nodes):
        others = [j for j in range(score.n_nodes) if j != node]
        alone = {j: score.local(node, [j]) for j in others}
        for mask in range(1 << score.n_nodes):
            if mask >> node & 1:
                continue
            before = whole[mask | 1 << node] - whole[mask]
            after = best[mask | 1 << node] - best[mask]
            if after == pytest.approx(before, rel=1e-9, abs=1e-9):
                continue
            ruled_out += 1
            rivals = [score.local(node, []), *(alone[j] for j in others if mask >> j & 1)]
            assert max(before, after) < min(rivals)
    assert ruled_out > 0


@pytest.mark.parametrize("name", ["bdeu", "loglik"])
def test_nothing_is_ruled_out_without_a_penalty_of_parameters(table, name):
    """BDeu has no such penalty, and the likelihood none at all."""
    score = make_score(table, name)
    assert score.for_best() is score


def test_the_share_of_sets_that_are_counted_is_told(table):
    """The estimated time of one potential is that of a counted set times their share, or that of all at once."""
    score = make_score(table, "bic")
    best = score.for_best()
    products = [np.prod([a for j, a in enumerate(ARITY) if mask >> j & 1]) for mask in range(1 << len(ARITY))]
    share = np.mean(np.array(products) <= best._largest_product)
    assert 0 < share < 1
    one = min(share * multinomial.SECONDS_PER_CELL_ROW, multinomial.SECONDS_PER_TREE_ROW)
    assert best.seconds_per_potential == pytest.approx(one * table.codes.shape[1])
    assert best.seconds_per_potential <= score.seconds_per_potential
