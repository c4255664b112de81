"""The command ``dagopt explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagopt.cli import options as shared
from dagopt.cli.knowledge import constraints_from
from dagopt.cli.output import TABLE_FILES, require_file
from dagopt.cli.show import in_flags, print_json, print_summary, print_table
from dagopt.errors import InputError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

    from dagopt.result import Result

__all__ = ["explain"]


def explain(
    data: shared.Data,
    a: Annotated[str | None, typer.Argument(help="A column; without columns all edges are explained.")] = None,
    b: Annotated[str | None, typer.Argument(help="Another column.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Explain this DAG instead of learning one.")] = None,
    method: Annotated[str, typer.Option(help="How to learn the DAG, as in learn.")] = "auto",
    alternatives: Annotated[
        str, typer.Option(help="How to find the best other DAGs: auto, exact or order (search).")
    ] = "auto",
    score: shared.ScoreName = "bic",
    convention: shared.Convention = "paper",
    ess: shared.Ess = 1.0,
    max_parents: shared.MaxParents = None,
    required: shared.Required = None,
    forbidden: shared.Forbidden = None,
    tiers: shared.Tiers = None,
    knowledge: shared.KnowledgeFile = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds, for learning and again for explaining.")] = None,
    seed: Annotated[int, typer.Option(help="Of the searches.")] = 0,
    jobs: shared.Jobs = None,
    memory_limit: Annotated[str | None, typer.Option(help="Such as 8GB (exact).", show_default="what is free")] = None,
    out: Annotated[Path | None, typer.Option(help="Table to write, of all edges (.csv).")] = None,
    quiet: shared.Quiet = False,
    columns: shared.Columns = None,
    kind: shared.Kind = "auto",
    discretize: shared.Discretize = None,
    bins: shared.Bins = 3,
    missing: shared.Missing = "error",
    na: shared.Na = None,
    as_json: shared.Json = False,
) -> None:
    """Say why two columns are joined, or are not, and what the score loses if it is otherwise.

    **Examples:**

    `dagopt explain data.csv smoke lung`

    `dagopt explain data.csv --out edges.csv`

    `dagopt explain data.csv smoke lung --graph learned.dot --score bdeu`

    Exit code 0; 2 if the input is bad.
    """
    from dagopt.data.table import as_table
    from dagopt.data.writing import write_frame

    if (a is None) != (b is None):
        raise InputError(f"expected two columns to explain, or none for all edges, but got {a!r} alone; name another")
    if a is not None and a == b:
        raise InputError(f"expected two different columns but got {a!r} twice; name another one")
    if alternatives not in ("auto", "exact", "order"):
        raise InputError(f"expected --alternatives auto, exact or order but got {alternatives!r}; choose one of them")
    if a is not None and out is not None:
        raise InputError("--out is for the table of all edges; leave the columns out, or use --json")
    require_file(out, "--out", TABLE_FILES)
    table = as_table(data, **shared.data_options(columns, kind, discretize, bins, missing, na))
    for name in (a, b):
        if name is not None and name not in table.names:
            raise unknown_name("column", name, table.names)
    problem: dict[str, Any] = {
        "score": score,
        "convention": convention,
        "equivalent_sample_size": ess,
        "constraints": constraints_from(required or [], forbidden or [], tiers, knowledge),
        "max_parents": max_parents,
    }
    result = _learned(table, method, time_limit, quiet, problem) if graph is None else _given(table, graph, problem)
    for finding in () if quiet else result.findings:
        typer.echo(f"warning: {in_flags(finding.line)}", err=True)
    options: dict[str, Any] = {
        "method": alternatives,
        "time_limit": time_limit,
        "n_jobs": jobs,
        "memory_limit": memory_limit,
        "random_state": seed,
        "progress": not quiet,
    }
    if a is not None and b is not None:
        said = result.explain(a, b, **options)
        if as_json:
            print_json(said.to_dict())
        else:
            typer.echo(said.summary())
        return
    edges = result.regrets(**options)
    if out is not None:
        write_frame(edges, out)
    if as_json:
        print_json({"score": result.score, "edges": _plain(edges), "files": [] if out is None else [str(out)]})
    else:
        _tell(result, edges, out)


def _learned(table: Any, method: str, time_limit: float | None, quiet: bool, problem: dict[str, Any]) -> Result:
    from dagopt.learning import learn

    return learn(table, method, time_limit=time_limit, progress=not quiet, **problem)


def _given(table: Any, graph: Path, problem: dict[str, Any]) -> Result:
    """Return a result that holds a given DAG, after a look whether the constraints allow it."""
    from dagopt.learning import pose
    from dagopt.methods.climbing.hill_climbing import start_dag
    from dagopt.result import Result

    posed, diagnosis = pose(table, **problem)
    dag = start_dag(posed, graph)
    return Result(
        names=posed.names,
        adjacency=dag,
        score=posed.score.total(dag),
        status="converged",
        method="given",
        score_label=posed.score.label,
        n_samples=table.n_samples,
        findings=diagnosis.warnings,
        problem=posed,
    )


def _plain(edges: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain values, None for a figure that is not there."""
    rows = edges.to_dict(orient="records")
    return [{str(key): None if value != value else value for key, value in row.items()} for row in rows]


def _tell(result: Result, edges: pd.DataFrame, out: Path | None) -> None:
    print_summary(result.summary())
    typer.echo("")
    words = {name: ["yes" if value else "no" for value in edges[name]] for name in ("fixed", "proven")}
    figures = {
        name: ["-" if value != value else f"{value:.4f}" for value in edges[name]]
        for name in ("without", "reversed", "neither")
    }
    print_table(edges.assign(**words, **figures), "Score lost by the best DAG without the edge, reversed, neither way")
    if not edges["proven"].all():
        typer.echo("Figures that are not proven were found by search: the true loss is at most that.")
    if out is not None:
        typer.echo(f"wrote {out}")
