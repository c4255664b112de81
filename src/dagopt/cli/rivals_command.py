"""The command ``dagopt rivals``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dagopt.cli import flags as shared
from dagopt.cli.knowledge_flags import KnowledgeOptions
from dagopt.cli.output import TABLE_FILES, require_file
from dagopt.cli.show import MOST_SHOWN, print_json, print_summary, print_table
from dagopt.data.data_options import DataOptions
from dagopt.scores.score_options import ScoreOptions

__all__ = ["rivals"]


@shared.with_flags
def rivals(
    data: shared.Data,
    scoring: ScoreOptions,
    knowledge: KnowledgeOptions,
    reading: Annotated[DataOptions, shared.Without("within")],
    within: Annotated[float, typer.Option(min=0.0, help="Points of score that a rival may lack.")] = 3.0,
    most: Annotated[int, typer.Option(min=1, help="The most DAGs to list; all are counted.")] = 100_000,
    time_limit: Annotated[float | None, typer.Option(help="Seconds, for learning and again for the rivals.")] = None,
    jobs: shared.Jobs = None,
    memory_limit: shared.MemoryLimit = None,
    out: Annotated[Path | None, typer.Option(help="Table to write: one row per edge of some rival (.csv).")] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Count and list every graph that scores nearly as much as the best: proven complete.

    **Examples:** `dagopt rivals data.csv --within 3`, `dagopt rivals data.csv --within 1.0986 --out edges.csv`

    Exit code 0; 2 if the input is bad or the time limit came first.
    """
    from dagopt.data.writing import write_frame
    from dagopt.learning.learning import learn

    require_file(out, "--out", TABLE_FILES)
    asked: dict[str, Any] = {**knowledge.known(), **scoring.to_dict(), **reading.to_dict()}
    result = learn(data, time_limit=time_limit, progress=not quiet, **asked)
    running = {"time_limit": time_limit, "n_jobs": jobs, "memory_limit": memory_limit, "progress": not quiet}
    found = result.rivals(within, most=most, **running)
    if out is not None:
        write_frame(found.edges, out)
    if as_json:
        print_json(found.to_dict())
        return
    print_summary(found.summary())
    typer.echo("")
    print_table(found.edges.head(MOST_SHOWN), "Edges")
    if len(found.edges) > MOST_SHOWN:
        typer.echo(f"... and {len(found.edges) - MOST_SHOWN} more; --out or --json has them all")
    if out is not None:
        typer.echo(f"wrote {out}")
