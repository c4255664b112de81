"""Essential graphs, Meek's rules and extensions against enumeration."""

import numpy as np
import pytest

from brute_force import (
    all_dags,
    colliders,
    equivalence_class,
    extensions,
    meek_by_scanning,
    random_dag,
    random_pdag,
    union,
)
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag, extend_pdag, meek_closure, random_member, v_structures


def arrows(n, *pairs):
    adjacency = np.zeros((n, n), dtype=np.int8)
    for i, j in pairs:
        adjacency[i, j] = 1
    return adjacency


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_cpdag_of_every_small_dag(n):
    """The essential graph is the union of the class, for every DAG of up to four nodes."""
    classes = {}
    for dag in all_dags(n):
        key = (dag | dag.T).tobytes(), frozenset(colliders(dag))
        classes.setdefault(key, []).append(dag)
    assert sum(map(len, classes.values())) == {1: 1, 2: 3, 3: 25, 4: 543}[n]  # Robinson's counts
    for members in classes.values():
        for dag in members:
            np.testing.assert_array_equal(cpdag(dag), union(members))


def test_cpdag_of_random_dags_of_five_nodes():
    """The essential graph is the union of the class, for random DAGs of five nodes."""
    rng = np.random.default_rng(5)
    for p in np.repeat([0.3, 0.6, 0.9], 12):
        dag = random_dag(5, p, rng)
        np.testing.assert_array_equal(cpdag(dag), union(equivalence_class(dag)))


def test_cpdag_is_invariant_to_labels():
    """Relabelling a large DAG relabels its essential graph and nothing else."""
    rng = np.random.default_rng(0)
    dag = random_dag(150, 0.03, rng)
    order = rng.permutation(150)
    np.testing.assert_array_equal(cpdag(dag[np.ix_(order, order)]), cpdag(dag)[np.ix_(order, order)])


def test_cpdag_refuses_what_is_no_dag():
    """A cycle and an undirected edge are named."""
    with pytest.raises(InputError, match="X0 -> X1 -> X2 -> X0"):
        cpdag(arrows(3, (0, 1), (1, 2), (2, 0)))
    with pytest.raises(InputError, match="'X0' - 'X1' is undirected"):
        cpdag(arrows(2, (0, 1), (1, 0)))


def test_v_structures_by_definition():
    """The list is the set by definition, sorted, with the collider in the middle."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        pdag = random_pdag(6, 0.6, rng)
        found = v_structures(pdag)
        assert set(found) == colliders(pdag)
        assert found == sorted(found, key=lambda triple: (triple[1], triple[0], triple[2]))


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param([(0, 1), (1, 2), (2, 1)], (1, 2), id="rule 1"),
        pytest.param([(0, 1), (1, 2), (0, 2), (2, 0)], (0, 2), id="rule 2"),
        pytest.param([(2, 1), (3, 1), (0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 0)], (0, 1), id="rule 3"),
        pytest.param([(3, 2), (2, 1), (0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 0)], (0, 1), id="rule 4"),
    ],
)
def test_each_rule_alone(given, added):
    """On the graph that each rule is drawn with, exactly its arrow is added."""
    pdag = arrows(4, *given)
    expected = pdag.copy()
    expected[added[::-1]] = 0
    np.testing.assert_array_equal(meek_closure(pdag), expected)


@pytest.mark.parametrize("n", [4, 5])
def test_meek_closure_with_background_knowledge(n):
    """With some edges directed as in a member, the closure is the union of the members that agree."""
    rng = np.random.default_rng(n)
    sources = list(all_dags(4)) if n == 4 else [random_dag(5, p, rng) for p in np.repeat([0.5, 0.8, 1.0], 12)]
    changed = 0
    for dag in sources:
        members = equivalence_class(dag)
        truth = members[rng.integers(len(members))]
        known = cpdag(dag)
        for i, j in np.argwhere(np.triu(known & known.T)):
            if rng.random() < 0.4:
                known[(j, i) if truth[i, j] else (i, j)] = 0
        obeying = [member for member in members if not np.any(member & ~known)]
        closed = meek_closure(known)
        np.testing.assert_array_equal(closed, union(obeying))
        changed += bool((closed != known).any())
    assert changed >= 5  # the rules had something to do


def test_meek_closure_is_what_scanning_gives():
    """On larger classes with background knowledge, every arrow that leads to another is followed up."""
    rng = np.random.default_rng(8)
    for k in range(150):
        n = 6 + k % 3
        known = cpdag(random_dag(n, 0.8, rng) if k % 2 else chordal_dag(n, rng))
        truth = random_member(known, rng)
        for i, j in np.argwhere(np.triu(known & known.T)):
            if rng.random() < 0.25:
                known[(j, i) if truth[i, j] else (i, j)] = 0
        np.testing.assert_array_equal(meek_closure(known), meek_by_scanning(known))


def test_meek_closure_of_any_pdag_is_closed():
    """No rule applies to a closure, not even to that of a PDAG that no DAG extends."""
    rng = np.random.default_rng(6)
    for p in np.repeat([0.5, 0.7, 0.9], 200):
        closed = meek_closure(random_pdag(6, p, rng, undirected=0.6))
        np.testing.assert_array_equal(meek_by_scanning(closed), closed)


def test_an_arrow_found_late_leads_on():
    """The edge 0 - 1, looked at first, follows only from the arrow 0 -> 2, which is found after it."""
    known = arrows(4, (0, 3), (3, 2), (2, 1), (0, 2), (2, 0), (0, 1), (1, 0))
    np.testing.assert_array_equal(meek_closure(known), arrows(4, (0, 3), (3, 2), (2, 1), (0, 2), (0, 1)))


def test_an_arrow_that_touches_no_end_of_the_edge():
    """Rule 4 is tried again when its first arrow, away from the edge it directs, is the last one found."""
    both = [(0, 5), (1, 3), (1, 4), (2, 3), (2, 4), (2, 5), (3, 5), (4, 5)]
    pdag = arrows(6, (0, 4), (2, 1), (3, 0), (4, 3), *both, *[(j, i) for i, j in both])
    closed = meek_closure(pdag)
    np.testing.assert_array_equal(meek_by_scanning(closed), closed)


def chordal_dag(n, rng):
    """A DAG without v-structures: each node takes some parent and some of that parent's parents."""
    dag = np.zeros((n, n), dtype=np.int8)
    for node in range(1, n):
        parent = rng.integers(node)
        dag[:, node] = dag[:, parent] & (rng.random(n) < 0.8)
        dag[parent, node] = 1
    order = rng.permutation(n)
    return dag[np.ix_(order, order)]


def test_essential_graphs_are_closed():
    """Meek's rules add nothing to an essential graph."""
    essential = cpdag(random_dag(80, 0.06, np.random.default_rng(3)))
    np.testing.assert_array_equal(meek_closure(essential), essential)


@pytest.mark.parametrize("n", [4, 5])
def test_extension_exists_exactly_when_enumeration_finds_one(n):
    """A DAG is returned exactly where one extends the PDAG, and it is one of those."""
    rng = np.random.default_rng(n)
    outcomes = []
    for p in np.repeat([0.4, 0.7, 1.0], 60):
        pdag = random_pdag(n, p, rng)
        possible, found = extensions(pdag), extend_pdag(pdag)
        outcomes.append(found is not None)
        if found is None:
            assert not possible
        else:
            assert any(np.array_equal(found, dag) for dag in possible)
    assert 20 < sum(outcomes) < 160  # both outcomes were met


def test_no_extension_of_a_square_or_a_cycle():
    """An undirected square and a directed cycle have no extension."""
    square = arrows(4, (0, 1), (1, 2), (2, 3), (3, 0))
    assert extend_pdag(square | square.T) is None
    assert extend_pdag(square) is None


def test_extension_of_an_essential_graph_is_in_its_class():
    """The extension of a large essential graph has that essential graph."""
    essential = cpdag(random_dag(200, 0.02, np.random.default_rng(9)))
    np.testing.assert_array_equal(cpdag(extend_pdag(essential)), essential)


@pytest.mark.parametrize("as_essential", [False, True])
def test_random_member_reaches_the_whole_class(as_essential):
    """From a DAG or its essential graph, exactly the members of the class are drawn."""
    dag = arrows(5, (0, 1), (0, 2), (1, 2), (2, 3), (3, 4))
    rng = np.random.default_rng(0)
    drawn = {random_member(cpdag(dag) if as_essential else dag, rng).tobytes() for _ in range(400)}
    assert drawn == {member.tobytes() for member in equivalence_class(dag)}


def test_random_member_of_larger_classes():
    """Every draw has the essential graph of the DAG it was drawn from."""
    rng = np.random.default_rng(2)
    for p in (0.02, 0.1, 0.5):
        dag = random_dag(40, p, rng)
        np.testing.assert_array_equal(cpdag(random_member(dag, rng)), cpdag(dag))


def test_random_member_is_repeatable():
    """The same seed draws the same member, and other seeds draw others."""
    dag = random_dag(30, 0.05, np.random.default_rng(4))
    np.testing.assert_array_equal(random_member(dag, 7), random_member(dag, 7))
    assert len({random_member(dag, seed).tobytes() for seed in range(10)}) > 1


def test_random_member_needs_an_extension():
    """A PDAG that no DAG extends is refused."""
    square = arrows(4, (0, 1), (1, 2), (2, 3), (3, 0))
    with pytest.raises(InputError, match="no DAG has the skeleton"):
        random_member(square | square.T, 0)


@pytest.mark.parametrize("function", [cpdag, meek_closure, extend_pdag, random_member, v_structures])
def test_inputs_are_left_alone(function):
    """No function changes the array it is given, and bad arrays are refused."""
    dag = random_dag(8, 0.4, np.random.default_rng(0))
    before = dag.copy()
    function(dag)
    np.testing.assert_array_equal(dag, before)
    with pytest.raises(InputError, match="square"):
        function(np.zeros((2, 3)))


def test_graphs_without_nodes():
    """A graph without nodes passes through."""
    empty = np.zeros((0, 0), dtype=np.int8)
    assert cpdag(empty).shape == meek_closure(empty).shape == extend_pdag(empty).shape == (0, 0)
