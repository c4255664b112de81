"""The answer of an exact solver: the DAG, its score, what is proven, and what each edge is worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.problem import Problem
from dagopt.results.answer import Answer, worth
from dagopt.results.certificate import Certificate, scope_of
from dagopt.results.figures import Figures

__all__ = ["exact_answer"]


def exact_answer(problem: Problem, adjacency: NDArray[np.int8], note: str, error: float) -> Answer:
    """Return the answer; if scores can be wrong by ``error``, no DAG is better by more than twice that."""
    score = problem.score.total(adjacency)
    return Answer(
        "exact",
        adjacency,
        score,
        "optimal" if error == 0 else "converged",
        Certificate(score + 2 * error, scope_of(problem.knowledge), "subset recursion"),
        notes=(note,),
        figures=Figures(**worth(problem, adjacency)),
    )
