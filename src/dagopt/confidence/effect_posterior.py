"""``result.effect_posterior``: an effect averaged over all DAGs, by the exact probability of every parent set."""

from __future__ import annotations

import numpy as np

from dagopt.bits import members
from dagopt.confidence.posterior import refuse_too_large
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.claims import refuse_unbounded
from dagopt.methods.exact.edge_posterior import OrderSums, check_prior
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.exact.plan import memory_in_bytes
from dagopt.networks.effects.effect import checked_pair
from dagopt.networks.effects.mixture import EffectPosterior, effect_mixture
from dagopt.progress import NoProgress, Progress, make_progress
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
    refuse_too_large(problem, memory_in_bytes(memory_limit), workers)
    try:
        with deadline, workers:
            if not problem.score.logdets_suffice:  # nearly dependent columns: the best DAG has what is unbounded
                refuse_unbounded(solve_exact(problem, deadline=deadline, progress=NoProgress(), n_jobs=n_jobs), problem)
            masks, shares = OrderSums(problem, prior, workers).parents_of(node)
    except Stopped:
        raise InputError(
            f"the probabilities of the parents of {cause!r} were not found before the run was stopped; raise "
            f"time_limit="
        ) from None
    finally:
        workers.progress.close()
    enough = min(int(np.searchsorted(np.cumsum(shares), 1 - NEGLECTED)) + 1, len(shares), MOST_SETS)
    sets = [tuple(members(int(mask))) for mask in masks[:enough]]
    return effect_mixture(problem.table, cause, outcome, sets, shares[:enough], level, prior, problem.score.label)
