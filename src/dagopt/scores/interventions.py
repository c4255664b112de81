"""Problems with interventional rows: the table of all rows, and a score that ignores each row for its targets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from dagopt.arrays import Bools
from dagopt.data.data_options import DataOptions
from dagopt.data.experiments import frame_of_file
from dagopt.data.table import ContinuousTable, DiscreteTable, Table, as_frame, read_table
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError
from dagopt.memory import require_memory
from dagopt.networks.rows import matched
from dagopt.scores.base import Score
from dagopt.scores.build import chosen_score, score_of
from dagopt.scores.interventional import InterventionalScore, target_masks
from dagopt.scores.score_options import ScoreOptions

__all__ = ["interventional_score"]

BYTES = 8  # of a number
LEAST_MEASURED = 0.3  # seconds from which what is left is estimated
HOPELESS = 2.0  # times the time left that the rest must be expected to take before it is given up


def interventional_score(
    data: object,
    interventions: object,
    scoring: ScoreOptions,
    reading: DataOptions,
    deadline: Deadline = FOREVER,
) -> tuple[Table, InterventionalScore]:
    """Return the table of all rows, and the score in which a row does not count for the columns that it sets.

    Parameters
    ----------
    data : path, frame or array
        The data, one row per observation.
    interventions : str or sequence
        The column of the file or frame that has each row's targets, which is then not part of the graph; or the targets
        of each row. See ``target_masks``.
    scoring, reading
        How to score, and how to read.
    deadline : Deadline
        When to give up: the pairs of columns are measured once more for every column that some rows set. That is not
        begun if memory does not suffice, and given up as soon as the first ones show that there is no time for it.
    """
    if isinstance(data, ContinuousTable | DiscreteTable):
        raise InputError("interventions= needs the original rows but got a Table; give the frame or the file")
    if reading.weights is not None or reading.groups is not None:
        raise InputError(
            "interventions= cannot be combined with weights= or groups=; repeat the rows instead of weights"
        )
    if reading.missing == "drop":
        raise InputError("interventions= needs one target per row but missing='drop' leaves rows out; drop them first")
    if isinstance(interventions, str):
        if isinstance(data, str | Path):
            data = frame_of_file(data, reading.na_values, deadline)
        if not isinstance(data, pd.DataFrame) or interventions not in data.columns:
            raise InputError(
                f"expected interventions= to be a column of the data or one entry per row but got {interventions!r}"
            )
        targets: Iterable[object] = data[interventions].astype(object)
        data = data.drop(columns=interventions)
    elif isinstance(interventions, Iterable):
        targets = interventions
    else:
        raise InputError(f"expected interventions= to be a column or one entry per row but got {interventions!r}")
    frame = as_frame(data, deadline, **reading.to_dict())
    plain = replace(reading, columns=None, exclude=None, discretize=None)
    masks = target_masks(targets, [str(name) for name in frame.columns], len(frame))
    table, _ = read_table(frame, plain, doctor=False, deadline=deadline)
    if not isinstance(table, DiscreteTable):
        _require_room(masks)
    chosen, reason = chosen_score(table, scoring.score)  # the same for all parts
    asked = replace(scoring, score=chosen)
    whole = _measured(table, asked, deadline)
    parts: list[Score] = [whole] * len(table.names)
    begun, setting = deadline.elapsed(), np.flatnonzero(masks.any(axis=0)).tolist()
    for done, node in enumerate(setting):
        _require_time(done, len(setting), begun, deadline)
        rows, _ = read_table(frame[~masks[:, node]], plain, doctor=False, deadline=deadline)
        parts[node] = _measured(matched(rows, table.names, table), asked, deadline)
    made = InterventionalScore(whole, parts, np.unique(masks, axis=0))
    made.reason = reason
    return table, made


def _measured(table: Table, scoring: ScoreOptions, deadline: Deadline) -> Score:
    """Return the score of a table, whose pairs of columns are measured by the clock."""
    if not isinstance(table, DiscreteTable):
        table.measure(deadline)
    return score_of(table, scoring, deadline)


def _require_room(masks: Bools) -> None:
    """Raise an error if the pairs of columns do not fit into memory, once for every column that some rows set."""
    n, setting = masks.shape[1], int(masks.any(axis=0).sum())
    about = f"the pairs of {n:,} columns, measured once for each of {setting:,} that some rows set,"
    require_memory(BYTES * n**2 * (1 + setting), about)


def _require_time(done: int, count: int, begun: float, deadline: Deadline) -> None:
    """Raise an error if the columns that some rows set cannot be measured in time, by what the first ones took."""
    doing = "the rows that do not set each column were measured"
    deadline.check(doing, done / count, begun)
    taken, left = deadline.elapsed() - begun, deadline.remaining()
    if done and taken > LEAST_MEASURED and taken / done * (count - done) > HOPELESS * left:
        needed = math.ceil(begun + taken / done * count)
        raise InputError(
            f"{count:,} columns are set by some rows, and measuring the other rows for each of them takes about "
            f"{needed:,} s, more than the time limit; set time_limit= well above that, or give fewer columns="
        )
