"""Statistics of a Dask DataFrame, made where its parts are: only the statistics travel."""

from __future__ import annotations

import importlib
from typing import Any

from dagopt.data.batches import batches_of
from dagopt.data.data_options import DataOptions
from dagopt.data.statistics import Statistics
from dagopt.data.summarise import BatchMaker, added
from dagopt.errors import InputError

__all__ = ["summarised_where_they_are"]


def summarised_where_they_are(data: Any, options: DataOptions) -> Statistics:
    """Return the statistics of a Dask DataFrame, each part reduced by the worker that has it."""
    dask: Any = importlib.import_module("dask")

    if not hasattr(data, "to_delayed"):
        raise InputError(f"expected a Dask DataFrame but got a Dask {type(data).__name__}; use .to_dask_dataframe()")
    parts = [dask.delayed(_of_part)(part, options, k) for k, part in enumerate(data.to_delayed())]
    while len(parts) > 1:  # sums are made by the workers, too
        pairs = [dask.delayed(_sum)(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
        parts = pairs
    (found,) = dask.compute(*parts)
    if not found.n_read:
        raise InputError("the Dask DataFrame has no rows; give at least one row of data")
    assert isinstance(found, Statistics)
    return found


def _of_part(frame: Any, options: DataOptions, place: int) -> Statistics:
    """Return the statistics of one part, a pandas frame."""
    maker = BatchMaker(options)
    return added(
        maker.of_columns(batch.names, batch.read(), f"part {place + 1}", place) for batch in batches_of(iter([frame]))
    )


def _sum(first: Statistics, *second: Statistics) -> Statistics:
    """Return the sum of one or two."""
    return added([first, *second])
