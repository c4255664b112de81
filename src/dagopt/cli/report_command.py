"""The command ``dagopt report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dagopt.cli import flags as shared
from dagopt.cli.output import require_file
from dagopt.data.data_options import DataOptions
from dagopt.scores.score_options import ScoreOptions

__all__ = ["report"]


@shared.with_flags
def report(
    data: shared.Data,
    scoring: ScoreOptions,
    reading: DataOptions,
    graph: Annotated[
        str, typer.Argument(help="result.json of learn --out, a file with a DAG, or a model string.", metavar="GRAPH")
    ],
    out: Annotated[Path, typer.Option(help="The page to write.", metavar="FILE")] = Path("report.html"),
    with_data: shared.WithData = False,
) -> None:
    """Write the report of a graph on data: of one that was learned before, or of one of your own.

    **Examples:** `dagopt report data.csv results/result.json --with-data`, `dagopt report data.csv mine.dot`
    """
    from dagopt.learning.learning import with_problem
    from dagopt.results.result import Result
    from dagopt.results.saving import is_saved_result

    require_file(out, "--out", (".html", ".htm"))
    asked: dict[str, Any] = scoring.to_dict() | reading.to_dict()
    given = Result.load(graph) if is_saved_result(graph) else graph
    written = with_problem(given, data, **asked).report(out, with_data=with_data)
    typer.echo(f"wrote {written}")
