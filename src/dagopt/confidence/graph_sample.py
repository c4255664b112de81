"""``result.sample_graphs``: DAGs drawn by their probability, from walks over orders."""

from __future__ import annotations

import numpy as np

from dagopt.confidence.posterior import checked_seed, refuse_unbounded_problem
from dagopt.confidence.rivals import a_dag
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.exact.edge_posterior import check_prior, log_prior
from dagopt.methods.orders.order_chains import OrderChains
from dagopt.progress import Progress, make_progress
from dagopt.results.graph_sample import GraphSample
from dagopt.results.result import Result
from dagopt.workers import Stopped, Workers

__all__ = ["sample_graphs"]

WALKING = 0.8  # share of the time for the walks; the rest is for drawing


def sample_graphs(
    result: Result,
    count: int = 200,
    *,
    prior: str = "fair",
    random_state: int = 0,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> GraphSample:
    """Return drawn DAGs; see ``Result.sample_graphs``."""
    problem = result.problem
    if problem is None:
        raise InputError("expected a result learned from data but this one has no data; use dagopt.learn")
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise InputError(f"expected count= to be a whole number >= 1 but got {count!r}; 200 is usual")
    check_prior(prior)
    seed = checked_seed(random_state)
    deadline = Deadline(time_limit)
    shown = make_progress(progress)
    walking = deadline.within(WALKING * deadline.remaining())
    try:
        with deadline, Workers(walking, shown, n_jobs) as walkers, Workers(deadline, shown, n_jobs) as workers:
            refuse_unbounded_problem(problem, walkers)
            chains = OrderChains(problem, log_prior(prior, problem.n_nodes), walkers, seed, draws=True)
            chains.run()
            if chains.is_empty:
                raise Stopped
            agreement = chains.agreement()
            dags = chains.drawn(int(count), workers)
    except Stopped:
        raise InputError("no graphs were drawn before the run was stopped; raise time_limit= or lower count=") from None
    finally:
        shown.close()
    return GraphSample(
        names=problem.names,
        dags=np.array(dags, dtype=np.int8),
        learned=a_dag(result),
        prior=prior,
        score_label=problem.score.label,
        sampling=agreement.told,
        agrees=agreement.is_reached and agreement.is_covered,
        seconds=deadline.elapsed(),
        problem=problem,
    )
