"""Commands about tables: ``dagopt doctor``, ``summarise``, ``score`` and ``simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dagopt.cli.flags import Data, Graph, Json, Without, with_flags
from dagopt.cli.show import FOUND_SOMETHING, in_flags, print_json, print_table
from dagopt.data.data_options import NEED_ROWS, DataOptions
from dagopt.errors import DagoptError, InputError
from dagopt.scores.score_options import ScoreOptions

__all__ = ["doctor", "score", "simulate", "summarise"]


@with_flags
def doctor(
    data: Data,
    reading: DataOptions,
    max_parents: Annotated[
        int | None, typer.Option(min=0, help="Parents allowed, to check that there are enough rows.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a table before learning from it: what is wrong, the consequence, and what to do.

    **Example:** `dagopt doctor survey.csv --max-parents 3`

    Exit code 0 if there are no findings, 1 if there is a finding, 2 if the file cannot be read.
    """
    from dagopt.data.doctor import examine

    diagnosis = examine(data, max_parents=max_parents, **reading.to_dict())
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        typer.echo(in_flags(str(diagnosis)))
    if diagnosis.findings:
        raise typer.Exit(FOUND_SOMETHING)


@with_flags
def summarise(
    sources: Annotated[
        list[str],
        typer.Argument(help="Files, folders, quoted patterns, or statistics (.dagstats), to be added up."),
    ],
    reading: Annotated[DataOptions, Without(*NEED_ROWS)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file of statistics to write, .dagstats.")],
) -> None:
    """Read data of any size once and keep what learning needs: means and products, or counts of distinct rows.

    **Examples:** `dagopt summarise 'data/*.parquet' --out may.dagstats`,
    `dagopt summarise may.dagstats june.csv --out both.dagstats`, then `dagopt learn both.dagstats`
    """
    from dagopt.data.summarise import added, summarised_source

    with_rows = added(summarised_source(source, reading) for source in sources)
    written = with_rows.save(out)
    typer.echo(f"{written}: {with_rows.n_read} rows, {len(with_rows.names)} columns")


@with_flags
def score(
    data: Data,
    reading: DataOptions,
    scoring: ScoreOptions,
    graph: Graph,
    per_node: Annotated[bool, typer.Option("--per-node", help="Show every node's parents, score and gain.")] = False,
    as_json: Json = False,
) -> None:
    """Score a DAG on data; higher is better.

    **Examples:** `dagopt score data.csv graph.dot`, `dagopt score data.csv graph.csv --score bdeu --per-node`
    """
    from dagopt.data.doctor import examine_table
    from dagopt.data.table import as_table
    from dagopt.graph.dag import as_graph, require_dag
    from dagopt.scores.build import make_score

    table = as_table(data, **reading.to_dict())
    dag = as_graph(graph, table.names)
    require_dag(dag)
    scorer = make_score(table, **scoring.to_dict())
    nodes = scorer.table(dag.adjacency)
    for finding in examine_table(table, int(dag.adjacency.sum(axis=0).max())).errors:
        typer.echo(f"warning: {in_flags(finding.line)}", err=True)
    total = float(nodes["score"].sum())
    if as_json:
        shown = {"score": total, "label": scorer.label, "n_samples": scorer.n_samples, "n_edges": dag.n_edges}
        if per_node:
            shown["nodes"] = nodes.reset_index().to_dict(orient="records")
        print_json(shown)
        return
    if per_node:
        print_table(nodes.reset_index(), scorer.label)
        typer.echo("")
    typer.echo(f"{total:.4f}  {scorer.label}; {dag.n_edges} edges, {scorer.n_samples} rows")


def simulate(
    out: Annotated[Path, typer.Option(help="Where to write the data (.csv, .tsv, .parquet).")],
    nodes: Annotated[int, typer.Option(help="Number of columns.")] = 20,
    samples: Annotated[int, typer.Option(help="Number of rows.")] = 1000,
    degree: Annotated[float, typer.Option(help="Average number of parents.")] = 1.0,
    kind: Annotated[str, typer.Option(help="gaussian, discrete or mixed.")] = "gaussian",
    network: Annotated[str | None, typer.Option(help="Sample a bundled network or a .bif file instead.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Where to write the true graph (.csv, .dot, ...).")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same data.")] = 0,
    as_json: Json = False,
) -> None:
    """Draw data from a random network (section 5.2 of the paper) or from a given one.

    **Examples:** `dagopt simulate --nodes 25 --degree 2 --samples 5000 --out data.csv --graph true.dot`,
    `dagopt simulate --network alarm --samples 20000 --out alarm.csv`
    """
    from dagopt.data.writing import write_frame
    from dagopt.graph.formats import write_graph
    from dagopt.networks import datasets
    from dagopt.networks.bif import read_bif
    from dagopt.networks.simulate import simulate as drawn

    if out == graph:
        raise InputError(f"--out and --graph name the same file {str(out)!r}; give two names")
    if network is None:
        data, dag = drawn(nodes, samples, degree, seed, kind=kind)
    elif network.endswith(".bif"):
        model = read_bif(network)
        data, dag = model.sample(samples, seed), model.dag
    else:
        data, dag = datasets.load(network, n_samples=samples, random_state=seed)
    new = graph is not None and not graph.exists()
    if graph is not None:
        write_graph(dag, graph)
    try:
        write_frame(data, out)
    except DagoptError:
        if graph is not None and new:
            graph.unlink()
        raise
    if as_json:
        print_json({"data": str(out), "rows": len(data), "columns": data.shape[1], "edges": dag.number_of_edges()})
    else:
        typer.echo(f"{out}: {len(data)} rows, {data.shape[1]} columns, from a DAG with {dag.number_of_edges()} edges")
