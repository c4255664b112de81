"""Files of statistics: a zip archive with a JSON head and NumPy arrays, and no rows."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.column_summary import ColumnSummary
from dagopt.data.comoments import CoMoments
from dagopt.data.counts import Counts
from dagopt.data.kept_rows import no_rows
from dagopt.data.statistics import Statistics
from dagopt.errors import InputError, shortened
from dagopt.files import replacing
from dagopt.memory import require_memory

__all__ = ["SUFFIX", "load_statistics", "save_statistics"]

FORMAT = "dagopt statistics 1"
SUFFIX = ".dagstats"
MOMENTS = ("mean", "mean_low", "products", "products_low")


def save_statistics(statistics: Statistics, path: str | os.PathLike[str]) -> Path:
    """Write statistics to a file, without rows; see ``Statistics.save``."""
    path = Path(path)
    path = path if path.suffix else path.with_suffix(SUFFIX)
    whole = statistics.without_rows()
    arrays: dict[str, NDArray[Any]] = {}
    if whole.counts is not None:
        arrays = {"codes": whole.counts.codes, "weights": whole.counts.weights}
    elif whole.moments is not None:
        arrays = {name: getattr(whole.moments, name) for name in MOMENTS}
    head = {
        "format": FORMAT,
        "columns": [vars(column) for column in whole.columns],
        "n_read": whole.n_read,
        "n_incomplete": whole.n_incomplete,
        "longest": 0 if whole.moments is None else whole.moments.longest,
        "growth": 1.0 if whole.moments is None else whole.moments.growth,
        "kinds": dict(whole.kinds),
        "missing": whole.missing,
        "sources": list(whole.sources),
    }
    with replacing(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("head.json", json.dumps(head))
        for name, array in arrays.items():
            held = io.BytesIO()
            np.save(held, array, allow_pickle=False)
            packed.writestr(f"{name}.npy", held.getvalue())
    return path


def load_statistics(path: str | os.PathLike[str]) -> Statistics:
    """Return the statistics of a file that ``save_statistics`` wrote."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(one.file_size for one in packed.infolist())
            require_memory(3 * size, f"the content of {path}")  # packed a thousandfold, a small file can be large
            head = json.loads(packed.read("head.json"))
            if head.get("format") != FORMAT:
                raise InputError(f"expected {path} to hold {FORMAT!r} but got {head.get('format')!r}; save it again")
            arrays = {
                name[:-4]: np.load(io.BytesIO(packed.read(name)), allow_pickle=False)
                for name in packed.namelist()
                if name.endswith(".npy")
            }
        columns = tuple(_column_from(values) for values in head["columns"])
        _check_head(head, columns)
        n_read, n_incomplete = int(head["n_read"]), int(head["n_incomplete"])
        counts = moments = None
        if "codes" in arrays:
            codes, weights = arrays["codes"], arrays["weights"]
            _check_counts(codes, weights, columns, n_read - n_incomplete)
            counts = Counts.of_codes(list(codes), [column.n_slots for column in columns], weights)
        if "mean" in arrays:
            held = {name: arrays[name] for name in MOMENTS}
            longest, growth = int(head["longest"]), float(head["growth"])
            moments = CoMoments(n_read - n_incomplete, **held, longest=longest, growth=growth)
        found = Statistics(
            columns, n_read, n_incomplete, no_rows(len(columns)), False, counts, moments,
            dict(head["kinds"]), str(head["missing"]), tuple(head["sources"]),
        )  # fmt: skip
        if counts is None:
            _check_moments(found)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the path, which is relative to the current folder") from None
    except Exception as error:
        raise InputError(f"cannot read {path} as statistics of dagopt: {error}; save them again") from error
    return found


def _column_from(values: Mapping[str, Any]) -> ColumnSummary:
    levels = values["levels"]
    if levels is not None and not isinstance(levels, list):
        raise InputError(f"expected a list of levels but got {shortened(levels)}")
    numbers = {name: float(values[name]) for name in ("lowest", "highest")}
    return ColumnSummary(**{**values, **numbers, "levels": None if levels is None else tuple(levels)})


def _check_head(head: Mapping[str, Any], columns: Sequence[ColumnSummary]) -> None:
    """Raise an error if what a file says about columns and rows has other types than ``save`` writes."""
    for column in columns:
        texts = (column.name, column.way, column.trouble, column.last)
        truths = (column.is_word, column.whole, column.ordered)
        kinds = ((texts, str), (truths, bool), ((column.missing,), int))
        levels = column.levels or ()
        if not all(isinstance(one, kind) for values, kind in kinds for one in values) or column.missing < 0:
            raise InputError(f"the column {shortened(column.name)} is not described as expected")
        fits = all(isinstance(one, str if column.is_word else int | float) for one in levels)
        if not fits or len(set(levels)) < len(levels) or (column.is_word and column.levels is None):
            raise InputError(f"the levels of {shortened(column.name)} are not words or numbers, each of them once")
    if len({column.name for column in columns}) < len(columns):
        raise InputError("two columns have the same name")
    counted = {name: head[name] for name in ("n_read", "n_incomplete", "longest")}
    if not all(type(value) is int and 0 <= value < 2**53 for value in counted.values()):
        raise InputError(f"expected numbers of rows but got {shortened(counted)}")
    if counted["n_incomplete"] > counted["n_read"] or not 1 <= float(head["growth"]) < np.inf:
        raise InputError("the numbers of rows or the growth of the rounding error cannot be")
    words = [*head["kinds"], *head["kinds"].values(), head["missing"], *head["sources"]]
    if not isinstance(head["sources"], list) or not all(isinstance(one, str) for one in words):
        raise InputError("expected words for kinds, missing cells and sources")


def _check_counts(codes: NDArray[Any], weights: NDArray[Any], columns: Sequence[ColumnSummary], n: int) -> None:
    """Raise an error if the counts of a file do not fit its columns, or do not add up."""
    arity = np.array([column.n_slots for column in columns])
    fits = weights.ndim == 1 and codes.shape == (len(arity), len(weights))
    types = codes.dtype == np.uint16 and weights.dtype == np.int64
    if not fits or not types or not (codes.max(1, initial=0) < arity).all():
        raise InputError("the counts do not fit the columns")
    if weights.min(initial=1) < 1 or weights.max(initial=1) > n or weights.sum() != n:
        raise InputError("the counts do not add up to the number of rows")


def _check_moments(found: Statistics) -> None:
    """Raise an error if the arrays of a file do not fit its columns, or cannot be co-moments."""
    width, n = int(found.starts[-1]), found.n_samples
    m = found.moments
    if m is None or not all(one.shape == (width,) for one in (m.mean, m.mean_low)):
        raise InputError("the co-moments do not fit the columns")
    for one in (m.mean, m.mean_low, m.products, m.products_low):
        if one.dtype != np.float64 or not np.isfinite(one).all():
            raise InputError("the co-moments are not finite numbers")
    for square in (m.products, m.products_low):
        if square.shape != (width, width) or not (square == square.T).all():
            raise InputError("the co-moments are no symmetric matrix of the columns")
    if (m.products.diagonal() < 0).any() or not 1 <= m.longest <= max(n, 1):
        raise InputError("the co-moments cannot be those of so many rows")
