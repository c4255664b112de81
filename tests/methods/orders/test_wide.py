"""Search over very many columns, on few: pairs found in blocks, hidden parents, and the best DAG if it is known."""

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.methods.orders import near_pairs, wide
from dagopt.methods.orders.near_pairs import Blocks, pairs_above, unit_columns
from dagopt.methods.orders.wide import WideScore, search_wide
from dagopt.progress import NoProgress


def found_in(values, penalty, most=8, **options):
    """Return what the search finds in a table."""
    names = [f"V{k}" for k in range(values.shape[1])]
    score = WideScore(len(values), penalty * np.arange(most + 1))
    return search_wide(values, names, score, Deadline(), NoProgress(), **options)


@pytest.mark.parametrize("block", [3, 7, 100])
def test_no_pair_above_the_threshold_is_lost(monkeypatch, block):
    """Whatever the blocks, the pairs are those of the whole matrix, each once."""
    monkeypatch.setattr(near_pairs, "BLOCK", block)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 20)) + rng.normal(size=(50, 1)) * rng.random(20) + 1e6
    columns, scale = unit_columns(values, np.arange(20))
    matrix = np.corrcoef(values.T)
    least = float(np.abs(matrix[2, 5])) - 1e-9  # a pair that is hardly above
    assert scale == pytest.approx(values.std(axis=0), rel=1e-9)
    listed = [pairs_above(columns, a, b, least) for a, b, _ in Blocks(columns).above(least, Deadline())]
    pairs = [(int(a), int(b)) for one in listed for a, b in zip(one[0], one[1], strict=True)]
    wanted = [(a, b) for a in range(20) for b in range(a + 1, 20) if abs(matrix[a, b]) > least]
    assert sorted(pairs) == wanted
    assert (2, 5) in pairs
    left = np.ascontiguousarray(columns[4:9], dtype=np.float32)
    beside = {
        (int(a), int(b))
        for x, y, _ in Blocks(columns).above(least, Deadline(), left)
        for a, b in zip(x, y, strict=True)
    }
    assert {(a, b) for a in range(5) for b in range(20) if abs(matrix[a + 4, b]) > least} <= beside


@pytest.mark.parametrize("seed", range(5))
def test_the_best_dag_of_few_columns(seed):
    """On sparse tables of eight columns it is the one that the recursion over all sets proves best."""
    data, _ = dagopt.simulate(8, 500, 1.0, seed)
    best = dagopt.learn(data, "exact", score="bic", progress=False)
    found = found_in(data.to_numpy(), 0.5 * np.log(500))
    constant = -0.5 * 500 * 8 * (1 + np.log(2 * np.pi)) - 500 * np.log(found.scale).sum()
    assert found.is_checked
    assert constant + found.score == pytest.approx(best.score, abs=1e-6)
    edges = [(f"X{p}", f"X{v}") for v, own in enumerate(found.parents) for p in own]
    assert dagopt.score(data, edges, score="bic") == pytest.approx(best.score, abs=1e-6)
    lost = [best.score - dagopt.score(data, [e for e in edges if e != edge], score="bic") for edge in edges]
    assert found.edge_gains == pytest.approx(lost, abs=1e-6)


def test_parents_that_help_only_beside_others_are_found(monkeypatch):
    """Where some are hidden, the search over correlated pairs alone ends below the order search over all pairs."""
    data, _ = dagopt.simulate(15, 200, 2.0, 3)
    penalty = 0.5 * np.log(200)
    best = dagopt.learn(data, "order", score="bic", progress=False).score
    found = found_in(data.to_numpy(), penalty, most=14)
    constant = -0.5 * 200 * 15 * (1 + np.log(2 * np.pi)) - 200 * np.log(found.scale).sum()
    assert found.n_hidden > 0
    assert found.is_checked
    assert constant + found.score == pytest.approx(best, abs=1e-6)
    monkeypatch.setattr(wide, "MOST_ROUNDS", 1)
    assert found_in(data.to_numpy(), penalty, most=14).score < found.score - 1.0


def test_copies_stop_the_search():
    """They are named, up to sign and units, and nothing is searched."""
    values = np.random.default_rng(0).normal(size=(40, 5))
    values[:, 3] = 2 - 3 * values[:, 1]
    found = found_in(values, 2.0)
    assert found.copies.tolist() == [[1, 3]]
    assert not any(map(len, found.parents))


def test_a_start_is_never_lost():
    """A search from a DAG ends no worse, also where its edges are no candidates."""
    data, _ = dagopt.simulate(10, 300, 1.5, 3)
    values, penalty = data.to_numpy(), 0.5 * np.log(300)
    first = found_in(values, penalty)
    again = found_in(values, penalty, kicks=0, start=first.parents)
    assert again.score >= first.score - 1e-6
    with Deadline(1e-9) as over:
        score = WideScore(300, penalty * np.arange(9))
        stopped = search_wide(values, list(data), score, over, NoProgress(), start=first.parents)
    assert not stopped.is_checked
