"""``result.effect_posterior``: an effect averaged over all DAGs, by exact or sampled probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagopt.arrays import Floats
from dagopt.bits import members
from dagopt.confidence.posterior import checked_seed, is_exact, refuse_unbounded_problem
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.exact.edge_posterior import OrderSums, check_prior, log_prior
from dagopt.methods.orders.order_chains import OrderChains
from dagopt.networks.effects.effect import checked_pair
from dagopt.networks.effects.mixture import EffectPosterior, effect_mixture
from dagopt.progress import Progress, make_progress
from dagopt.results.result import Result
from dagopt.workers import Stopped, Workers

__all__ = ["effect_posterior"]

NEGLECTED = 1e-6  # probability of the least likely parent sets, whose effects are not estimated
MOST_SETS = 20_000  # maximum number of parent sets whose effects are estimated


def effect_posterior(
    result: Result,
    cause: str,
    outcome: str,
    *,
    level: float = 0.95,
    prior: str = "fair",
    method: str = "auto",
    random_state: int = 0,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | float | str | None = None,
    progress: bool | Progress | None = None,
) -> EffectPosterior:
    """Return the distribution of an effect; see ``Result.effect_posterior``."""
    problem = result.problem
    if problem is None:
        raise InputError("expected a result learned from data but this one has no data; use dagopt.learn")
    check_prior(prior)
    node, _ = checked_pair(problem.table, cause, outcome, level)
    deadline = Deadline(time_limit)
    workers = Workers(deadline, make_progress(progress), n_jobs)
    sampling = ""
    try:
        with deadline, workers:
            refuse_unbounded_problem(problem, workers)
            if is_exact(problem, method, memory_limit, workers):
                masks, shares = OrderSums(problem, prior, workers).parents_of(node)
                sets = [tuple(members(int(mask))) for mask in masks[: _enough(shares)]]
            else:
                chains = OrderChains(
                    problem, log_prior(prior, problem.n_nodes), workers, checked_seed(random_state), node
                )
                chains.run()
                if chains.is_empty:
                    raise Stopped
                sets, shares, each = chains.parents()
                apart = float(np.abs(each - shares).max())
                sampling = f"{chains.agreement().told}; parent sets of {cause} differ by at most {apart:.4f}"
    except Stopped:
        raise InputError(
            f"the probabilities of the parents of {cause!r} were not found before the run was stopped; raise "
            f"time_limit="
        ) from None
    finally:
        workers.progress.close()
    kept = _enough(shares)
    found = effect_mixture(problem.table, cause, outcome, sets[:kept], shares[:kept], level, prior, problem.score.label)
    return replace(found, sampling=sampling, orders=problem.knowledge.orders)


def _enough(shares: Floats) -> int:
    """Return how many of the most probable parent sets count: all but a negligible rest."""
    return min(int(np.searchsorted(np.cumsum(shares), 1 - NEGLECTED)) + 1, len(shares), MOST_SETS)
