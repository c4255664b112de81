"""Start points: warm repeats the LP, hybrid changes over at its number of families, random only draws."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.errors import InputError
from dagopt.families.families import Families, Family
from dagopt.lp.restricted_master import RestrictedMaster
from dagopt.methods.cg_dca.start_points import START_POINTS, SWITCH_AT, Hybrid, RandomStart, WarmStart, make_start_point


def solved_master(seed, n=5):
    """Return the solution of a master with random families and clusters."""
    rng = np.random.default_rng(seed)
    master = RestrictedMaster(n)
    families = [Family(i, 0, 0.0) for i in range(n)]
    for _ in range(20):
        i = int(rng.integers(n))
        families.append(Family(i, int(rng.integers(1 << n)) & ~(1 << i), float(rng.random() * 5)))
    master.add_families(families)
    master.add_clusters([frozenset(rng.permutation(n)[: rng.integers(2, n + 1)].tolist()) for _ in range(12)])
    return master.solve()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**16))
def test_warm_is_the_weight_of_each_candidate_in_the_lp(seed):
    """The point is Σ_J x_J 1[j in J], for the candidates alone and whatever the generator."""
    lp = solved_master(seed)
    for node in range(5):
        candidates = np.array([j for j in range(5) if j not in (node, (node + 1) % 5)])
        point = WarmStart()(node, candidates, lp, None)
        expected = [
            sum(x for x, c in zip(lp.values, lp.families, strict=True) if c.node == node and c.mask >> j & 1)
            for j in candidates
        ]
        np.testing.assert_allclose(point, expected, atol=1e-7)
        assert ((point >= 0) & (point <= 1)).all()


def test_warm_from_an_integer_solution_is_its_parent_set():
    """Where the LP takes one family of a node, the start is the corner of that set."""
    families = Families.from_list(4, [Family(0, 0b1010, 1.0), Family(0, 0, 0.0), Family(1, 0b1101, 1.0)])
    lp = SimpleNamespace(families=families, values=np.array([1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(WarmStart()(0, np.array([1, 2, 3]), lp, None), [1.0, 0.0, 1.0])


def test_random_depends_on_the_generator_alone():
    """Equal generators give equal points of the cube, whatever node and LP; each call draws anew."""
    candidates = np.arange(7)
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    first = RandomStart()(0, candidates, None, one)
    np.testing.assert_array_equal(first, RandomStart()(4, candidates, "lp", other))
    second = RandomStart()(0, candidates, None, one)
    assert (first != second).all()
    assert ((first >= 0) & (first <= 1)).all()


def test_hybrid_changes_over_at_its_number_of_columns():
    """A node with fewer families starts at random, from that number on warm; other nodes do not count."""
    given = [Family(7, mask, 0.0) for mask in range(60)]
    hybrid, rng, candidates = Hybrid(3), np.random.default_rng(0), np.arange(1, 8)
    kinds = []
    for mask in range(4):
        lp = SimpleNamespace(families=Families.from_list(8, given), values=np.zeros(len(given)))
        point = hybrid(0, candidates, lp, rng)
        kinds.append("random" if point.any() else "warm")
        given.append(Family(0, mask << 1, 0.0))
    assert kinds == ["random", "random", "random", "warm"]


def test_the_papers_number_is_the_default():
    """Section 4.1: 50 parent sets."""
    assert SWITCH_AT == 50
    assert make_start_point("hybrid").switch_at == 50
    assert make_start_point("hybrid", 9).switch_at == 9


def test_a_wrong_name_is_refused_with_the_right_ones():
    """The error lists the strategies."""
    assert START_POINTS == ("random", "warm", "hybrid")
    assert isinstance(make_start_point("random"), RandomStart)
    assert isinstance(make_start_point("warm"), WarmStart)
    with pytest.raises(InputError, match=r"'random'.*'warm'.*'hybrid'"):
        make_start_point("hot")
