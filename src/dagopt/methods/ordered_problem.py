"""Problems in which the order of some columns is known, as problems with required edges: see ``scores/ordered.py``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dagopt.arrays import Dag
from dagopt.errors import InputError
from dagopt.graph.knowledge import Knowledge
from dagopt.methods.start import StartDag
from dagopt.options import Options
from dagopt.problem import Problem
from dagopt.results.answer import Answer, worth
from dagopt.scores.ordered import OrderedScore, ordered_knowledge

__all__ = ["Ordered", "in_order", "refuse_ancestors", "refuse_order"]

WITHOUT_ORDER = ("pc", "mmhc", "cg-dca", "cg-dca-paper", "cg-minlp")  # tests, and pricing of the plain score


@dataclass(frozen=True, eq=False)
class Ordered:
    """A problem with required edges instead of an order, and the way back."""

    problem: Problem
    score: OrderedScore
    original: Problem

    def begun(self, options: Options) -> Options:
        """Return the options of the method with a start that has the added edges."""
        begin = getattr(options, "start", None)
        if not isinstance(begin, StartDag):
            return options
        dag: Dag = begin.dag | self.original.knowledge.added
        return options.with_checked(start=StartDag(dag.astype(np.int8)))

    def plain(self, answer: Answer) -> Answer:
        """Return the answer without the added edges that do not count."""
        dag = self.score.plain(answer.adjacency)
        score = None if answer.score is None else self.original.score.total(dag)
        return replace(answer, adjacency=dag, score=score).with_figures(**worth(self.original, dag))


def in_order(problem: Problem, method: str, options: Any) -> Ordered | None:
    """Return the problem that a method is to solve if the order of columns is known, None if it is not."""
    if problem.knowledge.before is None:
        return None
    if method in WITHOUT_ORDER:
        raise InputError(
            f"method {method!r} cannot hold before=, which is about paths; use 'auto', 'exact', 'branch-and-cut', "
            "'gobnilp', 'order', 'hc' or 'tabu'"
        )
    if getattr(options, "n_best", 1) != 1:
        raise InputError("the best classes are not listed under before=; leave n_best= or before= out")
    score = OrderedScore(problem.score, problem.knowledge)
    knowledge = ordered_knowledge(problem.knowledge)
    asked = None if problem.asked is None else ordered_knowledge(problem.asked)
    return Ordered(replace(problem, score=score, knowledge=knowledge, asked=asked), score, problem)


def refuse_order(knowledge: Knowledge, what: str) -> None:
    """Raise an error if an order or paths are known, for what assumes that only parent sets are restricted."""
    keys = knowledge.path_keys
    if keys:
        raise InputError(f"{what} compares graphs by their parent sets and cannot hold {keys}; leave {keys} out")


def refuse_ancestors(knowledge: Knowledge, what: str) -> None:
    """Raise an error if paths are known, for what holds an order but not paths."""
    if knowledge.ancestors:
        raise InputError(f"{what} cannot hold ancestors=, which is about paths; leave ancestors= out")
