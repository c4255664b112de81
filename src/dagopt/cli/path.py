"""The command ``dagopt path``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagopt.cli import flags as shared
from dagopt.cli.knowledge_flags import KnowledgeOptions
from dagopt.cli.output import PICTURE_FILES, TABLE_FILES, require_file, write_picture
from dagopt.cli.show import MOST_SHOWN, in_flags, print_json, print_summary, print_table
from dagopt.data.data_options import DataOptions
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.options import anything, option
from dagopt.scores.score_options import ScoreOptions

if TYPE_CHECKING:
    from dagopt.confidence.learned_path import PenaltyPath

__all__ = ["path"]


@dataclass(frozen=True)
class PathScoreOptions(ScoreOptions):
    """The score whose penalty is marked."""

    score: Any = option(
        "auto",
        "The score whose penalty is marked: auto (as in learn), bic, aic, or a penalty; ebic for continuous columns.",
        anything("str or float"),
        flag="--score/--penalty",
        metavar="SCORE",
    )


@shared.with_flags
def path(
    data: shared.Data,
    scoring: Annotated[PathScoreOptions, shared.Without("equivalent_sample_size", "degree")],
    knowledge: KnowledgeOptions,
    reading: DataOptions,
    penalties: Annotated[
        str | None, typer.Option(help="Penalties of one parameter, separated by commas.", show_default="a grid")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="How many penalties the usual grid has.")] = 30,
    method: Annotated[str, typer.Option(help="As in learn; auto is exact or order.")] = "auto",
    time_limit: Annotated[float | None, typer.Option(help="Seconds; the penalties done by then count.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same answer.")] = 0,
    jobs: shared.Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Table to write, one row per penalty (.csv).")] = None,
    entries: Annotated[Path | None, typer.Option(help="Table of when each pair enters (.csv).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of the path (.png, .svg).")] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Learn a DAG for each of many penalties, and show which edges enter when.

    **Examples:**

    `dagopt path data.csv`

    `dagopt path data.csv --penalties 1,2,5,10,20 --out path.csv --plot path.png`

    Exit code 0, also if the time limit ended the run (a message says so); 2 if the input is bad.
    """
    from dagopt.confidence.penalty_path import path as learned
    from dagopt.data.writing import write_frame
    from dagopt.methods.registry import method_name

    require_file(out, "--out", TABLE_FILES)
    require_file(entries, "--entries", TABLE_FILES)
    require_file(plot, "--plot", PICTURE_FILES)
    found = learned(
        data,
        None if penalties is None else _numbers(penalties),
        n=points,
        method=method_name(method),
        random_state=seed,
        n_jobs=jobs,
        time_limit=time_limit,
        progress=not quiet,
        score=scoring.score,
        convention=scoring.convention,
        **knowledge.known(),
        **reading.to_dict(),
    )
    if not quiet and found.results:
        for finding in found.results[0].findings:
            typer.echo(f"warning: {in_flags(finding.line)}", err=True)
    files = [path for path in (out, entries, plot) if path is not None]
    with Deadline():  # a first Ctrl-C does not take away what was found
        if out is not None:
            found.to_csv(out)
        if entries is not None:
            write_frame(found.entries, entries)
        if plot is not None:
            write_picture(found.plot, plot)
    if as_json:
        print_json(found.to_dict() | {"files": [str(file) for file in files]})
    else:
        _tell(found, files)


def _numbers(text: str) -> list[float]:
    """Return the numbers between commas."""
    try:
        return [float(part) for part in shared.listed(text)]
    except ValueError:
        raise InputError(f"expected --penalties to be numbers such as 1,2,5 but got {text!r}; correct them") from None


def _tell(found: PenaltyPath, files: list[Path]) -> None:
    print_summary(found.summary())
    if len(found.penalties):
        typer.echo("")
        proven = ["yes" if proven else "" for proven in found.table["proven"]]
        print_table(found.table.assign(proven=proven), "Penalties")
    pairs = found.entries
    if len(pairs):
        typer.echo("")
        stays = ["" if value != value else f"{value:.4f}" for value in pairs["stays"]]
        print_table(pairs.assign(stays=stays).head(MOST_SHOWN), "Pairs, the first to enter first")
    if len(pairs) > MOST_SHOWN:
        typer.echo(f"... and {len(pairs) - MOST_SHOWN} more pairs; --entries or --json has them all")
    for file in files:
        typer.echo(f"wrote {file}")
