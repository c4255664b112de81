"""A problem from data: the table is read, the constraints resolved, the doctor asked, the score made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dagopt.data.chance import chance_finding
from dagopt.data.continuous import CovarianceTable
from dagopt.data.continuous_checks import fewer_rows_than_columns
from dagopt.data.data_options import DataOptions
from dagopt.data.doctor import examine_table
from dagopt.data.findings import Diagnosis, Finding
from dagopt.data.summarise import Told
from dagopt.data.table import DiscreteTable, Table, read_table
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError
from dagopt.families.listing import bounds_the_rest, count_sets, limited, listable
from dagopt.graph.constraints import Constraints
from dagopt.methods.memory_needed import announce_memory
from dagopt.methods.registry import METHODS
from dagopt.networks.checks import checked_names
from dagopt.options import with_options
from dagopt.problem import Problem
from dagopt.progress import Progress, begin_part, expect
from dagopt.scores.base import Score
from dagopt.scores.build import score_of
from dagopt.scores.prior import PriorScore, with_prior
from dagopt.scores.score_options import ScoreOptions

__all__ = ["ROW_SCORES", "covariance_table", "pose", "pose_read", "pose_table", "read_posed", "with_limit"]

ROW_SCORES = ("cg", "basis")  # scores that need every row, so that data are not summarised
WITHOUT_PRIOR = ("pc", "cg-dca-paper", "cg-minlp")  # tests, and pricing of the plain score


@with_options(ScoreOptions, DataOptions)
def pose(
    data: object,
    method: str = "auto",
    *,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    progress: Progress | None = None,
    deadline: Deadline = FOREVER,
    **options: Any,
) -> tuple[Problem, Diagnosis]:
    """Return the problem that ``learn`` solves for these arguments, and the doctor's diagnosis of its table.

    Parameters
    ----------
    data, method, constraints, max_parents
        As in ``learn``; a method may have a default limit on the number of parents.
    progress : Progress, optional
        Where reading and checking are reported.
    deadline : Deadline
        The clock, which covers reading and measuring too.
    {options}
    """
    scoring = ScoreOptions.taken_from(options)
    table, findings = read_posed(data, scoring, DataOptions(**options), progress, deadline)
    return pose_read(table, findings, scoring, method, constraints, max_parents, progress, deadline)


def read_posed(
    data: object, scoring: ScoreOptions, reading: DataOptions, progress: Progress | None, deadline: Deadline
) -> tuple[Table, Sequence[Finding]]:
    """Return the table of the data, and what was found while it was read."""
    begin_part(progress, "reading")
    every_row = not isinstance(scoring.score, str | float | int) or scoring.score in ROW_SCORES
    expect(progress, {"reading": 0.0})
    return read_table(data, reading, deadline=deadline, told=_told(progress), every_row=every_row)


def pose_read(
    table: Table,
    findings: Iterable[Finding],
    scoring: ScoreOptions,
    method: str,
    constraints: Constraints | Mapping[str, Any] | None,
    max_parents: int | None,
    progress: Progress | None,
    deadline: Deadline,
) -> tuple[Problem, Diagnosis]:
    """Return the problem of a table that was read: its pairs of columns are measured now."""
    begin_part(progress, "checking")
    announce_memory(method, table, progress)
    begun = deadline.elapsed()
    if not isinstance(table, DiscreteTable):
        table.measure(deadline)
    deadline.check("the data were measured", 1.0, begun)
    return pose_table(table, scoring, constraints, max_parents, method, findings, deadline)


def _told(progress: Progress | None) -> Told | None:
    """Return what reports the rows that are read."""
    if progress is None:
        return None
    return lambda share, rows: progress.update("reading", share, rows=rows)


def pose_table(
    table: Table,
    scoring: ScoreOptions,
    constraints: Constraints | Mapping[str, Any] | None = None,
    max_parents: int | None = None,
    method: str = "auto",
    findings: Iterable[Finding] = (),
    deadline: Deadline = FOREVER,
) -> tuple[Problem, Diagnosis]:
    """Return the problem of a table, and the doctor's diagnosis of it together with earlier findings."""
    known = Constraints.of(constraints)
    asked = knowledge = with_limit(known, max_parents).resolve(table.names, table.lags)
    score = with_prior(score_of(table, scoring, deadline), knowledge.log_odds)
    if knowledge.log_odds is not None and method in WITHOUT_PRIOR:
        raise InputError(
            f"method {method!r} does not look at edge_prior=, which is part of the score; use another method such as "
            "'auto', or leave edge_prior= out"
        )
    usual = METHODS[method].max_parents
    is_open = max_parents is None and known.max_parents is None
    if usual is not None and is_open and not _bounds_all(score):
        knowledge = listable(knowledge, usual) if knowledge.in_superstructure else limited(knowledge, usual)
    if max_parents is None and known.max_parents is None and (few := fewer_rows_than_columns(table)):
        knowledge, findings = limited(knowledge, few[0]), (*findings, few[1])
    diagnosis = examine_table(table, knowledge.limit, findings, deadline)
    diagnosis.raise_for_errors()
    narrowed = count_sets(knowledge) < count_sets(asked)
    problem = Problem(table, score, knowledge, asked if narrowed else None)
    penalty = problem.score.joints
    if penalty is not None and problem.score.likelihood is not None:
        is_ebic = score.label.startswith("EBIC")
        costs = penalty.parameter_cost, penalty.edge_cost
        by_chance = chance_finding(table.names, penalty.sizes_in(table), *costs, table.lags, is_ebic=is_ebic)
        diagnosis = replace(diagnosis, findings=(*diagnosis.findings, *by_chance))
    return problem, diagnosis


def _bounds_all(score: Score) -> bool:
    """Say whether a prover that lists parent sets needs no limit on their size: the others are bounded."""
    if score.bulk_joints is not None or isinstance(score, PriorScore):
        return score.likelihood == "multinomial"
    return bounds_the_rest(score)


def covariance_table(data: object, covariance: object, names: Sequence[str] | None, n_samples: Any) -> Table:
    """Return the table of a covariance, or raise an error if something is missing or redundant."""
    if data is not None:
        raise InputError("expected data or covariance= but got both; leave one out")
    if covariance is None:
        raise InputError("names= is for covariance=, which was not given; give it, or leave names= out")
    if n_samples is None:
        raise InputError("expected n_samples=, the number of rows behind the covariance, but got none; add it")
    if names is None:
        size = len(np.atleast_1d(np.asarray(covariance)))
        names = [str(name) for name in getattr(covariance, "columns", [f"X{j}" for j in range(size)])]
    return CovarianceTable(checked_names(names), np.asarray(covariance), n_samples)


def with_limit(constraints: Constraints, max_parents: int | None) -> Constraints:
    """Return the constraints with a further limit on the number of parents, if there is one."""
    if max_parents is None:
        return constraints
    limits = constraints.max_parents
    if limits is None:
        return replace(constraints, max_parents=max_parents)
    if isinstance(limits, int):
        return replace(constraints, max_parents=min(limits, max_parents))
    raise InputError("max_parents= is given twice, in the constraints by column and as an option; give it once")
