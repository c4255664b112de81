"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Bins",
    "Columns",
    "Convention",
    "Data",
    "Discretize",
    "Ess",
    "Forbidden",
    "Jobs",
    "Json",
    "Kind",
    "KnowledgeFile",
    "MaxParents",
    "Missing",
    "Na",
    "Quiet",
    "Required",
    "ScoreName",
    "Tiers",
    "data_options",
    "listed",
]

Data = Annotated[str, typer.Argument(help="CSV, TSV or Parquet file; - for standard input.", show_default=False)]
Columns = Annotated[str | None, typer.Option(help="Columns to use, separated by commas.", show_default="all")]
Kind = Annotated[str, typer.Option(help="auto, continuous or discrete.")]
Discretize = Annotated[str | None, typer.Option(help="Cut continuous columns: quantile or interval.")]
Bins = Annotated[int, typer.Option(help="Levels of a column that is cut.")]
Missing = Annotated[str, typer.Option(help="Rows with missing cells: error or drop.")]
Na = Annotated[str | None, typer.Option(help="Further spellings of 'missing', separated by commas.")]
ScoreName = Annotated[str, typer.Option("--score", "--penalty", help="bic, aic, loglik, bdeu, bge, or a penalty.")]
Convention = Annotated[str, typer.Option(help="Counting of Gaussian parameters: paper or bnlearn.")]
Ess = Annotated[float, typer.Option(help="Equivalent sample size of bdeu, weight of the mean of bge.")]
MaxParents = Annotated[int | None, typer.Option(min=0, help="The most parents of a column.", show_default="any")]
Required = Annotated[list[str] | None, typer.Option(help="Edges that must be there: 'A->B,C->D'.")]
Forbidden = Annotated[list[str] | None, typer.Option(help="Edges that must not be there: 'B->A'.")]
Tiers = Annotated[str | None, typer.Option(help="Groups in the order of time: 'A,B;C'.")]
KnowledgeFile = Annotated[
    Path | None, typer.Option("--knowledge", help="TOML: required, forbidden, tiers, max_parents.")
]
Jobs = Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No warnings and no progress while it runs.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def data_options(
    columns: str | None, kind: str, discretize: str | None, bins: int, missing: str, na: str | None
) -> dict[str, Any]:
    """Return the options by the names that ``as_table`` gives them."""
    return {
        "columns": None if columns is None else listed(columns),
        "kind": kind,
        "discretize": discretize,
        "bins": bins,
        "missing": missing,
        "na_values": () if na is None else tuple(na.split(",")),
    }


def listed(text: str) -> list[str]:
    """Return the parts between commas, without blanks."""
    return [part.strip() for part in text.split(",") if part.strip()]
