"""The command ``dagopt``.

Exit codes: 0, all is well; 1, a finding or a difference; 2, bad input, told in one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dagopt
from dagopt.errors import DagoptError, InputError

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    name="dagopt",
    help="Learn the structure of a Bayesian network by optimisation, and know how good the answer is.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

FOUND_SOMETHING = 1
BAD_INPUT = 2

Data = Annotated[str, typer.Argument(help="CSV, TSV or Parquet file; - for standard input.", show_default=False)]
Columns = Annotated[str | None, typer.Option(help="Columns to use, separated by commas.", show_default="all")]
Kind = Annotated[str, typer.Option(help="auto, continuous or discrete.")]
Discretize = Annotated[str | None, typer.Option(help="Cut continuous columns: quantile or interval.")]
Bins = Annotated[int, typer.Option(help="Levels of a column that is cut.")]
Missing = Annotated[str, typer.Option(help="Rows with missing cells: error or drop.")]
Na = Annotated[str | None, typer.Option(help="Further spellings of 'missing', separated by commas.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def _data_options(
    columns: str | None, kind: str, discretize: str | None, bins: int, missing: str, na: str | None
) -> dict[str, Any]:
    return {
        "columns": None if columns is None else [name.strip() for name in columns.split(",") if name.strip()],
        "kind": kind,
        "discretize": discretize,
        "bins": bins,
        "missing": missing,
        "na_values": () if na is None else tuple(na.split(",")),
    }


def _print_json(values: Any) -> None:
    typer.echo(json.dumps(values, indent=2, ensure_ascii=False))


def _print_table(frame: pd.DataFrame, title: str) -> None:
    """Print a frame as a table on the terminal, numbers to the right."""
    from rich.console import Console
    from rich.table import Table as RichTable

    table = RichTable(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name in frame.columns:
        table.add_column(str(name), justify="right" if frame[name].dtype.kind in "if" else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row))
    Console(soft_wrap=not sys.stdout.isatty()).print(table)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"dagopt {dagopt.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn the structure of a Bayesian network by optimisation, and know how good the answer is."""


@app.command()
def doctor(
    data: Data,
    columns: Columns = None,
    kind: Kind = "auto",
    discretize: Discretize = None,
    bins: Bins = 3,
    missing: Missing = "error",
    na: Na = None,
    max_parents: Annotated[int | None, typer.Option(help="Parents allowed, to check that rows suffice.")] = None,
    as_json: Json = False,
) -> None:
    """Look at a table before learning from it: what is wrong, what follows, what to do.

    **Example:** `dagopt doctor survey.csv --max-parents 3`

    Exit code 0 if there is nothing to remark, 1 if there is a finding, 2 if the file cannot be read.
    """
    from dagopt.data.doctor import examine

    options = _data_options(columns, kind, discretize, bins, missing, na)
    diagnosis = examine(data, max_parents=max_parents, **options)
    if as_json:
        _print_json(diagnosis.to_dict())
    else:
        typer.echo(str(diagnosis))
    if diagnosis.findings:
        raise typer.Exit(FOUND_SOMETHING)


@app.command()
def score(
    data: Data,
    graph: Annotated[str, typer.Argument(help="File with a DAG (see convert), or a model string such as '[A][B|A]'.")],
    name: Annotated[str, typer.Option("--score", help="bic, aic, loglik, bdeu, bge, or a penalty.")] = "bic",
    convention: Annotated[str, typer.Option(help="Counting of Gaussian parameters: paper or bnlearn.")] = "paper",
    ess: Annotated[float, typer.Option(help="Equivalent sample size of bdeu, weight of the mean of bge.")] = 1.0,
    per_node: Annotated[bool, typer.Option("--per-node", help="Show every node's parents, score and gain.")] = False,
    columns: Columns = None,
    kind: Kind = "auto",
    discretize: Discretize = None,
    bins: Bins = 3,
    missing: Missing = "error",
    na: Na = None,
    as_json: Json = False,
) -> None:
    """Score a DAG on data; higher is better.

    **Examples:** `dagopt score data.csv graph.dot`, `dagopt score data.csv graph.csv --score bdeu --per-node`
    """
    from dagopt.data.table import as_table
    from dagopt.graph.dag import as_graph, require_dag
    from dagopt.scores.build import make_score

    table = as_table(data, **_data_options(columns, kind, discretize, bins, missing, na))
    dag = as_graph(graph, table.names)
    require_dag(dag)
    scorer = make_score(table, name, convention=convention, equivalent_sample_size=ess)  # type: ignore[arg-type]
    nodes = scorer.table(dag.adjacency)
    total = float(nodes["score"].sum())
    if as_json:
        shown = {"score": total, "label": scorer.label, "n_samples": scorer.n_samples, "n_edges": dag.n_edges}
        if per_node:
            shown["nodes"] = nodes.reset_index().to_dict(orient="records")
        _print_json(shown)
        return
    if per_node:
        _print_table(nodes.reset_index(), scorer.label)
        typer.echo("")
    typer.echo(f"{total:.4f}  {scorer.label}; {dag.n_edges} edges, {scorer.n_samples} rows")


@app.command()
def compare(
    learned: Annotated[str, typer.Argument(help="File with the learned graph.")],
    true: Annotated[str, typer.Argument(help="File with the true graph.")],
    as_json: Json = False,
) -> None:
    """Compare two graphs by their essential graphs: SHD, precision, recall, F1, and which edges differ.

    **Example:** `dagopt compare learned.dot true.csv`

    Exit code 0 if the essential graphs are equal, 1 if they differ.
    """
    from dagopt.graph.metrics import compare as compared

    found = compared(learned, true)
    if as_json:
        _print_json(found.to_dict())
    else:
        typer.echo(str(found))
        for title, pairs in (("missing", found.missing), ("extra", found.extra), ("other mark", found.reversed)):
            if pairs:
                typer.echo(f"{title}: " + ", ".join(f"{a} {b}" for a, b in pairs))
    if found.shd:
        raise typer.Exit(FOUND_SOMETHING)


@app.command()
def simulate(
    out: Annotated[Path, typer.Option(help="Where to write the data (.csv, .tsv, .parquet).")],
    nodes: Annotated[int, typer.Option(help="Number of columns.")] = 20,
    samples: Annotated[int, typer.Option(help="Number of rows.")] = 1000,
    degree: Annotated[float, typer.Option(help="Average number of parents.")] = 1.0,
    kind: Annotated[str, typer.Option(help="gaussian or discrete.")] = "gaussian",
    network: Annotated[str | None, typer.Option(help="Sample a bundled network or a .bif file instead.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Where to write the true graph (.csv, .dot, ...).")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same data.")] = 0,
    as_json: Json = False,
) -> None:
    """Draw data from a random network (section 5.2 of the paper) or from a given one.

    **Examples:** `dagopt simulate --nodes 25 --degree 2 --samples 5000 --out data.csv --graph true.dot`,
    `dagopt simulate --network alarm --samples 20000 --out alarm.csv`
    """
    from dagopt import datasets
    from dagopt.data.bif import read_bif
    from dagopt.data.simulate import simulate as drawn
    from dagopt.data.writing import write_frame
    from dagopt.graph.formats import write_graph

    if network is None:
        data, dag = drawn(nodes, samples, degree, seed, kind=kind)
    elif network.endswith(".bif"):
        model = read_bif(network)
        data, dag = model.sample(samples, seed), model.dag
    else:
        data, dag = datasets.load(network, n_samples=samples, random_state=seed)
    write_frame(data, out)
    if graph is not None:
        write_graph(dag, graph)
    if as_json:
        _print_json({"data": str(out), "rows": len(data), "columns": data.shape[1], "edges": dag.number_of_edges()})
    else:
        typer.echo(f"{out}: {len(data)} rows, {data.shape[1]} columns, from a DAG with {dag.number_of_edges()} edges")


@app.command()
def convert(
    source: Annotated[str, typer.Argument(help="Graph file, or a model string such as '[A][B|A]'.")],
    target: Annotated[Path, typer.Argument(help="Graph file to write.")],
    from_format: Annotated[
        str | None, typer.Option("--from", help="Format of the source.", show_default="by suffix")
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", help="Format of the target.", show_default="by suffix")
    ] = None,
    essential: Annotated[bool, typer.Option("--essential", help="Write the essential graph (CPDAG) of a DAG.")] = False,
    data: Annotated[str | None, typer.Option(help="Discrete data to fit the tables of a .bif target.")] = None,
    as_json: Json = False,
) -> None:
    """Convert a graph: edge or adjacency CSV, DOT, GraphML, JSON, bnlearn model string, BIF.

    **Examples:** `dagopt convert graph.dot graph.json`, `dagopt convert dag.csv cpdag.dot --essential`,
    `dagopt convert dag.csv fitted.bif --data data.csv`
    """
    from dagopt.graph.cpdag import cpdag
    from dagopt.graph.dag import Graph, as_graph, require_dag
    from dagopt.graph.formats import read_graph, write_graph

    graph = as_graph(source) if from_format is None else read_graph(source, format=from_format)
    if essential:
        require_dag(graph)
        graph = Graph(cpdag(graph.adjacency), graph.names)
    if data is not None:
        _write_fitted(graph, data, target)
    elif target.suffix == ".bif" and source.endswith(".bif") and not essential:
        from dagopt.data.bif import read_bif, write_bif

        write_bif(read_bif(source), target)
    else:
        write_graph(graph, target, format=to_format)
    if as_json:
        _print_json({"target": str(target), "nodes": graph.n_nodes, "edges": graph.n_edges})
    else:
        typer.echo(f"{target}: {graph.n_nodes} nodes, {graph.n_edges} edges")


def _write_fitted(graph: Any, data: str, target: Path) -> None:
    """Fit the tables of a DAG on discrete data and write them as BIF."""
    from dagopt.data.bif import write_bif
    from dagopt.data.discrete_network import DiscreteNetwork
    from dagopt.data.table import as_frame
    from dagopt.graph.dag import as_graph, require_dag

    if target.suffix != ".bif":
        raise InputError(f"expected a .bif target to fit tables from --data but got {target}; name it *.bif")
    frame = as_frame(data, kind="discrete")
    dag = as_graph(graph, list(frame.columns))
    require_dag(dag)
    write_bif(DiscreteNetwork.fit(frame, dag.to_networkx()), target)


@app.command()
def networks(
    name: Annotated[str | None, typer.Argument(help="A bundled network to show or write.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write it (.bif for tables, any graph format).")] = None,
    as_json: Json = False,
) -> None:
    """List the bundled networks, or write one of them.

    **Examples:** `dagopt networks`, `dagopt networks alarm --out alarm.bif`
    """
    from dagopt import datasets
    from dagopt.data.bif import write_bif
    from dagopt.data.discrete_network import DiscreteNetwork
    from dagopt.graph.formats import write_graph

    described = datasets.describe()
    if name is None:
        if as_json:
            _print_json(described.to_dict(orient="records"))
        else:
            described["source"] = [text.partition(")")[0] + ")" for text in described["source"]]
            _print_table(described.drop(columns="largest_parent_set"), "Bundled networks")
        return
    network = datasets.load_network(name)
    if out is None:
        shown = {"name": name, "nodes": list(network.names), "edges": [list(edge) for edge in network.dag.edges]}
        if as_json:
            _print_json(shown)
        else:
            typer.echo("\n".join(f"{a} -> {b}" for a, b in network.dag.edges))
        return
    if out.suffix == ".bif" and isinstance(network, DiscreteNetwork):
        write_bif(network, out)
    else:
        write_graph(network.dag, out)
    typer.echo(f"{out}: {len(network.names)} nodes, {network.dag.number_of_edges()} edges")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every expected failure is one line on standard error and exit code 2."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
        return code if isinstance(code, int) else 0
    except DagoptError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _complain("interrupted") + 128
    except BrokenPipeError:
        return 0
    except OSError as error:
        return _complain(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    except typer.Abort:
        return _complain("aborted")
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the command line parser
            return _complain(f"{error.format_message()} (see dagopt --help)")
        raise


def _complain(message: str) -> int:
    typer.echo(f"dagopt: {' '.join(message.split())}", err=True)
    return BAD_INPUT


if __name__ == "__main__":
    main()
