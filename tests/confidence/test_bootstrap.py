"""Tests of the bootstrap: against a plain loop over the same resamples, and of its consensus, limits and bad input."""

from __future__ import annotations

import joblib
import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import dagopt
from dagopt.confidence import bootstrap as bootstrapping
from dagopt.confidence.agreement import Bootstrap
from dagopt.data.resampling import resampled
from dagopt.data.table import as_table
from dagopt.deadline import Deadline
from dagopt.graph.cpdag import cpdag
from dagopt.methods.warm_search import likely_parents, solve_warm
from dagopt.results.result import Result

QUIET = {"progress": False}


@pytest.fixture(scope="module")
def numbers():
    """Return six continuous columns."""
    return dagopt.simulate(6, 120, 1.5, random_state=2).data


@pytest.fixture(scope="module")
def levels():
    """Return six discrete columns."""
    return dagopt.simulate(6, 200, 1.5, random_state=2, kind="discrete").data


def plain_loop(data, n, rows, *, replace_rows=True, seed=0, **options):
    """Return the frequencies of directed edges, learned one resample after the other by the exact method."""
    table = as_table(data)
    size = len(table.names)
    counts = np.zeros((size, size))
    for own in np.random.SeedSequence(seed).spawn(n):
        drawn = resampled(table, np.random.default_rng(own), rows, replace=replace_rows)
        graph = dagopt.learn(drawn, "exact", **QUIET, **options).cpdag
        for a, b in graph.edges:
            share = 0.5 if graph.has_edge(b, a) else 1.0
            counts[table.names.index(a), table.names.index(b)] += share
    return counts / n


@pytest.mark.parametrize("kind", ["numbers", "levels"])
@pytest.mark.parametrize("options", [{}, {"score": "aic", "max_parents": 2}])
def test_frequencies_are_those_of_a_plain_loop(kind, options, request):
    """The same resamples, each solved by the exact method, give the same frequencies."""
    data = request.getfixturevalue(kind)
    found = dagopt.bootstrap(data, 8, random_state=5, **QUIET, **options)
    assert found.method == "exact"
    np.testing.assert_allclose(found.frequency, plain_loop(data, 8, len(data), seed=5, **options), atol=1e-12)


def test_subsamples_are_those_of_a_plain_loop(levels):
    """Without replacement a share of the rows is drawn, and BIC is that of the rows drawn."""
    found = dagopt.bootstrap(levels, 8, fraction=0.5, replace=False, **QUIET)
    assert found.n_rows == 100
    np.testing.assert_allclose(found.frequency, plain_loop(levels, 8, 100, replace_rows=False), atol=1e-12)


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_order_search_comes_close_to_the_plain_loop(kind, request):
    """On six columns order search from the DAG of all rows finds the optimum of nearly every resample."""
    data = request.getfixturevalue(kind)
    found = dagopt.bootstrap(data, 12, method="order", **QUIET)
    assert np.abs(found.frequency - plain_loop(data, 12, len(data))).max() <= 2 / 12


@pytest.mark.parametrize("method", ["auto", "order", "hc"])
def test_the_same_answer_for_any_number_of_jobs(levels, method):
    """One and two threads give the same graphs in the same order; another seed gives others."""
    one, two, other = (
        dagopt.bootstrap(levels, 6, method=method, n_jobs=jobs, random_state=seed, **QUIET)
        for jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    np.testing.assert_array_equal(one.essential, two.essential)
    assert not np.array_equal(one.essential, other.essential)


def test_the_backend_in_force_is_used(levels):
    """A registered backend that gives all results at once is asked, and gives the same answer."""
    asked = []

    class AllAtOnce(joblib.parallel.SequentialBackend):
        supports_return_generator = False

        def effective_n_jobs(self, n_jobs):
            asked.append(n_jobs)
            return 1

    joblib.register_parallel_backend("all at once", AllAtOnce)
    plain = dagopt.bootstrap(levels, 4, **QUIET)
    with joblib.parallel_config(backend="all at once"):
        again = dagopt.bootstrap(levels, 4, n_jobs=3, **QUIET)
    assert 3 in asked
    np.testing.assert_array_equal(plain.essential, again.essential)


def test_tasks_can_travel_to_another_process(levels, monkeypatch):
    """What a worker gets, and what it returns, survives pickling."""
    import pickle

    def pickled(tasks, n_jobs):
        for call, arguments, named in pickle.loads(pickle.dumps(list(tasks))):
            yield pickle.loads(pickle.dumps(call(*arguments, **named)))

    plain = dagopt.bootstrap(levels, 3, method="order", time_limit=60, **QUIET)
    monkeypatch.setattr(bootstrapping, "_results", pickled)
    again = dagopt.bootstrap(levels, 3, method="order", time_limit=60, **QUIET)
    np.testing.assert_array_equal(plain.essential, again.essential)


# --- the table and the consensus ------------------------------------------------------------------------------


def made(seed, n=6, count=7, at_most=None):
    """Return a bootstrap of random DAGs."""
    rng = np.random.default_rng(seed)
    names = tuple(f"V{k}" for k in range(n))
    dags = []
    for _ in range(count + 1):
        order = rng.permutation(n)
        dags.append(np.triu(rng.random((n, n)) < 0.45, k=1).astype(np.int8)[np.ix_(order, order)])
    known = dagopt.Constraints(max_parents=at_most).resolve(names)
    result = Result(names, dags[0], 0.0, "converged", "hc")
    essential = np.array([cpdag(dag) for dag in dags[1:]])
    return Bootstrap(names, essential, result, known, count, 10, True, "hc", "converged", 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_table_counts_edges(seed):
    """Strength is how often a pair is joined; the two directions add up to it; the rows fall in strength."""
    found = made(seed)
    edges = found.edges
    place = {name: k for k, name in enumerate(found.names)}
    for row in edges.itertuples():
        i, j = place[row[1]], place[row.to]
        graphs = found.essential
        joined = (graphs[:, i, j] | graphs[:, j, i]).mean()
        forward = np.mean([0.5 if g[i, j] and g[j, i] else float(g[i, j]) for g in graphs])
        assert (row.strength, row.forward) == (pytest.approx(joined), pytest.approx(forward))
        assert row.forward + row.backward == pytest.approx(row.strength)
        assert row.forward >= row.backward - 1e-12
        assert row.learned == bool(found.result.adjacency[i, j] or found.result.adjacency[j, i])
    assert len(edges) == int((np.triu(found.frequency + found.frequency.T) > 0).sum())
    assert (edges["strength"].diff().dropna() <= 1e-12).all()
    pd.testing.assert_frame_equal(found.to_frame(), edges)


@pytest.mark.few(12)
@pytest.mark.parametrize("at_most", [None, 1])
@pytest.mark.parametrize("seed", range(20))
def test_the_consensus_follows_its_rule(seed, at_most):
    """Pairs from the strongest down, in the direction that leads; what closes a cycle is left out, a tie is turned."""
    found = made(seed, at_most=at_most)
    for threshold in (0.2, 0.5, 1.0):
        graph = nx.DiGraph()
        graph.add_nodes_from(found.names)
        for row in found.edges[found.edges["strength"] >= threshold - 1e-9].itertuples():
            ways = [(row[1], row.to)]
            if abs(row.forward - row.backward) < 1e-9:
                ways.append((row.to, row[1]))
            for tail, head in ways:
                if graph.has_edge(head, tail) or graph.has_edge(tail, head):
                    continue
                if graph.in_degree(head) < (at_most or 6):
                    graph.add_edge(tail, head)
                    if not nx.is_directed_acyclic_graph(graph):
                        graph.remove_edge(tail, head)
        consensus = found.consensus(threshold)
        assert consensus.is_dag
        assert set(consensus.directed_edges) == set(graph.edges)


def test_an_undirected_edge_follows_the_graph_of_all_rows():
    """A pair that is directed half each way is directed as in the learned DAG, else from left to right."""
    undirected = np.array([[[0, 1, 0], [1, 0, 1], [0, 1, 0]]], dtype=np.int8)
    for dag, expected in (
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [("b", "a"), ("c", "b")]),
        ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], [("a", "b"), ("b", "c")]),
    ):
        known = dagopt.Constraints().resolve(("a", "b", "c"))
        result = Result(("a", "b", "c"), np.array(dag, dtype=np.int8), 0.0, "converged", "hc")
        found = Bootstrap(("a", "b", "c"), undirected, result, known, 1, 5, True, "hc", "converged", 0.0)
        assert sorted(found.consensus().directed_edges) == expected


def test_knowledge_holds_in_every_figure(levels):
    """A required edge is always there and directed, a forbidden direction never, and the consensus keeps the limit."""
    names = list(levels.columns)
    known = dagopt.Constraints(required=[(names[0], names[5])], forbidden=[(names[2], names[1])], max_parents=2)
    found = dagopt.bootstrap(levels, 10, constraints=known, **QUIET)
    assert found.frequency[0, 5] == 1.0
    assert found.frequency[5, 0] == 0.0
    assert found.frequency[2, 1] == 0.0
    consensus = found.consensus(0.01)
    assert (names[0], names[5]) in consensus.directed_edges
    assert consensus.adjacency.sum(axis=0).max() <= 2


def test_words_files_and_pictures(levels, tmp_path):
    """The summary has the counts, the CSV file is the table, the picture has the consensus' edges."""
    found = dagopt.bootstrap(levels, 5, **QUIET)
    assert "5 of 5 resamples of 200 rows, drawn with replacement" in found.summary()
    assert str(found) == found.summary()
    found.to_csv(tmp_path / "edges.csv")
    back = pd.read_csv(tmp_path / "edges.csv")
    pd.testing.assert_frame_equal(back, found.edges, check_dtype=False)
    assert found.to_dict()["edges"][0]["strength"] == found.edges["strength"].iloc[0]
    assert found.plot(threshold=0.9) is not None
    plt.close("all")


def test_any_method_can_be_asked_for(levels):
    """A method that learns a class is counted as it is; options of the method and of the data are passed on."""
    tested = dagopt.bootstrap(levels, 3, method="pc", alpha=0.01, columns=list(levels.columns[:4]), **QUIET)
    assert tested.frequency.shape == (4, 4)
    assert tested.n_done == 3
    climbed = dagopt.bootstrap(levels, 3, method="tabu", max_worse=3, **QUIET)
    assert climbed.result.method == "tabu"


# --- when it ends early ---------------------------------------------------------------------------------------


def test_a_wish_to_stop_returns_what_is_done(levels, monkeypatch):
    """From then on no further resample is counted, and the summary says how many there are."""
    learner = bootstrapping._Learner

    def stopping(self, seed, deadline, *more):
        if seed.spawn_key == (4,):
            deadline.interrupt()
        return original(self, seed, deadline, *more)

    original = learner.essential
    monkeypatch.setattr(learner, "essential", stopping)
    found = dagopt.bootstrap(levels, 9, n_jobs=1, **QUIET)
    assert (found.n_done, found.status) == (4, "interrupted")
    assert "4 of 9 resamples" in found.summary()
    assert "stopped by the user" in found.summary()
    monkeypatch.undo()
    np.testing.assert_array_equal(found.essential, dagopt.bootstrap(levels, 4, **QUIET).essential)


def test_no_time_at_all():
    """With hardly any time there is no resample, and a consensus is refused with the remedy."""
    data = dagopt.simulate(12, 500, 2.0, random_state=0).data
    found = dagopt.bootstrap(data, 50, time_limit=1e-6, **QUIET)
    assert (found.n_done, found.status) == (0, "time_limit")
    assert len(found.edges) == 0
    assert "0 of 50" in found.summary()
    with pytest.raises(dagopt.InputError, match=r"no resample was finished.*time_limit="):
        found.consensus()


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "expected n= to be a whole number >= 1 but got 0"),
        ({"n": 2.5}, "expected n= to be a whole number >= 1 but got 2.5"),
        ({"fraction": 0}, "expected fraction= to be a number > 0 but got 0"),
        ({"fraction": 1.5}, "expected fraction= to be a share of the rows, at most 1, but got 1.5"),
        ({"fraction": 0.001}, "leaves 0 to draw; give a larger fraction="),
        ({"replace": False}, "the same rows every time; give fraction= below 1"),
        ({"n_jobs": 0}, "expected n_jobs= to be a whole number >= 1 but got 0"),
        ({"random_state": -1}, "expected random_state= to be a whole number >= 0 but got -1"),
        ({"method": "hcc"}, "unknown method 'hcc'; did you mean 'hc'"),
        ({"method": "hc", "restart": 3}, "has no option 'restart'.*here it is restarts="),
        ({"score": "bge"}, "score 'bge' needs continuous data"),
        ({"time_limit": 0}, "expected time_limit= to be a number > 0 but got 0"),
    ],
)
def test_bad_input(levels, options, message):
    """What is wrong is named."""
    with pytest.raises(dagopt.InputError, match=message):
        dagopt.bootstrap(levels, **QUIET, **options)


@pytest.mark.parametrize("threshold", [0, 1.5, "half"])
def test_bad_threshold(threshold):
    """A threshold is a share."""
    with pytest.raises(dagopt.InputError, match="expected threshold="):
        made(0).consensus(threshold)


def test_resamples_with_too_few_rows():
    """Where a resample has fewer different rows than parents allowed, that is said, with the remedy."""
    data = dagopt.simulate(6, 9, 1.0, random_state=0).data
    with pytest.raises(dagopt.InputError, match=r"distinct rows of 9.*max_parents="):
        dagopt.bootstrap(data, 30, **QUIET)
    assert dagopt.bootstrap(data, 5, max_parents=1, **QUIET).n_done == 5


# --- the warm search ------------------------------------------------------------------------------------------


def test_warm_search_is_never_worse_than_its_start(levels):
    """From any allowed start the answer is allowed and at least as good, with and without likely parents."""
    learned = dagopt.learn(levels, "hc", max_parents=2, **QUIET)
    problem = learned.problem
    likely = likely_parents(problem, Deadline())
    nothing = np.zeros_like(likely)
    best = dagopt.learn(levels, "exact", max_parents=2, **QUIET).score
    for tried in (likely, nothing, None):
        found = solve_warm(problem, learned.graph, tried, deadline=Deadline())
        assert learned.score - 1e-9 <= found.score <= best + 1e-9
        assert problem.knowledge.allows_dag(found.adjacency)


def test_likely_parents_are_those_of_good_small_sets(levels):
    """A column is likely if some set of up to two columns with it beats all its subsets."""
    problem = dagopt.learn(levels, "hc", **QUIET).problem
    likely = likely_parents(problem, Deadline())
    local = problem.score.local
    n = problem.n_nodes
    for i in range(n):
        for j in (j for j in range(n) if j != i):
            alone = local(i, [j]) > local(i)
            pairs = [
                local(i, [j, k]) > max(local(i), local(i, [j]), local(i, [k])) for k in range(n) if k not in (i, j)
            ]
            assert likely[j, i] == (alone or any(pairs))
    numbers = dagopt.learn(dagopt.simulate(4, 50, 1.0, 0).data, "hc", **QUIET).problem
    assert likely_parents(numbers, Deadline()) is None
