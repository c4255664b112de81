"""The rule of ``auto``: exact while it fits, then listed parent sets, all or undominated, else CG-DCA; a minute."""

from dataclasses import replace

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.families.undominated import Estimate, Listing, TooMany
from dagopt.graph.constraints import Constraints
from dagopt.graph.order import is_acyclic
from dagopt.kernels import ahead
from dagopt.methods import auto, portfolio
from dagopt.methods.branch_and_cut import branch_and_cut, gobnilp
from dagopt.methods.exact import exact as exact_solve
from dagopt.methods.exact.plan import estimate_exact
from dagopt.methods.resumable import Beside
from dagopt.methods.start import StartDag
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.answer import Answer
from dagopt.results.figures import Figures
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from made_problems import stopped_after


def problem_of(n_nodes, score="bic", discrete=False):
    """Return a problem of so many columns."""
    rng = np.random.default_rng(0)
    shape = (60 if discrete or n_nodes < 60 else 2 * n_nodes, n_nodes)
    values = rng.integers(2, size=shape).astype(str) if discrete else rng.normal(size=shape)
    table = dagopt.as_table(values)
    return Problem(table, make_score(table, score), Constraints().resolve(table.names))


def choice_of(problem, seconds=None, cores=1, memory=4 << 30):
    """Return what is chosen with so much time, on so many cores."""
    workers = Workers(Deadline(seconds), NoProgress(), cores)
    return auto.choose(problem, estimate_exact(problem, memory, cores), workers)


@pytest.mark.parametrize(
    ("n_nodes", "score", "discrete", "seconds", "expected"),
    [
        (12, "bic", False, None, "exact"),
        (12, "bic", True, None, "exact"),
        (12, "bic", False, 1e-6, "cg-dca"),
        (40, "bic", False, None, "branch-and-cut"),
        (40, "bic", True, None, "gobnilp"),
        (40, "bdeu", True, None, "gobnilp"),
        (40, "bic", True, 1e-6, "cg-dca"),
        (1500, "bic", True, None, "cg-dca"),
        (30, "bge", False, None, "branch-and-cut"),
        (65, "bic", False, None, "branch-and-cut"),
        (auto.MOST_COLUMNS + 1, "bic", False, None, "cg-dca"),
    ],
)
def test_the_choice(n_nodes, score, discrete, seconds, expected):
    """Exact while the estimate fits memory and time, then lists of discrete data, else what DCA can do, or orders."""
    problem = problem_of(n_nodes, score, discrete)
    choice = choice_of(problem, seconds)
    assert choice.method == expected
    assert ("would take" in choice.why) == (choice.method != "exact")
    assert ("can be listed" in choice.why) == (choice.method == "gobnilp")


@pytest.mark.parametrize(
    ("n_nodes", "rows", "score", "limit", "size"),
    [
        (40, 60, "bic", None, 39), (40, 60, "bdeu", None, 39), (70, 5000, "bdeu", None, 69), (40, 60, "bic", 4, 4),
        (40, 60, "bic", 1, 1),
    ],
)  # fmt: skip
def test_the_size_of_listed_sets(n_nodes, rows, score, limit, size):
    """A given limit is kept; without one, sets of all sizes are listed."""
    values = np.random.default_rng(0).integers(2, size=(rows, n_nodes)).astype(str)
    table = dagopt.as_table(values)
    problem = Problem(table, make_score(table, score), Constraints(max_parents=limit).resolve(table.names))
    choice = choice_of(problem, cores=2)
    assert choice.method == "gobnilp"
    assert (choice.knowledge.at_most == size).all()
    assert ("of all sizes" if size == n_nodes - 1 else f"parent sets of size <= {size}") in choice.why


@pytest.mark.parametrize(("limit", "expected"), [(2, "gobnilp"), (4, "branch-and-cut")])
def test_continuous_data_with_a_limit_is_listed_while_sets_are_few(limit, expected):
    """40 columns have 30,000 sets of up to two parents, and four million of up to four, few of them undominated."""
    problem = problem_of(40)
    problem = replace(problem, knowledge=Constraints(max_parents=limit).resolve(problem.names))
    assert choice_of(problem).method == expected


def few_or_many(monkeypatch, n_sets, seconds=0.1):
    """Let the estimate of the listing be this."""
    monkeypatch.setattr(Listing, "estimate", lambda self, workers: Estimate(n_sets, seconds))


@pytest.mark.parametrize(
    ("n_nodes", "n_sets", "seconds", "score", "expected"),
    [
        (40, 5000, 1.0, "bic", "branch-and-cut"),
        (40, 5000, 1.0, "aic", "branch-and-cut"),
        (40, auto.MOST_UNDOMINATED + 1, 1.0, "bic", "branch-and-cut"),
        (40, 5000, 1.01 * auto.PATIENCE / auto.LISTING_SAFETY, "bic", "branch-and-cut"),
        (200, auto.MOST_UNDOMINATED + 1, 1.0, "bic", "branch-and-cut"),
        (40, 5000, 1.0, "bge", "branch-and-cut"),
        (40, auto.MOST_UNDOMINATED + 1, 1.0, "bge", "branch-and-cut"),
    ],
)
def test_branch_and_cut_for_scores_of_log_determinants(monkeypatch, n_nodes, n_sets, seconds, score, expected):
    """With not too many columns; the reason says whether all sets can be listed by the estimate, or are priced."""
    few_or_many(monkeypatch, n_sets, seconds)
    choice = choice_of(problem_of(n_nodes, score))
    assert choice.method == expected
    few = n_sets == 5000 and seconds == 1.0
    assert ("about 5,000 parent sets can be part of a best DAG" in choice.why) == (few and expected == "branch-and-cut")
    assert ("too many parent sets to list" in choice.why) == (not few and expected == "branch-and-cut")


@pytest.mark.parametrize(
    ("error", "expected"), [(TooMany(11, 25.0), "branch-and-cut"), (InputError("dependent"), "cg-dca")]
)
def test_an_estimate_that_ends_early(monkeypatch, error, expected):
    """Too many sets in the first steps are priced; columns that are nearly dependent are left to cg-dca."""

    def fail(self, workers):
        raise error

    monkeypatch.setattr(Listing, "estimate", fail)
    assert choice_of(problem_of(40)).method == expected


@pytest.mark.parametrize("searchable, expected", [(True, "branch-and-cut"), (False, "cg-dca")])
def test_a_short_limit_leaves_no_time_for_an_estimate(monkeypatch, searchable, expected):
    """Nothing is listed, and a table whose parent sets cannot be listed is not given to branch and cut."""
    monkeypatch.setattr("dagopt.families.undominated.is_searchable", lambda score: searchable)
    monkeypatch.setattr("dagopt.families.undominated.Listing", None)
    found = choice_of(problem_of(40), seconds=1.0)
    assert (found.method, found.listing) == (expected, None)


def test_branch_and_cut_proves_what_exact_cannot_hold():
    """The same optimum as exact, over all DAGs."""
    data, _ = dagopt.simulate(9, 300, 1.0, 3)
    best = dagopt.learn(data, "exact", progress=False)
    result = dagopt.learn(data, progress=False, memory_limit="1KB")
    assert (result.method, result.status, result.scope) == ("branch-and-cut", "optimal", "all DAGs")
    assert result.notes[0].startswith("auto chose branch-and-cut: the proven optimum would take")
    assert result.score == pytest.approx(best.score, abs=1e-6)


def test_a_listing_that_turns_out_too_large_is_priced(monkeypatch):
    """The DAG is no worse than that of order, and its bound no weaker than that of the likelihood."""

    def fail(self, workers):
        raise TooMany(11, 25.0)

    few_or_many(monkeypatch, 10)
    monkeypatch.setattr(Listing, "run", fail)
    data, _ = dagopt.simulate(9, 300, 1.0, 3)
    result = dagopt.learn(data, progress=False, memory_limit="1KB")
    order = dagopt.learn(data, "order", progress=False)
    assert (result.method, result.scope) == ("branch-and-cut", "all DAGs")
    assert result.score >= order.score - 1e-9
    assert result.score <= result.bound <= order.bound + 1e-6
    assert result.notes[0].startswith("auto chose branch-and-cut")
    assert "priced instead of listed" in result.notes[1]


def test_many_discrete_columns_are_proven():
    """Where exact cannot hold the table, the optimum over listed sets is proven, and scope and notes say what it is."""
    values = np.random.default_rng(1).integers(2, size=(80, 24))
    values[:, 1] = values[:, 0]
    values[:, 2] = values[:, 0] ^ (values[:, 3] & values[:, 4])
    result = dagopt.learn(values.astype(str), kind="discrete", progress=False, max_parents=1, memory_limit="1KB")
    assert (result.method, result.status) == ("gobnilp", "optimal")
    assert 0 <= result.gap <= 1e-8 * abs(result.score)  # rounding and the tolerance of the proof are in the bound
    assert result.scope == "parent sets of size <= 1"
    assert result.notes[0].startswith("auto chose gobnilp: the proven optimum would take")


def test_a_start_with_more_parents_than_are_listed_is_kept():
    """A better DAG than all over the listed sets is the answer, and the bound is one on all DAGs."""
    rng = np.random.default_rng(2)
    values = rng.integers(2, size=(4000, 33))
    values[:, 0] = values[:, 1:5].sum(axis=1) % 2
    table = dagopt.as_table(values.astype(str))
    start = np.zeros((33, 33), dtype=np.int8)
    start[1:5, 0] = 1
    result = dagopt.learn(table, progress=False, start=start, time_limit=1, memory_limit="100MB", score="bdeu")
    assert result.notes[0].startswith("auto chose gobnilp")
    assert result.bound >= result.score >= dagopt.score(table, start, score="bdeu") - 1e-6
    assert result.status != "optimal"
    assert result.scope == "all DAGs"


@pytest.mark.parametrize("discrete", [False, True])
def test_what_does_not_fit_is_searched(monkeypatch, discrete):
    """The result says what was chosen and why, has a DAG, and ends when the default time is over."""
    monkeypatch.setattr(auto, "PATIENCE", 1e-4)
    problem = problem_of(14, discrete=discrete)
    result = dagopt.learn(problem.table, progress=False)
    expected = "cg-dca" if discrete else "branch-and-cut"
    assert result.method == "order"  # no time is left for what was chosen: no prover begins after the limit
    assert result.notes[0].startswith(f"auto chose {expected}: the proven optimum would take")
    assert result.status == "time_limit"
    assert any("time_limit= allows more" in note for note in result.notes)
    assert is_acyclic(result.adjacency)
    assert result.score == pytest.approx(dagopt.score(problem.table, result.dag), abs=1e-6)


def test_a_start_is_passed_on(monkeypatch):
    """Whatever is chosen, the answer is at least as good as the DAG that is given."""
    data, _ = dagopt.simulate(8, 500, 1.0, 0)
    best = dagopt.learn(data, "exact")
    for patience in (60.0, 1e-3):
        monkeypatch.setattr(auto, "PATIENCE", patience)
        assert dagopt.learn(data, start=best.dag).score == pytest.approx(best.score, abs=1e-6)


def test_exact_runs_by_the_plan_of_auto(monkeypatch):
    """Memory and ways are looked at once: the plan that the choice was made by is the one that is run."""
    made, run = [], []
    plan, solve = exact_solve.plan_exact, auto.run_exact
    monkeypatch.setattr(exact_solve, "plan_exact", lambda *given: made.append(plan(*given)) or made[-1])
    monkeypatch.setattr(auto, "run_exact", lambda problem, own, *more: run.append(own) or solve(problem, own, *more))
    data, _ = dagopt.simulate(n_nodes=6, n_samples=200, random_state=0)
    assert dagopt.learn(data).method == "exact"
    assert len(made) == len(run) == 1
    assert made[0] is run[0]


def test_the_search_comes_before_the_prover_is_loaded(monkeypatch):
    """With a short limit, the solvers that a prover imports would take the time of the search."""
    steps = []
    order, load = portfolio.solve_order, auto.by_name
    monkeypatch.setattr(
        portfolio, "solve_order", lambda *given, **more: steps.append("search") or order(*given, **more)
    )
    monkeypatch.setattr(auto, "by_name", lambda *names: steps.append("load") or load(*names))
    data, _ = dagopt.simulate(6, 200, 1.0, 0)
    dagopt.learn(data, progress=False, memory_limit="1KB")
    assert steps[:2] == ["search", "load"]


@pytest.mark.parametrize(("share", "searched"), [(1e-9, True), (1.0, False)])
def test_a_search_comes_first_where_exact_may_not_end(monkeypatch, share, searched):
    """If exact is stopped, the answer is at least that of order; no search where exact is expected to end soon."""
    data, _ = dagopt.simulate(8, 300, 1.5, 1)
    monkeypatch.setattr(auto, "LONG_SHARE", share)
    nothing = np.zeros((8, 8), dtype=np.int8)
    monkeypatch.setattr(auto, "run_exact", lambda *given, **more: Answer("exact", nothing, -1e9, "time_limit"))
    result = dagopt.learn(data, time_limit=60, progress=False)
    assert bool(result.adjacency.any()) == searched
    if searched:
        assert result.score >= dagopt.learn(data, "order", progress=False).score - 1e-9


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
@pytest.mark.parametrize("score", ["bic", "aic"])
def test_auto_is_never_below_a_search(kind, score):
    """Where exact does not fit, the answer is no worse than that of any other method that ends by itself."""
    data = dagopt.simulate(n_nodes=7, n_samples=150, degree=3, random_state=0, kind=kind).data
    best = dagopt.learn(data, score=score, memory_limit="1KB", progress=False)
    for method in ("order", "hc", "tabu", "cg-dca"):
        other = dagopt.learn(data, method, score=score, progress=False)
        assert best.score >= other.score - 1e-7 * abs(other.score), method


def test_a_limit_of_the_program_is_not_called_optimal():
    """A limit of three parents on BDeu, by gobnilp itself, makes the proof a note; the search of auto finds more."""
    rng = np.random.default_rng(5)
    values = rng.integers(2, size=(3000, 9))
    values[:, 0] = values[:, 1:5].sum(axis=1) % 2
    table = dagopt.as_table(values.astype(str))
    result = dagopt.learn(table, "gobnilp", score="bdeu", progress=False)
    assert (result.status, result.scope) == ("converged", "all DAGs")
    assert result.limited.scope == "parent sets of size <= 3"
    assert result.score < dagopt.learn(table, score="bdeu", memory_limit="1KB", time_limit=5, progress=False).score


@pytest.mark.parametrize(("agree", "is_hard"), [(False, True), (True, True), (False, False)])
def test_column_generation_goes_on_where_nothing_is_proven(monkeypatch, agree, is_hard):
    """A better DAG of column generation is returned; it comes first if a proof is far away and searches differ."""
    problem = dagopt.learn(dagopt.simulate(6, 300, 1.5, 2).data, "exact", progress=False).problem
    best = dagopt.learn(problem.table, "exact", progress=False)
    nothing = np.zeros((6, 6), dtype=np.int8)
    clock = stopped_after(50)

    def search(*given, **more):
        return Answer(
            "order", nothing, problem.score.total(nothing), "converged", figures=Figures(searches_agree=agree)
        )

    called = []

    def generate(*given, start, **more):
        called.append("generate")
        return Answer("cg-dca", best.adjacency, best.score, "converged")

    def prove(*given, start, **more):
        called.append("prove")
        return Answer("branch-and-cut", start.dag, problem.score.total(start.dag), "converged")

    monkeypatch.setattr(portfolio, "solve_order", search)
    monkeypatch.setattr(portfolio.SmallSets, "listed", lambda *given: False)
    shared = {"random_state": 0, "n_jobs": 1, "start": None}
    run = portfolio.Portfolio(problem, problem.knowledge, shared, clock, NoProgress())
    answer = run.run(prove, goes_on=True, is_hard=is_hard, generate=generate)
    assert called[:2] == (["prove", "generate"] if agree or not is_hard else ["generate", "prove"])
    assert answer.score == pytest.approx(best.score)


@pytest.mark.parametrize("is_ready", [False, True])
def test_exact_without_its_kernels_is_answered_by_hill_climbing(monkeypatch, is_ready):
    """On a new machine hill climbing gives the answer, and exact follows if its kernels are there in time."""
    data = dagopt.simulate(n_nodes=6, n_samples=200, random_state=0).data
    calls = []

    def run_exact(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise ahead.Late
        return plain(*arguments)

    plain = auto.run_exact
    monkeypatch.setattr(auto, "run_exact", run_exact)
    monkeypatch.setattr(ahead, "ready", lambda deadline, method="": is_ready)
    result = dagopt.learn(data, time_limit=30.0)
    assert (result.method, result.status) == (("exact", "optimal") if is_ready else ("hc", "time_limit"))
    assert (ahead.LATE in result.notes) == (not is_ready)


def hard_or_not(monkeypatch, is_hard):
    """Let branch and cut be chosen, where a proof is far away or near."""
    monkeypatch.setattr(
        auto, "choose", lambda problem, *given: auto.Choice("branch-and-cut", "", problem.knowledge, is_hard=is_hard)
    )


@pytest.mark.parametrize(
    ("seconds", "is_hard", "expected"),
    [(60, True, "exact"), (60, False, "branch-and-cut"), (None, True, "branch-and-cut")],
)
def test_exact_that_may_just_end_in_time_follows_the_search(monkeypatch, seconds, is_hard, expected):
    """Three times its estimate is not left, but it is; not where another proof is near, or without a limit."""
    data, _ = dagopt.simulate(8, 300, 1.5, 1)
    steps, order, exact = [], portfolio.solve_order, auto.exact_in_time
    hard_or_not(monkeypatch, is_hard)
    monkeypatch.setattr(auto, "LONG_RECURSION", 0.0)
    monkeypatch.setattr(
        portfolio, "solve_order", lambda *given, **more: steps.append("search") or order(*given, **more)
    )
    monkeypatch.setattr(auto, "exact_in_time", lambda *given: steps.append("exact") or exact(*given))
    result = dagopt.learn(data, time_limit=seconds, progress=False)
    assert (result.method, result.status) == (expected, "optimal")
    assert steps[:2] == (["search", "exact"] if expected == "exact" else ["search"])
    assert result.notes[0].startswith("auto chose branch-and-cut")


def test_an_exact_run_that_would_be_late_leaves_the_time_to_others(monkeypatch):
    """It is begun and given up; what follows is what would have been done without it."""
    data, _ = dagopt.simulate(8, 300, 1.5, 1)
    hard_or_not(monkeypatch, True)
    monkeypatch.setattr(auto, "exact_in_time", lambda *given: None)
    result = dagopt.learn(data, time_limit=20, progress=False)
    assert result.method == "branch-and-cut"
    assert result.score == pytest.approx(dagopt.learn(data, "exact", progress=False).score)


def test_no_prover_begins_after_the_limit(monkeypatch):
    """With a million rows the first step of one takes seconds; the search's answer is returned as it is."""
    problem = dagopt.learn(dagopt.simulate(6, 300, 1.5, 2).data, "exact", progress=False).problem
    order, now = portfolio.solve_order, [0.0]

    def search(*given, **more):
        found = order(*given, **more)
        now[0] = 2.0
        return found

    def prove(*given, **more):
        raise AssertionError("a prover was begun")

    monkeypatch.setattr(portfolio, "solve_order", search)
    shared = {"random_state": 0, "n_jobs": 1, "start": None}
    with Deadline(1.0, lambda: now[0]) as clock:
        run = portfolio.Portfolio(problem, problem.knowledge, shared, clock, NoProgress())
        answer = run.run(prove, goes_on=True, generate=prove)
    assert answer.status == "time_limit"
    assert answer.score == pytest.approx(problem.score.total(answer.adjacency))


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
@pytest.mark.parametrize("looks", [0, 1, 3, 10, 30, 100, 300])
def test_whenever_the_clock_stops_the_best_of_all_is_the_answer(monkeypatch, kind, looks):
    """Every search and the prover may be cut short by a scripted clock: no DAG that one of them found is lost."""
    problem = dagopt.learn(dagopt.simulate(8, 200, 2.0, 4, kind=kind).data, "hc", progress=False).problem
    met = []

    def kept(run):
        def kept_run(*given, **more):
            found = run(*given, **more)
            met.append(problem.score.total(found.adjacency))
            return found

        return kept_run

    monkeypatch.setattr(portfolio, "solve_order", kept(portfolio.solve_order))
    options = dict.fromkeys(("n_jobs", "start")) | {"random_state": 0}
    clock = stopped_after(looks)
    run = portfolio.Portfolio(problem, problem.knowledge, options, clock, NoProgress())
    prover = kept(auto._method("gobnilp" if kind == "discrete" else "branch-and-cut"))
    answer = run.run(prover, goes_on=True, generate=kept(auto._method("cg-dca")))
    assert is_acyclic(answer.adjacency)
    assert answer.score == pytest.approx(problem.score.total(answer.adjacency), abs=1e-8)
    assert answer.score >= max(met) - 1e-8 * abs(max(met))
    if answer.certificate is not None:
        best = dagopt.learn(problem.table, "exact", progress=False)
        assert answer.certificate.bound >= best.score - 1e-6


@pytest.mark.parametrize(("goes_on", "proven"), [(True, True), (False, True), (False, False)])
def test_small_sets_are_searched_unless_a_proof_needs_no_time(monkeypatch, goes_on, proven):
    """Before the prover if there is a time limit; without one, only after a prover that proved nothing."""
    problem = dagopt.learn(dagopt.simulate(6, 300, 1.5, 2).data, "exact", progress=False).problem
    steps = []

    def prove(*given, start, **more):
        steps.append("prove")
        status = "optimal" if proven else "converged"
        return Answer("branch-and-cut", start.dag, problem.score.total(start.dag), status)

    monkeypatch.setattr(portfolio.SmallSets, "listed", lambda *given: steps.append("small sets"))
    shared = {"random_state": 0, "n_jobs": 1, "start": None}
    portfolio.Portfolio(problem, problem.knowledge, shared, Deadline(60), NoProgress()).run(prove, goes_on=goes_on)
    assert steps == (["small sets", "prove"] if goes_on else ["prove", *([] if proven else ["small sets"])])


def test_after_the_prover_searches_take_turns(monkeypatch):
    """Column generation, order search from another seed and small sets, one after the other until the time is over."""
    problem = dagopt.learn(dagopt.simulate(6, 300, 1.5, 2).data, "exact", progress=False).problem
    best = dagopt.learn(problem.table, "exact", progress=False)
    nothing = np.zeros((6, 6), dtype=np.int8)
    steps, now = [], [0.0]

    def answer(dag):
        return Answer("order", dag, problem.score.total(dag), "converged", figures=Figures(searches_agree=True))

    def step(name, dag):
        def run(*given, **more):
            now[0] += 1.0
            steps.append(name if name != "order" else f"order {more['random_state']}")
            return answer(dag)

        return run

    monkeypatch.setattr(portfolio, "solve_order", step("order", nothing))
    monkeypatch.setattr(portfolio.SmallSets, "listed", lambda *given: True)
    last = step("small sets", best.adjacency)
    monkeypatch.setattr(portfolio.SmallSets, "search", lambda self, known, *given: last() and best.adjacency)
    shared = {"random_state": 0, "n_jobs": 1, "start": None}
    with Deadline(8.0, lambda: now[0]) as clock:
        run = portfolio.Portfolio(problem, problem.knowledge, shared, clock, NoProgress())
        found = run.run(step("prove", nothing), goes_on=True, generate=step("generate", nothing))
    turns = ["generate", f"order {portfolio.NEXT_SEED}", "small sets"]
    assert steps == ["order 0", "small sets", "prove", *turns, "generate", f"order {2 * portfolio.NEXT_SEED}"]
    assert found.score == pytest.approx(best.score)


@pytest.mark.parametrize(("is_hard", "share"), [(True, 1.0), (False, portfolio.FIRST_SHARE)])
def test_the_first_search_is_cut_only_where_a_proof_is_near(monkeypatch, is_hard, share):
    """All other searches begin with one that takes as long."""
    run, left = Taking(monkeypatch, lambda steps: 1e6), []
    monkeypatch.setattr(
        portfolio, "solve_order", lambda *given, deadline, **more: left.append(deadline.remaining()) or run.order()
    )
    run.run(100.0, is_hard=is_hard)
    assert left[0] == pytest.approx(100.0 * share)


@pytest.mark.parametrize("lists_all", [False, True])
def test_column_generation_begins_as_it_does_alone(monkeypatch, lists_all):
    """The first time from the start that was given, told of the best DAG; later, and after all sets, from that DAG."""
    run, begins = Taking(monkeypatch, lambda steps: 1e6, better_after=0, rests=True), []

    def generate(*given, start, random_state, beside=None, **more):
        begins.append((start, random_state, beside))
        return Taking.generate(run)

    monkeypatch.setattr(run, "generate", generate)
    run.run(400.0, lists_all=lists_all)
    (start, _, beside), (later, _, none) = begins[:2]
    assert none is None
    assert (later.dag == run.best).all()
    if lists_all:
        assert beside is None
        assert (start.dag == run.best).all()
    else:
        assert begins[0][:2] == (None, 0)
        assert (beside.dag == run.best).all()


@pytest.mark.parametrize(("is_hard", "agree"), [(False, False), (False, True), (True, False)])
def test_where_searches_differ_a_longer_one_follows(monkeypatch, is_hard, agree):
    """From the same starts and with the effort of the one of column generation, unless that follows at once."""
    run, efforts = Taking(monkeypatch, lambda steps: 1e6), []

    def order(*given, start=None, random_state, **effort):
        effort = {name: value for name, value in effort.items() if name in portfolio.THOROUGH}
        efforts.append((random_state, start, effort))
        return replace(run.order(), figures=Figures(searches_agree=agree))

    monkeypatch.setattr(portfolio, "solve_order", order)
    run.run(100.0, is_hard=is_hard)
    assert ((0, None, portfolio.THOROUGH) in efforts) == (not is_hard and not agree)


class Taking:
    """Searches and a prover whose steps take a second each on a scripted clock, and are written down.

    ``bound_after`` says what is proven after so many steps. After so many searches the best DAG is found. The prover
    lets others work after each step, unless ``rests`` is None, and says whether it expects nothing.
    """

    def __init__(self, monkeypatch, bound_after, better_after=10**9, rests=None):
        self.problem = dagopt.learn(dagopt.simulate(6, 300, 1.5, 2).data, "exact", progress=False).problem
        self.best = dagopt.learn(self.problem.table, "exact", progress=False).adjacency
        self.now, self.steps, self.told = 0.0, [], []
        self._bound_after, self._better_after, self._rests = bound_after, better_after, rests
        monkeypatch.setattr(portfolio, "solve_order", self.order)
        monkeypatch.setattr(portfolio.SmallSets, "listed", lambda *given: False)

    def order(self, *given, **more):
        """Search for a second; find the best DAG after so many times."""
        self.now += 1.0
        self.steps.append("search")
        dag = self.best if self.steps.count("search") > self._better_after else 0 * self.best
        return Answer("order", dag, self.problem.score.total(dag), "converged", figures=Figures(searches_agree=True))

    def prove(self, *given, deadline, beside, **more):
        """Prove until it is told to end; the bound is in points above the score without edges."""
        base = self.problem.score.total(0 * self.best)
        while deadline.reason is None:
            self.now += 1.0
            self.steps.append("prove")
            self.told.append(beside.dag)
            beside.bound = base + self._bound_after(self.steps.count("prove"))
            if self._rests is not None:
                beside.rest(self._rests)
        return Answer("branch-and-cut", 0 * self.best, base, "time_limit")

    def run(self, seconds, **more):
        """Return the answer after so many seconds."""
        shared = {"random_state": 0, "n_jobs": 1, "start": None}
        with Deadline(seconds, lambda: self.now) as clock:
            run = portfolio.Portfolio(self.problem, self.problem.knowledge, shared, clock, NoProgress())
            return run.run(self.prove, goes_on=True, generate=self.generate, **more)

    def generate(self, *given, **more):
        """Generate nothing better for a second."""
        self.now += 1.0
        self.steps.append("generate")
        return Answer("cg-dca", 0 * self.best, self.problem.score.total(0 * self.best), "converged")


def test_a_bound_that_falls_keeps_the_time(monkeypatch):
    """Searches in vain have one turn, in which each works once; the prover has all the rest."""
    run = Taking(monkeypatch, lambda steps: 1000.0 - 9.0 * steps)
    run.run(100.0)
    assert run.steps.count("search") + run.steps.count("generate") < 8
    assert run.steps.count("prove") > 90


def test_while_nothing_moves_they_take_turns(monkeypatch):
    """A prover that expects nothing has no share before: searches work longer and longer between its steps."""
    run = Taking(monkeypatch, lambda steps: 1e6, rests=True)
    run.run(400.0)
    text = "".join("p" if step == "prove" else "s" for step in run.steps)
    lengths = [len(turn) for turn in text.strip("p").split("p")]
    assert lengths[:5] == [1, 2, 40, 80, 160]


def test_where_bounds_stand_still_the_searches_have_their_time_at_once(monkeypatch):
    """They work before the prover has had its share, and the prover is told of what they find."""
    run = Taking(monkeypatch, lambda steps: 1e6, better_after=1, rests=False)
    answer = run.run(100.0)
    first = run.steps.index("generate")
    assert run.steps[:first] == ["search", "prove"]
    assert run.told[0] is not run.told[-1]
    assert (run.told[-1] == run.best).all()
    assert answer.score == pytest.approx(run.problem.score.total(run.best))


def test_a_search_that_reaches_the_bound_hands_over_to_the_prover(monkeypatch):
    """Nothing is searched for any more; the prover sees the DAG and ends."""
    run = Taking(monkeypatch, lambda steps: 0.0, better_after=1, rests=False)
    run._bound_after = lambda steps: run.problem.score.total(run.best) - run.problem.score.total(0 * run.best)
    run.run(40.0)
    assert run.steps[:4] == ["search", "prove", "generate", "search"]
    assert set(run.steps[4:]) == {"prove"}


def test_where_all_sets_are_listed_the_search_over_them_goes_on_first(monkeypatch):
    """It comes before column generation, with new seeds, from the best DAG of the prover and over its sets."""
    run, calls = Taking(monkeypatch, lambda steps: 1e6, rests=False), []

    def prove(*given, beside, **more):
        beside.found, beside.pool = run.best, "all sets"
        return Taking.prove(run, *given, beside=beside, **more)

    def better(small, known, clock, seed):
        run.now += 1.0
        run.steps.append("listed")
        calls.append((small._pool, known is run.best, seed))
        return known

    monkeypatch.setattr(portfolio.SmallSets, "listed", lambda *given: True)
    monkeypatch.setattr(portfolio.SmallSets, "better", better)
    monkeypatch.setattr(run, "prove", prove)
    answer = run.run(100.0, lists_all=True)
    assert run.steps[:4] == ["search", "prove", "listed", "generate"]
    assert all(call[:2] == ("all sets", True) for call in calls)
    assert len({seed for *_, seed in calls} | {0}) == len(calls) + 1
    assert answer.score == pytest.approx(run.problem.score.total(run.best))


@pytest.mark.parametrize("name", ["cg-dca", "order"])
def test_a_prover_that_knows_of_no_searches_takes_turns_too(name):
    """It is paused and goes on like any other."""
    problem = dagopt.learn(dagopt.simulate(8, 200, 2.0, 4).data, "hc", progress=False).problem
    shared = {"random_state": 0, "n_jobs": 1, "start": None}
    with Deadline(2.0) as clock:
        run = portfolio.Portfolio(problem, problem.knowledge, shared, clock, NoProgress())
        answer = run.run(auto._method(name), goes_on=True, generate=auto._method("cg-dca"))
    assert answer.score == pytest.approx(problem.score.total(answer.adjacency))


@pytest.mark.parametrize("method", ["gobnilp", "branch-and-cut"])
def test_a_prover_uses_what_is_found_beside_it(monkeypatch, method):
    """A search finds the best DAG while the tree works: its own best one is that, and it proves it."""
    problem = dagopt.learn(dagopt.simulate(8, 200, 2.0, 4).data, "exact", progress=False).problem
    best = dagopt.learn(problem.table, "exact", progress=False)
    beside, given = Beside(), []

    def exchange(found):
        given.append(found)
        return best.adjacency if len(given) > 1 else None

    monkeypatch.setattr(beside, "exchange", exchange)
    monkeypatch.setattr(Families, "near", lambda *given: None)
    monkeypatch.setattr(gobnilp, "best_of_orders", lambda pool, known, *given: known)
    start = StartDag(problem.knowledge.must.astype(np.int8))
    more = {"start": start, "restarts": 0} if method == "gobnilp" else {"start": start, "restarts": 1}
    if method == "branch-and-cut":
        monkeypatch.setattr(branch_and_cut, "order_incumbent", lambda *given, start, **more: (start.dag, []))
    found = auto._method(method)(problem, deadline=Deadline(), progress=NoProgress(), beside=beside, **more)
    assert found.status == "optimal"
    assert found.score == pytest.approx(best.score)
    assert len(given) > 1
