"""Where a result comes from: the data, the question, the program, and the command that repeats it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Provenance", "describe_data", "hash_of"]

_CHUNK = 1 << 20  # bytes of a file read at a time


@dataclass(frozen=True)
class Provenance:
    """Where a result comes from.

    Attributes
    ----------
    data : str
        The file, or the kind of data: ``"pandas DataFrame"``.
    sha256 : str or None
        The hash of the file's bytes, or of the names and values of data in memory; None if they cannot be read again
        (standard input).
    n_samples, n_columns : int
        Rows and columns that were learned from.
    score : str
        The name of the score, such as ``"BIC"``, or ``"penalised likelihood"`` if a number was given.
    penalty : float or None
        The cost of one parameter; None for scores without one.
    method : str
        The method that gave the answer.
    asked : str
        The method that was asked for, such as ``"auto"``.
    options : dict
        The arguments besides the data and the method, as text.
    seed : int or None
        The random seed; None for methods that draw no random numbers.
    version : str
        The version of dagopt.
    date : str
        When the run ended, ISO 8601 with the time zone.
    seconds, compile_seconds : float
        The time of the run without compiling kernels, and the time of compiling, which happens once per machine.
    command : str
        The command that repeats the run.
    """

    data: str
    sha256: str | None
    n_samples: int
    n_columns: int
    score: str
    penalty: float | None
    method: str
    asked: str
    options: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    version: str = ""
    date: str = ""
    seconds: float = 0.0
    compile_seconds: float = 0.0
    command: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def describe_data(data: object) -> str:
    """Return the name of a file, or what the data are: ``"pandas DataFrame"``, ``"numpy array"``."""
    if isinstance(data, str | Path):
        return "standard input" if str(data) == "-" else str(data)
    kind = type(data)
    package = kind.__module__.partition(".")[0]
    if isinstance(data, np.ndarray):
        return "numpy array"
    return kind.__name__ if package in ("builtins", "dagopt") else f"{package} {kind.__name__}"


def hash_of(data: object) -> str | None:
    """Return the SHA-256 of a file's bytes, or of the names and values of data in memory; None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> hash_of(np.zeros((2, 2))) == hash_of(np.zeros((2, 2))) != hash_of(np.ones((2, 2)))
    True
    """
    digest = hashlib.sha256()
    if isinstance(data, str | Path):
        if not Path(data).is_file():
            return None
        with open(data, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()
    if hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if isinstance(data, Mapping):
        data = pd.DataFrame(dict(data))
    if isinstance(data, pd.DataFrame):
        digest.update(repr(list(data.columns)).encode())
        digest.update(pd.util.hash_pandas_object(data.reset_index(drop=True), index=False).to_numpy().tobytes())
        return digest.hexdigest()
    if hasattr(data, "arrays") and hasattr(data, "names"):  # a table; its cached properties do not count
        arrays = {str(k): array for k, array in enumerate(data.arrays)} | {"names": data.names}
    else:
        arrays = {"": data} if isinstance(data, np.ndarray) else vars(data) if hasattr(data, "__dict__") else {}
    if not any(isinstance(value, np.ndarray) for value in arrays.values()):
        return None
    for name, value in sorted(arrays.items()):
        if isinstance(value, np.ndarray):
            digest.update(f"{name} {value.dtype} {value.shape}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, tuple):
            digest.update(f"{name} {value!r}".encode())
    return digest.hexdigest()
