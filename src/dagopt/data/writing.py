"""Writing tables, whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pandas as pd

from dagopt.errors import InputError

__all__ = ["write_frame"]


def write_frame(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as CSV, TSV or Parquet by the suffix of the path; nothing is left if it fails."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"could not write {target}: there is no folder {target.parent}; make it first")
    kind = target.name.lower().removesuffix(".gz")
    beside = target.with_name(f".{secrets.token_hex(8)}{''.join(target.suffixes[-2:])}")
    try:
        if kind.endswith((".csv", ".tsv", ".tab")):
            frame.to_csv(beside, sep="," if kind.endswith(".csv") else "\t", index=False)
        elif kind.endswith((".parquet", ".pq")):
            frame.to_parquet(beside, index=False)
        else:
            raise InputError(f"expected a .csv, .tsv or .parquet file to write but got {target}")
        os.replace(beside, target)
    except ImportError:
        raise InputError(f"writing {target} needs pyarrow; install it with: pip install 'dagopt[parquet]'") from None
    except OSError as error:
        raise InputError(f"could not write {target}: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)
