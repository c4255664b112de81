"""Problems with interventional rows: the table of all rows, and a score that ignores each row for its targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagopt.data.data_options import DataOptions
from dagopt.data.experiments import frame_of_file
from dagopt.data.table import ContinuousTable, DiscreteTable, Table, as_frame, as_table
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError
from dagopt.networks.rows import matched
from dagopt.scores.build import chosen_score, make_score
from dagopt.scores.interventional import InterventionalScore, target_masks
from dagopt.scores.score_options import ScoreOptions

__all__ = ["interventional_score"]


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
        When to give up: the pairs of columns are measured once more for every column that some rows set.
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
            data = frame_of_file(data, reading.na_values)
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
    frame = as_frame(data, **reading.to_dict())
    plain = replace(reading, columns=None, exclude=None, discretize=None).to_dict()
    table = as_table(frame, **plain)
    masks = target_masks(targets, table.names, len(frame))
    options: dict[str, Any] = scoring.to_dict()
    options["score"], reason = chosen_score(table, scoring.score)  # the same for all parts
    whole = make_score(table, **options)
    parts, begun = [], deadline.elapsed()
    for node in range(len(table.names)):
        deadline.check("the rows that do not set each column were measured", node / len(table.names), begun)
        kept = ~masks[:, node]
        rows = table if kept.all() else matched(as_table(frame[kept], **plain), table.names, table)
        parts.append(whole if kept.all() else make_score(rows, **options))
    made = InterventionalScore(whole, parts, np.unique(masks, axis=0))
    made.reason = reason
    return table, made
