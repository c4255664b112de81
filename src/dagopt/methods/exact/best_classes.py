"""The k best scoring Markov equivalence classes, by dynamic programming over subsets.

For every set S the k best classes of DAGs over S are kept. A class over S comes from a class over S - i by a sink
i with parents J, and is a function of these (``kernels/lattice/best_classes.py``), so

* a class of S - i outside its k best is never needed: with the same (i, J), each of the k better ones gives another
  class over S that scores at least as much. The same holds for J outside the k best parent sets of i inside S - i;
* the k best of S are the k best distinct classes over all sinks i and pairs of kept class and kept parent set.

Background knowledge does not change this: only allowed J are listed, so the recursion runs over the allowed DAGs; a
class counts if it has an allowed member, and its score is the best of its allowed members, which the recursion does not
expect to be equal.

With interventions a class has one direction of every edge that they tell (``Score.told_pairs``), and all the above
holds: with one random number per direction the code of a class is still a function of the smaller class and of (i, J).
For a score that equivalent DAGs do not share, every direction is told, and each DAG is its own class.

References
----------
Chen, Tian (2014). Finding the k-best equivalence classes of Bayesian network structures for model averaging. AAAI.
Tian, He, Ram (2010). Bayesian model averaging using the k-best Bayesian network structures. UAI.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Ints
from dagopt.errors import InputError
from dagopt.graph.known_directions import essential_told
from dagopt.integer.layers import each_layer, follow_sinks
from dagopt.kernels.lattice import best_classes as kernels
from dagopt.memory import readable
from dagopt.methods.exact.exact_answer import exact_answer
from dagopt.methods.exact.plan import Estimate
from dagopt.methods.exact.stopped import stopped_answer
from dagopt.methods.exact.subset_dp import all_potentials, potential_tables
from dagopt.problem import Problem
from dagopt.progress import expect
from dagopt.results.answer import Answer
from dagopt.workers import Stopped, Workers

__all__ = ["BestClasses", "estimate_best_classes", "solve_best_classes", "with_classes"]

MOST_NODES = 30  # a set is the bits of a 32-bit integer
CLASSES = (1, 1, 2, 11, 185, 8782, 1_067_825, 312_510_571)  # with 0, 1, 2, ... nodes: no list needs to be longer
DAGS = (1, 1, 3, 25, 543, 29_281, 3_781_503, 1_138_779_265)
TIE = 1e-9  # relative difference up to which two scores count as equal
CLASSES_PER_PIECE = 1 << 13  # so that a piece of work takes some tens of milliseconds
SECONDS_PER_CLASS = 7e-7  # of the k 2^n classes, on one core, measured; only for the estimate
SECONDS_PER_MERGE = 5e-9  # of the k n (n - 1) 2^(n - 2) merged parent sets


def solve_best_classes(problem: Problem, n_best: int, workers: Workers, memory_limit: int) -> Answer:
    """Return the best DAG with the ``n_best`` best equivalence classes in its details.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    n_best : int
        How many classes to return; all if there are fewer.
    workers : Workers
        The threads, the clock and the progress bar; the answer is the same for any number of threads.
    memory_limit : int
        Bytes; a problem that needs more is rejected before anything is allocated.

    Returns
    -------
    Answer
        ``details["best_classes"]`` is a list from the best down: ``score``, ``adjacency`` (a member that
        knowledge allows) and ``cpdag`` of each; ``details["n_classes_tied"]`` says how many of them share the
        best score, to a relative difference of 1e-9.
    """
    if isinstance(n_best, bool) or not isinstance(n_best, int | np.integer) or n_best < 1:
        raise InputError(f"expected n_best= to be a whole number >= 1 but got {n_best!r}; change the option")
    n = problem.n_nodes
    estimate = estimate_best_classes(problem, int(n_best), memory_limit, workers.count)
    if not estimate.fits:
        raise InputError(
            f"the {n_best} best classes for {n} columns need {estimate} but the memory limit is "
            f"{readable(memory_limit)}; lower n_best= (1 needs least), choose fewer columns= or raise memory_limit="
        )
    note = f"the {n_best} best {_kind(problem)[1]}: {estimate}"
    workers.progress.note(note)
    expect(workers.progress, estimate.phases)
    try:
        with workers:
            members = BestClasses(problem, int(n_best), workers).run()
    except Stopped:
        return stopped_answer(problem, workers, note)
    classes = _described(problem, members)
    return with_classes(exact_answer(problem, classes[0]["adjacency"], note, 0.0), problem, classes, int(n_best))


def with_classes(answer: Answer, problem: Problem, classes: list[dict[str, Any]], n_best: int) -> Answer:
    """Return the answer with these best classes, from the best down, in its figures and a summary in its notes."""
    best = classes[0]["score"]
    tied = sum(best - one["score"] <= TIE * max(abs(best), 1.0) for one in classes)
    return answer.with_figures(best_classes=classes, n_classes_tied=tied).noted(
        *_notes(classes, tied, n_best, *_kind(problem))
    )


def estimate_best_classes(problem: Problem, n_best: int, memory_limit: int, cores: int) -> Estimate:
    """Return an estimate of the cost of the k best classes."""
    n = problem.n_nodes
    k, sets = _widths(problem, n_best)
    tables = potential_tables(problem.score)
    n_bytes = (16 + 8 * tables << n) + (k * 33 << n) + (n * sets * 4 << (n - 1)) + cores * (sets * 8 << (n - 1))
    work = SECONDS_PER_CLASS * k * 2.0**n + SECONDS_PER_MERGE * sets * n * (n - 1) * 2.0 ** (n - 2)
    work += 2.0**n * problem.score.seconds_per_potential * tables
    return Estimate("classes", n_bytes, work / cores, n_bytes <= memory_limit and n <= MOST_NODES, cores=cores)


class BestClasses:
    """The recursion for one problem.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    n_best : int
        How many classes k are kept for every set.
    workers : Workers
        The threads, the clock and the progress bar.
    """

    def __init__(self, problem: Problem, n_best: int, workers: Workers) -> None:
        self.n = problem.n_nodes
        self.k, self._sets = _widths(problem, n_best)
        self._score = problem.score
        self._knowledge = problem.knowledge
        self._workers = workers

    def run(self) -> list[NDArray[np.int8]]:
        """Return a member of each of the k best classes, from the best down, or raise ``Stopped``."""
        self._allocate()
        self._potentials = all_potentials(self._score, self._workers)
        self._list_parent_sets()
        self._recursion()
        found = int(np.isfinite(self._classes.values[-1]).sum())
        return [self._read_off(rank) for rank in range(found)]

    def _allocate(self) -> None:
        n, k = self.n, self.k
        self._best = np.empty((n, 1 << (n - 1), self._sets), dtype=np.int32)
        self._classes = kernels.Classes(
            values=np.empty((1 << n, k)),
            codes=np.empty((1 << n, k, 2), dtype=np.int64),
            sinks=np.empty((1 << n, k), dtype=np.int8),
            parents=np.empty((1 << n, k), dtype=np.int32),
            ranks=np.empty((1 << n, k), dtype=np.int32),
        )
        self._classes.values[0] = -np.inf
        self._classes.values[0, 0] = 0.0
        self._classes.codes[0] = 0
        self._random = kernels.RandomCodes(*_random_codes(self._score.told_pairs))

    def _list_parent_sets(self) -> None:
        pieces = [partial(self._list_for, node) for node in range(self.n)]
        self._workers.each("best parents of each node", pieces, len(pieces))

    def _list_for(self, node: int) -> None:
        must, may = (int(masks[node]) for masks in self._knowledge.masks)
        room = np.empty(self._best[node].shape)
        table, most = self._potentials.of(node), int(self._knowledge.at_most[node])
        kernels.best_sets(table, node, must, may, most, self._best[node], room)

    def _recursion(self) -> None:
        sets_per_piece = max(CLASSES_PER_PIECE // self.k, 1)
        each_layer(self._workers, "best classes", self.n, self._extend, smallest=1, sets_per_piece=sets_per_piece)

    def _extend(self, chosen: NDArray[np.int64]) -> None:
        kernels.extend(chosen, self._potentials.tables, self._best, self._classes, self._random)

    def _read_off(self, rank: int) -> NDArray[np.int8]:
        """Return a member of a class of the full set, by following its sinks."""

        def sink_of(left: int) -> tuple[int, int]:
            nonlocal rank
            sink, parents = int(self._classes.sinks[left, rank]), int(self._classes.parents[left, rank])
            rank = int(self._classes.ranks[left, rank])
            return sink, parents

        return follow_sinks(self.n, sink_of)


def _widths(problem: Problem, n_best: int) -> tuple[int, int]:
    """Return how many classes and how many parent sets are kept at most."""
    n, most = problem.n_nodes, DAGS if problem.score.told_pairs.any() else CLASSES
    k = min(n_best, most[n]) if n < len(most) else n_best
    return k, min(k, 1 << (n - 1))


def _kind(problem: Problem) -> tuple[str, str]:
    """Return what a class is called, one and several."""
    if problem.score.has_classes:
        return "equivalence class", "equivalence classes"
    return "DAG", "DAGs"


def _random_codes(told: Bools) -> tuple[Ints, Ints]:
    """Return fixed random numbers for edges and for colliders, the same for (i, a, b) and (i, b, a).

    Those of an edge are the same both ways unless its direction is told.
    """
    n = len(told)
    draw = np.random.default_rng(0x5EED)
    limits = np.iinfo(np.int64)
    edges = draw.integers(limits.min, limits.max, (n, n, 2), endpoint=True)
    colliders = draw.integers(limits.min, limits.max, (n, n, n, 2), endpoint=True)
    lower = np.tri(n, k=-1, dtype=bool)
    same = lower & ~told
    edges[same] = edges.transpose(1, 0, 2)[same]
    colliders[:, lower] = colliders.transpose(0, 2, 1, 3)[:, lower]
    return edges, colliders


def _described(problem: Problem, members: list[NDArray[np.int8]]) -> list[dict[str, Any]]:
    """Return the classes with their essential graphs, in the order of their recomputed scores."""
    classes: list[dict[str, Any]] = [
        {"score": problem.score.total(dag), "adjacency": dag, "cpdag": essential_told(dag, problem.score.told_pairs)}
        for dag in members
    ]
    classes = [one for one in classes if np.isfinite(one["score"])]
    if not classes:
        raise InputError("no DAG with a finite score is allowed; loosen the constraints or the penalty")
    if len({one["cpdag"].tobytes() for one in classes}) < len(classes):
        raise AssertionError("two of the best classes are the same")
    return sorted(classes, key=lambda one: -one["score"])


def _notes(classes: list[dict[str, Any]], tied: int, n_best: int, one: str, several: str) -> list[str]:
    """Return notes on ties and on the number of classes, which have these names."""
    notes = []
    if tied > 1:
        at_least = "at least " if tied == n_best else ""
        notes.append(f"the optimal {one} is not unique: {at_least}{tied} {several.split()[-1]} share the best score")
    elif len(classes) > 1:
        worse = classes[0]["score"] - classes[1]["score"]
        notes.append(f"the optimal {one} is unique: the second best is worse by {worse:.6g}")
    elif n_best > 1:
        notes.append(f"the optimal {one} is unique: no other has an allowed DAG")
    if len(classes) < n_best:
        notes.append(f"{n_best} {several} were asked for, but there are only {len(classes)} that are allowed")
    return notes
