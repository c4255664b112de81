"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = [
    "Bins",
    "Columns",
    "Convention",
    "Data",
    "Discretize",
    "Ess",
    "Json",
    "Kind",
    "Missing",
    "Na",
    "ScoreName",
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
