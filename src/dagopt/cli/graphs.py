"""Commands about graphs: ``dagopt compare``, ``convert`` and ``networks``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dagopt.cli.flags import Json
from dagopt.cli.show import FOUND_SOMETHING, print_json, print_table
from dagopt.errors import InputError

__all__ = ["compare", "convert", "networks"]


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
        print_json(found.to_dict())
    else:
        typer.echo(str(found))
        for title, pairs in (("missing", found.missing), ("extra", found.extra), ("other mark", found.reversed)):
            if pairs:
                typer.echo(f"{title}: " + ", ".join(f"{a} {b}" for a, b in pairs))
    if found.shd:
        raise typer.Exit(FOUND_SOMETHING)


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
        from dagopt.networks.bif import read_bif, write_bif

        write_bif(read_bif(source), target)
    else:
        write_graph(graph, target, format=to_format)
    if as_json:
        print_json({"target": str(target), "nodes": graph.n_nodes, "edges": graph.n_edges})
    else:
        typer.echo(f"{target}: {graph.n_nodes} nodes, {graph.n_edges} edges")


def _write_fitted(graph: Any, data: str, target: Path) -> None:
    """Fit the tables of a DAG on discrete data and write them as BIF."""
    from dagopt.networks.fitted import FittedDiscrete
    from dagopt.networks.fitted.fitting import fit

    if target.suffix != ".bif":
        raise InputError(f"expected a .bif target to fit tables from --data but got {target}; name it *.bif")
    fitted = fit(data, graph)
    if not isinstance(fitted, FittedDiscrete):
        raise InputError(f"expected discrete columns in {data} to fit tables but got others; discretize them first")
    fitted.to_bif(target)


def networks(
    name: Annotated[str | None, typer.Argument(help="A bundled network to show or write.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write it (.bif for tables, any graph format).")] = None,
    as_json: Json = False,
) -> None:
    """List the bundled networks, or write one of them.

    **Examples:** `dagopt networks`, `dagopt networks alarm --out alarm.bif`
    """
    from dagopt.graph.formats import write_graph
    from dagopt.networks import datasets
    from dagopt.networks.bif import write_bif
    from dagopt.networks.discrete_network import DiscreteNetwork

    described = datasets.describe()
    if name is None:
        if as_json:
            print_json(described.to_dict(orient="records"))
        else:
            described["source"] = [text.partition(")")[0] + ")" for text in described["source"]]
            print_table(described.drop(columns="largest_parent_set"), "Bundled networks")
        return
    network = datasets.load_network(name)
    if out is None:
        shown = {"name": name, "nodes": list(network.names), "edges": [list(edge) for edge in network.dag.edges]}
        if as_json:
            print_json(shown)
        else:
            typer.echo("\n".join(f"{a} -> {b}" for a, b in network.dag.edges))
        return
    if out.suffix == ".bif" and isinstance(network, DiscreteNetwork):
        write_bif(network, out)
    else:
        write_graph(network.dag, out)
    typer.echo(f"{out}: {len(network.names)} nodes, {network.dag.number_of_edges()} edges")
