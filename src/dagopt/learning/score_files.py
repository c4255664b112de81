"""Learning from a file of local scores (``.jkl``) instead of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dagopt.data.data_options import DataOptions
from dagopt.deadline import Deadline
from dagopt.errors import InputError, quoted
from dagopt.families.families import Families
from dagopt.families.jkl import read_jkl
from dagopt.graph.constraints import Constraints
from dagopt.methods.claims import in_other_units
from dagopt.methods.registry import FROM_SCORES
from dagopt.progress import Progress, make_progress
from dagopt.results.result import Result, result_of
from dagopt.scores.custom import power_to_usual_size
from dagopt.scores.score_options import ScoreOptions

__all__ = ["is_score_file", "solve_scores"]


def _equal(value: object, default: object) -> bool:
    """Say whether an option has its default; an array has not."""
    return value is default or (not hasattr(value, "__array__") and bool(value == default))


def is_score_file(data: object, format: str | None = None) -> bool:
    """Say whether data are the path of a file of local scores, by its name or because the format is given."""
    named = isinstance(data, str | Path) and Path(data).name.lower().endswith((".jkl", ".jkl.gz"))
    return named or (format == "jkl" and isinstance(data, str | Path))


def solve_scores(
    path: Path,
    method: str,
    given: Mapping[str, Any],
    constraints: Constraints,
    deadline: Deadline,
    progress: bool | Progress | None,
) -> Result:
    """Return the best DAG over the parent sets of a ``.jkl`` file that the constraints allow.

    Parameters
    ----------
    path : Path
        The file.
    method : str
        One of ``FROM_SCORES``.
    given : mapping
        The options; those of data and score must have their defaults.
    constraints : Constraints
        What is known, with the limit on parents.
    deadline : Deadline
        The clock.
    progress : bool, Progress or None
        Whether to show the run.
    """
    if method not in FROM_SCORES:
        raise InputError(
            f"method {method!r} needs data but {path} holds local scores; use method='exact' or, for many nodes, "
            f"method='gobnilp'"
        )
    solver = FROM_SCORES[method].load()
    unsaid = {**ScoreOptions.defaults(), **DataOptions.defaults()}
    options = {name: value for name, value in given.items() if name not in unsaid or not _equal(value, unsaid[name])}
    extra = [name for name in options if name not in solver.options.defaults()]
    if extra:
        raise InputError(f"with the local scores of {path} the option {quoted(extra)} has no meaning; leave it out")
    pool = Families.from_local_scores(read_jkl(path))
    knowledge = constraints.resolve(pool.names)
    if knowledge.path_keys or knowledge.log_odds is not None:
        raise InputError(
            f"before=, ancestors= and edge_prior= need data, but {path} holds local scores; leave them out or give "
            "the data"
        )
    shown = make_progress(progress)
    try:
        with deadline:
            allowed = pool.allowed_by(knowledge)
            power = power_to_usual_size([float(np.abs(allowed.score).max(initial=0.0))])
            taken = solver.options(**options)
            answer = solver(allowed.times(2.0**power), taken, deadline=deadline, progress=shown)
    finally:
        shown.close()
    answer = in_other_units(answer, -power)
    rounding = allowed.rounding(answer.score)
    if answer.certificate is not None:
        answer = replace(answer, certificate=answer.certificate.with_rounding(rounding))
    answer = answer.with_figures(rounding=rounding)
    return result_of(answer, pool.names, "given local scores", seconds=deadline.elapsed())
