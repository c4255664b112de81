"""Orders over listed parent sets against every place in turn."""

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.kernels.orders import listed as kernels
from dagopt.kernels.orders import listed_kicks


def drawn(seed, n=7):
    """Return the listed sets of each node with their values, best first, and the same for kernels."""
    rng = np.random.default_rng(seed)
    lists = []
    for i in range(n):
        sets = {frozenset(np.flatnonzero((rng.random(n) < 0.4) & (np.arange(n) != i)).tolist()) for _ in range(6)}
        own = [(J, float(rng.normal())) for J in sorted(sets, key=sorted)]
        lists.append(sorted(own, key=lambda pair: -pair[1]))
    flat = [(J, value) for own in lists for J, value in own]
    parents = np.array([j for J, _ in flat for j in sorted(J)], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([len(J) for J, _ in flat])]).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in lists])]).astype(np.int64)
    return lists, kernels.lists_of(parents, starts, np.array([value for _, value in flat]), offsets)


def moved(order, v, p):
    """Return the order with v at place p."""
    rest = [u for u in order if u != v]
    return [*rest[:p], v, *rest[p:]]


def key(lists, order):
    lack, total = naive.order_value(lists, order)
    return -lack, total


@pytest.mark.parametrize("seed", range(10))
def test_children_are_those_with_a_set_that_has_the_node(seed):
    lists, made = drawn(seed)
    for v in range(7):
        own = made.children[made.child_starts[v] : made.child_starts[v + 1]].tolist()
        assert own == [i for i in range(7) if any(v in J for J, _ in lists[i])]


@pytest.mark.parametrize("seed", range(10))
def test_each_variable_goes_to_its_best_place(seed):
    lists, made = drawn(seed)
    order = np.random.default_rng(seed).permutation(7)
    for v in range(7):
        before = order.tolist()
        values = [key(lists, moved(before, v, p)) for p in range(7)]
        kernels.insert_best_listed(made, order, np.array([v]))
        after = key(lists, order.tolist())
        assert order.tolist() in [moved(before, v, p) for p in range(7)]
        assert after[0] == max(values)[0]
        assert after[1] == pytest.approx(max(values)[1], abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_a_settled_order_and_its_parents(seed):
    lists, made = drawn(seed)
    order = np.random.default_rng(seed).permutation(7)
    kernels.settle(made, order)
    best = key(lists, order.tolist())
    for v in range(7):
        for p in range(7):
            lack, total = key(lists, moved(order.tolist(), v, p))
            assert lack < best[0] or (lack == best[0] and total <= best[1] + 1e-6)
    chosen = np.empty(7, dtype=np.int64)
    score = kernels.listed_parents(made, order, chosen)
    for p, v in enumerate(order.tolist()):
        place = naive.best_listed([J for J, _ in lists[v]], set(order[:p].tolist()))
        assert chosen[v] == (-1 if place < 0 else made.offsets[v] + place)
    assert score == (pytest.approx(best[1]) if best[0] == 0 else -np.inf)


@pytest.mark.parametrize("seed", range(10))
def test_kicks_end_where_one_place_after_the_other_is_tried(seed):
    """The order is that of the twin, and the gain is that of its score."""
    lists, made = drawn(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(7)
    before = key(lists, order.tolist())
    moves = np.stack([np.column_stack([rng.permutation(7)[:3], rng.integers(7, size=3)]) for _ in range(5)])
    expected = naive.kicked(lists, order.tolist(), moves.tolist(), kernels.ENOUGH)
    gain = listed_kicks.kick_listed(made, order, moves)
    assert order.tolist() == expected
    after = key(lists, expected)
    assert after >= (before[0], before[1] - 1e-6)
    assert gain == pytest.approx(after[1] - before[1])
