"""The command ``dagopt explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagopt.cli import flags as shared
from dagopt.cli.knowledge_flags import KnowledgeOptions
from dagopt.cli.output import TABLE_FILES, require_file
from dagopt.cli.show import in_flags, print_json, print_summary, print_table
from dagopt.data.data_options import DataOptions
from dagopt.errors import InputError, unknown_name
from dagopt.scores.score_options import ScoreOptions

if TYPE_CHECKING:
    import pandas as pd

    from dagopt.data.findings import Diagnosis
    from dagopt.problem import Problem
    from dagopt.results.result import Result

__all__ = ["explain"]


@shared.with_flags
def explain(
    data: shared.Data,
    scoring: ScoreOptions,
    knowledge: KnowledgeOptions,
    reading: DataOptions,
    a: Annotated[str | None, typer.Argument(help="A column; without columns, all edges are explained.")] = None,
    b: Annotated[str | None, typer.Argument(help="Another column.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Explain this DAG instead of learning one.")] = None,
    method: Annotated[str, typer.Option(help="How to learn the DAG, as in learn.")] = "auto",
    alternatives: Annotated[
        str, typer.Option(help="How to find the best other DAGs: auto, exact, order (search) or branch-and-cut.")
    ] = "auto",
    time_limit: Annotated[float | None, typer.Option(help="Seconds, for learning and again for explaining.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of learning and of the searches.")] = 0,
    jobs: shared.Jobs = None,
    memory_limit: shared.MemoryLimit = None,
    out: Annotated[Path | None, typer.Option(help="Table to write, of all edges (.csv).")] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Say why two columns are joined or not, and what the score would lose otherwise.

    **Examples:**

    `dagopt explain data.csv smoke lung`

    `dagopt explain data.csv --out edges.csv`

    `dagopt explain data.csv smoke lung --graph learned.dot --score bdeu`

    Exit code 0; 2 if the input is bad.
    """
    from dagopt.data.writing import write_frame
    from dagopt.deadline import Deadline
    from dagopt.learning.learning import checked_options, solve
    from dagopt.learning.posing import pose
    from dagopt.methods.registry import METHODS, method_name

    if (a is None) != (b is None):
        raise InputError(f"expected two columns to explain, or none for all edges, but got only {a!r}; name another")
    if a is not None and a == b:
        raise InputError(f"expected two different columns but got {a!r} twice; name another one")
    if alternatives not in ("auto", "exact", "order", "branch-and-cut"):
        raise InputError(
            f"expected --alternatives to be auto, exact, order or branch-and-cut but got {alternatives!r}; change it"
        )
    if a is not None and out is not None:
        raise InputError("--out is for the table of all edges; leave the columns out, or use --json")
    require_file(out, "--out", TABLE_FILES)
    learner = method_name(method)
    deadline = Deadline(time_limit)
    problem, diagnosis = pose(data, learner, **knowledge.known(), **scoring.to_dict(), **reading.to_dict())
    for name in (a, b):
        if name is not None and name not in problem.names:
            raise unknown_name("column", name, problem.names)
    for finding in () if quiet else diagnosis.warnings:
        typer.echo(f"warning: {in_flags(finding.line)}", err=True)
    searching = {"random_state": seed, "n_jobs": jobs, "memory_limit": memory_limit}
    if graph is None:
        taken = METHODS[learner].options()
        own = {name: value for name, value in searching.items() if name in taken}
        result = solve(problem, learner, checked_options(learner, own), deadline, not quiet, diagnosis)
    else:
        result = _given(problem, graph, diagnosis)
    options: dict[str, Any] = {
        "method": alternatives,
        "time_limit": time_limit,
        "progress": not quiet,
        **searching,
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


def _given(posed: Problem, graph: Path, diagnosis: Diagnosis) -> Result:
    """Return a result with a given DAG, after checking that the constraints allow it."""
    from dagopt.methods.start import start_dag
    from dagopt.results.answer import Answer
    from dagopt.results.result import result_of

    dag = start_dag(posed, graph)
    return result_of(
        Answer("given", dag, posed.score.total(dag), "converged"),
        posed.names,
        posed.score.label,
        n_samples=posed.table.n_samples,
        findings=diagnosis.warnings,
        problem=posed,
    )


def _plain(edges: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain values, None for a missing number."""
    rows = edges.to_dict(orient="records")
    return [{str(key): None if value != value else value for key, value in row.items()} for row in rows]


def _tell(result: Result, edges: pd.DataFrame, out: Path | None) -> None:
    print_summary(result.summary())
    typer.echo("")
    words = {name: ["yes" if value else "no" for value in edges[name]] for name in ("fixed", "proven")}
    figures = {
        name: ["-" if value != value else f"{value:.4f}" for value in edges[name]]
        for name in ("without", "reversed", "neither", "at_least")
    }
    print_table(edges.assign(**words, **figures), "Score lost by the best DAG without the edge, reversed, neither way")
    if not edges["proven"].all():
        typer.echo("Losses that are not proven were found by search: the true loss is at most that.")
    if out is not None:
        typer.echo(f"wrote {out}")
