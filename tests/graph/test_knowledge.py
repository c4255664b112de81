"""Background knowledge: facts by node, contradictions by name, and files of it."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.learning.learning import learn
from dagopt.methods.registry import METHODS

NAMES = ("lung", "smoke", "xray", "cough")


def _edges(matrix):
    return {(NAMES[a], NAMES[b]) for a, b in np.argwhere(matrix)}


ALL = set(itertools.permutations(NAMES, 2))


def test_nothing_known():
    """Without knowledge every set of other columns is allowed."""
    known = Constraints().resolve(NAMES)
    assert known.is_free
    assert known.limit is None
    assert known.n_nodes == 4
    assert _edges(known.may) == ALL
    assert not known.must.any()
    assert known.at_most.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize(
    "facts, must, may_not, at_most",
    [
        ({"required": [("smoke", "lung")]}, {("smoke", "lung")}, set(), [3] * 4),
        ({"forbidden": [("lung", "smoke")]}, set(), {("lung", "smoke")}, [3] * 4),
        (
            {"tiers": [["smoke"], ["lung", "xray"]]},
            set(),
            {("lung", "smoke"), ("xray", "smoke")},
            [3] * 4,
        ),
        (
            {"tiers": [["smoke"], ["lung"], ["xray"]]},
            set(),
            {("lung", "smoke"), ("xray", "smoke"), ("xray", "lung")},
            [3] * 4,
        ),
        ({"max_parents": 2}, set(), set(), [2] * 4),
        ({"max_parents": 99}, set(), set(), [3] * 4),
        ({"max_parents": np.int64(1)}, set(), set(), [1] * 4),
        ({"max_parents": {"xray": 1}}, set(), set(), [3, 3, 1, 3]),
        ({"max_parents": {"xray": None}}, set(), set(), [3] * 4),
        ({"max_parents": 0}, set(), ALL, [0] * 4),
        (
            {"required": [("smoke", "lung")], "max_parents": {"lung": 1}},
            {("smoke", "lung")},
            {("xray", "lung"), ("cough", "lung")},
            [1, 3, 3, 3],
        ),
    ],
)
def test_facts_by_node(facts, must, may_not, at_most):
    """Each kind of knowledge becomes must, may and at most; a full parent set leaves no room for more."""
    known = Constraints(**facts).resolve(NAMES)
    assert _edges(known.must) == must
    assert _edges(known.may) == ALL - may_not
    assert known.at_most.tolist() == at_most
    assert known.is_free is (not must and not may_not and at_most == [3] * 4)
    assert known.limit == (None if max(at_most) == 3 else max(at_most))


@pytest.mark.parametrize(
    "facts, parts",
    [
        (
            {"required": [("smoke", "lung"), ("xray", "cough")], "forbidden": [("smoke", "lung")]},
            ["smoke -> lung", "both required and forbidden"],
        ),
        (
            {"required": [("xray", "smoke")], "tiers": [["smoke"], ["lung"], ["xray"]]},
            ["xray -> smoke", "tier 3", "tier 1"],
        ),
        ({"required": [("smoke", "lung"), ("lung", "smoke")]}, ["smoke -> lung", "lung -> smoke", "cycle"]),
        (
            {"required": [("smoke", "lung"), ("lung", "xray"), ("xray", "smoke"), ("smoke", "cough")]},
            ["smoke -> lung", "lung -> xray", "xray -> smoke", "cycle"],
        ),
        (
            {"required": [("smoke", "lung"), ("xray", "lung")], "max_parents": 1},
            ["'lung'", "at most 1", "smoke -> lung", "xray -> lung"],
        ),
        ({"required": [("smoke", "lung")], "max_parents": {"lung": 0}}, ["at most 0", "smoke -> lung"]),
    ],
)
def test_contradictions_name_their_edges(facts, parts):
    """What contradicts what is named, and edges that have no part in it are not."""
    with pytest.raises(InputError) as caught:
        Constraints(**facts).resolve(NAMES)
    for part in parts:
        assert part in str(caught.value)
    if "cycle" in parts or "both required and forbidden" in parts:
        assert "cough" not in str(caught.value)


@pytest.mark.parametrize(
    "facts, where",
    [
        ({"required": [("smok", "lung")]}, "required edges"),
        ({"forbidden": [("lung", "smok")]}, "forbidden edges"),
        ({"tiers": [["smok"]]}, "tiers"),
        ({"max_parents": {"smok": 1}}, "max_parents"),
    ],
)
def test_unknown_columns_get_a_suggestion(facts, where):
    """A column that is not in the table is named with where it stands and the nearest one."""
    with pytest.raises(InputError, match=f"{where}.*'smok'; did you mean 'smoke'"):
        Constraints(**facts).resolve(NAMES)


@pytest.mark.parametrize(
    "facts, message",
    [
        ({"required": [("a", "a")]}, "required edge a -> a joins a column with itself"),
        ({"forbidden": [("a", "a")]}, "forbidden edge a -> a joins a column with itself"),
        ({"required": [("a", "b", "c")]}, r"pair \(from, to\) but got \('a', 'b', 'c'\)"),
        ({"required": ["ab"]}, "pair .* but got 'ab'"),
        ({"required": "ab"}, "list of pairs .* but got 'ab'"),
        ({"required": 5}, "list of pairs .* but got 5"),
        ({"forbidden": [5]}, "pair .* but got 5"),
        ({"tiers": ["ab"]}, "list of columns but got 'ab'"),
        ({"tiers": "ab"}, "list of lists of columns but got 'ab'"),
        ({"tiers": [5]}, "list of columns but got 5"),
        ({"tiers": [["a", "b"], ["a"]]}, "'a' is listed in tier 1 and in tier 2"),
        ({"tiers": [["a", "a"]]}, "'a' is listed in tier 1 and in tier 1"),
        ({"max_parents": -1}, "max_parents to be a whole number >= 0 but got -1"),
        ({"max_parents": 1.5}, "but got 1.5"),
        ({"max_parents": True}, "but got True"),
        ({"max_parents": "2"}, "but got '2'"),
        ({"max_parents": {"a": -1}}, "max_parents of 'a' to be a whole number >= 0 but got -1"),
    ],
)
def test_what_is_no_knowledge(facts, message):
    """Facts in a form that has no meaning are refused when they are stated."""
    with pytest.raises(InputError, match=message):
        Constraints(**facts)


def test_repeated_edges_count_once():
    """An edge that is listed twice is one edge."""
    assert Constraints(required=[("a", "b"), ["a", "b"]]).required == (("a", "b"),)


@st.composite
def _facts(draw):
    """Draw knowledge without contradictions: everything agrees with one hidden order and set of parents."""
    n = len(NAMES)
    order = draw(st.permutations(range(n)))
    later = [(NAMES[a], NAMES[b]) for a, b in itertools.combinations(order, 2)]
    required = draw(st.lists(st.sampled_from(later), unique=True, max_size=3))
    others = sorted(ALL - set(required))
    forbidden = draw(st.lists(st.sampled_from(others), unique=True, max_size=4))
    cut = draw(st.integers(0, n))
    tiers = draw(st.sampled_from([[], [[NAMES[j] for j in order[:cut]], [NAMES[j] for j in order[cut:]]]]))
    least = {name: sum(b == name for _, b in required) for name in NAMES}
    limits = st.none() | st.integers(max(least.values()), n)
    named = st.fixed_dictionaries({name: st.integers(least[name], n) for name in NAMES[:2]})
    return {"required": required, "forbidden": forbidden, "tiers": tiers, "max_parents": draw(limits | named)}


@settings(deadline=None, max_examples=50)
@given(_facts())
def test_allowed_sets_are_those_of_the_definition(facts):
    """A set is allowed exactly when it has what is required, nothing forbidden or later, and is small enough."""
    known = Constraints(**facts).resolve(NAMES)
    tier = {name: t for t, group in enumerate(facts["tiers"]) for name in group}
    limits = facts["max_parents"]
    for i, node in enumerate(NAMES):
        limit = limits.get(node, 99) if isinstance(limits, dict) else 99 if limits is None else limits
        for size in range(4):
            for J in itertools.combinations([j for j in range(4) if j != i], size):
                parents = {NAMES[j] for j in J}
                expected = (
                    all(a in parents for a, b in facts["required"] if b == node)
                    and not any((a, node) in facts["forbidden"] for a in parents)
                    and not any(a in tier and node in tier and tier[a] > tier[node] for a in parents)
                    and len(parents) <= limit
                )
                assert known.allows(i, J) is expected
    assert not known.allows(0, [0])
    parents_of_all = known.must.astype(int)
    assert known.allows_dag(parents_of_all)


def test_a_dag_is_allowed_when_all_its_parent_sets_are():
    """One parent set that is not allowed makes a DAG not allowed."""
    known = Constraints(required=[("smoke", "lung")], forbidden=[("lung", "xray")]).resolve(NAMES)
    adjacency = np.zeros((4, 4), dtype=int)
    assert not known.allows_dag(adjacency)
    adjacency[1, 0] = 1
    assert known.allows_dag(adjacency)
    adjacency[0, 2] = 1
    assert not known.allows_dag(adjacency)


def test_knowledge_files(tmp_path):
    """A TOML file states the same knowledge as the arguments."""
    path = tmp_path / "known.toml"
    path.write_text(
        'required = [["smoke", "lung"]]\nforbidden = [["xray", "cough"]]\n'
        'tiers = [["smoke"], ["lung", "xray"]]\n[max_parents]\nlung = 2\n'
    )
    assert Constraints.read(path) == Constraints(
        required=[("smoke", "lung")],
        forbidden=[("xray", "cough")],
        tiers=[["smoke"], ["lung", "xray"]],
        max_parents={"lung": 2},
    )
    path.write_text("max_parents = 3\n")
    assert Constraints.read(str(path)) == Constraints(max_parents=3)
    path.write_text("")
    assert Constraints.read(path) == Constraints()


@pytest.mark.parametrize(
    "content, message",
    [
        (b"required = [[", "cannot read the knowledge file .*known.toml"),
        (b"\xff\xfe", "expected UTF-8 text in .*known.toml"),
        (b"require = []", "key in the knowledge file .*known.toml 'require'; did you mean 'required'"),
        (b"max_parents = -2", "whole number >= 0 but got -2"),
        (b"required = 3", "list of pairs"),
        (b'required = ["a -> b"]', "pair"),
        (b"tiers = [1, 2]", "list of columns but got 1"),
        (b'[max_parents]\na = "many"', "max_parents of 'a' .* but got 'many'"),
    ],
)
def test_knowledge_files_that_cannot_be_read(content, message, tmp_path):
    """A file that is no TOML, or states what has no meaning, is refused."""
    path = tmp_path / "known.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        Constraints.read(path)


def test_a_knowledge_file_that_is_missing(tmp_path):
    """A file that is not there is named."""
    with pytest.raises(InputError, match=r"expected a file at .*gone\.toml"):
        Constraints.read(tmp_path / "gone.toml")


def test_constraints_may_be_a_dict():
    """A dict with the keys of Constraints is as good; another key is named, and so is another type."""
    data = {"a": ["x", "y"] * 10, "b": ["x", "y"] * 10}
    assert learn(data, constraints={"forbidden": [("a", "b")]}, progress=False).adjacency[1, 0] == 1
    with pytest.raises(InputError, match="did you mean 'forbidden'"):
        learn(data, constraints={"forbiden": []}, progress=False)
    with pytest.raises(InputError, match=r"expected constraints= to be a .* or a dict but got list"):
        learn(data, constraints=[("a", "b")], progress=False)


def inside(names, pairs):
    """Return the pairs in both directions."""
    return {(names[a], names[b]) for a, b in pairs} | {(names[b], names[a]) for a, b in pairs}


@pytest.mark.parametrize(
    "graph",
    [
        nx.Graph([("lung", "smoke"), ("lung", "xray")]),
        nx.DiGraph([("smoke", "lung"), ("lung", "xray")]),
        [("lung", "smoke"), ("xray", "lung")],
        [(0, 1), (0, 2)],
        np.array([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]),
        "[smoke][lung|smoke][xray|lung]",
    ],
)
def test_a_superstructure_says_which_pairs_may_be_joined(graph):
    """In either direction, whatever the form of the graph; a column that it does not mention has no edges."""
    constraints = Constraints(superstructure=graph)
    known = constraints.resolve(NAMES)
    assert _edges(known.may) == inside(NAMES, [(0, 1), (0, 2)])
    assert known.in_superstructure
    assert hash(constraints) == hash(Constraints(superstructure=graph))


def test_a_superstructure_and_other_knowledge():
    """Forbidden directions and tiers hold inside it; required edges outside it contradict it."""
    pairs = [("lung", "smoke"), ("lung", "xray")]
    known = Constraints(forbidden=[("xray", "lung")], tiers=[["smoke"], ["lung"]], superstructure=pairs).resolve(NAMES)
    assert _edges(known.may) == {("smoke", "lung"), ("lung", "xray")}
    with pytest.raises(InputError, match="smoke -> cough are not in the superstructure"):
        Constraints([("smoke", "cough")], superstructure=pairs).resolve(NAMES)
    with pytest.raises(InputError, match="cold"):
        Constraints(superstructure=[("cold", "cough")]).resolve(NAMES)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "cg-minlp"])
def test_every_method_stays_inside_a_superstructure(method):
    """No pair outside it is joined, and the scope of a proof names it."""
    data, truth = dagopt.datasets.load("asia", n_samples=400, random_state=0)
    pairs = [tuple(edge) for edge in list(truth.edges)[:5]] + [("asia", "smoke")]
    result = learn(data, method, constraints={"superstructure": pairs}, time_limit=20, progress=False)
    joined = {frozenset((result.names[a], result.names[b])) for a, b in np.argwhere(result.adjacency)}
    assert joined <= {frozenset(pair) for pair in pairs}
    if result.status == "optimal":
        assert result.scope == "all DAGs inside the superstructure"
