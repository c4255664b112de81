"""Proof files: what ``dagopt.verify`` needs to check a result with code of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dagopt.data.continuous import CovarianceTable
from dagopt.data.row_facts import PLAIN
from dagopt.data.table import DiscreteTable
from dagopt.errors import InputError
from dagopt.files import write_text
from dagopt.graph.order import is_acyclic
from dagopt.problem import Problem
from dagopt.scores.base import Score
from dagopt.scores.bdeu import BDeuScore
from dagopt.scores.gaussian import GaussianScore
from dagopt.scores.multinomial import MultinomialScore
from dagopt.verifier.proof_file import FORMAT, MOST_COLUMNS, digest

if TYPE_CHECKING:
    from dagopt.results.result import Result

__all__ = ["save_proof"]


def save_proof(result: Result, path: str | Path) -> None:
    """Write the claims of a result, or raise an error that says why the checker could not decide them."""
    problem, certificate = result.problem, result.certificate
    if problem is None:
        raise InputError("a proof is about data, but the result has none; learn from the data again")
    if certificate is None or result.score is None or not is_acyclic(result.adjacency):
        raise InputError(f"method {result.method!r} proved nothing about a DAG; use method='auto'")
    _refuse_others(problem)
    known, n, past = problem.knowledge, problem.n_nodes, problem.past_score
    proof = {
        "format": FORMAT,
        "names": list(result.names),
        "n_samples": problem.table.n_samples,
        "sha256": digest(problem.table),
        "scoring": _scoring(problem.score),
        "required": _pairs(result.names, known.must),
        "forbidden": _pairs(result.names, ~known.may & ~np.eye(n, dtype=bool)),
        "max_parents": np.minimum(known.at_most, n - 1).tolist(),
        "edges": _pairs(result.names, result.adjacency),
        "score": result.score + past,
        "bound": certificate.bound + past,
        "rounding": certificate.rounding,
        "optimal": result.status == "optimal",
    }
    write_text(json.dumps(proof, indent=1, ensure_ascii=False) + "\n", path)


def _refuse_others(problem: Problem) -> None:
    """Raise an error if the checker cannot decide claims about such a problem."""
    if problem.n_nodes > MOST_COLUMNS:
        raise InputError(
            f"a proof file is for at most {MOST_COLUMNS} columns, because the checker goes through all sets of them, "
            f"but got {problem.n_nodes}; choose fewer with columns="
        )
    keys = problem.knowledge.path_keys
    if keys:
        raise InputError(
            f"a proof file states conditions on parent sets and cannot state {keys}; save one learned without {keys}, "
            "or with tiers=, forbidden= or required= in its place"
        )
    if problem.knowledge.log_odds is not None:
        raise InputError(
            "a proof file is about the score of the data and cannot state edge_prior=; save one learned without it"
        )
    if type(problem.score) not in (GaussianScore, MultinomialScore, BDeuScore):
        raise InputError(
            "a proof file is for penalised likelihoods of continuous or discrete columns and for BDeu, but the score is"
            f" {problem.score.label!r}; use score='bic' or 'bdeu' and columns of one kind"
        )
    table = problem.table
    if isinstance(table, CovarianceTable) or not table.is_complete or getattr(table, "copies", 1) > 1:
        raise InputError(
            "a proof file needs complete rows, not a covariance, missing cells or survey weights; use missing='drop'"
        )
    if not isinstance(table, DiscreteTable) and table.about is not PLAIN:
        raise InputError("a proof file needs rows without weights= and groups=; repeat the rows instead of weights")


def _scoring(score: Score) -> dict[str, Any]:
    """Return what the checker needs to know about the score."""
    kind = "multinomial"
    if isinstance(score, GaussianScore):
        kind = "gaussian" if score.convention == "paper" else "gaussian-bnlearn"
    if isinstance(score, BDeuScore):
        kind = "bdeu"
    numbers = ("parameter_cost", "edge_cost", "equivalent_sample_size")
    return {"kind": kind, **{name: float(getattr(score, name, 0.0)) for name in numbers}}


def _pairs(names: tuple[str, ...], matrix: Any) -> list[list[str]]:
    return [[names[a], names[b]] for a, b in np.argwhere(matrix)]
