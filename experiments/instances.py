"""The instances of the paper's experiments: simulated Gaussian cells by seed, and the published data sets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.data.table import Table, as_table
from dagopt.errors import InputError, quoted
from dagopt.graph.dag import as_graph
from dagopt.graph.formats import read_graph
from dagopt.networks.simulate import simulate

__all__ = ["DATA_FOLDER", "SETS", "Cell", "Instance", "data_folder", "load", "missing_data", "small_table"]

# Columns, rows and title of the sets that the paper uses; the files are the user's.
SETS = {
    "gaussian_test": (7, 5000, "gaussian.test"),
    "lucas": (12, 2000, "LUCAS"),
    "insurance": (27, 20000, "INSURANCE"),
    "alarm": (37, 20000, "ALARM"),
}
DATA_FOLDER = Path("../shared/data")  # used if no folder is given

_GAUSSIAN = re.compile(r"n(\d+)-N(\d+)-d(\d+\.\d+)")


@dataclass(frozen=True)
class Cell:
    """A row of the paper's tables: one design of simulated data, or one data set.

    Attributes
    ----------
    name : str
        ``"n15-N5000-d0.5"`` or the name of a set.
    n_nodes, n_samples : int
        Columns and rows.
    degree : float or None
        Average number of parents of simulated networks.
    """

    name: str
    n_nodes: int
    n_samples: int
    degree: float | None = None

    @classmethod
    def gaussian(cls, n_nodes: int, n_samples: int, degree: float) -> Cell:
        """Return the cell (n, N, d) of section 5.2."""
        return cls(f"n{n_nodes}-N{n_samples}-d{degree:.1f}", n_nodes, n_samples, float(degree))

    @classmethod
    def named(cls, name: str) -> Cell:
        """Return the cell with this name.

        Examples
        --------
        >>> Cell.named("n15-N5000-d0.5").degree, Cell.named("lucas").n_nodes
        (0.5, 12)
        """
        found = _GAUSSIAN.fullmatch(name)
        if found:
            return cls.gaussian(int(found[1]), int(found[2]), float(found[3]))
        if name in SETS:
            return cls(name, *SETS[name][:2])
        raise InputError(f"expected a cell such as 'n15-N5000-d0.5' or one of {quoted(SETS)} but got {name!r}")

    @property
    def label(self) -> str:
        """The cell as the paper writes it."""
        if self.degree is None:
            return SETS[self.name][2]
        return f"({self.n_nodes}, {self.n_samples}, {self.degree:.1f})"


class Instance(NamedTuple):
    """Data and the DAG it came from."""

    table: Table
    dag: NDArray[np.int8]


def load(cell: Cell, seed: int | None, folder: Path | None = None) -> Instance:
    """Draw a simulated instance, or read a data set.

    Parameters
    ----------
    cell : Cell
        What to load.
    seed : int or None
        The seed of a simulated instance; data sets have none.
    folder : path, optional
        Where the files of the sets are: ``NAME.csv`` or ``NAME.csv.gz``, and ``NAME.edges.csv`` with the true edges.
    """
    if cell.degree is not None:
        data, dag = simulate(cell.n_nodes, cell.n_samples, cell.degree, seed)
        table = as_table(data)
        return Instance(table, as_graph(dag, table.names).adjacency)
    reason = missing_data(cell, folder)
    if reason is not None or folder is None:
        raise InputError(f"{cell.name} is not available: {reason}")
    table = as_table(_data_file(cell, folder))
    if (len(table.names), table.n_samples) != (cell.n_nodes, cell.n_samples):
        raise InputError(
            f"expected {cell.n_nodes} columns and {cell.n_samples} rows in {cell.name}, the paper's set, but got "
            f"{len(table.names)} and {table.n_samples}; check the file"
        )
    return Instance(table, read_graph(_edge_file(cell, folder), list(table.names)).adjacency)


def missing_data(cell: Cell, folder: Path | None) -> str | None:
    """Say why a cell has no data, or return None if it has."""
    if cell.degree is not None:
        return None
    if folder is None:
        return "its data set is not bundled; give --data FOLDER"
    lacking = [file.name for file in (_data_file(cell, folder), _edge_file(cell, folder)) if not file.exists()]
    return f"the data folder has no {quoted(lacking)}" if lacking else None


def data_folder(given: Path | None) -> Path | None:
    """Return the folder with the data sets: the one given, otherwise ``DATA_FOLDER`` if it exists."""
    if given is None:
        return DATA_FOLDER.resolve() if DATA_FOLDER.is_dir() else None
    if not given.is_dir():
        raise InputError(f"expected a folder at {str(given)!r} with the data sets but got none; check --data")
    return given.resolve()


def small_table(cell: Cell) -> Table:
    """Return a small table of the same kind as a cell, to load and compile everything before a run is timed."""
    discrete = cell.degree is None and cell.name != "gaussian_test"
    return as_table(simulate(5, 200, 1.0, 0, kind="discrete" if discrete else "gaussian").data)


def _data_file(cell: Cell, folder: Path) -> Path:
    plain = folder / f"{cell.name}.csv"
    packed = folder / f"{cell.name}.csv.gz"
    return packed if packed.exists() and not plain.exists() else plain


def _edge_file(cell: Cell, folder: Path) -> Path:
    return folder / f"{cell.name}.edges.csv"
