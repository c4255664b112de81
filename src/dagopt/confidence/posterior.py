"""``edge_posterior``: the probability of every edge given the data, averaged over all DAGs, exact or sampled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.data_options import DataOptions
from dagopt.data.findings import Finding
from dagopt.data.html_table import html_of
from dagopt.data.table import read_table
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.graph.dag import Graph
from dagopt.learning.posing import pose_table
from dagopt.learning.score_files import is_score_file
from dagopt.memory import readable
from dagopt.methods.claims import refuse_unbounded
from dagopt.methods.exact.edge_posterior import (
    MOST_NODES,
    PRIORS,
    OrderSums,
    check_prior,
    estimate_order_sums,
    log_prior,
)
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.exact.plan import memory_in_bytes
from dagopt.methods.orders.order import solve_order
from dagopt.methods.orders.order_chains import Agreement, OrderChains
from dagopt.options import with_options
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress, expect, make_progress
from dagopt.scores.prior import PriorScore
from dagopt.scores.score_options import ScoreLike, ScoreName, ScoreOptions
from dagopt.workers import Stopped, Workers

__all__ = ["EdgePosterior", "checked_seed", "edge_posterior", "is_exact", "refuse_unbounded_problem"]

# The score of each kind of table unless one is given.
MARGINAL_LIKELIHOODS: dict[str, ScoreName] = {"continuous": "bge", "discrete": "bdeu"}
METHODS = ("auto", "exact", "sampled")
MOST_EXACT = 25  # columns up to which "auto" sums over all orders: about a minute on one core
LIKELY = 0.5  # probability: more likely there than not
Status = Literal["done", "not_converged", "edges_left_out", "time_limit", "interrupted"]


@dataclass(frozen=True, eq=False)
class EdgePosterior:
    """The probability of every edge.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    probabilities : float array of shape (n, n)
        ``[i, j]`` is the probability of i → j; all NaN if the deadline came first.
    log_evidence : float
        The logarithm of the probability of the data, averaged over all orders and parent sets; with ``lags=`` that of
        the present given the past. NaN if the deadline came first, if the probabilities are sampled, and with
        ``edge_prior=``, whose weights do not sum to one.
    status : {"done", "not_converged", "edges_left_out", "time_limit", "interrupted"}
        Why the run ended; ``not_converged`` if sampling ended before the chains agreed, ``edges_left_out`` if they
        agree but an edge that they cannot have has an estimated probability above 0.05.
    prior : {"fair", "uniform"}
        The prior over parent sets.
    score_label : str
        The score whose exponential is the likelihood.
    seconds : float
        Wall-clock time of the run.
    n_samples : int
        Rows of data.
    findings : tuple of Finding
        The doctor's warnings.
    agreement : Agreement or None
        How well the chains agree if the probabilities are sampled; None if they are exact.
    orders : str
        The orders that are averaged over, in words.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> probable = dagopt.edge_posterior(data)
    >>> probable.table().iloc[0][["from", "to"]].tolist()
    ['X0', 'X2']
    >>> round(float(probable.edges.loc["X0", "X2"]), 3)
    0.503
    """

    names: tuple[str, ...]
    probabilities: NDArray[np.float64]
    log_evidence: float
    status: Status
    prior: str
    score_label: str
    seconds: float = 0.0
    n_samples: int = 0
    findings: tuple[Finding, ...] = ()
    agreement: Agreement | None = None
    orders: str = "all orders of the columns"

    @cached_property
    def edges(self) -> pd.DataFrame:
        """The probability of each edge, from the row to the column.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> probable = dagopt.edge_posterior(data)
        >>> probable.edges.shape
        (4, 4)
        """
        return self._framed(self.probabilities, "from", "to")

    @cached_property
    def skeleton(self) -> pd.DataFrame:
        """The probability that two columns are joined, in either direction.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> probable = dagopt.edge_posterior(data)
        >>> round(float(probable.skeleton.loc["X0", "X2"]), 3)
        1.0
        """
        return self._framed(self.probabilities + self.probabilities.T, None, None)

    def table(self) -> pd.DataFrame:
        """Return one row per edge, the most probable first: ``from``, ``to``, ``probability``, ``joined``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> probable = dagopt.edge_posterior(data)
        >>> probable.table().columns.tolist()
        ['from', 'to', 'probability', 'joined']
        """
        n = len(self.names)
        pairs = np.argwhere(~np.eye(n, dtype=bool))
        probability = self.probabilities[pairs[:, 0], pairs[:, 1]]
        names = np.array(self.names, dtype=object)
        rows = {
            "from": names[pairs[:, 0]],
            "to": names[pairs[:, 1]],
            "probability": probability,
            "joined": probability + self.probabilities[pairs[:, 1], pairs[:, 0]],
        }
        return pd.DataFrame(rows).sort_values("probability", ascending=False, kind="stable", ignore_index=True)

    def graph(self, threshold: float = LIKELY) -> Graph:
        """Return the graph of the pairs that are joined with a probability above the threshold.

        An edge is directed if only one direction is above the threshold, otherwise undirected. The graph summarises
        many DAGs and need not be one of them: three likely edges can close a cycle.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> probable = dagopt.edge_posterior(data)
        >>> probable.graph(0.9)
        <Graph: PDAG, 4 nodes, 3 edges>
        """
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            raise InputError(f"expected threshold= to be a probability from 0 to 1 but got {threshold!r}; 0.5 is usual")
        likely = self.probabilities > threshold
        joined = self.skeleton.to_numpy() > threshold
        return Graph((likely | (joined & ~(likely | likely.T))).astype(np.int8), self.names)

    def summary(self) -> str:
        """Return a short summary: what was averaged, and how many edges are likely.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> probable = dagopt.edge_posterior(data)
        >>> print(probable.summary().splitlines()[0])
        4 columns, 300 rows; all DAGs and all orders of the columns, BGe ...
        """
        n = len(self.names)
        lines = [f"{n} columns, {self.n_samples} rows; all DAGs and {self.orders}, {self.score_label}"]
        if not np.isnan(self.probabilities).any():
            joined = np.triu(self.skeleton.to_numpy(), 1)
            likely, directed = int((joined > LIKELY).sum()), int((self.probabilities > LIKELY).sum())
            lines.append(
                f"edges     {joined.sum():.2f} expected; {likely} of {n * (n - 1) // 2} pairs are joined with "
                f"probability > {LIKELY}, {directed} of them in only one direction"
            )
        if self.agreement is not None:
            lines.append(f"sampled   {self.agreement.told}")
        elif not np.isnan(self.log_evidence):
            lines.append(f"evidence  {self.log_evidence:.4f}  logarithm of the average likelihood")
        lines += [
            f"prior     {self.prior}: these orders are equally likely, and {PRIORS[self.prior]};",
            "          not uniform over DAGs: each DAG counts once for every order it agrees with",
            f"status    {self.status}: {self._plain_status}, {self.seconds:.2f} s",
        ]
        return "\n".join(lines + [f"warning   {finding.message}" for finding in self.findings])

    @property
    def _plain_status(self) -> str:
        if self.agreement is None:
            return _PLAIN_STATUS[self.status]
        stopped = {"time_limit": "stopped by the time limit; ", "interrupted": "stopped by the user; "}
        agree = "agree" if self.agreement.is_reached else "do not agree yet, give more time"
        if not self.agreement.is_covered:
            agree += "; likely edges are left out, as a column has few candidate parents: choose fewer columns="
        return f"{stopped.get(self.status, '')}the probabilities are sampled, and the chains {agree}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> probable = dagopt.edge_posterior(data)
        >>> probable.to_dict()["names"]
        ['X0', 'X1', 'X2', 'X3']
        """
        return {
            "status": self.status,
            "agreement": None if self.agreement is None else asdict(self.agreement),
            "log_evidence": self.log_evidence,
            "prior": self.prior,
            "orders": self.orders,
            "score_label": self.score_label,
            "seconds": self.seconds,
            "n_samples": self.n_samples,
            "names": list(self.names),
            "edges": self.table().to_dict(orient="records"),
            "warnings": [finding.line for finding in self.findings],
        }

    def _framed(self, values: NDArray[np.float64], rows: str | None, columns: str | None) -> pd.DataFrame:
        return pd.DataFrame(values, pd.Index(self.names, name=rows), pd.Index(self.names, name=columns))

    def _repr_html_(self) -> str:
        return html_of(self.summary(), self.table())

    def __str__(self) -> str:
        return self.summary()


_PLAIN_STATUS = {
    "done": "the probabilities are exact",
    "time_limit": "stopped by the time limit; nothing is known",
    "interrupted": "stopped by the user; nothing is known",
}


@with_options(ScoreOptions, DataOptions, leave_out=["score"])
def edge_posterior(
    data: object,
    score: ScoreLike | None = None,
    *,
    prior: str = "fair",
    method: str = "auto",
    random_state: int = 0,
    constraints: Constraints | None = None,
    max_parents: int | None = None,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
    n_jobs: int | None = None,
    memory_limit: int | float | str | None = None,
    **options: Any,
) -> EdgePosterior:
    """Return the probability of every edge given the data: exact up to 25 columns, sampled beyond.

    All DAGs count, each with its likelihood averaged over its parameters and with its prior probability. The prior
    is order-modular: all orders of the columns are equally likely, and given an order, columns choose their
    parents among those before them. So a DAG counts once for every order it agrees with. This is not uniform
    over DAGs, and it weights the members of an equivalence class differently: the probability that two columns are
    joined is more reliable than that of a direction.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``.
    score : str or float, optional
        The logarithm of a marginal likelihood: by default ``"bdeu"`` for discrete data and ``"bge"`` for continuous
        data. The exponential of ``"bic"`` approximates a marginal likelihood.
    prior : {"fair", "uniform"}
        ``fair`` gives every number of parents the same weight, divided among the sets of that size; ``uniform`` gives
        every parent set the same weight, which favours many parents.
    method : {{"auto", "exact", "sampled"}}
        ``exact`` sums over all orders; ``sampled`` averages over walks of several chains through the orders, in which a
        column has at most 14 candidate parents if there are more than about 20 columns. ``auto`` takes ``exact`` for
        up to 25 columns if it fits in memory.
    random_state : int
        The seed of the sampling. Without a time limit, the answer depends on it alone.
    constraints : Constraints, optional
        What is known about the graph; DAGs that it does not allow have probability 0, and so have orders against
        ``before``. The odds of ``edge_prior`` multiply the weights. Orders known from ``before`` or ``lags`` need
        ``exact``.
    max_parents : int, optional
        The largest number of parents of a node, in addition to the constraints.
    time_limit : float, optional
        Seconds. A stopped exact run gives no probabilities, a stopped sampled run those of the walks so far.
    progress : bool, Progress or None
        Whether to show the run; on a terminal by default.
    n_jobs : int, optional
        The number of threads; all cores unless given. The answer does not depend on it.
    memory_limit : int or str, optional
        Bytes, or text such as ``"8GB"``; by default most of the free memory. A problem that needs more is rejected.
    {options}

    Returns
    -------
    EdgePosterior

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.datasets.load("asia", n_samples=2000, random_state=1)
    >>> found = dagopt.edge_posterior(data)
    >>> bool(found.skeleton.loc["smoke", "lung"] > 0.99)
    True

    References
    ----------
    Koivisto, Sood (2004). Exact Bayesian structure discovery in Bayesian networks. JMLR 5.

    Friedman, Koller (2003). Being Bayesian about network structure. Machine Learning 50.
    """
    deadline = Deadline(time_limit)
    if is_score_file(data):
        raise InputError(f"expected data for edge probabilities but {data} holds local scores; give a table")
    check_prior(prior)
    table, findings = read_table(data, DataOptions.taken_from(options))
    if score is None:
        score = MARGINAL_LIKELIHOODS.get(table.kind, "bic")
    scoring = ScoreOptions(score=score, **options)
    problem, diagnosis = pose_table(table, scoring, constraints, max_parents, findings=findings)
    workers = Workers(deadline, make_progress(progress), n_jobs)
    n = problem.n_nodes
    edges, evidence = np.full((n, n), np.nan), np.nan
    agreement: Agreement | None = None
    status: Status | None = "done"
    try:
        with deadline, workers:
            refuse_unbounded_problem(problem, workers)
            if is_exact(problem, method, memory_limit, workers):
                edges, evidence = OrderSums(problem, prior, workers).run()
                evidence = np.nan if isinstance(problem.score, PriorScore) else evidence - problem.past_score
            else:
                chains = OrderChains(problem, log_prior(prior, n), workers, checked_seed(random_state))
                ended = chains.run()
                if not chains.is_empty:
                    edges, agreement = chains.edges(), chains.agreement()
                    status = sampled_status(agreement)
                if not ended:
                    status = deadline.reason
    except Stopped:
        status = deadline.reason
    finally:
        workers.progress.close()
    return EdgePosterior(
        names=table.names,
        probabilities=edges,
        log_evidence=evidence,
        status=status or "done",
        prior=prior,
        score_label=problem.score.label,
        seconds=deadline.elapsed(),
        n_samples=table.n_samples,
        findings=diagnosis.warnings,
        agreement=agreement,
        orders=problem.knowledge.orders,
    )


def sampled_status(agreement: Agreement) -> Status:
    """Return what sampled probabilities are worth: whether the chains agree, and whether they could have all edges."""
    if not agreement.is_reached:
        return "not_converged"
    return "done" if agreement.is_covered else "edges_left_out"


def refuse_unbounded_problem(problem: Problem, workers: Workers) -> None:
    """Raise an error if nearly dependent columns make the score of the best DAG unbounded."""
    if not problem.score.logdets_suffice:  # nearly dependent columns: the best DAG has what is unbounded
        solve = solve_exact if problem.n_nodes <= MOST_EXACT else solve_order
        best = solve(problem, deadline=workers.deadline, progress=NoProgress(), n_jobs=workers.count)
        refuse_unbounded(best, problem)


def checked_seed(random_state: object) -> int:
    """Return a seed, or raise an error."""
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(f"expected random_state= to be a whole number >= 0 but got {random_state!r}; change it")
    return int(random_state)


def is_exact(problem: Problem, method: str, memory_limit: int | float | str | None, workers: Workers) -> bool:
    """Say whether probabilities are summed over all orders; raise an error if that is asked for and does not fit."""
    if method not in METHODS:
        raise InputError(f"expected method= to be 'auto', 'exact' or 'sampled' but got {method!r}; change the option")
    limit = memory_in_bytes(memory_limit)
    if method == "exact":
        refuse_too_large(problem, limit, workers)
    elif method == "sampled" or problem.n_nodes > MOST_EXACT:
        return False
    estimate = estimate_order_sums(problem, limit, workers.count)
    if estimate.fits:
        workers.progress.note(f"edge probabilities by sums over all orders: {estimate}")
        expect(workers.progress, estimate.phases)
    return estimate.fits


def refuse_too_large(problem: Problem, memory_limit: int, workers: Workers) -> None:
    """Raise an error if the sums over all orders do not fit."""
    n = problem.n_nodes
    if n > MOST_NODES:
        raise InputError(
            f"expected at most {MOST_NODES} columns for exact edge probabilities, which are sums over all sets, but "
            f"got {n}; use method='sampled' or choose fewer columns="
        )
    estimate = estimate_order_sums(problem, memory_limit, workers.count)
    if not estimate.fits:
        raise InputError(
            f"the exact edge probabilities of {n} columns need {estimate} but the memory limit is "
            f"{readable(memory_limit)}; use method='sampled', choose fewer columns= or raise memory_limit="
        )
