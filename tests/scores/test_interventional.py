"""Rows in which columns were set: local scores by hand, and edges that observation cannot direct."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from every_dag import parent_sets


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


@pytest.mark.parametrize("method", ["exact", "order"])
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
