"""The command ``dagopt show``: what one can look at of a large graph."""

from __future__ import annotations

from typing import Annotated

import typer

from dagopt.cli.flags import Json
from dagopt.cli.show import print_json, print_table

__all__ = ["show"]


def show(
    graph: Annotated[str, typer.Argument(help="result.json of learn --out, or a file with a graph.", metavar="GRAPH")],
    around: Annotated[str | None, typer.Option(help="A column: show its neighbourhood.", metavar="COLUMN")] = None,
    steps: Annotated[int, typer.Option(min=1, help="How many edges away its neighbours may be.")] = 1,
    most: Annotated[int, typer.Option(min=1, help="The most rows of a table.")] = 20,
    as_json: Json = False,
) -> None:
    """Show a graph that is too large to draw: its hubs and components, or the neighbourhood of a column.

    **Examples:** `dagopt show results/result.json`, `dagopt show results/result.json --around TP53 --steps 2`
    """
    import pandas as pd

    from dagopt.graph.dag import as_graph
    from dagopt.graph.neighbourhoods import components, hubs, neighbourhood
    from dagopt.results.result import Result
    from dagopt.results.saving import is_saved_result

    known = Result.load(graph).graph if is_saved_result(graph) else as_graph(graph)
    if around is not None:
        found = neighbourhood(known, around, steps)
        if as_json:
            print_json({"around": around, "steps": steps, "columns": found.columns, "edges": found.edges})
            return
        table = pd.DataFrame(found.edges[:most], columns=["from", "edge", "to", "steps"])
        more = f", the first {most}" if len(found.edges) > most else ""
        title = f"{len(found.columns) - 1} columns within {steps} of {around!r}, {len(found.edges)} edges{more}"
        print_table(table, title)
        return
    largest, parts = hubs(known, most), components(known)
    sizes = [len(part) for part in parts if len(part) > 1]
    if as_json:
        print_json({"hubs": largest, "components": sizes, "alone": known.n_nodes - sum(sizes)})
        return
    typer.echo(
        f"{known.n_nodes} columns, {known.n_edges} edges, {len(sizes)} components of two or more columns (the largest "
        f"has {max(sizes, default=0)}), {known.n_nodes - sum(sizes)} columns without an edge"
    )
    print_table(
        pd.DataFrame(largest, columns=["column", "edges", "parents", "children"]), "Columns with the most edges"
    )
