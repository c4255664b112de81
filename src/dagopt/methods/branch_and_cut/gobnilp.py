"""``method="gobnilp"``: the integer program of GOBNILP, solved by cutting planes and, when these stall, by branching.

All parent sets up to a size are scored and those that matter become families; ``branch_and_cut.py`` finds and proves
the best DAG over them. The k best equivalence classes are found one after the other: with c(S) = 1 if some node of S
has the others of S as parents, which is linear in the families, two DAGs are equivalent if and only if they have the
same c on pairs and triples (Studený, Hemmecke and Lindner 2010), so one row excludes a class.

References
----------
Cussens (2011). Bayesian network learning with cutting planes. UAI.
Bartlett, Cussens (2017). Integer linear programming for the Bayesian network structure learning problem. AIJ 244.
Studený, Hemmecke, Lindner (2010). Characteristic imset: a simple algebraic representative of a Bayesian network
structure. PGM.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagopt.arrays import Bools, Dag, Ints
from dagopt.bits import to_bitsets, to_words
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.family_arrays import FamilyArrays
from dagopt.families.jkl import write_jkl
from dagopt.families.listing import MOST_SETS, Candidates, candidate_pool, count_sets
from dagopt.families.pool import Pool
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.lp.rows.clusters import ClusterRows, pair_rows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.local_separation import LARGEST_SIZE
from dagopt.lp.rows.row import Point, Row, RowFinder
from dagopt.methods.branch_and_cut.prefix_search import PrefixSearch
from dagopt.methods.branch_and_cut.tree import BranchAndCut, Outcome, Rules
from dagopt.methods.climbing.hill_climbing import start_dag
from dagopt.methods.exact.best_classes import with_classes
from dagopt.methods.method_options import n_best, n_jobs, random_state, solver, start
from dagopt.options import Options, anything, option, whole
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer, worth
from dagopt.results.certificate import GIVEN_POOL, Certificate, scope_of, tightest
from dagopt.results.figures import Figures
from dagopt.workers import Stopped, Workers, thread_count

__all__ = ["CutOptions", "GobnilpOptions", "best_over_families", "solve_gobnilp", "solve_pool_by_cuts"]


CLUSTERS_PER_ROUND = 30
ROUNDS_BACK = 3  # cutting at a node ends when the last rounds closed less than a share of the gap
NODES_PER_ROUND = 8  # a round of cuts moves few nodes, so one more round back per this many nodes
TRACE_EVERY = 0.2  # seconds between rows of the trace


@dataclass(frozen=True)
class CutOptions(Options):
    """Options of branch and cut over given parent sets."""

    local_size: int = option(
        10,
        "The number of nodes of the largest local cuts; 0 for cluster cuts only, as in GOBNILP.",
        whole(0, LARGEST_SIZE),
    )
    restarts: int = option(100, "The number of random orders that are improved to find a DAG to start from.", whole(0))
    random_state: int = random_state()
    n_jobs: int | None = n_jobs()


@dataclass(frozen=True)
class GobnilpOptions(CutOptions):
    """Options of the integer program of GOBNILP."""

    n_best: int = n_best()
    start: Any = start()
    save_scores: str | Path | None = option(
        None, "Where to write the scored parent sets, as a .jkl file.", anything("path")
    )


@solver(GobnilpOptions)
def solve_gobnilp(problem: Problem, options: GobnilpOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Return the proven best DAG over all parent sets up to a size, the limit on the number of parents.

    Returns
    -------
    Answer
        With ``status="optimal"`` if the gap between bound and score is within the tolerance; at the deadline, the best
        DAG so far with a proven bound.
    """
    n_best = options.n_best
    sets = count_sets(problem.knowledge)
    if sets > MOST_SETS:
        raise InputError(
            f"expected at most {MOST_SETS:,} parent sets to score but the limits on the parents allow {sets:,}; set "
            f"max_parents= (3 or 4)"
        )
    given = None if options.start is None else start_dag(problem, options.start)
    candidates = Candidates(problem.score, problem.knowledge)
    with Workers(deadline, progress, options.n_jobs) as workers:
        finished = candidates.grow(workers)
    pool = candidates.pool()
    note = f"{pool.n_sets:,} of {sets:,} parent sets can be part of a best DAG"
    if not finished:
        return _unfinished(problem, pool, candidates.ceiling(), given, deadline)
    progress.note(note)
    if options.save_scores is not None:
        write_jkl(pool.to_local_scores(), options.save_scores)
    search = _Search(FamilyArrays.of_sets(pool), deadline, progress, options)
    outcome = search.run(given)
    answer = _answer(problem, search, outcome, note)
    if n_best > 1 and answer.status == "optimal":
        classes, complete = _best_classes(problem, answer.adjacency, n_best, deadline, progress, options)
        answer = with_classes(answer, classes, n_best)
        if not complete:
            assert deadline.reason is not None
            answer = replace(answer, status=deadline.reason)
    return answer


@solver(CutOptions)
def solve_pool_by_cuts(pool: Pool, options: CutOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Return the proven best DAG over given candidate parent sets, such as those of a ``.jkl`` file."""
    search = _Search(FamilyArrays.of_sets(pool.without_dominated()), deadline, progress, options)
    outcome = search.run(None)
    proof = Certificate(outcome.bound, GIVEN_POOL, "branch and cut")
    facts: dict[str, Any] = {"trace": search.trace(), "figures": Figures(**_figures(outcome))}
    if outcome.chosen is None:
        if outcome.status == "optimal":
            raise InputError("no DAG can be made of the candidate parent sets; add the empty set of some nodes")
        empty = np.zeros((pool.n_nodes, pool.n_nodes), dtype=np.int8)
        return Answer("gobnilp", empty, None, outcome.status, proof, **facts)
    adjacency = search.families.adjacency(outcome.chosen)
    return Answer("gobnilp", adjacency, outcome.score, outcome.status, proof, **facts)


def best_over_families(
    families: FamilyArrays,
    start: Ints | None,
    deadline: Deadline,
    *,
    local_size: int = 10,
    n_jobs: int = 1,
    random_state: int = 0,
    **more: Any,
) -> Outcome:
    """Run branch and cut with clusters and local cuts, and branching on arcs.

    Parameters
    ----------
    families, start, deadline
        As for ``BranchAndCut``, to which ``more`` is passed on.
    local_size : int
        The number of nodes of the largest local cuts; below 3 there are none.
    n_jobs : int
        The number of threads. The answer does not depend on it.
    random_state : int
        The seed for choosing subsets.
    """
    back = max(ROUNDS_BACK, families.n_nodes // NODES_PER_ROUND)
    with ThreadPoolExecutor(n_jobs) as threads:

        def finders() -> list[RowFinder]:
            local = LocalRows(threads, local_size, random_state, lambda: deadline.reason is not None)
            return [ClusterRows(CLUSTERS_PER_ROUND), local]

        rules = Rules(rounds_back=(back, back))
        first = pair_rows(families, lambda: deadline.reason is not None)

        def finish(point: Point, alive: Bools, score: float) -> tuple[Ints | None, bool]:
            search = PrefixSearch(point, alive, score, deadline, threads, n_jobs)
            return search.run(), search.finished

        if not more.get("rows"):  # rows that the answer must satisfy are not known to the search over prefixes
            more["finish"] = finish
        return BranchAndCut(families, start, deadline, finders, rules, n_jobs=n_jobs, first_rows=first, **more).run()


class _Search:
    """A start by random orders, then branch and cut, and the trace of both."""

    def __init__(self, families: FamilyArrays, deadline: Deadline, progress: Progress, options: CutOptions) -> None:
        self.families = families
        self._deadline = deadline
        self._progress = progress
        self._options = options
        self._rows: list[tuple[float, str, float, float | None]] = []

    def run(self, given: Dag | None) -> Outcome:
        """Return the best DAG over the families."""
        best = self.families.start(given)
        self._progress.update("orders", None)
        rng = np.random.default_rng(self._options.random_state)
        for _ in range(self._options.restarts):
            if self._deadline.reason is not None:
                break
            best = self.families.better(best, self.families.along(rng.permutation(self.families.n_nodes)))
        self._rows.append((self._deadline.elapsed(), "orders", self.families.total(best), None))
        return self.cut(best)

    def cut(self, best: Ints | None, **more: Any) -> Outcome:
        """Run branch and cut from a DAG."""
        options = self._options
        return best_over_families(
            self.families, best, self._deadline, local_size=options.local_size, n_jobs=thread_count(options.n_jobs),
            random_state=options.random_state, tell=self._tell, **more,
        )  # fmt: skip

    def _tell(self, score: float, bound: float, n_nodes: int, n_cuts: int, n_left: int) -> None:
        now = self._deadline.elapsed()
        if len(self._rows) < 2 or now - self._rows[-1][0] > TRACE_EVERY:
            self._rows.append((now, "cutting planes", score, bound))
        facts = {"score": score, "bound": bound, "gap": f"{(bound - score) / max(abs(score), 1e-12):.4%}"}
        self._progress.update("cutting planes", None, **facts, nodes=n_nodes, cuts=n_cuts, families=n_left)

    def trace(self) -> pd.DataFrame:
        """Return the trace."""
        return pd.DataFrame(self._rows, columns=["seconds", "phase", "score", "bound"])


def _figures(outcome: Outcome) -> dict[str, Any]:
    return {
        "n_tree_nodes": outcome.n_nodes,
        "n_cuts": outcome.n_cuts,
        "n_families_left": outcome.n_left,
        "root_bound": outcome.root_bound,
    }


def _answer(problem: Problem, search: _Search, outcome: Outcome, note: str) -> Answer:
    """Return the result of branch and cut."""
    if outcome.chosen is None:  # there was no time to find an order that the required edges allow
        adjacency = problem.knowledge.must.astype(np.int8)
    else:
        adjacency = search.families.adjacency(outcome.chosen)
    score = problem.score.total(adjacency)
    proven = outcome.status == "optimal"
    bound = max(outcome.bound, score) + (Rules.tolerance * max(abs(score), 1.0) if proven else 0.0)  # not searched
    return Answer(
        "gobnilp",
        adjacency,
        score,
        outcome.status,
        Certificate(bound, scope_of(problem.knowledge), "branch and cut"),
        trace=search.trace(),
        notes=(note,),
        figures=Figures(**worth(problem, adjacency), **_figures(outcome)),
    )


def _unfinished(problem: Problem, pool: Pool, ceiling: float, given: Dag | None, deadline: Deadline) -> Answer:
    """Return the DAG of an order over the sets scored so far, with a bound from the bounds on all sets' scores."""
    assert deadline.reason is not None
    dags = [problem.knowledge.must.astype(np.int8)] + ([] if given is None else [given])
    if all(len(own) for own in pool.scores):
        families = FamilyArrays.of_sets(pool)
        chosen = families.start(given)
        dags += [] if chosen is None else [families.adjacency(chosen)]
    scores = [problem.score.total(dag) for dag in dags]
    best = int(np.argmax(scores))
    return Answer(
        "gobnilp",
        dags[best],
        scores[best],
        deadline.reason,
        tightest(Certificate(ceiling, scope_of(problem.knowledge), "bounds of parent sets")),
        notes=("stopped before all parent sets were scored: the bound is a sum of bounds on their scores",),
        figures=Figures(**worth(problem, dags[best])),
    )


def _best_classes(
    problem: Problem, best: Dag, n_best: int, deadline: Deadline, progress: Progress, options: CutOptions
) -> tuple[list[dict[str, Any]], bool]:
    """Return the best classes from the best down, and whether these are all that were asked for or exist.

    Classes one edge away from the best limit how much worse the wanted classes can be, and so which parent sets they
    can have.
    """
    near = _neighbours(problem, best)
    top = problem.score.total(best)
    enough = len(near) >= n_best - 1
    slack = top - near[n_best - 2]["score"] + 1e-6 * max(abs(top), 1.0) if enough else np.inf
    classes: list[dict[str, Any]] = [{"score": top, "adjacency": best, "cpdag": cpdag(best)}]
    try:
        with Workers(deadline, progress, options.n_jobs) as workers:
            families = FamilyArrays.of_sets(candidate_pool(problem.score, problem.knowledge, workers, slack))
    except Stopped:
        return classes, False
    search = _Search(families, deadline, progress, options)
    excluded = {classes[0]["cpdag"].tobytes()}
    while len(classes) < n_best:
        start = next((one["adjacency"] for one in near if one["cpdag"].tobytes() not in excluded), None)
        outcome = search.cut(
            None if start is None else _columns_of(families, start),
            rows=tuple(_without_class(families, one["adjacency"]) for one in classes),
            allowed=lambda chosen: cpdag(families.adjacency(chosen)).tobytes() not in excluded,
        )
        if outcome.status != "optimal":
            return classes, False
        if outcome.chosen is None:
            break
        dag = families.adjacency(outcome.chosen)
        classes.append({"score": problem.score.total(dag), "adjacency": dag, "cpdag": cpdag(dag)})
        excluded.add(classes[-1]["cpdag"].tobytes())
    return classes, True


def _neighbours(problem: Problem, dag: Dag) -> list[dict[str, Any]]:
    """Return the classes, other than the DAG's, of the allowed DAGs that differ in one edge, from the best down."""
    n = problem.n_nodes
    found: dict[bytes, dict[str, Any]] = {cpdag(dag).tobytes(): {}}
    for i, j in combinations(range(n), 2):
        for here, back in ((0, 0), (1, 0), (0, 1)):
            if (dag[i, j], dag[j, i]) == (here, back):
                continue
            other = dag.copy()
            other[i, j], other[j, i] = here, back
            allowed = all(problem.knowledge.allows(k, np.flatnonzero(other[:, k])) for k in (i, j))
            if allowed and is_acyclic(other):
                essential = cpdag(other)
                if essential.tobytes() not in found:
                    score = problem.score.total(other)
                    found[essential.tobytes()] = {"score": score, "adjacency": other, "cpdag": essential}
    return sorted(list(found.values())[1:], key=lambda one: -one["score"])


def _columns_of(families: FamilyArrays, dag: Dag) -> Ints | None:
    """Return the families that are the parent sets of a DAG, None if one is missing."""
    parents = to_words(to_bitsets(dag.T), families.n_nodes)
    places = np.flatnonzero((families.words == parents[families.node]).all(axis=1))
    return places.astype(np.int64) if len(places) == families.n_nodes else None


def _without_class(families: FamilyArrays, dag: Dag) -> Row:
    """Return the row that only the DAGs equivalent to one DAG violate: all others differ in c on a pair or triple.

    With s(S) = 1 where c(S) = 1 for the class and -1 elsewhere, only the class has Σ s(S) c(S) = its number of ones.
    """
    ones = set()
    for i in range(families.n_nodes):
        own = [int(j) for j in np.flatnonzero(dag[:, i])]
        ones |= {frozenset((i, *some)) for size in (1, 2) for some in combinations(own, size)}
    values = np.empty(len(families.node))
    parents, starts = families.listed
    for k, node in enumerate(families.node):
        own = parents[starts[k] : starts[k + 1]].tolist()
        some = (frozenset((int(node), *part)) for size in (1, 2) for part in combinations(own, size))
        values[k] = sum(1.0 if one in ones else -1.0 for one in some)
    places = np.flatnonzero(values)
    return Row(places, values[places], len(ones) - 1.0)
