"""The command ``dagopt posterior``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dagopt.cli import options as shared
from dagopt.cli.knowledge import constraints_from
from dagopt.cli.show import print_json, print_summary, print_table
from dagopt.errors import InputError

if TYPE_CHECKING:
    from dagopt.evidence.posterior import EdgePosterior

__all__ = ["posterior"]

INTERRUPTED = 130
MOST_EDGES_SHOWN = 60
LEAST_SHOWN = 0.01


def posterior(
    data: shared.Data,
    score: Annotated[
        str | None,
        typer.Option("--score", help="bdeu, bge, bic, aic, or a penalty.", show_default="bdeu or bge, by the data"),
    ] = None,
    prior: Annotated[str, typer.Option(help="Weight of parent sets: fair (by their size) or uniform.")] = "fair",
    convention: shared.Convention = "paper",
    ess: shared.Ess = 1.0,
    max_parents: Annotated[
        int | None, typer.Option(min=0, help="The most parents of a column.", show_default="any")
    ] = None,
    required: Annotated[list[str] | None, typer.Option(help="Edges that must be there: 'A->B,C->D'.")] = None,
    forbidden: Annotated[list[str] | None, typer.Option(help="Edges that must not be there: 'B->A'.")] = None,
    tiers: Annotated[str | None, typer.Option(help="Groups in the order of time: 'A,B;C'.")] = None,
    knowledge: Annotated[Path | None, typer.Option(help="TOML: required, forbidden, tiers, max_parents.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; there is no answer before the end.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="Such as 8GB.", show_default="what is free")] = None,
    out: Annotated[Path | None, typer.Option(help="Table to write: from, to, probability, joined (.csv).")] = None,
    graph: Annotated[Path | None, typer.Option(help="Graph file for the pairs above the threshold.")] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability above which a pair is in the graph.")
    ] = 0.5,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No warnings and no progress while it runs.")] = False,
    columns: shared.Columns = None,
    kind: shared.Kind = "auto",
    discretize: shared.Discretize = None,
    bins: shared.Bins = 3,
    missing: shared.Missing = "error",
    na: shared.Na = None,
    as_json: shared.Json = False,
) -> None:
    """Show the exact probability of every edge, over all DAGs and all orders of the columns.

    **Examples:**

    `dagopt posterior data.csv`

    `dagopt posterior data.csv --prior uniform --max-parents 3 --out edges.csv --graph likely.dot --threshold 0.8`

    Exit code 0; 2 if the input is bad or the time limit came first.
    """
    from dagopt.data.writing import write_frame
    from dagopt.evidence.posterior import edge_posterior
    from dagopt.graph.formats import write_graph

    found = edge_posterior(
        data,
        score,
        prior=prior,
        convention=convention,  # type: ignore[arg-type]
        equivalent_sample_size=ess,
        constraints=constraints_from(required or [], forbidden or [], tiers, knowledge),
        max_parents=max_parents,
        time_limit=time_limit,
        progress=not quiet,
        n_jobs=jobs,
        memory_limit=memory_limit,
        **shared.data_options(columns, kind, discretize, bins, missing, na),
    )
    if found.status == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if found.status == "time_limit":
        raise InputError(f"the time limit of {time_limit:g} s came before the probabilities; raise time_limit=")
    drawn = found.graph(threshold)
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
    print_table(likely.head(MOST_EDGES_SHOWN), "Edges")
    if len(likely) < len(table) or len(likely) > MOST_EDGES_SHOWN:
        hidden = len(table) - min(len(likely), MOST_EDGES_SHOWN)
        typer.echo(f"... and {hidden} edges that are less likely; --out or --json has them all")
    for file in files:
        typer.echo(f"wrote {file}")
