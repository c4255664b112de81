"""One run and its outcome, as one line of JSON."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from experiments.instances import Cell

__all__ = ["ENDED", "Key", "Record", "Run", "graph_text", "parse_graph"]

Key = tuple[str, int | None, str, str]

ENDED = ("optimal", "converged", "time_limit")  # the rest, failed and killed, have no answer

LONGEST_ERROR = 300

_EDGE = re.compile(r"(\d+)([>-])(\d+)")
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?[\\/](?:[^\s\\/'\"()]+[\\/])+")


@dataclass(frozen=True)
class Run:
    """A run to be made.

    Attributes
    ----------
    instance : str
        Name of a cell.
    seed : int or None
        The seed of a simulated instance.
    method : str
        A method of ``learn``, or of another package.
    options : dict
        Options of the method that are not its defaults.
    limit : float
        Seconds; the method is asked to end by then, and the process is ended some time later.
    """

    instance: str
    seed: int | None
    method: str
    options: dict[str, Any] = field(default_factory=dict)
    limit: float = 10800.0

    @property
    def cell(self) -> Cell:
        """The cell of the instance."""
        return Cell.named(self.instance)

    @property
    def key(self) -> Key:
        """What makes two runs the same; the limit does not."""
        return (self.instance, self.seed, self.method, json.dumps(self.options, sort_keys=True))

    def __str__(self) -> str:
        seed = "" if self.seed is None else f" seed {self.seed}"
        options = "".join(f" {name}={value}" for name, value in self.options.items())
        return f"{self.method}{options} on {self.instance}{seed}"


@dataclass(frozen=True)
class Record(Run):
    """A run and its outcome.

    Attributes
    ----------
    status : str
        ``optimal``, ``converged``, ``time_limit``; ``failed`` or ``killed``, which have an ``error`` and no answer.
    score, true_score, bound : float or None
        BIC by the paper's definition of the answer and of the true DAG, and the proven bound; a class of DAGs has the
        score of a member.
    graph : str or None
        The edges by column number, ``"0>3 1-4"``: 0 → 3 and 1 - 4.
    precision, recall, shd
        Between essential graphs, as in the paper.
    seconds, cpu_seconds : float or None
        The time of the method alone, on one thread, with everything loaded.
    peak_mb : int or None
        The most memory of the process, in MB.
    first_pricing : float or None
        Seconds per node of the first round of pricing, for column generation.
    error : str or None
        Why there is no answer.
    versions, machine, date : str
        Versions of packages, the machine and the date.
    """

    status: str = "failed"
    score: float | None = None
    true_score: float | None = None
    bound: float | None = None
    graph: str | None = None
    precision: float | None = None
    recall: float | None = None
    shd: int | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mb: int | None = None
    first_pricing: float | None = None
    error: str | None = None
    versions: str = ""
    machine: str = ""
    date: str = ""

    @classmethod
    def of(cls, run: Run, **outcome: Any) -> Record:
        """Return the record of a run."""
        return cls(run.instance, run.seed, run.method, run.options, run.limit, **outcome)

    @classmethod
    def without_answer(cls, run: Run, status: str, error: str, **provenance: str) -> Record:
        """Return the record of a run that failed or was killed; folder names are removed from the message."""
        told = _FOLDERS.sub("", " ".join(error.split()))[:LONGEST_ERROR]
        return cls.of(run, status=status, error=told, **provenance)

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Read a line; ``ValueError`` or ``TypeError`` if it is incomplete."""
        values = {"seed": None} | json.loads(line)
        known = {one.name for one in fields(cls)}
        return cls(**{key: value for key, value in values.items() if key in known})

    def to_line(self) -> str:
        """Return one line, with numbers rounded to meaningful digits, without None values."""
        values = {key: _rounded(key, value) for key, value in asdict(self).items() if value is not None}
        return json.dumps(values, ensure_ascii=True, separators=(",", ":")) + "\n"

    @property
    def ended(self) -> bool:
        """Whether there is an answer."""
        return self.status in ENDED


def graph_text(adjacency: NDArray[np.int8]) -> str:
    """Return the edges of a graph by column number.

    Examples
    --------
    >>> graph_text(np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]]))
    '0>1 1-2'
    """
    edges = [(int(i), int(j)) for i, j in np.argwhere(adjacency)]
    both = [(i, j) for i, j in edges if adjacency[j, i]]
    return " ".join(f"{i}-{j}" if (i, j) in both else f"{i}>{j}" for i, j in edges if (i, j) not in both or i < j)


def parse_graph(text: str, n_nodes: int) -> NDArray[np.int8]:
    """Return the adjacency that ``graph_text`` wrote."""
    adjacency = np.zeros((n_nodes, n_nodes), dtype=np.int8)
    for word in text.split():
        found = _EDGE.fullmatch(word)
        if found is None or not max(int(found[1]), int(found[3])) < n_nodes:
            raise InputError(f"expected edges such as '0>3' or '1-4' between {n_nodes} columns but got {word!r}")
        i, j = int(found[1]), int(found[3])
        adjacency[i, j] = 1
        if found[2] == "-":
            adjacency[j, i] = 1
    return adjacency


def _rounded(name: str, value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if name in ("seconds", "cpu_seconds", "first_pricing"):
        return float(f"{value:.4g}")
    return round(value, 4)
