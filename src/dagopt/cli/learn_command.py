"""The command ``dagopt learn``."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dagopt.cli import flags as shared
from dagopt.cli.knowledge_flags import KnowledgeOptions
from dagopt.cli.output import OutputFolder, as_plain, graph_files, require_file
from dagopt.cli.show import MOST_SHOWN, in_flags, print_json, print_summary, print_table
from dagopt.data.data_options import DataOptions
from dagopt.deadline import Deadline
from dagopt.errors import DataWarning, InputError
from dagopt.scores.score_options import ScoreOptions

if TYPE_CHECKING:
    import pandas as pd

    from dagopt.data.findings import Finding
    from dagopt.graph.constraints import Constraints
    from dagopt.methods.registry import MethodName
    from dagopt.progress import Progress
    from dagopt.results.result import Result

__all__ = ["LearnCommand", "learn"]

ABOUT_TRUST = "How sure?"
LATE_SHARE, MOST_LATE = 0.05, 0.5  # of the time limit, and seconds: what the check of directions may take beyond it
# Numbers of edges as the screen shows them: by name, the heading and the format.
TRUST = {
    "lost if not joined": ("apart", "{:.2f}"),
    "lost if reversed": ("reversed", "{:.2f}"),
    "joined in resamples": ("joined", "{:.0%}"),
    "this way in resamples": ("this way", "{:.0%}"),
}
LEGEND = {
    "apart": "apart, reversed: the score lost by the best DAG without the edge, or with it reversed",
    "joined": "joined, this way: the share of resamples that join the two, and in this direction",
}
# Options of a method that make no sense, or fail, when it runs once for each resample.
NOT_FOR_RESAMPLES = ("n_best", "checkpoint", "resume", "save_scores")


class LearnCommand(TyperCommand):
    """The command, which looks up the methods only for its help, and remembers the command line."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of a call, with the command line as typed, and the flags that only its method has."""
        from dagopt.cli.method_flags import method_in, own_flags, refuse_flags_of_others

        written = ["dagopt", str(info_name), *args]
        method = method_in(args)
        own = own_flags(method)
        shared_by_all = self.params
        self.params = [*shared_by_all, *own]
        try:
            known = [flag for one in self.params for flag in (*one.opts, *one.secondary_opts)]
            refuse_flags_of_others(method, args, [*known, "--help"])
            context = super().make_context(info_name, args, parent, **extra)
        finally:
            self.params = shared_by_all
        context.meta["written"] = shlex.join(written)
        values = {one.name: context.params.pop(one.name) for one in own}
        given = [name for name in values if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
        context.meta["own"] = {name: values[name] for name in given}
        return context

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, with the methods and the formats below it."""
        from dagopt.methods.registry import METHODS

        listed = [f"- **{name}**: {method.about}" for name, method in METHODS.items()]
        formats = f"Formats of graph files: {', '.join(graph_files())}."
        more = "A method's own options: `dagopt learn --method NAME --help`."
        self.epilog = "\n".join(["Methods:", "", *listed, "", more, "", formats])
        super().format_help(ctx, formatter)


@shared.with_flags
def learn(
    context: typer.Context,
    data: shared.Data,
    scoring: ScoreOptions,
    knowledge: KnowledgeOptions,
    reading: DataOptions,
    method: Annotated[
        str, typer.Option(help="How to learn; with --help, its own options too.", metavar="NAME")
    ] = "auto",
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds; the run ends with the best so far. --explain and --bootstrap may each take as long again.",
            metavar="SECONDS",
        ),
    ] = None,
    interventions: Annotated[
        str | None,
        typer.Option(
            help="Column that names what each row set from outside, or has its number from 1; empty or 0 for none.",
            metavar="COLUMN",
        ),
    ] = None,
    experiments: Annotated[
        str | None,
        typer.Option(
            help="Column that names the experiment of each row, if it is not known which columns these change.",
            metavar="COLUMN",
        ),
    ] = None,
    interview: Annotated[
        bool,
        typer.Option("--interview", help="Ask on the terminal what comes first, before learning; nothing is assumed."),
    ] = False,
    random_state: shared.Seed = None,
    n_jobs: shared.Jobs = None,
    start: shared.Start = None,
    device: shared.Device = None,
    memory_limit: shared.MemoryLimit = None,
    n_best: shared.NBest = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Add the score lost by the best DAG without each edge, or with it reversed.",
            rich_help_panel=ABOUT_TRUST,
        ),
    ] = False,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Add how often each edge is learned from this many resamples.",
            metavar="N",
            rich_help_panel=ABOUT_TRUST,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for graph files, result.json and report.html.",
            metavar="FOLDER",
            rich_help_panel=shared.ABOUT_OUTPUT,
        ),
    ] = None,
    proof: Annotated[
        Path | None,
        typer.Option(help="Proof file (.json) for dagopt verify.", metavar="FILE", rich_help_panel=shared.ABOUT_OUTPUT),
    ] = None,
    with_data: shared.WithData = False,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Graph files, listed below; jkl: DATA holds local scores.",
            show_default="dot,csv",
            metavar="A,B",
            rich_help_panel=shared.ABOUT_OUTPUT,
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Learn the graph of a table, say what is proven about it, and write it to files.

    **Examples:**

    `dagopt learn data.csv`

    `dagopt learn data.csv --out results --format dot,graphml --explain --bootstrap 100`

    `dagopt learn data.csv --method cg-dca --time-limit 60 --seed 1 --jobs 2 --start mine.dot`

    `dagopt learn data.csv --score bdeu --ess 10 --max-parents 3 --required 'smoke->lung' --tiers 'age;smoke,lung'`

    `dagopt learn data.csv --knowledge known.toml --forbidden 'lung->smoke' --penalty 4.5`

    `dagopt learn data.csv --method pc --alpha 0.01`

    `dagopt learn trial.csv --interventions target`

    `cut -d, -f2- data.csv | dagopt learn - --columns age,smoke,lung`

    Exit code 0, also if the time limit ended the run (a message says so); 2 if the input is bad.
    """
    from dagopt.learning.learning import learn as learned
    from dagopt.learning.score_files import is_score_file

    written_as, format = _formats(formats or [])
    folder = OutputFolder.asked(out, written_as, with_data)
    require_file(proof, "--proof", (".json",))
    given = {
        "start": start,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "device": device,
        "memory_limit": memory_limit,
        "n_best": n_best,
    }
    given |= context.meta["own"]
    name, own = _method_options(method, {key: value for key, value in given.items() if value is not None})
    asked: dict[str, Any] = {"time_limit": time_limit, "progress": not quiet, **knowledge.known()}
    if interview:
        asked["constraints"], reading = _interviewed(data, asked["constraints"], reading)
    if is_score_file(data, format) and (explain or bootstrap or interventions or experiments):
        raise InputError(
            f"--explain, --bootstrap, --interventions and --experiments need data, but {data} holds local scores; "
            f"leave them out"
        )
    if (interventions or experiments) is not None and bootstrap is not None:
        flag = "--experiments" if interventions is None else "--interventions"
        raise InputError(f"--bootstrap cannot resample rows of experiments; leave out --bootstrap or {flag}")
    if is_score_file(data, format):
        if folder is not None:
            folder.check(name, "a list of local scores")
        result = learned(data, name, format=format, **asked, **own)
    else:
        from dagopt.progress import display

        asked |= scoring.to_dict() | {"progress": _Announced(display(not quiet), folder, name, quiet)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # they are printed before the method starts
            told: dict[str, Any] = {"interventions": interventions, "experiments": experiments}
            result = learned(data, name, **told, **asked, **reading.to_dict(), **own)
    with Deadline() as stop:  # a first Ctrl-C ends what is computed from here on, but what was found is written
        result = _as_written(result, context.meta["written"])
        if time_limit is not None:
            left = time_limit - result.seconds
            result.directions(time_limit=max(left, min(LATE_SHARE * time_limit, MOST_LATE)))
        if explain:
            searching: dict[str, Any] = {
                key: own[key] for key in ("random_state", "n_jobs", "memory_limit") if key in own
            }
            result = _with_regrets(result, {"time_limit": time_limit, "progress": not quiet, **searching})
        if bootstrap is not None and stop.reason is None:
            result = _with_resamples(result, bootstrap, name, own, asked)
        try:
            files = [] if folder is None else folder.write(result)
            if proof is not None:
                result.save_proof(proof)
                files.append(proof)
        except InputError:
            _tell(result, [], as_json)  # an answer that cannot be written is still shown
            raise
    _tell(result, files, as_json)


def _interviewed(data: Any, known: Constraints, reading: DataOptions) -> tuple[Constraints, DataOptions]:
    """Ask what is known about the columns; return it, and how the data are read without those to be left out."""
    from dagopt.cli.interview import interviewed
    from dagopt.data.table import as_table
    from dagopt.learning.score_files import is_score_file

    if str(data) == "-" or is_score_file(data):
        raise InputError("--interview reads the names of the columns first; give a file of data")
    if known.tiers:
        raise InputError("--interview asks for tiers, which are given already; leave out --interview or --tiers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = as_table(data, **reading.to_dict())
    names = table.names if table.lags is None else table.lags.series
    told, left_out = interviewed(names, known)
    return told, replace(reading, exclude=[*(reading.exclude or ()), *left_out]) if left_out else reading


class _Announced:
    """Shows a run; before the method starts, checks that its files can be written and prints the doctor's warnings."""

    def __init__(self, shown: Progress, folder: OutputFolder | None, method: str, quiet: bool) -> None:
        self._folder = folder
        self._method = method
        self._quiet = quiet
        self.update, self.note, self.close = shown.update, shown.note, shown.close
        self.is_live = getattr(shown, "is_live", False)

    def posed(self, kind: str, warnings: Sequence[Finding]) -> None:
        """Check the folder and print the warnings."""
        if self._folder is not None:
            self._folder.check(self._method, kind)
        for finding in () if self._quiet else warnings:
            typer.echo(f"warning: {in_flags(finding.line)}", err=True)


def _formats(asked: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the formats of the files to write, and ``"jkl"`` if it is asked for, which is a format of the data."""
    names = [name for text in asked for name in shared.listed(text)]
    return [name for name in names if name.lower() != "jkl"], "jkl" if "jkl" in map(str.lower, names) else None


def _as_written(result: Result, written: str) -> Result:
    """Return the result with the command line as its origin."""
    if result.provenance is None:
        return result
    return replace(result, provenance=replace(result.provenance, command=written))


def _with_regrets(result: Result, options: dict[str, Any]) -> Result:
    """Return the result with what is lost without each edge; if that is not possible, print why."""
    from dagopt.report.edge_confidence import with_evidence

    if result.status == "interrupted":
        return result
    try:
        lost = result.regrets(**options)
    except InputError as error:
        typer.echo(f"warning: --explain: {in_flags(str(error))}", err=True)
        return result
    return with_evidence(result, regrets=lost)


def _with_resamples(result: Result, n: int, method: MethodName, own: dict[str, Any], asked: dict[str, Any]) -> Result:
    """Return the result with how often each edge is learned from resampled rows by the same method."""
    from dagopt.confidence.bootstrap import bootstrap
    from dagopt.report.edge_confidence import with_evidence

    if result.status == "interrupted" or result.problem is None:
        return result
    seeds = {key: own[key] for key in ("random_state", "n_jobs") if key in own}
    others = {} if method == "auto" else {key: value for key, value in own.items() if key not in NOT_FOR_RESAMPLES}
    return with_evidence(
        result, bootstrap=bootstrap(result.problem.table, n, method=method, **asked, **(seeds | others))
    )


def _method_options(method: str, given: dict[str, Any]) -> tuple[MethodName, dict[str, Any]]:
    """Return the name of the method and its options, or say which of them it does not take, or which value."""
    from dagopt.cli.method_flags import all_flags, value_of
    from dagopt.methods.registry import METHODS, method_name

    name = method_name(method)
    kind = METHODS[name].options_type()
    flags = all_flags(kind)
    for key in given:
        if key not in flags:
            raise InputError(f"method {name!r} has no {shared.FLAGS[key]}; it has {', '.join(flags.values())}")
    values = {key: value if key in shared.FLAGS else value_of(name, key, value) for key, value in given.items()}
    try:
        kind(**values)
    except InputError as error:
        raise InputError(in_flags(str(error), flags)) from None
    return name, values


def _tell(result: Result, files: Sequence[Path], as_json: bool) -> None:
    if as_json:
        print_json(as_plain(result) | _classes_for_json(result) | {"files": [str(file) for file in files]})
        return
    print_summary(result.summary())
    edges = _edge_frame(result)
    if len(edges):
        typer.echo("")
        more = len(edges) - MOST_SHOWN
        print_table(edges.head(MOST_SHOWN), "Edges", bar="score gained")
        if more > 0:
            typer.echo(f"... and {more} more edges; --out or --json has them all")
        _tell_trust(result, edges.head(MOST_SHOWN))
    classes = result.details.get("best_classes", [])
    if len(classes) > 1:
        typer.echo("")
        print_table(_class_frame(classes), "Best equivalence classes")
    if files:
        typer.echo("")
        for file in files:
            typer.echo(f"wrote {file}")


def _edge_frame(result: Result) -> pd.DataFrame:
    """Return the edges, the most valuable first if the method says what each is worth."""
    import pandas as pd

    from dagopt.graph.order import is_sparse
    from dagopt.report.view import view_of

    if is_sparse(result.adjacency):
        named = result.edges.rename(columns={"gain": "score gained"})
        named.insert(1, "", "->")
        return named.sort_values("score gained", ascending=False, kind="stable")
    view = view_of(result)
    rows = [
        (
            result.names[edge.tail],
            "->" if view.starts_with_dag or not edge.undirected else "--",
            result.names[edge.head],
            edge.direction,
            edge.strength,
        )
        for edge in view.edges
    ]
    frame = pd.DataFrame(rows, columns=["from", "", "to", "direction", "score gained"])
    if frame["score gained"].isna().any() or frame.empty:
        return frame.drop(columns="score gained")
    return frame.astype({"score gained": float}).sort_values("score gained", ascending=False, kind="stable")


def _tell_trust(result: Result, edges: pd.DataFrame) -> None:
    """Print what --explain and --bootstrap found about the edges."""
    figures = result.details.get("edge_figures", {})
    shown = edges[["from", "", "to"]].copy()
    for name, (short, form) in TRUST.items():
        if name in figures:
            values = (figures[name].get(f"{a} -> {b}") for a, b in zip(edges["from"], edges["to"], strict=True))
            shown[short] = ["" if value is None else form.format(value) for value in values]
    if shown.shape[1] > 3:
        typer.echo("")
        print_table(shown, "How certain each edge is", right=shown.columns[3:])
        for short, meaning in LEGEND.items():
            if short in shown:
                typer.echo(meaning)


def _class_frame(classes: Sequence[dict[str, Any]]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    rows = [
        (
            rank,
            float(one["score"]),
            float(classes[0]["score"] - one["score"]),
            int(np.triu(one["cpdag"] | one["cpdag"].T).sum()),
        )
        for rank, one in enumerate(classes, start=1)
    ]
    return pd.DataFrame(rows, columns=["rank", "score", "worse by", "edges"])


def _classes_for_json(result: Result) -> dict[str, Any]:
    """Return the best classes, a member of each, as plain values."""
    from dagopt.graph.dag import Graph

    if "best_classes" not in result.details:
        return {}
    return {
        "best_classes": [
            {
                "score": float(one["score"]),
                "edges": [list(edge) for edge in Graph(one["adjacency"], result.names).directed_edges],
            }
            for one in result.details["best_classes"]
        ]
    }
