"""Mixed tables: exact, order search, CG-DCA and brute force agree; bootstrap, regrets and fits follow."""

import numpy as np
import pytest

import dagopt
from brute_force import all_dags
from dagopt.data.columns import columns_from_frame
from dagopt.data.mixed import MixedTable
from dagopt.scores.build import make_score
from made_tables import mixed_frame, mixed_table, patients


@pytest.mark.parametrize("score", ["bic", "aic", "ebic", "cg"])
@pytest.mark.parametrize("n", [3, 4])
def test_exact_is_the_best_of_all_dags(n, score):
    """The proven optimum is that of brute force, for either score of mixed tables."""
    table = mixed_table(n, n=n, rows=120)
    scorer = make_score(table, score)
    best = max(scorer.total(dag) for dag in all_dags(n))
    result = dagopt.learn(table, "exact", score=score)
    assert result.status == "optimal"
    assert result.score == pytest.approx(best, rel=1e-9)


@pytest.mark.few(4)
@pytest.mark.parametrize("n", [3, 4, 5, 6])
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_order_and_cg_dca_agree(n, seed):
    """All methods find the proven optimum of small mixed tables."""
    frame = mixed_frame(10 * n + seed, n=n, rows=200)
    exact = dagopt.learn(frame, "exact")
    assert exact.problem.table.kind == "mixed"
    for method in ("order", "cg-dca", "branch-and-cut", "auto"):
        assert dagopt.learn(frame, method).score == pytest.approx(exact.score, abs=1e-5)
    for method in ("hc", "tabu"):
        assert dagopt.learn(frame, method).score <= exact.score + 1e-6
    limited = dagopt.learn(frame, "gobnilp", max_parents=n - 1)
    assert limited.score == pytest.approx(exact.score, abs=1e-5)


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(8))
def test_branch_and_cut_proves_the_best_of_all_dags(seed):
    """By blocks: the optimum and the bound against all DAGs, with constraints."""
    table = mixed_table(seed, n=4, rows=[30, 100, 1000][seed % 3])
    required = [("V0", "V1")] if seed % 2 else []
    allowed = [dag for dag in all_dags(4) if not required or dag[0, 1]]
    best = max(make_score(table).total(dag) for dag in allowed)
    result = dagopt.learn(table, "branch-and-cut", constraints=dagopt.Constraints(required=required))
    assert result.status == "optimal"
    assert best - 1e-9 * abs(best) <= result.score <= result.bound
    assert result.bound >= best


def test_auto_proves_thirty_sparse_columns():
    """More than the recursion over subsets can hold: all undominated sets are listed over blocks."""
    result = dagopt.learn(dagopt.simulate(30, 2000, 0.5, 1, kind="mixed").data, device="cpu", memory_limit="1GB")
    assert (result.method, result.status, result.scope) == ("branch-and-cut", "optimal", "all DAGs")


def test_the_order_of_the_columns_and_units_do_not_matter():
    """Columns in another order and other units give the same class."""
    frame = mixed_frame(3, n=6, rows=300)
    other = frame[["V5", "V2", "V0", "V4", "V1", "V3"]].assign(V2=lambda f: 1000 * f["V2"] + 7)
    one, two = dagopt.learn(frame, "exact"), dagopt.learn(other, "exact")
    assert dagopt.compare(one.dag, two.dag).shd == 0


def test_evidence_and_parameters_of_mixed_tables():
    """Bootstrap, regrets, posterior, explanations, parameters, predictions and the report take them."""
    frame = mixed_frame(8, n=5, rows=200)
    result = dagopt.learn(frame)
    assert dagopt.bootstrap(frame, 5, random_state=0) is not None
    regrets = result.regrets()
    assert len(regrets) == result.graph.n_edges
    assert (regrets["without"] >= -1e-6).all()
    fitted = result.fit()
    assert np.isfinite(fitted.log_likelihood(frame))
    assert len(fitted.sample(10, 0)) == 10
    assert len(fitted.predict(frame, "V1", given="blanket")) == len(frame)


def test_the_patients_give_the_edges_that_made_them(tmp_path):
    """With age as a number and missing pressures by EM, the causes of blood pressure are found."""
    result = dagopt.learn(patients(), missing="em")
    assert result.status == "optimal"
    joined = {frozenset(edge) for edge in result.graph.directed_edges + result.graph.undirected_edges}
    assert {frozenset(("age", "pressure")), frozenset(("bmi", "pressure")), frozenset(("smoker", "pressure"))} <= joined
    assert "EM" in " ".join(result.notes)
    assert result.report(tmp_path / "page.html").stat().st_size > 1000


def test_em_is_nearer_to_the_complete_data_than_dropping_rows():
    """Cells removed at random: the graph by EM is nearer to that of the complete rows than that of the rows left."""
    far = {"em": 0, "drop": 0}
    for seed in range(4):
        frame, _ = dagopt.simulate(8, 400, 1.5, seed, kind="mixed")
        whole = dagopt.learn(frame)
        holes = frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.12)
        for missing in far:
            far[missing] += dagopt.compare(whole.dag, dagopt.learn(holes, missing=missing).dag).shd
    assert far["em"] < far["drop"]


def test_mixed_tables_from_columns():
    """A table can be made of columns, and is taken as it is."""
    table = MixedTable(tuple(columns_from_frame(mixed_frame(0))))
    assert dagopt.learn(table).n_samples == 150
