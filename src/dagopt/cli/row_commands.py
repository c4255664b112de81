"""Commands that write rows: ``dagopt predict``, ``impute`` and ``sample``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dagopt.cli import flags as shared
from dagopt.cli.output import TABLE_FILES, require_file
from dagopt.cli.show import in_flags
from dagopt.data.data_options import DataOptions
from dagopt.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from dagopt.networks.fitted import FittedNetwork

__all__ = ["impute", "predict", "sample"]

Out = Annotated[
    Path | None, typer.Option(help="Where to write the rows (.csv, .tsv, .parquet); else they are printed.")
]
Rows = Annotated[Path | None, typer.Option(help="The rows to fill in, if they are not those of DATA.", metavar="FILE")]
Seed = Annotated[int, typer.Option(help="Same seed, same rows.")]


@shared.with_flags
def predict(
    data: shared.Data,
    reading: DataOptions,
    graph: shared.Graph,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    rows: Rows = None,
    given: Annotated[str, typer.Option(help="Predict from all known cells, or only from parents or blanket.")] = "all",
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of each level, or mean and standard deviation.")
    ] = False,
    ess: shared.Smoothing = 0.0,
    out: Out = None,
) -> None:
    """Predict a column in each row: its mean, or its most probable level.

    The parameters are fitted to DATA.

    **Examples:** `dagopt predict data.csv graph.dot --target lung`,
    `dagopt predict data.csv graph.dot --target lung --rows new.csv --proba --out lung.csv`
    """
    require_file(out, "--out", TABLE_FILES)
    fitted = _fitted(data, graph, ess, reading)
    wanted = data if rows is None else rows
    _require_file_of_rows(wanted)
    if proba:
        found = fitted.predict_proba(wanted, target, given=given)
    else:
        found = fitted.predict(wanted, target, given=given).to_frame(target)
    _write(found, out)


@shared.with_flags
def impute(
    data: shared.Data,
    reading: DataOptions,
    graph: shared.Graph,
    rows: Rows = None,
    draw: Annotated[bool, typer.Option("--draw", help="Draw missing cells instead of taking the most likely.")] = False,
    seed: Seed = 0,
    ess: shared.Smoothing = 0.0,
    out: Out = None,
) -> None:
    """Fill in missing cells by the network, whose parameters are fitted to DATA.

    **Example:** `dagopt impute data.csv graph.dot --missing drop --rows gaps.csv --out filled.csv`
    """
    require_file(out, "--out", TABLE_FILES)
    wanted = data if rows is None else rows
    _require_file_of_rows(wanted)
    _write(_fitted(data, graph, ess, reading).impute(wanted, draw=draw, random_state=seed), out)


@shared.with_flags
def sample(
    data: shared.Data,
    reading: DataOptions,
    graph: shared.Graph,
    n: Annotated[int, typer.Option("--rows", "-n", min=1, help="How many rows to draw.")] = 1000,
    seed: Seed = 0,
    ess: shared.Smoothing = 0.0,
    out: Out = None,
) -> None:
    """Draw rows from a network whose parameters are fitted to DATA.

    **Example:** `dagopt sample data.csv graph.dot --rows 5000 --out drawn.csv`
    """
    require_file(out, "--out", TABLE_FILES)
    _write(_fitted(data, graph, ess, reading).sample(n, seed), out)


def _fitted(data: str, graph: str, ess: float, reading: DataOptions) -> FittedNetwork:
    from dagopt.networks.fitted import fit

    fitted = fit(data, graph, equivalent_sample_size=ess, **reading.to_dict())
    for note in fitted.notes:
        typer.echo(f"note: {in_flags(note)}", err=True)
    return fitted


def _require_file_of_rows(rows: str | Path) -> None:
    if str(rows) == "-":
        raise InputError("DATA from standard input is read once, for the parameters; give the rows in a file, --rows")


def _write(frame: pd.DataFrame, out: Path | None) -> None:
    from dagopt.data.writing import write_frame

    if out is None:
        typer.echo(frame.to_csv(index=False), nl=False)
        return
    write_frame(frame, out)
    typer.echo(f"wrote {out}: {len(frame):,} rows")
