"""The command ``dagopt posterior``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagopt.cli import flags as shared
from dagopt.cli.knowledge_flags import KnowledgeOptions
from dagopt.cli.output import TABLE_FILES, graph_suffixes, require_file
from dagopt.cli.show import INTERRUPTED, MOST_SHOWN, print_json, print_summary, print_table
from dagopt.data.data_options import DataOptions
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.options import anything, option
from dagopt.scores.score_options import ScoreOptions

if TYPE_CHECKING:
    from dagopt.confidence.posterior import EdgePosterior

__all__ = ["posterior"]

LEAST_SHOWN = 0.01  # the probability below which an edge is not listed


@dataclass(frozen=True)
class MarginalScoreOptions(ScoreOptions):
    """The marginal likelihood; by default chosen by the kind of the data."""

    score: Any = option(
        None,
        "The logarithm of a marginal likelihood: bdeu or bge; the exponential of bic approximates one.",
        anything("str or float"),
        flag="--score/--penalty",
        metavar="SCORE",
        unset="bdeu or bge, by the data",
    )


@shared.with_flags
def posterior(
    data: shared.Data,
    scoring: MarginalScoreOptions,
    knowledge: KnowledgeOptions,
    reading: DataOptions,
    prior: Annotated[str, typer.Option(help="Weight of parent sets: fair (equal for each size) or uniform.")] = "fair",
    method: Annotated[
        str, typer.Option(help="exact, sampled, or auto: exact up to 25 columns, sampled beyond.")
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="The seed of the sampling.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; a stopped exact run has no answer, a sampled one has what it saw.")
    ] = None,
    jobs: shared.Jobs = None,
    memory_limit: shared.MemoryLimit = None,
    out: Annotated[Path | None, typer.Option(help="Table to write: from, to, probability, joined (.csv).")] = None,
    graph: Annotated[Path | None, typer.Option(help="Graph file for the pairs above the threshold.")] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability above which a pair is in the graph.")
    ] = 0.5,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Show the probability of every edge, over all DAGs and all orders of the columns, exact or sampled.

    **Examples:**

    `dagopt posterior data.csv`

    `dagopt posterior data.csv --prior uniform --max-parents 3 --out edges.csv --graph likely.dot --threshold 0.8`

    Exit code 0; 2 if the input is bad or the time limit came first.
    """
    from dagopt.confidence.posterior import edge_posterior
    from dagopt.data.writing import write_frame
    from dagopt.graph.formats import write_graph

    require_file(out, "--out", TABLE_FILES)
    require_file(graph, "--graph", graph_suffixes())
    found = edge_posterior(
        data,
        prior=prior,
        method=method,
        random_state=seed,
        time_limit=time_limit,
        progress=not quiet,
        n_jobs=jobs,
        memory_limit=memory_limit,
        **knowledge.known(),
        **scoring.to_dict(),
        **reading.to_dict(),
    )
    if found.status == "interrupted" and found.agreement is None:
        raise typer.Exit(INTERRUPTED)
    if found.status == "time_limit" and found.agreement is None:
        raise InputError(f"the time limit of {time_limit:g} s came before the probabilities; raise time_limit=")
    drawn = found.graph(threshold)
    with Deadline():  # a first Ctrl-C does not take away what was found
        if out is not None:
            write_frame(found.table(), out)
        if graph is not None:
            write_graph(drawn, graph)
    if as_json:
        print_json(found.to_dict())
    else:
        _tell(found, [path for path in (out, graph) if path is not None])


def _tell(found: EdgePosterior, files: list[Path]) -> None:
    print_summary(found.summary())
    table = found.table()
    likely = table[table["probability"] >= LEAST_SHOWN]
    typer.echo("")
    print_table(likely.head(MOST_SHOWN), "Edges")
    if len(likely) < len(table) or len(likely) > MOST_SHOWN:
        hidden = len(table) - min(len(likely), MOST_SHOWN)
        typer.echo(f"... and {hidden} edges that are less likely; --out or --json has them all")
    for file in files:
        typer.echo(f"wrote {file}")
