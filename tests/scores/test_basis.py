"""The basis score: against log-determinants by numpy, all DAGs of four columns, and relations that BIC cannot see."""

import numpy as np
import pandas as pd
import pytest

import dagopt
import every_dag
import naive
from dagopt.data.polynomials import polynomials
from dagopt.errors import InputError


def curved(seed=0, n_rows=400):
    rng = np.random.default_rng(seed)
    a, d = rng.normal(size=(2, n_rows))
    return pd.DataFrame({"a": a, "b": a**2 + 0.5 * rng.normal(size=n_rows), "c": np.sin(2 * d), "d": d}).assign(
        c=lambda f: f["c"] + 0.3 * rng.normal(size=n_rows)
    )


def test_polynomials_are_orthonormal_and_span_the_powers():
    values = np.random.default_rng(0).lognormal(size=300)
    found = polynomials(values, 3).values
    assert found.T @ found / 300 == pytest.approx(np.eye(3), abs=1e-9)
    assert found.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    powers = np.column_stack([np.ones(300), values, values**2, values**3])
    assert np.linalg.lstsq(np.column_stack([np.ones(300), found]), powers, rcond=None)[1] == pytest.approx(0, abs=1e-4)
    assert polynomials(np.repeat([0.0, 1.0, 5.0], 10), 4).values.shape == (30, 2)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_local_scores_are_differences_of_log_determinants(degree):
    frame = curved()
    score = dagopt.make_score(dagopt.as_table(frame), "basis", degree=degree)
    blocks = {j: polynomials(frame.iloc[:, j].to_numpy(), degree).values for j in range(4)}

    def logdet(columns):
        if not columns:
            return 0.0
        return np.linalg.slogdet(np.atleast_2d(np.cov(np.hstack([blocks[j] for j in columns]).T, bias=True)))[1]

    for node, parents in [(0, []), (1, [0]), (2, [0, 3]), (3, [0, 1, 2])]:
        fit = -200 * degree * (1 + np.log(2 * np.pi)) - 200 * (logdet([node, *parents]) - logdet(parents))
        cost = 0.5 * np.log(400) * degree * degree * len(parents)
        assert score.local(node, parents) == pytest.approx(fit - cost)


def test_degree_one_is_bic_of_standard_columns():
    frame = curved()
    standard = (frame - frame.mean()) / frame.std(ddof=0)
    ours = dagopt.learn(frame, score="basis", degree=1, progress=False)
    assert ours.score == pytest.approx(dagopt.learn(standard, progress=False).score)


@pytest.mark.parametrize("method", ["exact", "order", "hc", "gobnilp", "cg-dca", "branch-and-cut"])
def test_methods_find_the_best_of_all_dags(method):
    frame = curved()
    score = dagopt.make_score(dagopt.as_table(frame), "basis")
    best = max(score.total(dag) for dag in naive.all_dags(4))
    result = dagopt.learn(frame, method, score="basis", progress=False)
    assert result.score == pytest.approx(best)
    if result.bound is not None:
        assert result.bound >= best - 1e-9


def test_a_time_limit_leaves_a_true_bound_on_mixed_tables():
    frame = curved().assign(g=np.where(curved()["a"] > 0, "high", "low"))
    score = dagopt.make_score(dagopt.as_table(frame), "basis")
    best = every_dag.totals(score, dagopt.Constraints().resolve(frame.columns)).max()
    for method in ("exact", "hc", "branch-and-cut"):
        result = dagopt.learn(frame, method, score="basis", progress=False)
        assert result.bound is None or result.bound >= best - 1e-9


def test_smooth_relations_are_found_and_residuals_fit():
    linear = dagopt.learn(curved(), progress=False)
    basis = dagopt.learn(curved(), score="basis", progress=False)
    joined = {tuple(sorted(edge)) for edge in basis.graph.directed_edges}
    assert {("a", "b"), ("c", "d")} == joined
    assert ("a", "b") not in {tuple(sorted(edge)) for edge in linear.graph.directed_edges}
    assert "polynomials of degree 3" in basis.score_label


def test_tests_of_independence_say_that_they_are_linear():
    result = dagopt.learn(curved(), "pc", score="basis", progress=False)
    assert any("linear effects only" in note for note in result.notes)


def test_refusals():
    with pytest.raises(InputError, match="score 'basis' of degree 8 makes 32 columns of 4 but there are 30 rows"):
        dagopt.learn(curved(n_rows=30), score="basis", degree=8, progress=False)
    with pytest.raises(InputError, match="needs rows but the data is a covariance"):
        dagopt.learn(covariance=np.eye(3), n_samples=50, score="basis", progress=False)
    with pytest.raises(InputError, match="needs complete rows"):
        dagopt.learn(curved().mask(curved() > 2), score="basis", missing="em", progress=False)
