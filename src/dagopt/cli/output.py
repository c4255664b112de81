"""The folder that ``dagopt learn --out`` writes: graph files, the result as JSON, the report."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagopt.cli.flags import listed
from dagopt.errors import InputError, unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dagopt.results.result import Result

__all__ = [
    "PICTURE_FILES",
    "TABLE_FILES",
    "OutputFolder",
    "as_plain",
    "graph_files",
    "graph_suffixes",
    "require_file",
    "require_place",
    "write_picture",
]

USUAL = ("dot", "csv")
PICTURES = ("png", "svg")
TABLE_FILES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
PICTURE_FILES = tuple(f".{name}" for name in PICTURES)


def graph_files() -> dict[str, str]:
    """Return the names that ``--format`` takes, each with the name of its file."""
    from dagopt.graph.formats import FORMATS

    graphs = {name: f"graph{one.suffixes[0]}" for name, one in FORMATS.items() if one.suffixes}
    return graphs | {name: f"graph.{name}" for name in PICTURES}


def graph_suffixes() -> tuple[str, ...]:
    """Return the suffixes of the graph files that hold any graph without parameters."""
    from dagopt.graph.formats import FORMATS

    return tuple(suffix for name, one in FORMATS.items() if name != "bif" for suffix in one.suffixes)


@dataclass(frozen=True)
class OutputFolder:
    """A folder and the graph formats to write into it.

    Parameters
    ----------
    path : path
        The folder; created, if needed, when something is written.
    formats : tuple of str
        Some of ``graph_files()``.
    with_data : bool
        Whether the report holds a sample of the rows.
    """

    path: Path
    formats: tuple[str, ...]
    with_data: bool = False

    @classmethod
    def asked(cls, path: Path | None, formats: Sequence[str], with_data: bool = False) -> OutputFolder | None:
        """Return the folder that the options ask for, after checking that it can be written."""
        names = tuple(dict.fromkeys(name.lower() for text in formats for name in listed(text)))
        for name in names:
            if name not in graph_files():
                raise unknown_name("graph format", name, list(graph_files()))
        if path is None:
            if names:
                raise InputError(f"--format {','.join(names)} needs a folder to write into; add --out FOLDER")
            if with_data:
                raise InputError("--with-data is about the report, which needs a folder; add --out FOLDER")
            return None
        require_place(path)
        return cls(path, names or USUAL, with_data)

    def check(self, method: str, kind: str) -> None:
        """Raise an error for formats that cannot hold what the method will learn."""
        from dagopt.graph.formats import FORMATS

        for name in self.formats:
            if method == "pc" and name in FORMATS and FORMATS[name].only_dags:
                raise InputError(
                    f"--format {name} holds only DAGs, but method 'pc' learns a class of them; choose dot, csv or "
                    f"another format"
                )
        if "bif" in self.formats and kind != "discrete":
            raise InputError(
                f"--format bif holds only discrete columns, but the table is {kind}; choose dot, csv or another format"
            )

    def write(self, result: Result) -> list[Path]:
        """Write everything, each file completely or not at all, and return the files."""
        from dagopt.files import write_text
        from dagopt.networks.fitted.json_text import json_text

        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        files = []
        for name in self.formats:
            files.append(self.path / graph_files()[name])
            _write_graph(result, name, files[-1])
        files.append(self.path / "result.json")
        write_text(json_text(as_plain(result) | _parameters(result), depth=3), files[-1])
        files.append(result.report(self.path / "report.html", with_data=self.with_data))
        return files


def require_place(folder: Path) -> None:
    """Raise an error unless files can be written into a folder, or it can be created; nothing is left behind."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> InputError:
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    return InputError(f"could not write into {str(folder)!r}: {reason}; choose another folder")


def _write_graph(result: Result, name: str, path: Path) -> None:
    from dagopt.graph.formats import write_graph
    from dagopt.networks.fitted import FittedDiscrete
    from dagopt.report.parameters import fitted_or_why

    if name in PICTURES:
        write_picture(result.plot, path)
    elif name == "bif" and isinstance(fitted := fitted_or_why(result)[0] or result.fit(), FittedDiscrete):
        fitted.to_bif(path)
    else:
        write_graph(result, path)


def require_file(path: Path | None, option: str, suffixes: Sequence[str]) -> None:
    """Raise an error unless a file of one of these kinds can be written to the path, if there is one."""
    if path is None:
        return
    if not path.name.lower().endswith(tuple(suffixes)):
        raise InputError(f"expected {option} to end in {', '.join(suffixes)} but got {str(path)!r}; rename it")
    if not path.parent.is_dir():
        raise InputError(f"could not write {str(path)!r}: there is no folder {str(path.parent)!r}; create it first")
    require_place(path.parent)


def write_picture(plot: Callable[[], Axes], path: Path) -> None:
    """Write what a function draws as a picture, in the format of the suffix, completely or not at all."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from dagopt.files import replacing

    picture = io.BytesIO()
    figure = plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(picture, format=path.suffix[1:])
    plt.close(figure)
    with replacing(path) as draft:
        draft.write_bytes(picture.getvalue())


def as_plain(result: Result) -> dict[str, Any]:
    """Return the result as plain values, for JSON, with the numbers of its edges if there are any."""
    figures = result.details.get("edge_figures")
    return result.to_dict() | ({"edge_figures": figures} if figures else {})


def _parameters(result: Result) -> dict[str, Any]:
    """Return the parameters of the DAG as plain values, or why there are none."""
    from dagopt.report.parameters import fitted_or_why

    fitted, why = fitted_or_why(result)
    if fitted is None:
        return {"parameters": None, "why_no_parameters": why}
    return {"parameters": fitted.to_dict()}
