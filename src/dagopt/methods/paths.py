"""Paths that must be in the graph: the best DAG in which A is an ancestor of B, by branching on required edges.

A path is no condition on parent sets, so the methods do not know of it. The problem without the paths is solved first.
If its DAG lacks the path from A to B, every DAG that has one has an edge A → v that begins it, for some v, and then a
path from v to B unless v is B. So the problem is split into one problem for each v, with the edge A → v required and
the path from v to B instead of that from A. The part with the largest bound comes next. An edge that the DAG has
already changes nothing: the part keeps its DAG and its bound.

A bound on all parts is a bound on all DAGs with the paths, so what is proven for the parts is proven for the whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from dagopt.arrays import Dag, Ints
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.knowledge import Knowledge, reaching
from dagopt.problem import Problem
from dagopt.results.answer import Answer, Status
from dagopt.results.certificate import Certificate, scope_of

__all__ = ["refuse_paths", "with_paths"]

FIRST_SHARE, SHARE = 0.4, 0.2  # of the time that is left, for the problem without paths and for each part
TOLERANCE = 2e-8  # relative; parts that can be better by less are not searched
WITHOUT_PATHS = ("pc", "mmhc")  # they test

Pairs = tuple[tuple[int, int], ...]


@dataclass(order=True)
class _Part:
    """A part of the problem: what is required, the paths that are left, and the answer without these."""

    minus_bound: float
    number: int
    problem: Problem = field(compare=False)
    left: Pairs = field(compare=False)
    answer: Answer = field(compare=False)


def refuse_paths(method: str, options: Any) -> None:
    """Raise an error if a method cannot hold ``ancestors=``."""
    if method in WITHOUT_PATHS:
        raise InputError(
            f"method {method!r} tests independence and cannot hold ancestors=, which is about paths; use 'auto', "
            "'exact', 'branch-and-cut', 'gobnilp', 'order', 'hc', 'tabu' or 'cg-dca'"
        )
    if getattr(options, "n_best", 1) != 1:
        raise InputError("the best classes are not listed under ancestors=; leave n_best= or ancestors= out")
    if getattr(options, "start", None) is not None:
        raise InputError("a search from start= would not follow ancestors=; leave start= or ancestors= out")
    if getattr(options, "checkpoint", None) is not None:
        raise InputError("ancestors= solves several problems, which one file cannot keep; leave checkpoint= out")


def with_paths(problem: Problem, run: Callable[[Problem, Deadline], Answer], deadline: Deadline) -> Answer:
    """Return the best DAG in which all paths of ``problem.knowledge.ancestors`` exist.

    Parameters
    ----------
    problem : Problem
        The problem.
    run : callable
        Solves a problem without its paths, until a deadline.
    deadline : Deadline
        When to stop.
    """
    return _Search(problem, run, deadline).run()


class _Search:
    """The parts that are open, and the best DAG so far."""

    def __init__(self, problem: Problem, run: Callable[[Problem, Deadline], Answer], deadline: Deadline) -> None:
        self._problem = problem
        self._run = run
        self._deadline = deadline
        self._open: list[_Part] = []
        self._best: Answer | None = None
        self._closed = -inf  # the largest bound of the parts that are not open any more
        self._known: dict[bytes, Answer | None] = {}
        self._n_parts = 0

    def run(self) -> Answer:
        """Split the part with the largest bound until no part can be better than the best DAG."""
        pairs = self._problem.knowledge.ancestors
        first = self._solved(self._problem, FIRST_SHARE)
        assert first is not None
        self._push(self._problem, pairs, first)
        while self._open and self._deadline.reason is None:
            part = heapq.heappop(self._open)
            if not self._can_be_better(-part.minus_bound):
                self._closed = max(self._closed, -part.minus_bound)
            elif not self._split(part):
                heapq.heappush(self._open, part)
                break
        return self._answer(first)

    def _split(self, part: _Part) -> bool:
        """Split a part by the first edge of a path that its DAG lacks; False if time ran out on the way."""
        missing = _missing(part.answer.adjacency, part.left)
        if not missing:
            self._closed = max(self._closed, -part.minus_bound)
            return True
        tail, head = missing[0]
        others = tuple(pair for pair in part.left if pair != missing[0])
        for child in _heads(part.problem.knowledge, tail, head):
            known = part.problem.knowledge.requiring(tail, child)
            if known is None:
                continue
            asked = part.problem.asked
            below = replace(
                part.problem, knowledge=known, asked=None if asked is None else asked.requiring(tail, child)
            )
            answer: Answer | None = part.answer
            if not part.answer.adjacency[tail, child]:
                answer = self._solved(below, SHARE)
            if self._deadline.reason is not None:
                return False
            if answer is not None:
                left = others if child == head else (*others, (child, head))
                self._push(below, tuple(dict.fromkeys(left)), answer)
        return True

    def _solved(self, problem: Problem, share: float) -> Answer | None:
        """Return the answer of the problem without its paths; None if there is no DAG."""
        key = np.packbits(problem.knowledge.must).tobytes()
        if key not in self._known:
            left = self._deadline.remaining()
            clock = self._deadline.within(share * left) if isfinite(left) else self._deadline
            self._known[key] = self._run(replace(problem, knowledge=problem.knowledge.without_paths()), clock)
        return self._known[key]

    def _push(self, problem: Problem, left: Pairs, answer: Answer) -> None:
        """Open a part, and keep its DAG if it has all paths and is the best so far."""
        bound = inf if answer.certificate is None else answer.certificate.bound
        if answer.score is None:
            return
        is_better = self._best is None or self._best.score is None or answer.score > self._best.score
        if is_better and self._problem.knowledge.has_paths(answer.adjacency):
            self._best = answer
        self._n_parts += 1
        # Without a bound, the score says which part comes next, and parts that score less are not searched.
        heapq.heappush(self._open, _Part(-min(bound, self._promise(answer)), self._n_parts, problem, left, answer))

    def _promise(self, answer: Answer) -> float:
        """Return the score where nothing is proven, infinity where something is."""
        return inf if answer.certificate is not None or answer.score is None else answer.score

    def _can_be_better(self, bound: float) -> bool:
        score = -inf if self._best is None or self._best.score is None else self._best.score
        return bound > score + TOLERANCE * max(abs(score), 1.0) if isfinite(score) else True

    def _answer(self, first: Answer) -> Answer:
        knowledge = self._problem.knowledge
        best = self._best
        if best is None and self._deadline.reason is None:
            raise InputError(
                f"no DAG has {_in_words(self._problem, knowledge.ancestors)} under the other constraints; remove a "
                "pair of ancestors= or another constraint"
            )
        if best is None:
            dag = _some_dag(knowledge)
            if dag is None:
                raise InputError(
                    f"no DAG with {_in_words(self._problem, knowledge.ancestors)} was found in time; raise time_limit="
                )
            best = first.with_graph(self._problem, dag)
        assert best.score is not None
        bound = max([self._closed, best.score, *(-part.minus_bound for part in self._open)])
        proven = all(one is None or one.certificate is not None for one in self._known.values())
        certificate = None
        if proven and first.certificate is not None:
            certificate = Certificate(bound, scope_of(knowledge), first.certificate.source)
        status: Status = self._deadline.reason or "converged"
        if certificate is not None and not self._can_be_better(bound):
            status = "optimal"
        note = (
            f"{_in_words(self._problem, knowledge.ancestors)}: {len(self._known)} problems with required edges solved"
        )
        return replace(best, certificate=certificate, limited=None, status=status, notes=(*first.notes, note))


def _missing(dag: Dag, pairs: Pairs) -> list[tuple[int, int]]:
    """Return the pairs that no path of a DAG joins."""
    reach = reaching(dag != 0)
    return [(a, b) for a, b in pairs if not reach[a, b]]


def _heads(knowledge: Knowledge, tail: int, head: int) -> Ints:
    """Return the nodes that may follow a node on a path to another, that one first."""
    allowed = np.flatnonzero(knowledge.may[tail])
    order = np.argsort(allowed != head, kind="stable")
    return np.asarray(allowed[order], dtype=np.int64)


def _some_dag(knowledge: Knowledge) -> Dag | None:
    """Return a DAG with the required edges and all paths, each by the fewest edges that fit; None if one does not."""
    known: Knowledge | None = knowledge
    for a, b in knowledge.ancestors:
        assert known is not None
        if reaching(known.must)[a, b]:
            continue
        before: dict[int, int] = {a: a}
        waiting = [a]
        while waiting and b not in before:
            tail = waiting.pop(0)
            for head in _heads(known, tail, b).tolist():
                if head not in before and known.requiring(tail, head) is not None:
                    before[head] = tail
                    waiting.append(head)
        node = b
        while node in before and node != a and known is not None:
            known = known.requiring(before[node], node)
            node = before[node]
        if node != a or known is None:
            return None
    assert known is not None
    return known.must.astype(np.int8)


def _in_words(problem: Problem, pairs: Pairs) -> str:
    """Return the paths in words."""
    names = problem.names
    said = [f"a path from {names[a]!r} to {names[b]!r}" for a, b in pairs[:3]]
    return " and ".join([*said, *([f"{len(pairs) - 3} more"] if len(pairs) > 3 else [])])
