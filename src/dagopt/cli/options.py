"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "ABOUT_DATA",
    "ABOUT_KNOWLEDGE",
    "ABOUT_OUTPUT",
    "ABOUT_SCORE",
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

# Headings of the help, under which options of one kind stand together.
ABOUT_DATA = "Data"
ABOUT_SCORE = "Score"
ABOUT_KNOWLEDGE = "Knowledge"
ABOUT_OUTPUT = "Output"

Data = Annotated[
    str, typer.Argument(help="CSV, TSV or Parquet file; - for standard input.", show_default=False, metavar="DATA")
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns to use, separated by commas.", show_default="all", metavar="A,B,C", rich_help_panel=ABOUT_DATA
    ),
]
Kind = Annotated[str, typer.Option(help="auto, continuous or discrete.", metavar="KIND", rich_help_panel=ABOUT_DATA)]
Discretize = Annotated[
    str | None,
    typer.Option(
        help="Cut continuous columns: quantile or interval.",
        show_default="no",
        metavar="HOW",
        rich_help_panel=ABOUT_DATA,
    ),
]
Bins = Annotated[int, typer.Option(help="Levels of a column that is cut.", metavar="N", rich_help_panel=ABOUT_DATA)]
Missing = Annotated[
    str, typer.Option(help="Rows with missing cells: error or drop.", metavar="HOW", rich_help_panel=ABOUT_DATA)
]
Na = Annotated[
    str | None,
    typer.Option(
        help="Further spellings of 'missing', separated by commas.", metavar="X,Y", rich_help_panel=ABOUT_DATA
    ),
]
ScoreName = Annotated[
    str,
    typer.Option(
        "--score",
        "--penalty",
        help="bic, aic, loglik, bdeu, bge, or the penalty of a parameter as a number.",
        metavar="SCORE",
        rich_help_panel=ABOUT_SCORE,
    ),
]
Convention = Annotated[
    str,
    typer.Option(
        help="Counting of Gaussian parameters: paper or bnlearn.", metavar="NAME", rich_help_panel=ABOUT_SCORE
    ),
]
Ess = Annotated[
    float,
    typer.Option(
        help="Equivalent sample size of bdeu, weight of the mean of bge.", metavar="ROWS", rich_help_panel=ABOUT_SCORE
    ),
]
MaxParents = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="The most parents of a column.",
        show_default="any",
        metavar="K",
        rich_help_panel=ABOUT_KNOWLEDGE,
    ),
]
Required = Annotated[
    list[str] | None,
    typer.Option(help="Edges that must be there: 'A->B,C->D'.", metavar="EDGES", rich_help_panel=ABOUT_KNOWLEDGE),
]
Forbidden = Annotated[
    list[str] | None,
    typer.Option(help="Edges that must not be there: 'B->A'.", metavar="EDGES", rich_help_panel=ABOUT_KNOWLEDGE),
]
Tiers = Annotated[
    str | None,
    typer.Option(
        help="Groups in the order of time, no edge goes back: 'A,B;C'.",
        metavar="GROUPS",
        rich_help_panel=ABOUT_KNOWLEDGE,
    ),
]
KnowledgeFile = Annotated[
    Path | None,
    typer.Option(
        "--knowledge",
        help="TOML file with required, forbidden, tiers, max_parents.",
        metavar="FILE",
        rich_help_panel=ABOUT_KNOWLEDGE,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(help="Threads.", show_default="all cores", metavar="N"),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No warnings and no progress while it runs.", rich_help_panel=ABOUT_OUTPUT),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.", rich_help_panel=ABOUT_OUTPUT)]


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
