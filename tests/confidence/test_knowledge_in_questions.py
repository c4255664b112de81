"""Every public question about a table or a result holds before=, edge_prior= and lags=, or refuses them by name."""

import inspect

import numpy as np
import pytest

import dagopt
from dagopt.errors import InputError
from every_dag import local_scores
from every_order import over_orders

NEVER = 1e-200  # probability of an edge that no answer has then


def in_posterior(data, given, result):
    """Check edge probabilities against all orders that are possible."""
    found = dagopt.edge_posterior(data, "bic", **given)
    known = result.problem.knowledge
    earlier = np.zeros((len(result.names),) * 2, dtype=bool) if known.before is None else known.before.copy()
    if result.lags is not None:
        earlier[2:, :2] = True
    expected, evidence = over_orders(local_scores(result.problem.score, known), "fair", earlier)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-9)
    if known.log_odds is None:
        assert found.log_evidence == pytest.approx(evidence - result.problem.past_score)
    else:
        assert np.isnan(found.log_evidence)


def in_effect_posterior(data, given, result):
    """Check the probability of the parents of a cause against that of its edges."""
    a, b = result.names[:2]
    rows = result.effect_posterior(a, b).table.drop_duplicates("parents")
    share = rows["probability_of_parents"][[b in own.strip("{}").split(", ") for own in rows["parents"]]].sum()
    assert share == pytest.approx(dagopt.edge_posterior(data, "bic", **given).edges.loc[b, a], abs=1e-5)


def in_proof(data, given, result):
    """Check that the checker accepts the file."""
    result.save_proof("proof.json")
    assert dagopt.verify("proof.json", data, **given)


def in_rivals(data, given, result):
    """Check that the best of all is the proven answer, with the same score, also within some points of it."""
    rivals = result.rivals(1.0)
    assert rivals.best == pytest.approx(result.score)
    assert all(result.problem.knowledge.allows_dag(rivals.adjacency(k)) for k in range(rivals.count))
    rivals.query(result.names[0])


def in_explanation(data, given, result):
    """Check that the scores are those of results, and that other DAGs lose."""
    said = result.explain(*result.names[:2])
    assert said.score == pytest.approx(result.score)
    others = [one for one in (said.forward, said.backward, said.neither) if one.score is not None]
    assert max(one.score for one in others) == pytest.approx(result.score)
    assert min(one.regret for one in others) == pytest.approx(0)


def in_effect_within(data, given, result):
    """Check that the parent sets of the cause are allowed."""
    assert result.effect(*result.names[:2], within=1.0).table["loss"].min() == pytest.approx(0, abs=1e-6)


def in_bootstrap(data, given, result):
    """Check that edges that cannot be are in no resample."""
    joined = dagopt.bootstrap(data, 3, **given).essential.any(axis=0)
    assert not joined[~result.problem.knowledge.may].any()
    if result.problem.knowledge.log_odds is not None:
        assert not joined[1, 2]
        assert not joined[2, 1]


def in_path(data, given, result):
    """Check that no graph of the path has edges that cannot be."""
    along = dagopt.path(data, n=3, **given)
    assert along.table["score"].to_numpy() == pytest.approx([one.score for one in along.results])
    for one in along.results:
        assert not (one.adjacency != 0)[~result.problem.knowledge.may].any()


def in_folds(data, given, result):
    """Check that the graphs of the folds are learned with the same score."""
    label = dagopt.cross_validate(data, folds=2, **given).label
    assert ("log-odds" in label) == (result.problem.knowledge.log_odds is not None)


def in_classes(data, given, result):
    """Check that the best class has the score of the best DAG, and that no class has edges that cannot be."""
    classes = dagopt.learn(data, "exact", n_best=2, **given).figures.best_classes
    assert classes[0]["score"] == pytest.approx(result.score)
    for one in classes:
        assert result.problem.knowledge.allows_dag(one["adjacency"])


def in_score(data, given, result):
    """Check the method that tests independence and has no score."""
    dagopt.learn(data, "pc", **given)


def in_score_of_graph(data, given, result):
    """Check that the score of the learned graph is that of the result, in all and by column."""
    options = {name: value for name, value in given.items() if name != "constraints"}
    told = (
        result.score - float((result.problem.knowledge.log_odds * result.adjacency).sum())
        if (result.problem.knowledge.log_odds is not None)
        else result.score
    )
    assert dagopt.score(data, result.graph, "bic", **options) == pytest.approx(told)
    assert dagopt.score_table(data, result.graph, "bic", **options)["score"].sum() == pytest.approx(told)


def in_sample(data, given, result):
    """Check that no sampled DAG has an edge that is believed never to be."""
    edges = result.sample_graphs(20).edges
    assert len(edges)
    assert not {("X1", "X2"), ("X2", "X1")} & set(zip(edges["from"], edges["to"], strict=True))


QUESTIONS = {
    "edge_posterior": (in_posterior, ()),
    "effect_posterior": (in_effect_posterior, ()),
    "save_proof": (in_proof, ("before", "edge_prior")),
    "sample_graphs": (in_sample, ("before", "lags")),
    "rivals": (in_rivals, ("before",)),
    "explain": (in_explanation, ("before",)),
    "regrets": (lambda data, given, result: result.regrets(), ("before",)),
    "effect": (lambda data, given, result: result.effect(*result.names[:2]), ("before",)),
    "effect within": (in_effect_within, ("before",)),
    "bootstrap": (in_bootstrap, ("before",)),
    "path": (in_path, ("before", "edge_prior")),
    "cross_validate": (in_folds, ()),
    "n_best": (in_classes, ("before",)),
    "score": (in_score_of_graph, ()),
    "pc": (in_score, ("before", "edge_prior")),
}
KNOWN = {
    "before": {"constraints": {"before": [("X2", "X0"), ("X3", "X1")]}},
    "edge_prior": {"constraints": {"edge_prior": [("X1", "X2", NEVER), ("X2", "X1", NEVER), ("X0", "X3", 0.9)]}},
    "lags": {"lags": 1},
}


@pytest.fixture(scope="module")
def asked():
    """Return data, arguments and result of each kind of knowledge."""
    rows = dagopt.simulate(4, 120, 1.5, random_state=2).data
    series = dagopt.simulate_series(2, 120, random_state=1).data
    return {
        kind: (data, given, dagopt.learn(data, score="bic", **given))
        for kind, given in KNOWN.items()
        for data in [series if kind == "lags" else rows]
    }


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("question", QUESTIONS)
def test_knowledge_is_held_or_refused_by_name(asked, kind, question, tmp_path, monkeypatch) -> None:
    """An answer respects what is known, or an error names it and says what to do."""
    monkeypatch.chdir(tmp_path)
    ask, refused = QUESTIONS[question]
    if kind not in refused:
        ask(*asked[kind])
        return
    with pytest.raises(InputError, match=f"{kind}=.*(leave|use|without)"):
        ask(*asked[kind])


def test_every_question_is_asked() -> None:
    """A function that takes constraints or asks a result something about other graphs is in the list above."""
    takes = {
        name
        for name in dagopt.__all__
        if inspect.isfunction(one := getattr(dagopt, name)) and "constraints" in inspect.signature(one).parameters
    }
    assert takes - {"learn"} <= set(QUESTIONS)
    answers = {name for name, one in vars(dagopt.Result).items() if inspect.isfunction(one) and name[0] != "_"}
    about_one_graph = {
        "check", "directions", "dynamics", "fit", "log_likelihood", "plot", "plot_convergence", "predict", "report",
        "save", "summary", "targets", "to_dict", "widget",
    }  # fmt: skip
    assert answers - about_one_graph <= set(QUESTIONS)


def test_a_start_against_the_order_is_refused() -> None:
    """A search cannot begin at a DAG that goes against before=, not even by a path."""
    data = dagopt.simulate(4, 120, 1.5, random_state=2).data
    path = [("X0", "X1"), ("X1", "X2")]
    with pytest.raises(InputError, match="start DAG goes against before="):
        dagopt.learn(data, "order", start=path, constraints={"before": [("X2", "X0")]})


@pytest.mark.parametrize("known", [{"before": [("a", "b")]}, {"edge_prior": [("a", "b", 0.9)]}])
def test_local_scores_refuse_what_needs_data(known, tmp_path) -> None:
    """A file of local scores has neither odds nor an order."""
    file = tmp_path / "two.jkl"
    file.write_text("2\na 1\n-1.0 0\nb 2\n-1.0 0\n-0.5 1 a\n")
    with pytest.raises(InputError, match="before=, ancestors= and edge_prior= need data"):
        dagopt.learn(file, "exact", constraints=known)
