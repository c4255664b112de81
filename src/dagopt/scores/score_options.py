"""The options of scores: one definition for ``make_score``, ``learn``, the estimators and every command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dagopt.options import Options, anything, number, one_of, option, whole

if TYPE_CHECKING:
    from dagopt.scores.base import Score

__all__ = ["ScoreLike", "ScoreName", "ScoreOptions"]

ScoreName = Literal["auto", "bic", "aic", "loglik", "ebic", "cg", "basis", "bdeu", "bge", "bge-raw"]
ScoreLike: TypeAlias = "ScoreName | float | Score | Callable[..., Any]"  # what ``score=`` may be


@dataclass(frozen=True)
class ScoreOptions(Options):
    """What is maximised."""

    score: ScoreLike = option(
        "auto",
        "The name of a score (auto, bic, ebic, aic, loglik, basis, cg, bdeu, bge, bge-raw), where auto is bic, or ebic "
        "if bic would add more than one edge by chance (continuous and mixed data); a number, the penalty of one "
        "parameter; "
        "or your own score: a sub-class of Score, or a function of a column's name and its parents' names.",
        anything("str, float, Score or callable"),
        flag="--score/--penalty",
        metavar="SCORE",
    )
    convention: str = option(
        "paper",
        "How a penalised Gaussian likelihood counts parameters.",
        one_of("paper", "bnlearn"),
        metavar="NAME",
    )
    equivalent_sample_size: float = option(
        1.0,
        "The weight, in rows, of the prior of BDeu or of the prior mean of BGe.",
        number(),
        flag="--ess",
        metavar="ROWS",
    )
    degree: int = option(
        3,
        "The highest degree of the polynomials of the score basis.",
        whole(1, 8),
        metavar="N",
    )
