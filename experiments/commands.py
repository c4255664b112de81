"""The commands ``list``, ``run`` and ``show`` of ``python -m experiments``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dagopt.cli.flags import Json, listed
from dagopt.cli.show import FOUND_SOMETHING, print_json, print_table
from dagopt.errors import InputError

if TYPE_CHECKING:
    from experiments.figures import Results
    from experiments.layout import Grid, PaperTable
    from experiments.runner import Plan, Tally

__all__ = ["paper_commands"]

INTERRUPTED = 130

paper_commands = typer.Typer(
    help="The tables of the CG-DCA paper: run them, and see its figures, ours and the ratio.",
    rich_markup_mode="markdown",
    no_args_is_help=True,
)

TableName = Annotated[str, typer.Argument(help="A table of `python -m experiments list`, or all.")]
ResultsFolder = Annotated[
    Path | None, typer.Option("--results", help="Folder of the result files.", show_default="paper-results")
]
DataFolder = Annotated[
    Path | None, typer.Option("--data", help="Folder with NAME.csv and NAME.edges.csv of the published data sets.")
]


@paper_commands.command("list")
def list_tables(results: ResultsFolder = None, data: DataFolder = None, as_json: Json = False) -> None:
    """List the tables, how many runs each needs, and how many of them are recorded.

    **Example:** `python -m experiments list`
    """
    import pandas as pd

    from experiments.design import designs
    from experiments.instances import data_folder
    from experiments.runner import make_plan
    from experiments.store import results_in_use

    records, source = results_in_use(results)
    folder = data_folder(data)
    rows = []
    lacking: dict[str, str] = {}
    for design in designs().values():
        runs = design.runs()
        plan = make_plan(runs, records, folder)
        lacking |= plan.unavailable
        rows.append((design.name, design.place, design.title, len(runs), plan.n_done, plan.n_unavailable))
    frame = pd.DataFrame(rows, columns=["table", "in the paper", "about", "runs", "recorded", "not available"])
    if as_json:
        print_json({"results": source, "tables": frame.to_dict(orient="records"), "not available": lacking})
        return
    print_table(frame, f"Tables, with the results of {source}")
    for name, reason in lacking.items():
        typer.echo(f"not available: {name}: {reason}")


@paper_commands.command()
def run(
    table: TableName,
    quick: Annotated[bool, typer.Option("--quick", help="A few small cells, one seed: less than two minutes.")] = False,
    results: ResultsFolder = None,
    data: DataFolder = None,
    methods: Annotated[str | None, typer.Option(help="Only these, separated by commas.", show_default="all")] = None,
    nodes: Annotated[
        str | None, typer.Option(help="Only cells with so many columns: 15,20.", show_default="all")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Only these seeds: 0-2,5.", show_default="all")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="No run longer than this, in seconds.", show_default="as the table says")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time.", show_default="all cores")] = None,
    backend: Annotated[str, typer.Option(help="joblib (this machine) or dask (a cluster).")] = "joblib",
    scheduler: Annotated[str | None, typer.Option(help="Address of the dask scheduler.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat runs that failed or were killed.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress while it runs.")] = False,
    as_json: Json = False,
) -> None:
    """Make the runs of a table, each on one thread in its own process, and record each as it ends.

    If started again, it continues where it stopped: recorded runs are not repeated.

    **Examples:**

    `python -m experiments run table1 --quick`

    `python -m experiments run table6 --methods hc,pc,mmhc --nodes 15,20 --seeds 0-2 --jobs 2`

    `python -m experiments run all --backend dask --scheduler tcp://head:8786`

    Exit code 0 if every run has an answer, 1 if one failed or was killed, 130 if stopped by Ctrl-C.
    """
    from dagopt.deadline import Deadline
    from dagopt.progress import make_progress
    from experiments.backends import check_backend
    from experiments.design import chosen_designs
    from experiments.instances import data_folder
    from experiments.runner import make_plan, run_plan, select
    from experiments.store import RESULTS_FOLDER, read_folder

    check_backend(backend, scheduler)
    chosen = [design.with_limit(_limit(time_limit)) for design in chosen_designs(table)]
    wanted = select(
        [run for design in chosen for run in (design.quick_runs() if quick else design.runs())],
        methods=listed(methods or ""),
        nodes=_numbers(nodes, "--nodes"),
        seeds=_numbers(seeds, "--seeds"),
    )
    if not wanted:
        raise InputError(
            f"{table} has no runs with these --methods, --nodes and --seeds; see python -m experiments list"
        )
    folder = RESULTS_FOLDER if results is None else results
    sets = data_folder(data)
    plan = make_plan(wanted, read_folder(folder) if folder.is_dir() else [], sets, retry=retry)
    shown = make_progress(not quiet)
    for name, reason in plan.unavailable.items():
        shown.note(f"not available: {name}: {reason}")
    try:
        with Deadline() as stop:
            tally = run_plan(
                plan,
                folder,
                sets,
                shown,
                stop,
                jobs=jobs or os.cpu_count() or 1,
                backend=backend,
                scheduler=scheduler,
            )
            interrupted = stop.reason is not None
    finally:
        shown.close()
    _tell(table, plan, tally, folder, as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if tally.without:
        raise typer.Exit(FOUND_SOMETHING)


@paper_commands.command()
def show(
    table: TableName = "all",
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Folder of the result files.", show_default="paper-results, else the package's"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for Markdown, LaTeX and pictures.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="One Markdown page with the tables shown.")] = None,
    as_json: Json = False,
) -> None:
    """Show a table: the paper's figures, ours and the ratio, from the result files.

    Rows without runs are left out on the terminal.

    **Examples:** `python -m experiments show headline`,
    `python -m experiments show all --out tables --markdown results.md`
    """
    from experiments.design import chosen_designs
    from experiments.figures import Results
    from experiments.layout import as_values, with_runs
    from experiments.store import results_in_use
    from experiments.tables import make_table

    records, source = results_in_use(results)
    known = Results(records)
    tables = [make_table(design, known) for design in chosen_designs(table)]
    written = _write(table, tables, known, results, out, markdown)
    if as_json:
        print_json({"results": source, "tables": [as_values(one) for one in tables]})
        return
    for one in tables:
        _print(with_runs(one))
    typer.echo(f"{len(known.records)} runs recorded in {source}")
    for file in written:
        typer.echo(f"wrote {file}")


def _write(
    name: str, tables: list[PaperTable], known: Results, results: Path | None, out: Path | None, markdown: Path | None
) -> list[Path]:
    """Write the requested files and return them."""
    from dagopt.cli.output import require_place
    from dagopt.files import write_text
    from experiments.layout import as_latex, as_markdown
    from experiments.page import make_page
    from experiments.plots import write_plots

    written: list[Path] = []
    pictures: list[Path] = []
    if out is not None:
        require_place(out)
        out.mkdir(parents=True, exist_ok=True)
        for table in tables:
            for file, text in ((f"{table.name}.md", as_markdown(table)), (f"{table.name}.tex", as_latex(table))):
                write_text(text, out / file)
                written.append(out / file)
        pictures = write_plots(known, out)
    if markdown is not None:
        options = {"--results": results, "--out": out, "--markdown": markdown}
        given = "".join(f" {option} {value}" for option, value in options.items() if value is not None)
        command = f"python -m experiments show {name}{given}"
        write_text(make_page(tables, known, command, pictures, markdown.parent), markdown)
        written.append(markdown)
    return written + pictures


def _print(table: PaperTable) -> None:
    typer.echo(f"\n{table.place}: {table.title}")
    for grid in table.grids:
        typer.echo("")
        _print_grid(grid)
    for note in table.notes:
        typer.echo(f"  {note}")
    typer.echo("")


def _print_grid(grid: Grid) -> None:
    """Print a part of a table, with headings in two lines and numbers aligned to the right."""
    heads = [["", grid.first], *([one.group, one.name] for one in grid.headings)]
    for k in range(len(heads) - 1, 1, -1):
        if heads[k][0] == heads[k - 1][0]:
            heads[k][0] = ""  # a group is named above its first column
    lines = [[head[0] for head in heads], [head[1] for head in heads]]
    lines += [[row.label, *(box.text for box in row.boxes)] for row in grid.rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    typer.echo(grid.title)
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)),
        ]
        typer.echo("  ".join(cells).rstrip())


def _tell(table: str, plan: Plan, tally: Tally, folder: Path, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "results": str(folder),
                "planned": len(plan.runs),
                "recorded before": plan.n_done,
                "not available": plan.unavailable,
                "made": tally.by_status,
                "errors": {str(record): record.error for record in tally.without},
            }
        )
        return
    ends = ", ".join(f"{count} {status}" for status, count in sorted(tally.by_status.items())) or "nothing to do"
    typer.echo(f"{tally.n_runs} of {len(plan.runs)} runs made ({ends}), {plan.n_done} were recorded before")
    if plan.n_unavailable:
        typer.echo(f"{plan.n_unavailable} runs are not available here: {', '.join(plan.unavailable)}")
    typer.echo(f"see: python -m experiments show {table} --results {folder}")


def _limit(seconds: float | None) -> float | None:
    if seconds is not None and not seconds > 0:
        raise InputError(f"expected time_limit= to be a number > 0 but got {seconds:g}; change the option")
    return seconds


def _numbers(text: str | None, option: str) -> list[int]:
    """Return the numbers of a list such as ``0-2,5``."""
    numbers: list[int] = []
    for part in listed(text or ""):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if found is None:
            raise InputError(f"expected {option} to be numbers such as 0-2,5 but got {part!r}; correct it")
        numbers += range(int(found[1]), int(found[2] or found[1]) + 1)
    return numbers
