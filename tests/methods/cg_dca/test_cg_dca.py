"""CG-DCA end to end: the true graph of published data, exact optima as the judge, knowledge, limits and the trace."""

import itertools
import os
import signal
import threading

import networkx as nx
import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.learning.posing import pose
from dagopt.methods.cg_dca import cg_dca
from dagopt.methods.cg_dca.cg_dca import solve_cg_dca
from dagopt.methods.cg_dca.cg_dca_options import PaperOptions
from dagopt.methods.cg_dca.trace import COLUMNS
from dagopt.methods.likelihood_bound import likelihood_bound
from dagopt.methods.resumable import Beside
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score

SOLVERS = ["dp", "scip", "gurobi"]
NEEDS = {"scip": "pyscipopt", "gurobi": "gurobipy"}
PLAIN = dict.fromkeys(("order_start", "order_again", "price_incumbent", "start_integer"), False)
FAST = {"convex_step": "min-norm", "pricing": "dca", "rows": (), **PLAIN}  # column generation alone
LISTED = {"pricing": "listed", **PLAIN}


def saturated(data):
    """Return the bound that every result has."""
    return likelihood_bound(pose(data)[0])


@pytest.fixture(scope="module")
def simulated():
    """Return a function from a seed to a small simulated table and the optimum over all DAGs."""
    known = {}

    def load(seed):
        if seed not in known:
            data, _ = dagopt.simulate(8, 500, 1.0, seed)
            known[seed] = data, dagopt.learn(data, "exact").score
        return known[seed]

    return load


@pytest.fixture(scope="module")
def asia():
    """Return a discrete table and the optimum over all DAGs."""
    data, _ = dagopt.datasets.load("asia", n_samples=1000, random_state=3)
    return data, dagopt.learn(data, "exact").score


def essential(names, edges):
    """Return the essential graph of a DAG given by its edges."""
    adjacency = np.zeros((len(names), len(names)), dtype=np.int8)
    for tail, head in edges:
        adjacency[names.index(tail), names.index(head)] = 1
    return cpdag(adjacency)


@pytest.mark.few(6)
@pytest.mark.parametrize("init", ["random", "warm", "hybrid"])
@pytest.mark.parametrize(("solver", "step"), [("dp", "kelley"), *((solver, "min-norm") for solver in SOLVERS)])
def test_the_true_graph_of_gaussian_test(shared_set, init, solver, step):
    """With each start strategy, convex step and integer solver the essential graph is the true one."""
    if solver in NEEDS:
        pytest.importorskip(NEEDS[solver])
    table, edges = shared_set("gaussian_test")
    result = dagopt.learn(table, "cg-dca", init=init, integer_solver=solver, **{**FAST, "convex_step": step})
    np.testing.assert_array_equal(result.cpdag_adjacency, essential(table.names, edges))
    assert result.notes[0] == f"integer master: {solver}"


def test_the_paper_method_on_gaussian_test(shared_set):
    """The method of the paper, by its name, finds the true graph as well, and carries its name."""
    table, edges = shared_set("gaussian_test")
    result = dagopt.learn(table, method="cg-dca-paper")
    np.testing.assert_array_equal(result.cpdag_adjacency, essential(table.names, edges))
    assert result.method == "cg-dca-paper"


def test_the_paper_method_is_column_generation_alone(simulated):
    """The preset has the paper's choices of section 4, and with them both names take the same way."""
    assert (PaperOptions().init, PaperOptions().switch_at, PaperOptions().convex_step, PaperOptions().pricing) == (
        "hybrid",
        50,
        "kelley",
        "dca",
    )
    data, _ = simulated(1)
    paper = dagopt.learn(data, "cg-dca-paper")
    own = dagopt.learn(data, "cg-dca", **{**FAST, "convex_step": "kelley", "integer_seconds": None})
    np.testing.assert_array_equal(paper.adjacency, own.adjacency)
    assert paper.details["families"] == own.details["families"]


@pytest.mark.parametrize("seed", range(3))
def test_the_literal_settings_of_the_paper(simulated, seed, monkeypatch):
    """One cut per round, one order of ties, one cluster per LP reach the parts, and the answer is never too good."""
    made = {}

    class Noted(cg_dca.DcaPricer):
        def __init__(self, *facts, **named):
            super().__init__(*facts, **named)
            made.update(tie_orders=self._tie_orders, cuts=self._step.keywords["cuts_per_round"])

    monkeypatch.setattr(cg_dca, "DcaPricer", Noted)
    data, optimum = simulated(seed)
    result = dagopt.learn(data, "cg-dca-paper", kelley_cuts=1, tie_orders=1, clusters_per_round=1)
    assert made == {"tie_orders": 1, "cuts": 1}
    assert result.score <= optimum + 1e-6
    assert result.bound >= optimum - 1e-6
    rounds = result.trace[result.trace["phase"] == "rows"]["rows"].to_numpy()
    assert (np.diff(rounds) <= 1).all()  # the subset recursion adds none between


@pytest.mark.parametrize("name", ["kelley_cuts", "tie_orders", "clusters_per_round"])
def test_settings_of_zero_are_refused(simulated, name):
    """The error names the option."""
    with pytest.raises(InputError, match=name):
        dagopt.learn(simulated(0)[0], "cg-dca-paper", **{name: 0})


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, FAST, {**PLAIN, "pricing": "exhaustive"}, {"init": "warm", **FAST}])
def test_never_above_the_optimum_nor_the_bound_below(simulated, seed, options):
    """The score is that of its DAG and at most the optimum over all DAGs, which the bound never undercuts."""
    data, optimum = simulated(seed)
    result = dagopt.learn(data, "cg-dca", **options)
    assert is_acyclic(result.adjacency)
    assert result.score == pytest.approx(dagopt.score(data, result.dag), abs=1e-6)
    assert result.score <= optimum + 1e-6
    assert result.bound >= optimum - 1e-6
    assert result.scope == "all DAGs"
    assert (result.status == "optimal") == (result.bound - result.score <= 1e-4)
    assert result.status in ("optimal", "converged")


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
@pytest.mark.parametrize("passes", [0, 1])
@pytest.mark.parametrize("options", [FAST, LISTED])
def test_the_bound_holds_for_any_pool(simulated, asia, kind, passes, options):
    """Even with the empty sets alone, whose LP is far below the optimum, the bound is not: all sets are priced."""
    data, optimum = simulated(0) if kind == "gaussian" else asia
    table = dagopt.as_table(data)
    problem = Problem(table, make_score(table, "bic"), Constraints().resolve(table.names))
    run = cg_dca._Run(problem, PaperOptions(max_passes=max(passes, 1), **options), Deadline(), NoProgress())
    if passes:
        run.result("cg-dca")
    else:
        assert run.master.solve().bound < optimum - 1
    assert run.bound(run.exact_pricer()) >= optimum - 1e-6


@pytest.mark.parametrize(("seed", "status"), [(3, "optimal"), (8, "converged")])
def test_status_optimal_is_the_optimum(seed, status):
    """Where the LP closes the gap the result says optimal, and it is; where it leaves 25 it does not say so."""
    data, _ = dagopt.simulate(4, 300, 0.5, seed)
    results = [dagopt.learn(data, "cg-dca", pricing=pricing, **PLAIN) for pricing in ("exhaustive", "dca")]
    assert results[0].status == status
    for result in results:
        if result.status == "optimal":
            assert result.score == pytest.approx(dagopt.learn(data, "exact").score, abs=1e-5)


@pytest.mark.parametrize("step", ["kelley", "min-norm"])
def test_fewer_rows_than_columns(step):
    """With a limit on parents five rows of six columns are enough, also where larger sets cost infinitely much."""
    data = np.random.default_rng(0).normal(size=(5, 6))
    for convention in ("paper", "bnlearn"):
        options = {"convention": convention, "max_parents": 2}
        result = dagopt.learn(data, "cg-dca", **{**FAST, "convex_step": step}, **options)
        assert np.isfinite(result.score)
        assert result.adjacency.sum(axis=0).max() <= 2
        assert result.score <= dagopt.learn(data, "exact", **options).score + 1e-6


def test_no_bound_without_exact_pricing():
    """With more candidates than can all be priced the bound is that of the likelihood."""
    data, _ = dagopt.simulate(17, 200, 0.5, 0)
    result = dagopt.learn(data, "cg-dca", max_passes=1, max_families=60, **FAST)
    assert result.bound == pytest.approx(saturated(data), abs=1e-6)
    assert result.scope == "all DAGs"


@pytest.mark.parametrize("options", [{}, FAST, LISTED, {**PLAIN, "pricing": "exhaustive"}, {"integer_solver": "scip"}])
def test_discrete_data(asia, options):
    """On discrete data the same holds."""
    if options.get("integer_solver") == "scip":
        pytest.importorskip("pyscipopt")
    data, optimum = asia
    result = dagopt.learn(data, "cg-dca", **options)
    assert is_acyclic(result.adjacency)
    assert result.score == pytest.approx(dagopt.score(data, result.dag), abs=1e-6)
    assert result.score <= optimum + 1e-6
    assert result.bound >= optimum - 1e-6


def test_bnlearns_convention(simulated):
    """With the other convention of counting parameters the answer is within that convention's optimum."""
    data, _ = simulated(0)
    optimum = dagopt.learn(data, "exact", convention="bnlearn").score
    result = dagopt.learn(data, "cg-dca", convention="bnlearn", **FAST)
    assert result.score <= optimum + 1e-6 <= result.bound + 2e-6


@pytest.mark.few(4)
@pytest.mark.parametrize("options", [{}, FAST, LISTED, {**PLAIN, "pricing": "exhaustive"}])
@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_knowledge_is_honoured(simulated, asia, kind, options):
    """Required and forbidden edges, tiers and a limit on parents hold in the answer, and the bound is within them."""
    data, _ = simulated(2) if kind == "gaussian" else asia
    names = list(dagopt.as_table(data).names)
    known = Constraints(
        required=[(names[0], names[1]), (names[2], names[1])],
        forbidden=[(names[3], names[4]), (names[4], names[3])],
        tiers=[names[:5], names[5:]],
        max_parents=2,
    )
    result = dagopt.learn(data, "cg-dca", constraints=known, **options)
    exact = dagopt.learn(data, "exact", constraints=known)
    assert known.resolve(names).allows_dag(result.adjacency)
    assert result.score <= exact.score + 1e-6
    assert result.bound >= exact.score - 1e-6
    assert result.scope == exact.scope


def test_the_seed_decides(simulated):
    """Equal seeds give equal runs, step by step; other seeds explore other families."""
    data, _ = simulated(0)

    def run(seed):
        trace = dagopt.learn(data, "cg-dca", random_state=seed, init="random", **FAST).trace
        return trace[["pass", "phase", "lp", "score", "families", "rows", "reduced_cost"]]

    one = run(1)
    assert one.equals(run(1))
    assert not one.equals(run(2))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tiny_time_limit_still_gives_a_dag(simulated, solver):
    """The best DAG so far comes back with the reason, and with the bound of the likelihood alone."""
    if solver in NEEDS:
        pytest.importorskip(NEEDS[solver])
    data, _ = simulated(0)
    result = dagopt.learn(data, "cg-dca", time_limit=1e-9, integer_solver=solver)
    assert result.status == "time_limit"
    assert result.bound == pytest.approx(saturated(data), abs=1e-6)
    assert is_acyclic(result.adjacency)
    assert list(result.trace.columns[: len(COLUMNS)]) == COLUMNS


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_without_time_to_list_parent_sets_the_search_goes_on(monkeypatch, score):
    """Scoring all sets of discrete data has a share of the time; without them, a good DAG and no proof over them."""
    monkeypatch.setattr(cg_dca, "LISTING_SHARE", 1e-12)
    data, _ = dagopt.datasets.load("asia", n_samples=500, random_state=1)
    result = dagopt.learn(data, "cg-dca", score=score, time_limit=20)
    assert result.status == "converged"
    assert "scoring all parent sets took more than" in result.summary()
    best = dagopt.learn(data, "exact", score=score).score
    assert dagopt.score(data, [], score=score) < result.score <= best + 1e-6
    assert result.bound is None or result.bound >= best


class StopsAfter(NoProgress):
    """A progress at whose n-th row something happens."""

    def __init__(self, rows, act):
        self.left, self.act = rows, act

    def update(self, phase, fraction=None, **facts):
        """Count, and act."""
        self.left -= 1
        if self.left == 0:
            self.act()


@pytest.mark.parametrize("rows", [1, 3, 8, 12])
def test_an_interrupt_at_any_row_returns_the_best_so_far(simulated, rows):
    """A Ctrl-C ends the run soon, with a DAG, its score and the reason."""
    data, optimum = simulated(0)
    assert threading.current_thread() is threading.main_thread()
    told = StopsAfter(rows, lambda: os.kill(os.getpid(), signal.SIGINT))
    result = dagopt.learn(data, "cg-dca", progress=told, **FAST)
    assert result.status == "interrupted"
    assert result.bound == pytest.approx(saturated(data), abs=1e-6)
    assert is_acyclic(result.adjacency)
    assert result.score == pytest.approx(dagopt.score(data, result.dag), abs=1e-6)
    assert result.score <= optimum + 1e-6
    assert -3 <= told.left <= 0


def test_limits_on_passes_and_columns(simulated):
    """One pass is one integer phase; families stop coming at their limit, and the notes say so."""
    data, _ = simulated(1)
    once = dagopt.learn(data, "cg-dca", max_passes=1, **FAST)
    assert once.details["passes"] == 1
    assert (once.trace["phase"] == "integer").sum() == 1
    few = dagopt.learn(data, "cg-dca", max_families=15, **FAST)
    assert 15 <= few.details["families"] <= 15 + 10
    for result in (once, few):
        assert result.bound == pytest.approx(saturated(data), abs=1e-6)
        assert "limit" in result.notes[1]


@pytest.mark.parametrize(("name", "kind"), [("bge", "gaussian"), ("bdeu", "discrete")])
def test_other_scores_are_refused_in_one_line(simulated, asia, name, kind):
    """The error says what CG-DCA needs and what to choose instead."""
    data, _ = simulated(0) if kind == "gaussian" else asia
    with pytest.raises(InputError, match="CG-DCA needs a penalised likelihood") as caught:
        dagopt.learn(data, "cg-dca", score=name, pricing="dca")
    assert "\n" not in str(caught.value)
    assert "'exact'" in str(caught.value)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"init": "cold"}, "init= to be one of 'random', 'warm', 'hybrid' but got 'cold'"),
        ({"convex_step": "newton"}, "convex_step= to be one of 'kelley', 'min-norm'"),
        ({"pricing": "none"}, "pricing= to be one of 'auto', 'dca', 'listed', 'exhaustive'"),
        ({"integer_solver": "cplex"}, "integer_solver= to be one of"),
        ({"integer_seconds": 0}, "expected integer_seconds= to be a number > 0 but got 0"),
        ({"epsilon": 0.0}, "expected epsilon= to be a number > 0 but got 0"),
        ({"tolerance": -1.0}, "expected tolerance= to be a number > 0 but got -1"),
        ({"max_passes": 0}, "expected max_passes= to be a whole number >= 1 but got 0"),
        ({"max_families": 2.5}, "expected max_families= to be a whole number >= 1 but got 2.5"),
        ({"switch_at": -1}, "expected switch_at= to be a whole number >= 0 but got -1"),
        ({"resume": True}, "resume=True needs checkpoint="),
    ],
)
def test_wrong_options_are_refused(simulated, option, message):
    """Each says what was expected and what came."""
    data, _ = simulated(0)
    with pytest.raises(InputError) as caught:
        dagopt.learn(data, "cg-dca", **option)
    assert message in str(caught.value)


def test_the_trace_tells_the_run(simulated):
    """Families, seconds that never go back, phases in order, a score that never falls, pools that never shrink."""
    data, _ = simulated(3)
    result = dagopt.learn(data, "cg-dca", **FAST)
    trace = result.trace
    assert list(trace.columns[: len(COLUMNS)]) == COLUMNS
    assert {"pricing_seconds", "separation_seconds", "integer_seconds"} <= set(trace.columns)
    for name in ("seconds", "pass", "families", "rows"):
        assert (trace[name].diff().dropna() >= 0).all()
    assert (trace["score"].dropna().diff().dropna() >= -1e-9).all()
    assert set(trace["phase"]) <= {"families", "rows", "integer"}
    assert trace["phase"].iloc[-1] == "integer"
    assert trace["score"].iloc[-1] == pytest.approx(result.score)
    assert (trace["families"].iloc[-1], trace["rows"].iloc[-1]) == (result.details["families"], result.details["rows"])
    assert (trace["reduced_cost"].dropna() <= 0).all()
    per_pass = [[phase for phase, _ in itertools.groupby(rows)] for _, rows in trace.groupby("pass")["phase"]]
    assert all(phases in (["families", "integer"], ["families", "rows", "integer"]) for phases in per_pass)


def test_the_lp_of_a_round_of_columns_never_falls(simulated):
    """Within the pricing of one pass rows stay, so that more families can only raise the LP."""
    data, _ = simulated(3)
    trace = dagopt.learn(data, "cg-dca", **FAST).trace
    for _, rounds in trace[trace["phase"] == "families"].groupby("pass"):
        assert (rounds["lp"].diff().dropna() >= -1e-6).all()


def test_nothing_to_choose():
    """Where no node may have a parent the empty graph is proven."""
    table = dagopt.as_table(np.random.default_rng(0).normal(size=(20, 2)))
    problem = Problem(table, make_score(table, "bic"), Constraints(max_parents=0).resolve(table.names))
    result = solve_cg_dca(problem, deadline=Deadline(), progress=NoProgress())
    assert result.status == "optimal"
    assert not result.adjacency.any()


def test_the_graph_has_the_names_of_the_columns(simulated):
    """The DAG is a networkx graph over the columns."""
    data, _ = simulated(0)
    result = dagopt.learn(data, "cg-dca", max_passes=1, **FAST)
    assert isinstance(result.dag, nx.DiGraph)
    assert list(result.dag) == list(dagopt.as_table(data).names)


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("left_out", [None, *PLAIN])
def test_order_search_and_incumbents_reach_the_optimum(simulated, seed, left_out):
    """The default finds the proven optimum of small problems, and without order search no switch can do harm."""
    data, optimum = simulated(seed)
    result = dagopt.learn(data, "cg-dca", **({} if left_out is None else {left_out: False}))
    assert result.score <= optimum + 1e-6
    if left_out != "order_start":
        assert result.score == pytest.approx(optimum, abs=1e-6)
        assert result.trace["phase"].iloc[0] == "order"


@pytest.mark.parametrize(("kind", "score"), [("discrete", "bic"), ("discrete", "bdeu"), ("gaussian", "bge")])
def test_listed_pricing_with_any_score(simulated, asia, kind, score):
    """With listed parent sets any score will do; the bound covers the sets listed, and holds."""
    data, _ = simulated(0) if kind == "gaussian" else asia
    best = dagopt.learn(data, "exact", score=score, max_parents=3)
    for options in ({"pricing": "listed"}, LISTED):
        result = dagopt.learn(data, "cg-dca", score=score, max_parents=3, **options)
        assert result.score <= best.score + 1e-6
        assert result.bound >= best.score - 1e-6
        assert result.scope in (best.scope, "all DAGs")
        if options is not LISTED:
            assert result.score == pytest.approx(best.score, abs=1e-6)


def test_a_given_start_is_never_lost(simulated):
    """The answer is at least as good as the DAG that is given, with and without order search."""
    data, optimum = simulated(1)
    best = dagopt.learn(data, "exact").dag
    for options in ({}, FAST):
        result = dagopt.learn(data, "cg-dca", start=best, max_passes=1, **options)
        assert result.score == pytest.approx(optimum, abs=1e-6)


def test_what_is_known_beside_the_search_is_never_lost(monkeypatch, simulated):
    """The order search begins as without it, and its DAG is joined with the known one before the first pass."""
    problem = dagopt.learn(simulated(1)[0], "exact").problem
    best, starts = dagopt.learn(problem.table, "exact"), []

    def search(problem, *given, start, **more):
        starts.append(start)
        return 0 * best.adjacency, []

    monkeypatch.setattr(cg_dca, "order_incumbent", search)
    beside = Beside(dag=best.adjacency)
    found = solve_cg_dca(problem, deadline=Deadline(), progress=NoProgress(), beside=beside, max_passes=1)
    assert starts[0] is None
    assert found.score == pytest.approx(best.score, abs=1e-6)


def test_an_integer_phase_cut_short_is_no_proof(simulated):
    """A limit on the integer phase ends it with the best DAG so far; the run goes on and converges."""
    pytest.importorskip("pyscipopt")
    data, _ = simulated(0)
    result = dagopt.learn(data, "cg-dca", integer_solver="scip", integer_seconds=1e-6)
    assert result.status in ("converged", "optimal")
    assert is_acyclic(result.adjacency)


def test_many_columns_are_searched_alone(monkeypatch, simulated):
    """Beyond a number of columns there is no column generation, and the result says so."""
    monkeypatch.setattr(cg_dca, "MOST_PRICED_NODES", 7)
    data, optimum = simulated(0)
    result = dagopt.learn(data, "cg-dca")
    assert "order search alone" in result.notes[0]
    assert (result.bound, result.status) == (pytest.approx(saturated(data), abs=1e-6), "converged")
    assert result.score == pytest.approx(optimum, abs=1e-6)
