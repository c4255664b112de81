"""A cheap bound for every DAG: the saturated likelihood minus the smallest penalties.

With L(S) the largest log-likelihood of the columns S and l_i(J) = L(J + i) - L(J), every DAG and every topological
order of it give

    Σ_i l_i(J_i)  ≤  Σ_i l_i(predecessors of i)  =  L(V),

because l_i grows with the set. So no DAG scores more than L(V) minus the penalties of the smallest parent sets. A
marginal likelihood (BDeu, BGe) is an average of likelihoods over the parameters, so it is at most the largest one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dagopt.data.continuous import CovarianceTable
from dagopt.data.table import ContinuousTable, DiscreteTable, MixedTable
from dagopt.deadline import FOREVER, Deadline, Stopped
from dagopt.problem import Problem
from dagopt.results.answer import Answer
from dagopt.results.certificate import Certificate, Source, scope_of, tightest
from dagopt.scores.basis import BasisScore
from dagopt.scores.block_likelihood import below_least_eigenvalue
from dagopt.scores.degenerate_gaussian import DegenerateGaussianScore
from dagopt.scores.gaussian import GaussianScore
from dagopt.scores.joint import JointScore
from dagopt.scores.multinomial import MultinomialScore

__all__ = ["bound_of_sets", "likelihood_bound", "with_likelihood_bound"]

SATURATED: Source = "saturated likelihood"
BY_SETS: Source = "bounds of parent sets"
GAUSSIAN = ("gaussian", "gaussian of standardised columns")
ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of one step of a factorisation, with a margin
MOST_COLUMNS = 1000  # beyond this it would take longer than a short run
FACTORISED_PER_SECOND = 2e9  # columns cubed, to see whether rounding is small enough
MOMENT = 0.5  # seconds that the bound may take after the deadline
OUT_OF_TIME = "no bound: the time was over; set a longer time_limit="
MOST_ROUNDING = 1e-6  # of a logarithm: if columns are so nearly dependent that it is larger, there is no bound


def with_likelihood_bound(answer: Answer, problem: Problem, deadline: Deadline = FOREVER) -> Answer:
    """Return the answer with the bound of the likelihood, if it has none or a weaker one, or with why there is none.

    It comes after the method, perhaps after the deadline, and takes a moment more at most.
    """
    if answer.score is None or answer.status == "optimal":
        return answer
    bound: float | None = None
    source = SATURATED
    if problem.n_nodes <= MOST_COLUMNS:
        clock = Deadline(max(deadline.remaining(), MOMENT))
        try:
            bound = likelihood_bound(problem, clock)
            if bound is None and problem.score.joints is None:
                bound, source = bound_of_sets(problem, clock), BY_SETS
        except Stopped:
            return answer if answer.certificate is not None else answer.noted(OUT_OF_TIME)
    if bound is None:
        return answer if answer.certificate is not None else answer.noted(f"no bound: {_why_none(problem)}")
    limits = np.full(problem.n_nodes, problem.n_nodes - 1)
    scope = scope_of(replace(problem.knowledge, at_most=limits))  # parent limits are not used
    own = Certificate(max(bound, answer.score), scope, source)
    return replace(answer, certificate=tightest(answer.certificate, own))


def _why_none(problem: Problem) -> str:
    """Return why there is neither a saturated likelihood nor a bound of parent sets, and the way out."""
    score, table = problem.score, problem.table
    if problem.n_nodes > MOST_COLUMNS:
        return f"none is computed beyond {MOST_COLUMNS:,} columns; leave some out with exclude="
    if not score.bounds_sets:
        return f"this score has none for parent sets of any size; {score.way_to_bound}"
    columns = score.degree * int(table.sizes.sum())
    if table.n_samples <= columns:
        return (
            f"{table.n_samples:,} rows are predicted perfectly by {columns:,} columns, so that likelihoods have no "
            "limit; give more rows, or leave columns out with exclude="
        )
    return (
        "columns are so nearly determined by others that likelihoods with all of them are not known to rounding; leave "
        "such columns out with exclude="
    )


def bound_of_sets(problem: Problem, deadline: Deadline = FOREVER) -> float | None:
    """Return the sum over the nodes of a bound on all allowed parent sets; None if the score gives none.

    It is what rows with interventions and scores with a ``bound`` of their own have. ``Stopped`` is raised at the
    deadline.
    """
    form = problem.score.block_likelihood
    if form is not None:
        matrices = {id(node.rounding): len(node.matrix) for node in form.nodes}
        if not deadline.has_time_for(sum(size**3 for size in matrices.values()) / FACTORISED_PER_SECOND):
            raise Stopped
    if form is not None and not form.is_searchable:  # rounding is too large for likelihoods with all parents
        return None
    total, size = 0.0, 0.0
    for node in range(problem.n_nodes):
        deadline.require_time()
        must, free = np.flatnonzero(problem.knowledge.must[:, node]), problem.knowledge.free(node)
        most = problem.score.bound(node, must.astype(np.int64), free.astype(np.int64))
        if not np.isfinite(most):
            return None
        total, size = total + most, size + abs(most)
    margin = 0.0 if form is None else problem.n_nodes * form.margin
    return float(total + ROUNDING * problem.n_nodes * size + margin)


def likelihood_bound(problem: Problem, deadline: Deadline = FOREVER) -> float | None:
    """Return a score that no allowed DAG exceeds; None if the score has no likelihood or the columns are dependent.

    Parameters
    ----------
    problem : Problem
        Required and forbidden edges are used: with few allowed parents, the sum over the nodes of the likelihood with
        all allowed parents is smaller than L(V).
    deadline : Deadline
        When that sum is given up; L(V) remains.
    """
    found = _likelihood(problem)
    penalised = problem.score.joints
    if found is None or penalised is None:
        return None
    likelihood, rounding = found
    n = problem.n_nodes
    order = np.arange(n, dtype=np.int64)
    joints = likelihood.joint_chain(order)
    saturated = float(joints[-1] - joints[0])
    may = [np.flatnonzero(problem.knowledge.may[:, i]) for i in range(n)]
    free = sum(map(len, may)) == n * (n - 1)  # then each node's likelihood is at least its part of L(V)
    apart = saturated if free else _apart(likelihood, may, deadline)
    least = sum(penalised.penalty(i, np.flatnonzero(problem.knowledge.must[:, i])) for i in range(n))
    bound = min(saturated, apart) - least
    slack = rounding + ROUNDING * n * (abs(saturated) + abs(least))
    return float(bound + slack) if np.isfinite(bound) else None


def _apart(likelihood: JointScore, may: list[NDArray[np.int64]], deadline: Deadline) -> float:
    """Return the sum of the likelihoods of the nodes with all allowed parents; infinity if there is no time for it."""
    total = 0.0
    for node, parents in enumerate(may):
        if deadline.reason is not None:
            return np.inf
        total += float(likelihood.local_many(np.array([node]), [parents])[0])
    return total


def _likelihood(problem: Problem) -> tuple[JointScore, float] | None:
    """Return the unpenalised likelihood that bounds the score, and the error of its sums."""
    table = problem.table
    if isinstance(problem.score, BasisScore):
        error = _error_of_logs(problem.score.embedding.matrix)
        return None if error is None else (problem.score.unpenalised(), table.n_samples * error)
    if isinstance(table, ContinuousTable) and problem.score.bounding_likelihood in GAUSSIAN:
        error = _error_of_logs(table.correlation)
        if error is None:
            return None
        if problem.score.bounding_likelihood == GAUSSIAN[1]:
            table = CovarianceTable(table.names, table.correlation, table.n_samples)
        return GaussianScore(table, 0.0), table.n_samples * error
    if isinstance(table, DiscreteTable) and problem.score.bounding_likelihood == "multinomial":
        return MultinomialScore(table, 0.0), ROUNDING * table.n_samples * problem.n_nodes
    if isinstance(table, MixedTable) and problem.score.bounding_likelihood == "degenerate gaussian":
        error = _error_of_logs(table.embedding.matrix)
        if error is None:
            return None
        return DegenerateGaussianScore(table, 0.0), table.n_samples * error
    return None


def _error_of_logs(matrix: NDArray[np.float64]) -> float | None:
    """Return a bound on the error of a log-determinant; None if it is above ``MOST_ROUNDING``.

    It rests on a power of two below the least eigenvalue, by Cholesky factors, which are faster than eigenvalues.
    """
    work = ROUNDING * len(matrix) ** 2
    least = below_least_eigenvalue(matrix, work / MOST_ROUNDING)
    return None if least is None else float(work / least)
