"""Records the origin of every result of ``learn``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any, ParamSpec

from dagopt import __version__
from dagopt.data.batches import is_streamed
from dagopt.data.summarise import is_statistics
from dagopt.kernels.compiling import CompilationClock
from dagopt.methods.registry import METHODS
from dagopt.problem import Problem
from dagopt.results.provenance import Provenance, describe_data, hash_of
from dagopt.results.result import Result
from dagopt.scores.build import SCORES

__all__ = ["recorded"]

Arguments = ParamSpec("Arguments")

NOT_ASKED = ("data", "covariance", "method", "progress")  # arguments that are not recorded as options
NAMES = {"bdeu": "BDeu", "bge": "BGe", "loglik": "log-likelihood"}
MOST_CELLS, MOST_BYTES = 200_000, 20_000_000  # of data that are hashed after the run, not beside it
LONGEST = 200  # the most characters of an argument in the recorded command


def recorded(learn: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with the origin recorded in its results."""
    signature = inspect.signature(learn)

    @functools.wraps(learn)
    def learn_and_record(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        bound = signature.bind(*args, **kwargs)
        data = bound.arguments.get("data")
        sha256 = _Hash(data if data is not None else bound.arguments.get("covariance"))
        with CompilationClock() as compiling:
            result = learn(*args, **kwargs)
        return replace(result, provenance=_provenance(result, bound, signature, compiling.seconds, sha256))

    return learn_and_record


class _Hash:
    """The hash of data; of large data found beside the run, so that a time limit is kept."""

    def __init__(self, data: object) -> None:
        self.data = data
        self._found: list[str | None] = []
        self._thread: Thread | None = None
        self._is_read_once = is_streamed(data) or is_statistics(data)
        is_large = getattr(data, "size", 0) > MOST_CELLS or _bytes_of_file(data) > MOST_BYTES
        if is_large and not self._is_read_once:
            self._thread = Thread(target=self._find, daemon=True)
            self._thread.start()

    def _find(self) -> None:
        self._found.append(hash_of(self.data))

    def value(self, problem: Problem | None) -> str | None:
        """Return the hash, of the table if the data were read once; None if there is none."""
        if self._is_read_once and problem is not None:
            return hash_of(problem.table)
        if self._thread is not None:
            self._thread.join()
        if not self._found:
            self._find()
        return self._found[0]


def _bytes_of_file(data: object) -> int:
    try:
        return Path(data).stat().st_size if isinstance(data, str | Path) else 0
    except OSError:
        return 0


def _provenance(
    result: Result, bound: inspect.BoundArguments, signature: inspect.Signature, compile_seconds: float, sha256: _Hash
) -> Provenance:
    given = {name: value for name, value in bound.arguments.items() if name != "options"}
    given |= bound.arguments.get("options", {})
    data = sha256.data
    asked = str(given.get("method", signature.parameters["method"].default))
    options = {
        name: _text(value)
        for name, value in given.items()
        if name not in NOT_ASKED and not _is_default(value, signature.parameters.get(name))
    }
    options = {name: text for name, text in options.items() if text != "dagopt.Constraints()"}
    seeds = METHODS[result.method].options() if result.method in METHODS else {}
    seed = given.get("random_state", seeds.get("random_state"))
    called = [_text(data) if isinstance(data, str | Path) else "data"]
    called = ["covariance=covariance"] if given.get("covariance") is not None else called
    called += [f"method={asked!r}"] if asked != "auto" else []
    called += [f"{name}={text}" for name, text in options.items()]
    score, penalty = _score(given.get("score", "auto"), result.problem, result.score_label)
    return Provenance(
        data=describe_data(data),
        sha256=sha256.value(result.problem),
        n_samples=result.n_samples,
        n_columns=len(result.names),
        score=score,
        penalty=penalty,
        method=result.method,
        asked=asked,
        options=options,
        seed=seed if isinstance(seed, int) else None,
        version=__version__,
        date=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        seconds=round(result.seconds, 4),
        compile_seconds=round(compile_seconds, 4),
        command=f"dagopt.learn({', '.join(called)})",
    )


def _score(score: object, problem: Problem | None, label: str) -> tuple[str, float | None]:
    """Return the score's name, and the cost of one parameter if it has one."""
    if problem is None:
        return label or "local scores of the file", None
    penalty = getattr(problem.score, "parameter_cost", None)
    if score == "auto":
        score = "ebic" if problem.score.reason else "bic"
    if isinstance(score, str) and score.lower() in SCORES:
        return NAMES.get(score.lower(), score.upper()), penalty
    return problem.score.label if penalty is None else "penalised likelihood", penalty


def _is_default(value: object, parameter: inspect.Parameter | None) -> bool:
    default = inspect.Parameter.empty if parameter is None else parameter.default
    return value is default or (isinstance(value, int | float | str) and value == default)


def _text(value: object) -> str:
    """Return a value in Python syntax, if that is short."""
    if isinstance(value, Path):
        return repr(str(value))
    if is_dataclass(value) and not isinstance(value, type):
        said = [
            f"{one.name}={_text(own)}"
            for one in fields(value)
            if one.init and not _same(own := getattr(value, one.name), one.default)
        ]
        return f"dagopt.{type(value).__name__}({', '.join(said)})"
    text = repr(value)
    plain = isinstance(value, int | float | str | list | tuple | dict | None)
    return text if plain and len(text) <= LONGEST else "..."


def _same(value: Any, default: Any) -> bool:
    return bool(isinstance(value, type(default)) and value == default)
