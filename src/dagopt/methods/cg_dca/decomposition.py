"""Which decomposition g - f belongs to which score: one entry per proposition."""

from __future__ import annotations

from dagopt.errors import InputError
from dagopt.methods.cg_dca.degenerate_gaussian_cost import DegenerateGaussianCost
from dagopt.methods.cg_dca.gaussian_cost import GaussianCost
from dagopt.methods.cg_dca.multinomial_cost import MultinomialCost
from dagopt.methods.cg_dca.reduced_cost import ReducedCost
from dagopt.scores.base import Score
from dagopt.scores.joint import JointScore

__all__ = ["COSTS", "decomposed"]

COSTS: dict[str, type[ReducedCost]] = {
    "gaussian": GaussianCost,
    "multinomial": MultinomialCost,
    "degenerate gaussian": DegenerateGaussianCost,
}


def decomposed(score: Score) -> tuple[JointScore, type[ReducedCost]]:
    """Return a score with its joint and penalty, and the class of its reduced costs; raise if it has no such form."""
    if score.joints is None or score.likelihood not in COSTS:
        raise InputError(
            f"CG-DCA needs a penalised likelihood ('bic', 'aic', 'loglik' or a penalty) but the score is "
            f"{score.label}; choose another score, or method='exact' or 'hc'"
        )
    return score.joints, COSTS[score.likelihood]
