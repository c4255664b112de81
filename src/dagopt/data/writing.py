"""Writing tables, completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pandas as pd

from dagopt.errors import InputError
from dagopt.files import replacing
from dagopt.spreadsheets import safe_cell

__all__ = ["write_frame"]


def write_frame(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a frame as CSV, TSV or Parquet, by the suffix of the path; no partial file is left if it fails.

    Parameters
    ----------
    frame : DataFrame
        The columns; its index is not written.
    path : str or path
        The file to write or replace: ``.csv``, ``.tsv`` or ``.tab``, also with ``.gz``, or ``.parquet``, ``.pq``. In
        text, names and levels that a spreadsheet would run have an apostrophe before them, which ``as_table`` removes.
    """
    name = Path(path).name.lower()
    kind = name.removesuffix(".gz")
    if not kind.endswith((".csv", ".tsv", ".tab", ".parquet", ".pq")):
        raise InputError(f"expected a .csv, .tsv or .parquet file to write but got {str(path)!r}; rename it")
    with replacing(path) as draft:
        if kind.endswith((".parquet", ".pq")):
            _write_parquet(frame, draft, path)
        else:
            compression: Literal["gzip"] | None = "gzip" if name.endswith(".gz") else None
            separator = "," if kind.endswith(".csv") else "\t"
            _without_formulas(frame).to_csv(draft, sep=separator, index=False, compression=compression)


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with names and texts that a spreadsheet does not run."""
    safe = {
        k: column if pd.api.types.is_numeric_dtype(column) else column.astype(object).map(_safe)
        for k, column in ((k, frame.iloc[:, k]) for k in range(frame.shape[1]))
    }
    return pd.DataFrame(safe, index=frame.index).set_axis([_safe(name) for name in frame.columns], axis=1)


def _safe(value: object) -> object:
    return safe_cell(value) if isinstance(value, str) else value


def _write_parquet(frame: pd.DataFrame, draft: Path, path: str | os.PathLike[str]) -> None:
    try:
        frame.to_parquet(draft, index=False)
    except ImportError:
        raise InputError(
            f"writing {str(path)!r} needs pyarrow; install it with: pip install 'dagopt[parquet]'"
        ) from None
