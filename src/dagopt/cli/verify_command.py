"""The command ``dagopt verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dagopt.cli.flags import Data, Json, with_flags
from dagopt.cli.show import FOUND_SOMETHING, print_json
from dagopt.data.data_options import DataOptions

__all__ = ["verify"]


@with_flags
def verify(
    proof: Annotated[Path, typer.Argument(help="Proof file, as dagopt learn --proof writes it.")],
    data: Data,
    reading: DataOptions,
    as_json: Json = False,
) -> None:
    """Check a proof file against the data with code of its own: own scores, own search over all DAGs.

    **Example:** `dagopt verify proof.json data.csv`

    Exit code 0 if every claim is true, 1 if one is not, 2 if a file cannot be read.
    """
    from dagopt.verifier.checking import verify as check

    verdict = check(proof, data, **reading.to_dict())
    if as_json:
        print_json(verdict.to_dict())
    else:
        typer.echo(str(verdict))
    if not verdict:
        raise typer.Exit(FOUND_SOMETHING)
