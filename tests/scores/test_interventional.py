"""Rows in which columns were set: local scores by hand, and edges that observation cannot direct."""

from __future__ import annotations

import json
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import dagopt
from brute_force import undominated
from dagopt import memory
from dagopt.bits import from_words, members
from dagopt.cli import run
from dagopt.data.data_options import DataOptions
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.undominated import Listing
from dagopt.networks.rows import matched
from dagopt.progress import NoProgress
from dagopt.scores import interventions
from dagopt.scores.gaussian import GaussianScore
from dagopt.scores.interventions import interventional_score
from dagopt.scores.score_options import ScoreOptions
from dagopt.workers import Workers
from every_dag import classes, masks_of, parent_sets, totals
from made_tables import mixed_frame


def chain(rng, rows, target=None):
    """Return rows of a -> b -> c in which a column was set at random."""
    a = rng.normal(size=rows)
    b = rng.normal(size=rows) if target == "b" else a + rng.normal(size=rows)
    c = rng.normal(size=rows) if target == "c" else b + rng.normal(size=rows)
    return pd.DataFrame({"a": a, "b": b, "c": c}).assign(target=target)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return pd.concat([chain(rng, 300), chain(rng, 200, "b"), chain(rng, 200, "c")], ignore_index=True)


@pytest.mark.parametrize("discrete", [False, True])
def test_local_scores_leave_out_the_rows_that_set_the_node(rows, discrete):
    """The score of a DAG is the sum of local scores, each of the rows that do not target its node."""
    data = rows[list("abc")]
    if discrete:
        data = (data > 0).astype(str)
    result = dagopt.learn(data, "exact", interventions=rows["target"].tolist(), progress=False)
    total = 0.0
    for j, name in enumerate(result.names):
        own = data[(rows["target"] != name).to_numpy()]
        table = dagopt.as_table(own)
        total += dagopt.make_score(table, "bic").local(j, np.flatnonzero(result.adjacency[:, j]))
    assert result.score == pytest.approx(total)
    assert sorted(result.graph.directed_edges) == [("a", "b"), ("b", "c")]


@pytest.mark.parametrize("method", ["exact", "order", "hc", "tabu", "auto", "gobnilp"])
def test_interventions_direct_what_observation_cannot(rows, method):
    """The chain has no direction by observation alone; with targets it is found, and fixed in the essential graph."""
    seen = dagopt.learn(rows.loc[rows["target"].isna(), list("abc")], "exact", progress=False)
    assert len(seen.cpdag.edges) == 4
    told = dagopt.learn(rows, method, interventions="target", progress=False)
    assert sorted(told.cpdag.edges) == [("a", "b"), ("b", "c")]


@pytest.mark.parametrize("method", ["exact", "order", "branch-and-cut"])
def test_the_best_of_every_dag(method):
    """With random targets, the answer on four columns is the best of all 543 DAGs."""
    rng = np.random.default_rng(1)
    data = dagopt.simulate(4, 300, 1.5, random_state=2).data
    targets = [rng.choice([None, "X0", "X1", "X2,X3"]) for _ in range(300)]
    told = dagopt.learn(data, method, interventions=targets, progress=False)
    score = told.problem.score
    best = max(
        sum(score.local(j, [i for i in range(4) if bits >> i & 1]) for j, bits in enumerate(own.tolist()))
        for own in parent_sets(4)
    )
    assert told.score == pytest.approx(best)


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", ["bic", "bnlearn", "bge", "mixed"])
@pytest.mark.parametrize("seed", range(4))
def test_each_node_is_listed_by_its_own_matrix(seed, kind):
    """Undominated sets are those of all subsets, and the proof is that of the recursion, for every kind of score."""
    rng = np.random.default_rng(seed)
    data = mixed_frame(seed, 6, 300) if kind == "mixed" else dagopt.simulate(6, 300, 1.0, random_state=seed).data
    names = list(data.columns)
    targets = [rng.choice([None, None, names[0], names[1], f"{names[2]},{names[3]}"]) for _ in range(300)]
    options = {"bnlearn": {"convention": "bnlearn"}, "bge": {"score": "bge"}}.get(kind, {})
    best = dagopt.learn(data, "exact", interventions=targets, progress=False, **options)
    proven = dagopt.learn(data, "branch-and-cut", interventions=targets, progress=False, **options)
    assert (proven.status, proven.scope) == ("optimal", "all DAGs")
    assert proven.score == pytest.approx(best.score, rel=1e-9)
    assert proven.bound >= best.score
    score, knowledge = best.problem.score, best.problem.knowledge
    with Workers(Deadline(), NoProgress(), 1) as workers:
        found = Listing(score, knowledge, 10**6).run(workers)
    for node in range(6):
        sets = {tuple(members(from_words(row))) for row in found.words[found.own(node)]}
        assert sets == undominated(score, knowledge, node)


@pytest.mark.parametrize("kind", ["bic", "bge", "cg", "discrete"])
def test_the_best_classes_share_the_directions_that_are_told(kind):
    """Classes are those of all DAGs, told apart by skeleton, v-structures and the edges with a told direction."""
    rng = np.random.default_rng(5)
    data = mixed_frame(4, 4, 300) if kind == "cg" else dagopt.simulate(4, 300, 1.5, random_state=4).data
    names = list(data.columns)
    data = (data > 0).astype(str) if kind == "discrete" else data
    targets = rng.choice([None, names[0], f"{names[2]},{names[3]}"], 300).tolist()
    options = {"score": kind} if kind in ("bge", "cg") else {}
    result = dagopt.learn(data, "exact", interventions=targets, n_best=8, progress=False, **options)
    score, sets = result.problem.score, parent_sets(4)
    told = [(i, j) for i, j in zip(*np.nonzero(score.directed_pairs), strict=True)]
    assert 0 < len(told) < 12
    codes = np.column_stack([classes(4), *(sets[:, j] >> i & 1 for i, j in told)])
    _, own = np.unique(codes, axis=0, return_inverse=True)
    scores = totals(score, result.problem.knowledge)
    best = np.full(own.max() + 1, -np.inf)
    np.maximum.at(best, own.ravel(), scores)
    found = result.figures.best_classes
    assert [one["score"] for one in found] == pytest.approx(np.sort(best)[::-1][:8], abs=1e-7)
    for one in found:  # members of a class share its score
        place = np.flatnonzero((sets == masks_of(one["adjacency"])).all(axis=1))[0]
        assert scores[own.ravel() == own.ravel()[place]] == pytest.approx(one["score"], abs=1e-7)
        assert (one["cpdag"].T[one["adjacency"] != 0] == 0)[score.directed_pairs[one["adjacency"] != 0]].all()


def test_a_column_of_the_file_names_the_targets(rows, tmp_path, capsys):
    """By name or by position from 1, from a file as from a frame, and from the command."""
    told = dagopt.learn(rows, "exact", interventions="target", progress=False)
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    assert dagopt.learn(path, "exact", interventions="target", progress=False).score == told.score
    numbered = rows.assign(target=rows["target"].map({"b": 2, "c": 3}).fillna(0).astype(int))
    assert dagopt.learn(numbered, "exact", interventions="target", progress=False).score == told.score
    numbered.to_csv(path, index=False)
    asked = ["learn", str(path), "--interventions", "target"]
    assert run([*asked, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == pytest.approx(told.score)
    for more, said in ((["--method", "pc"], "tests independence"), (["--bootstrap", "5"], "cannot resample")):
        assert run([*asked, *more]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_one_sentence_for_each_mistake(rows):
    """Unknown targets, wrong lengths, columns that are always set and methods that test are told."""
    data = rows[list("abc")]
    with pytest.raises(InputError, match="unknown target of an intervention: 'z'"):
        dagopt.learn(data, interventions=["z"] * len(data))
    with pytest.raises(InputError, match="one entry per row, 700, but got 2"):
        dagopt.learn(data, interventions=["a", None])
    with pytest.raises(InputError, match="'a' is set in every row"):
        dagopt.learn(data, interventions=[["a", "b"]] * 600 + ["a"] * 100)
    with pytest.raises(InputError, match="'pc' tests independence"):
        dagopt.learn(rows, "pc", interventions="target")
    with pytest.raises(InputError, match="a column of the data or one entry per row"):
        dagopt.learn(data, interventions="target")


def test_parameters_need_rows_that_were_observed(rows):
    """Fitting and effects on rows that set columns would be wrong, and are refused; other rows do."""
    told = dagopt.learn(rows, "exact", interventions="target", progress=False)
    for ask in (told.fit, lambda: told.effect("a", "c")):
        with pytest.raises(InputError, match="with the rows that were only observed"):
            ask()
    seen = rows.loc[rows["target"].isna(), list("abc")]
    assert told.fit(seen).n_samples == 300
    assert dagopt.effect(seen, told.cpdag, "a", "c").identified


@pytest.mark.parametrize(
    ("limit", "said", "measured"),
    [
        (2.0, "time limit of 2 s was over while the rows that do not set each column", 1),
        (3.5, "2 columns are set by some rows, and measuring the other rows for each of them takes about 6 s", 1),
        (100.0, None, 2),
    ],
)
def test_columns_that_rows_set_are_measured_while_there_is_time(rows, monkeypatch, limit, said, measured):
    """Each takes three seconds by a scripted clock: what cannot end in time is given up after the first one."""
    now, done = [0.0], []

    def slow(*arguments):
        now[0] += 3.0
        done.append(1)
        return matched(*arguments)

    monkeypatch.setattr(interventions, "matched", slow)
    data, targets = rows.drop(columns="target"), rows["target"]
    deadline = Deadline(limit, lambda: now[0])
    with nullcontext() if said is None else pytest.raises(InputError, match=said):
        interventional_score(data, targets, ScoreOptions(), DataOptions(), deadline)
    assert len(done) == measured


def test_pairs_that_do_not_fit_are_refused_before_they_are_measured(rows, monkeypatch):
    """The pairs of columns are kept once for every column that some rows set."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3000))).add_prefix("X")
    with pytest.raises(InputError, match=r"the pairs of 3,000 columns, measured once for each of 50 .* 3.7 GB"):
        dagopt.learn(wide, "hc", interventions=[*range(1, 51), *[0] * 10], max_parents=3, progress=False)


def test_local_scores_ask_for_no_bounds(rows, monkeypatch):
    """A bound factorises all columns, once for every node: of 1,000 columns, minutes that a climb did not need."""
    data, targets = rows.drop(columns="target"), rows["target"]
    _, score = interventional_score(data, targets, ScoreOptions(score="bic"), DataOptions())
    sets = [(), (0,), (0, 1), (1, 2), (2,), ()]
    nodes = np.array([0, 1, 2, 0, 1, 2])
    one_by_one = [score.local(node, own) for node, own in zip(nodes.tolist(), sets, strict=True)]
    monkeypatch.setattr(GaussianScore, "local_and_bounds", None)
    np.testing.assert_allclose(score.local_many(nodes, sets), one_by_one, rtol=1e-12)
