"""Tests of explanations and regrets: every figure against the exact method with the edge required or forbidden."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.graph.cpdag import cpdag
from dagopt.methods.alternatives import Effort, best_by_relation, relation_of, restricted
from dagopt.progress import NoProgress
from dagopt.results.explanation import Alternative

QUIET = {"progress": False}
KNOWN = {
    "nothing": {},
    "a limit": {"max_parents": 2},
    "much": {"required": [("X0", "X1")], "forbidden": [("X2", "X3")], "tiers": [["X4"], ["X5", "X0"]]},
}
DATA = {
    "gaussian": (6, "gaussian", {}),
    "discrete": (6, "discrete", {}),
    "bdeu": (6, "discrete", {"score": "bdeu", "equivalent_sample_size": 2.0}),
}


def learned(kind, known=(), method="exact"):
    """Return data, the constraints by name, and what is learned."""
    n, drawn, options = DATA[kind]
    data = dagopt.simulate(n, 250, 1.5, random_state=3, kind=drawn).data
    data.columns = [f"X{k}" for k in range(n)]
    constraints = dagopt.Constraints(**dict(known))
    return data, options, dagopt.learn(data, method, constraints=constraints, **QUIET, **options)


def solved(data, options, known, required=(), forbidden=()):
    """Return the best score under more constraints, None where they contradict each other."""
    merged = dict(known)
    merged["required"] = [*merged.get("required", []), *required]
    merged["forbidden"] = [*merged.get("forbidden", []), *forbidden]
    try:
        constraints = dagopt.Constraints(**merged)
        return dagopt.learn(data, "exact", constraints=constraints, **QUIET, **options).score
    except dagopt.InputError:
        return None


def by_solving(data, options, known, a, b):
    """Return the best scores with a -> b, with b -> a and with neither."""
    return (
        solved(data, options, known, required=[(a, b)]),
        solved(data, options, known, required=[(b, a)]),
        solved(data, options, known, forbidden=[(a, b), (b, a)]),
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("kind", DATA)
def test_every_figure_is_that_of_solving_again(kind, known):
    """For every pair the three best scores are those of the exact method with the edge required or forbidden."""
    data, options, result = learned(kind, KNOWN[known])
    for a, b in combinations(data.columns, 2):
        said = result.explain(a, b, **QUIET)
        expected = by_solving(data, options, KNOWN[known], a, b)
        for one, score in zip((said.forward, said.backward, said.neither), expected, strict=True):
            assert one.proven
            if score is None:
                assert one.score is None
                assert "required" in one.note or "forbidden" in one.note or "parents" in one.note
            else:
                assert one.score == pytest.approx(score, rel=1e-9)
                assert one.regret == pytest.approx(result.score - score, abs=1e-6)
                assert one.regret >= 0


@pytest.mark.few(3)
@pytest.mark.parametrize("known", ["nothing", "much"])
@pytest.mark.parametrize("kind", DATA)
def test_search_gives_upper_estimates(kind, known):
    """Found by search, no regret is below the exact one, none is called proven, and most are equal to it."""
    _, _, result = learned(kind, KNOWN[known])
    exact = result.regrets(method="exact", **QUIET).set_index(["from", "to"]).sort_index()
    found = result.regrets(method="order", **QUIET).set_index(["from", "to"]).sort_index()
    figures = ["without", "reversed", "neither"]
    assert (exact[figures].isna() == found[figures].isna()).all(axis=None)
    gap = (found[figures] - exact[figures]).to_numpy()
    gap = gap[~np.isnan(gap)]
    assert (gap > -1e-6).all()
    assert np.mean(gap < 1e-6) > 0.7
    pd.testing.assert_series_equal(found["local_loss"], exact["local_loss"])
    assert not found["proven"][found[figures].notna().all(axis=1)].any()


QUICK = {("discrete", "nothing"), ("gaussian", "much")}


@pytest.mark.parametrize(
    "kind, known",
    [
        pytest.param(kind, known, marks=() if (kind, known) in QUICK else pytest.mark.slow)
        for kind in DATA
        for known in KNOWN
    ],
)
def test_branch_and_cut_proves_the_exact_regrets(kind, known):
    """Solved again for every edge, with knowledge and limits, all is proven and equal to the exact method's."""
    _, _, result = learned(kind, KNOWN[known])
    exact = result.regrets(method="exact", **QUIET).set_index(["from", "to"]).sort_index()
    found = result.regrets(method="branch-and-cut", **QUIET).set_index(["from", "to"]).sort_index()
    assert found["proven"].all()
    figures = ["without", "reversed", "neither", "local_loss", "at_least"]
    pd.testing.assert_frame_equal(found[figures], exact[figures], rtol=0, atol=1e-4)


@pytest.mark.parametrize("seconds", [1e-6, 0.05, 0.3])
def test_branch_and_cut_that_is_stopped_bounds_the_regrets(seconds):
    """Whenever it ends, the exact regret is between what is proven and what was found."""
    data = dagopt.simulate(9, 400, 1.5, random_state=5).data
    result = dagopt.learn(data, "exact", **QUIET)
    exact = result.regrets(method="exact", **QUIET).set_index(["from", "to"]).sort_index()
    found = result.regrets(method="branch-and-cut", time_limit=seconds, **QUIET).set_index(["from", "to"]).sort_index()
    for figure in ("without", "reversed", "neither"):
        known = found[figure].notna()
        assert (found[figure][known] >= exact[figure][known] - 1e-6).all()
    bounded = found["at_least"].notna()
    assert (found["at_least"][bounded] <= exact["without"][bounded] + 1e-6).all()
    words = Alternative("neither", -1.0, 2.0, False, least=0.5)
    assert str(words) == "between 0.5000 and 2.0000 lower (proven)"


@pytest.mark.parametrize("kind", DATA)
def test_regrets_are_the_explanations_of_all_edges(kind):
    """A row an edge, the same figures, sorted by what is lost when the two are not joined."""
    data, _, result = learned(kind)
    table = result.regrets(**QUIET)
    assert set(zip(table["from"], table["to"], strict=True)) == set(result.graph.directed_edges)
    assert (table["neither"].diff().dropna() <= 0).all()
    assert table["proven"].all()
    for row in table.itertuples():
        said = result.explain(row[1], row.to, **QUIET)
        assert said.edge == (row[1], row.to)
        assert row.without == said.without.regret == min(row.reversed, row.neither)
        assert row.reversed == said.reversed.regret
        assert row.local_loss == said.local_loss >= row.without - 1e-9
        without = [edge for edge in result.graph.directed_edges if edge != said.edge]
        score = dagopt.score(data, without, **DATA[kind][2])
        assert said.local_loss == pytest.approx(result.score - score, abs=1e-6)


def test_direction_is_that_of_the_essential_graph():
    """An edge is compelled if the essential graph directs it; if not, the other direction costs nothing."""
    _, _, result = learned("gaussian")
    essential = cpdag(result.adjacency)
    for a, b in result.graph.directed_edges:
        i, j = result.names.index(a), result.names.index(b)
        said = result.explain(a, b, **QUIET)
        assert said.compelled == said.fixed == (not essential[j, i])
        if not said.compelled:
            assert said.reversed.regret == 0.0
            assert "open: equivalent DAGs have" in said.summary()
        mirrored = result.explain(b, a, **QUIET)
        assert mirrored.edge == (a, b)
        assert (mirrored.reversed.regret, mirrored.without.regret) == (said.reversed.regret, said.without.regret)


def test_a_required_edge_has_no_regret():
    """It cannot be dropped or reversed, and the words say so; its direction is fixed by the constraints."""
    _, _, result = learned("gaussian", KNOWN["much"])
    said = result.explain("X0", "X1", **QUIET)
    assert said.without.regret is None
    assert said.without.note == "X0 -> X1 is required"
    assert said.fixed
    assert "X0 -> X1 is required" in said.summary()
    row = result.regrets(**QUIET).set_index(["from", "to"]).loc[("X0", "X1")]
    assert np.isnan([row["without"], row["reversed"], row["neither"]]).all()
    assert row["note"] == "X0 -> X1 is required"
    forbidden = result.explain("X2", "X3", **QUIET)
    assert forbidden.forward.note == "X2 -> X3 is forbidden"


@pytest.mark.parametrize(
    ("known", "relation", "message"),
    [
        ({"required": [("X0", "X1"), ("X1", "X2")]}, "X2 -> X0", "X2 -> X0 closes a cycle with required edges"),
        ({"required": [("X0", "X1")], "max_parents": {"X1": 1}}, "X2 -> X1", "X2 -> X1 is forbidden"),
        ({"tiers": [["X0"], ["X2"]]}, "X2 -> X0", "X2 -> X0 is forbidden"),
    ],
)
def test_why_a_relation_is_impossible(known, relation, message):
    """The reason names the edges, and no search is made."""
    _, _, result = learned("gaussian", known)
    tail, head = relation.split(" -> ")
    one = result.explain(tail, head, method="order", **QUIET).forward
    assert (one.relation, one.score, one.regret, one.note) == (relation, None, None, message)


def test_a_pair_that_is_not_joined():
    """What it would cost to join them, alone and at best; there is no edge to drop or reverse."""
    data, options, result = learned("gaussian")
    joined = result.adjacency | result.adjacency.T
    i, j = np.argwhere(np.triu(1 - joined, k=1))[0]
    a, b = result.names[i], result.names[j]
    said = result.explain(a, b, **QUIET)
    assert (said.edge, said.compelled, said.without, said.reversed) == (None, None, None, None)
    assert said.neither.regret == 0.0
    losses = []
    for edge in ((a, b), (b, a)):
        try:
            losses.append(result.score - dagopt.score(data, [*result.graph.directed_edges, edge], **options))
        except dagopt.InputError:  # a cycle
            continue
    assert said.local_loss == pytest.approx(min(losses), abs=1e-6)
    assert "are not joined in the learned DAG" in said.summary()
    assert said.local_loss >= min(said.forward.regret, said.backward.regret) - 1e-9


@pytest.mark.parametrize("size", [1e-150, 1e-9, 1.0, 1e200])
def test_scores_of_any_size_lose_as_much(size):
    """A score times 1e-150 has the same figures times 1e-150: nothing that differs counts as equal."""

    def own(node, parents):
        rng = np.random.default_rng([int(node[1]), sum(1 << int(one[1]) for one in parents)])
        return size * float(rng.integers(-40, 60))

    data = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 4)), columns=[f"X{k}" for k in range(4)])
    result = dagopt.learn(data, "exact", score=own, **QUIET)
    for a, b in result.graph.directed_edges:
        said = result.explain(a, b, **QUIET)
        expected = by_solving(data, {"score": own}, {}, a, b)
        found = [said.forward.regret, said.backward.regret, said.neither.regret]
        assert np.array(found) / size == pytest.approx([(result.score - one) / size for one in expected], abs=1e-6)
        assert max(found) >= size  # whole numbers that differ
        assert said.score == pytest.approx(result.score)
        assert " 0.0000 lower" not in said.summary()
    table = result.regrets(**QUIET)
    assert (table["neither"] > 0.5 * size).all()
    near = result.rivals(within=10 * size, progress=False)
    assert near.count < 543  # not all DAGs of four columns
    assert (near.losses <= 10 * size).all()


def test_a_dag_that_is_not_the_best():
    """Against a poor DAG a regret is below zero, which is said together with the remedy."""
    data, _, best = learned("gaussian")
    poor = dagopt.learn(data, "hc", max_parents=1, **QUIET)
    free = dagopt.learn(data, "hc", **QUIET).problem
    result = dagopt.Result(
        poor.names, poor.adjacency, free.score.total(poor.adjacency), "converged", "hc", problem=free
    )
    said = result.explain(*result.graph.directed_edges[0], **QUIET)
    top = max(one.score for one in (said.forward, said.backward, said.neither))
    assert top == pytest.approx(best.score)
    assert min(one.regret for one in (said.forward, said.backward, said.neither)) < 0
    assert "there is a better DAG than the learned one" in said.summary()


def test_words_say_what_is_proven():
    """Exact figures are called proven, those of a search are called at most, and all is there as plain values."""
    _, _, result = learned("gaussian")
    edge = result.graph.directed_edges[0]
    proven, searched = (result.explain(*edge, method=method, **QUIET) for method in ("exact", "order"))
    assert "lower (proven)" in proven.summary()
    assert "proven optimal over all DAGs" in str(proven)
    assert "every DAG without an edge between them scores at least" in str(proven)
    assert "at most" in searched.summary()
    assert "(found by search)" in searched.summary()
    plain = searched.to_dict()
    assert plain["neither"]["regret"] == searched.neither.regret
    assert plain["edge"] == list(edge)


def test_any_learner_can_be_explained():
    """A class is explained by one of its members; CG-DCA and hill climbing as they are."""
    for method in ("pc", "hc", "cg-dca"):
        _, _, result = learned("gaussian", method=method)
        table = result.regrets(**QUIET)
        assert len(table) == result.dag.number_of_edges()
        assert table["proven"].all()


@pytest.mark.parametrize("method", ["exact", "order", "branch-and-cut"])
def test_the_same_answer_for_any_number_of_threads(method):
    """Searches and proofs side by side end at the same figures."""
    _, _, result = learned("discrete")
    one, *more = (result.regrets(method=method, n_jobs=jobs, **QUIET) for jobs in (1, 2, 16))
    for other in more:
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_no_time_at_all():
    """What is not found in time is said to be so, and has no figure."""
    for method in ("exact", "order"):
        _, _, result = learned("gaussian")
        edge = result.graph.directed_edges[0]
        said = result.explain(*edge, method=method, time_limit=1e-6, **QUIET)
        assert said.neither.regret is None
        assert said.neither.note == "not found before the run was stopped"
        assert not said.neither.proven
        assert len(result.regrets(method=method, time_limit=1e-6, **QUIET)) == result.graph.n_edges


def test_relations_are_three_worlds():
    """The knowledge of each relation allows just the allowed DAGs that have it."""
    names = ("a", "b", "c")
    known = dagopt.Constraints(required=[("a", "c")]).resolve(names)
    for bits in range(1 << 6):
        adjacency = np.zeros((3, 3), dtype=np.int8)
        for k, (i, j) in enumerate([(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]):
            adjacency[i, j] = bits >> k & 1
        if (adjacency & adjacency.T).any():
            continue
        for relation in ("forward", "backward", "neither"):
            own = restricted(known, 0, 1, relation)
            expected = known.allows_dag(adjacency) and relation_of(adjacency, 0, 1) == relation
            assert own.allows_dag(adjacency) == expected
    assert restricted(known, 0, 2, "neither") is None
    assert restricted(known, 0, 2, "backward") is None


def test_the_learned_dag_is_one_of_those_searched():
    """No search is made for the relation that the learned DAG has, whose best is at least that DAG."""
    _, _, result = learned("gaussian")
    pairs = [tuple(map(int, pair)) for pair in np.argwhere(result.adjacency)]
    found = best_by_relation(result.problem, result.adjacency, pairs, Effort("order"), Deadline(), NoProgress())
    for (a, b), own in zip(pairs, found, strict=True):
        assert own[relation_of(result.adjacency, a, b)].score == pytest.approx(result.score)


@pytest.mark.parametrize(
    ("pair", "options", "message"),
    [
        (("X0", "X9"), {}, "unknown column 'X9'; did you mean 'X0'|unknown column 'X9'"),
        (("smoke", "X0"), {}, "unknown column 'smoke'; there are: 'X0'"),
        (("X1", "X1"), {}, "expected two different columns but got 'X1' twice"),
        (
            ("X0", "X1"),
            {"method": "hc"},
            "expected method= to be one of 'auto', 'exact', .* but got 'hc'",
        ),
        (("X0", "X1"), {"time_limit": -1}, "expected time_limit= to be a number > 0"),
        (("X0", "X1"), {"method": "exact", "memory_limit": "1kB"}, "the memory limit is 1.0 kB"),
    ],
)
def test_bad_input(pair, options, message):
    """What is wrong is named."""
    _, _, result = learned("gaussian")
    with pytest.raises(dagopt.InputError, match=message):
        result.explain(*pair, **QUIET, **options)


def test_a_result_without_data_cannot_be_explained(tmp_path):
    """Local scores from a file hold no data, and a graph without a DAG has nothing to compare."""
    from dagopt.families.jkl import LocalScores, write_jkl

    write_jkl(LocalScores(["a", "b"], [[((), -2.0)], [((), -3.0), ((0,), -1.0)]]), tmp_path / "s.jkl")
    with pytest.raises(dagopt.InputError, match=r"has no data; use dagopt\.learn"):
        dagopt.learn(tmp_path / "s.jkl", **QUIET).regrets()
    _, _, result = learned("gaussian")
    cycle = np.zeros_like(result.adjacency)
    cycle[[0, 1, 2], [1, 2, 0]] = 1
    with pytest.raises(dagopt.InputError, match="nothing to explain; use another method"):
        dagopt.Result(result.names, cycle, None, "converged", "pc", problem=result.problem).explain("X0", "X1")
