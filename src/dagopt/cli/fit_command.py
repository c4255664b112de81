"""The command ``dagopt fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dagopt.cli.flags import Data, Graph, Json, Smoothing, with_flags
from dagopt.cli.show import MOST_SHOWN, in_flags, print_json, print_table
from dagopt.data.data_options import DataOptions
from dagopt.errors import InputError

if TYPE_CHECKING:
    from dagopt.networks.fitted import FittedNetwork

__all__ = ["fit"]


@with_flags
def fit(
    data: Data,
    reading: DataOptions,
    graph: Graph,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the network: .json, .csv; discrete ones also .bif, .net, .xdsl.")
    ] = None,
    ess: Smoothing = 0.0,
    as_json: Json = False,
) -> None:
    """Fit the parameters of a DAG: regression equations, or tables of probabilities, with standard errors.

    **Examples:** `dagopt fit data.csv graph.dot`, `dagopt fit data.csv graph.dot --out network.bif --ess 1`
    """
    from dagopt.networks.fitted import fit as fitted_to

    if out is not None:
        _require_suffix(out)
    fitted = fitted_to(data, graph, equivalent_sample_size=ess, **reading.to_dict())
    if out is not None:
        fitted.write(out)
    if as_json:
        print_json(fitted.to_dict() | {"files": [] if out is None else [str(out)]})
        return
    _tell(fitted)
    if out is not None:
        typer.echo(f"\nwrote {out}")


def _require_suffix(out: Path) -> None:
    known = (".json", ".csv", ".bif", ".net", ".xdsl", ".dsl", ".bifxml", ".uai")
    if out.suffix not in known:
        raise InputError(f"expected --out to end in {', '.join(known)} but got {str(out)!r}; rename it")


def _tell(fitted: FittedNetwork) -> None:
    parameters = fitted.parameters
    print_table(parameters.head(MOST_SHOWN), "Parameters")
    if len(parameters) > MOST_SHOWN:
        typer.echo(f"... and {len(parameters) - MOST_SHOWN} more; --out or --json has them all")
    typer.echo("")
    print_table(fitted.nodes, "Columns")
    typer.echo(f"\nlog-likelihood {fitted.nodes['log_likelihood'].sum():.4f}, {fitted.n_samples} rows")
    for note in fitted.notes:
        typer.echo(f"note: {in_flags(note)}")
