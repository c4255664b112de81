"""The command ``dagopt bootstrap``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dagopt.cli import flags as shared
from dagopt.cli.knowledge_flags import KnowledgeOptions
from dagopt.cli.output import PICTURE_FILES, TABLE_FILES, graph_suffixes, require_file, write_picture
from dagopt.cli.show import MOST_SHOWN, in_flags, print_json, print_summary, print_table
from dagopt.data.data_options import DataOptions
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.scores.score_options import ScoreOptions

if TYPE_CHECKING:
    from dagopt.confidence.agreement import Bootstrap

__all__ = ["bootstrap"]

LEAST_SHOWN = 0.05  # the share of resamples below which an edge is not listed


@shared.with_flags
def bootstrap(
    data: shared.Data,
    scoring: ScoreOptions,
    knowledge: KnowledgeOptions,
    reading: DataOptions,
    resamples: Annotated[int, typer.Option(min=1, help="How many resamples to learn from.")] = 100,
    method: Annotated[str, typer.Option(help="As in learn; auto is exact or order.")] = "auto",
    fraction: Annotated[float, typer.Option(help="Rows per resample, as a share of all rows.")] = 1.0,
    replace: Annotated[bool, typer.Option("--replace/--no-replace", help="Draw rows with replacement or not.")] = True,
    threshold: Annotated[float, typer.Option(help="How often a pair must be joined to be in the consensus.")] = 0.5,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; the resamples done by then count.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same answer.")] = 0,
    jobs: shared.Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Table to write: from, to, strength, directions (.csv).")] = None,
    graph: Annotated[Path | None, typer.Option(help="Graph file for the consensus.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of the consensus (.png, .svg).")] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Learn from many resamples of the rows, and show how often each edge is learned.

    **Examples:**

    `dagopt bootstrap data.csv`

    `dagopt bootstrap data.csv --resamples 200 --out edges.csv --graph consensus.dot --plot consensus.png`

    Exit code 0, also if the time limit ended the run (a message says so); 2 if the input is bad.
    """
    from dagopt.confidence.bootstrap import bootstrap as resampled
    from dagopt.errors import checked_number
    from dagopt.graph.formats import write_graph
    from dagopt.methods.registry import method_name

    require_file(out, "--out", TABLE_FILES)
    require_file(graph, "--graph", graph_suffixes())
    require_file(plot, "--plot", PICTURE_FILES)
    if checked_number("threshold", threshold) > 1:
        raise InputError(f"expected threshold= to be a share, at most 1, but got {threshold}; change the option")
    found = resampled(
        data,
        resamples,
        method=method_name(method),
        fraction=fraction,
        replace=replace,
        random_state=seed,
        n_jobs=jobs,
        time_limit=time_limit,
        progress=not quiet,
        **knowledge.known(),
        **scoring.to_dict(),
        **reading.to_dict(),
    )
    if not quiet:
        for finding in found.result.findings:
            typer.echo(f"warning: {in_flags(finding.line)}", err=True)
    files = [path for path in (out, graph, plot) if path is not None]
    with Deadline():  # a first Ctrl-C does not take away what was found
        if out is not None:
            found.to_csv(out)
        if graph is not None:
            write_graph(found.consensus(threshold), graph)
        if plot is not None:
            write_picture(lambda: found.plot(threshold=threshold), plot)
    if as_json:
        consensus = found.consensus(threshold).directed_edges if found.n_done else []
        edges = [list(edge) for edge in consensus]
        print_json(found.to_dict() | {"consensus": edges, "files": [str(file) for file in files]})
    else:
        _tell(found, threshold, files)


def _tell(found: Bootstrap, threshold: float, files: list[Path]) -> None:
    print_summary(found.summary())
    edges = found.edges
    often = edges[edges["strength"] >= LEAST_SHOWN]
    if len(often):
        typer.echo("")
        shown = often.assign(learned=["yes" if learned else "" for learned in often["learned"]])
        print_table(shown.head(MOST_SHOWN), "Pairs")
    hidden = len(edges) - min(len(often), MOST_SHOWN)
    if hidden > 0:
        typer.echo(f"... and {hidden} pairs that were joined less often; --out or --json has them all")
    if found.n_done:
        consensus = found.consensus(threshold)
        typer.echo(
            f"\nconsensus: {consensus.n_edges} edges of pairs joined in at least {threshold:.0%}; --graph writes it"
        )
    for file in files:
        typer.echo(f"wrote {file}")
