"""Decomposable scores of DAGs; higher is better, everywhere."""

from dagopt.scores.base import Score
from dagopt.scores.bdeu import BDeuScore
from dagopt.scores.bge import BGeScore
from dagopt.scores.build import SCORES, make_score, score, score_table
from dagopt.scores.custom import FunctionScore
from dagopt.scores.gaussian import GaussianScore
from dagopt.scores.joint import JointScore
from dagopt.scores.multinomial import MultinomialScore

__all__ = [
    "SCORES",
    "BDeuScore",
    "BGeScore",
    "FunctionScore",
    "GaussianScore",
    "JointScore",
    "MultinomialScore",
    "Score",
    "make_score",
    "score",
    "score_table",
]
