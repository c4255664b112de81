"""``python -m dagopt.cli.demo FOLDER``: from a table to a proven graph, a picture and a report, in a few seconds."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dagopt.data.doctor import examine
from dagopt.data.writing import write_frame
from dagopt.errors import DagoptError, InputError
from dagopt.graph.formats import write_graph
from dagopt.graph.metrics import Comparison, compare
from dagopt.networks import datasets
from dagopt.report.view import Edge, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dagopt.results.result import Result

__all__ = ["main", "run"]

NETWORK, N_SAMPLES, SEED = "lucas", 2000, 0
FAILED = 2  # exit code


def run(folder: str | Path, console: Console | None = None) -> Result:
    """Learn a small network from data drawn from it, describe it, and write everything into a folder.

    Parameters
    ----------
    folder : path
        Created if it does not exist; files of the demo in it are replaced.
    console : rich Console, optional
        Where to print; standard output if not given.

    Returns
    -------
    Result
        What was learned.
    """
    out = _writable(Path(folder))
    say = Console(highlight=False) if console is None else console
    data, true = datasets.load(NETWORK, n_samples=N_SAMPLES, random_state=SEED)
    size = f"{true.number_of_nodes()} columns and {true.number_of_edges()} edges"
    say.print("[bold]dagopt: from a table to a graph one can trust[/bold]")
    say.print(
        f"The network LUCAS ({size}) is known. {N_SAMPLES:,} rows are drawn from it. The graph is learned from these "
        "rows alone, with a proof that none scores higher, and compared with the truth."
    )
    _head(say, 1, "the data")
    write_frame(data, out / "data.csv")
    say.print(str(examine(data)), markup=False)
    _head(say, 2, "learning")
    result = _learned(data)
    say.print(result.summary(), markup=False)
    _head(say, 3, "the edges, compared with the true network")
    found = compare(result.graph, true)
    say.print(_edge_table(result, found))
    say.print(str(found), markup=False)
    _head(say, 4, "files")
    written = _write_all(result, true, out)
    wide = max(len(str(path)) for path, _ in written)
    for path, about in written:
        say.print(Text.assemble("  ", (f"{path!s:<{wide}}", "cyan"), f"  {about}"), soft_wrap=True)
    _head(say, 5, "what next")
    say.print(f"  open {out / 'report.html'} in a browser, then try your own table:\n", markup=False, soft_wrap=True)
    for words in ("learn your.csv --out results", "--help"):
        say.print(f"  {_command()} {words}", markup=False, soft_wrap=True)
    return result


def _command() -> str:
    """Return how to call the command from here: by its name if a shell finds it, otherwise by its path."""
    beside = Path(sys.executable).with_name("dagopt")
    if shutil.which("dagopt") is not None or not beside.exists():
        return "dagopt"
    return str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside)


def _writable(folder: Path) -> Path:
    """Return the folder, created if needed, or raise an error that says why nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"could not write into {str(folder)!r}: {reason}; choose another folder") from None
    return folder


def _learned(data: Any) -> Result:
    from dagopt.learning.learning import learn

    return learn(data, method="exact", progress=True)


def _head(say: Console, number: int, text: str) -> None:
    say.print(f"\n[bold cyan]{number}[/bold cyan] [bold]{text}[/bold]")


def _edge_table(result: Result, found: Comparison) -> Table:
    """Return the learned edges, each compared with the true network."""
    view = view_of(result)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("from", "to"):
        table.add_column(name, no_wrap=True)
    for name in ("direction", "in the true network"):
        table.add_column(name)
    measured = any(edge.strength is not None for edge in view.edges)
    if measured:
        table.add_column("score gained", justify="right")
    for edge in view.edges:
        verdict, style = _verdict(edge, result.names, found)
        cells = [
            Text(result.names[edge.tail]),
            Text(result.names[edge.head]),
            "undirected" if edge.undirected else "directed",
        ]
        gained = [f"{edge.strength:,.2f}" if edge.strength is not None else ""] if measured else []
        table.add_row(*cells, Text(verdict, style=style), *gained)
    for tail, head in found.missing:
        table.add_row(Text(tail, style="dim"), Text(head, style="dim"), "", Text("yes, but not found", style="red"))
    return table


def _verdict(edge: Edge, names: tuple[str, ...], found: Comparison) -> tuple[str, str]:
    pair = (names[edge.tail], names[edge.head])
    either = (pair, pair[::-1])
    if any(pair in found.extra for pair in either):
        return "no", "yellow"
    if any(pair in found.reversed for pair in either):
        return "yes, with another direction", "blue"
    return "yes", "green"


def _write_all(result: Result, true: Any, out: Path) -> list[tuple[Path, str]]:
    """Write pictures, graph and report; return the files with descriptions."""
    import matplotlib

    matplotlib.use("Agg")
    from dagopt.report.plots import plot_comparison

    result.report(out / "report.html")
    write_graph(result.graph, out / "graph.dot")
    _write_picture(result.plot(), out / "graph.png")
    _write_picture(plot_comparison(result.graph, true), out / "comparison.png")
    return [
        (out / "report.html", "the report: one page, open it in a browser"),
        (out / "graph.png", "the graph"),
        (out / "comparison.png", "the graph and the true one, with the differences in colour"),
        (out / "graph.dot", "the graph for Graphviz and other programs"),
        (out / "data.csv", f"the {result.n_samples:,} rows"),
    ]


def _write_picture(ax: Axes, path: Path) -> None:
    """Write the figure of the axes as PNG, and close it."""
    import matplotlib.pyplot as plt

    picture = io.BytesIO()
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.savefig(picture, format="png")
        plt.close(figure)
    path.write_bytes(picture.getvalue())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo from the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 1 or given[0] in ("-h", "--help"):
        print("usage: python -m dagopt.cli.demo FOLDER", file=sys.stderr)
        return 0 if given[:1] in (["-h"], ["--help"]) else FAILED
    try:
        run(given[0])
    except (DagoptError, OSError) as error:
        print(f"dagopt demo: {error}", file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
