"""What a method returns: its graph, what is proven about it, what happened, and its figures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.graph.order import parent_lists
from dagopt.problem import Problem
from dagopt.results.certificate import Certificate
from dagopt.results.figures import Figures

__all__ = ["Answer", "Status", "worth"]

Status = Literal["optimal", "converged", "time_limit", "interrupted"]


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome of a method; ``learning`` makes the ``Result`` of it.

    Attributes
    ----------
    method : str
        The name of the method.
    adjacency : int8 array of shape (n, n)
        The graph.
    score : float or None
        Its score; None if it has no DAG.
    status : {"optimal", "converged", "time_limit", "interrupted"}
        Why the method ended; ``optimal`` if the certificate leaves no better graph.
    certificate : Certificate or None
        What is proven over all graphs that the user allows.
    limited : Certificate or None
        What is proven over fewer graphs, because the method limited the parent sets by itself.
    trace : DataFrame
        What happened, one row per event.
    notes : tuple of str
        What the method says about its choices.
    figures : Figures
        What it measured.
    """

    method: str
    adjacency: NDArray[np.int8]
    score: float | None
    status: Status
    certificate: Certificate | None = None
    limited: Certificate | None = None
    trace: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: tuple[str, ...] = ()
    figures: Figures = field(default_factory=Figures)

    @property
    def bound(self) -> float | None:
        """The bound of the certificate, None without one."""
        return None if self.certificate is None else self.certificate.bound

    @property
    def scope(self) -> str | None:
        """The graphs that the certificate covers, None without one."""
        return None if self.certificate is None else self.certificate.scope

    def noted(self, *notes: str) -> Answer:
        """Return the answer with further notes at the end."""
        return replace(self, notes=(*self.notes, *notes))

    def with_figures(self, **figures: Any) -> Answer:
        """Return the answer with further figures."""
        return replace(self, figures=replace(self.figures, **figures))

    def under_limit(self) -> Answer:
        """Return the answer of a method that limited the parent sets by itself: its proof is one over fewer graphs."""
        status: Status = "converged" if self.status == "optimal" else self.status
        return replace(self, certificate=None, limited=self.certificate, status=status)

    def with_graph(self, problem: Problem, adjacency: NDArray[np.int8]) -> Answer:
        """Return the answer with another DAG, its score and what its edges are worth."""
        score = None if self.score is None else problem.score.total(adjacency)
        changed = replace(self, adjacency=adjacency, score=score)
        return changed.with_figures(**worth(problem, adjacency))


def worth(problem: Problem, adjacency: NDArray[np.int8]) -> dict[str, Any]:
    """Return every node's score and, for each edge, the score lost when only that edge is removed, as figures."""
    names, score = problem.names, problem.score
    gains = {}
    for i, parents in enumerate(parent_lists(adjacency)):
        here = score.local(i, parents)
        without = score.removals(i, parents) if len(parents) else np.empty(0)
        gains.update({f"{names[j]} -> {names[i]}": float(here - without[j]) for j in parents})
    return {"node_scores": score.table(adjacency), "edge_gain": gains}
