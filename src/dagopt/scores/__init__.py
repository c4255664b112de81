"""Decomposable scores of DAGs; higher is better, everywhere."""

from dagopt.scores.base import Score
from dagopt.scores.bdeu import BDeuScore
from dagopt.scores.bge import BGeScore
from dagopt.scores.build import SCORES, make_score, score, score_table
from dagopt.scores.cache import RememberedScore
from dagopt.scores.gaussian import GaussianScore
from dagopt.scores.multinomial import MultinomialScore

__all__ = [
    "SCORES",
    "BDeuScore",
    "BGeScore",
    "GaussianScore",
    "MultinomialScore",
    "RememberedScore",
    "Score",
    "make_score",
    "score",
    "score_table",
]
