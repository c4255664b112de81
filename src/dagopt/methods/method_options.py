"""Options that several methods share, and how a method gets its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, TypeVar, cast

from dagopt.errors import InputError, checked_jobs, quoted
from dagopt.memory import parse_bytes
from dagopt.options import Check, Options, anything, one_of, option, truth, whole

if TYPE_CHECKING:
    from dagopt.deadline import Deadline
    from dagopt.progress import Progress
    from dagopt.results.answer import Answer

__all__ = [
    "FLAGGED",
    "MOST_PRICED_NODES",
    "Solver",
    "checkpoint",
    "device",
    "memory_limit",
    "n_best",
    "n_jobs",
    "random_state",
    "resume",
    "row_kinds",
    "solver",
    "start",
    "ties",
]

MOST_PRICED_NODES = 100  # beyond this, a round of pricing of cg-dca takes longer than the order search it should help

Taken = TypeVar("Taken", bound=Options)
Posed = TypeVar("Posed", contravariant=True)


def random_state() -> Any:
    """Return the option of methods that draw random numbers."""
    text = "Seed: the same seed gives the same answer, whatever the number of threads."
    return option(0, text, whole(0), flag="--seed", metavar="N")


def n_jobs() -> Any:
    """Return the option of methods that use threads."""
    check = Check("int", checked_jobs)
    text = "Number of threads; all cores by default or with -1. The answer does not depend on it."
    return option(None, text, check, flag="--jobs", metavar="N", unset="all cores")


def start(text: str = "A graph, or a graph file, with an allowed DAG to start from; the answer is never worse.") -> Any:
    """Return the option of methods that can start from a DAG."""
    return option(None, text, anything("graph or path"), metavar="FILE", parse=Path)


def checkpoint(about: str) -> Any:
    """Return the option that names the file in which a method saves itself."""
    return option(None, f"A file in which {about}.", anything("path"))


def resume() -> Any:
    """Return the option of methods that can go on from a checkpoint."""
    return option(
        False, "Continue from the checkpoint if it exists; the answer is that of an uninterrupted run.", truth()
    )


def device() -> Any:
    """Return the option of methods that run on a CPU or on a GPU."""
    text = "Where to compute: auto uses a GPU if there is one and the problem is large enough to benefit."
    return option("auto", text, one_of("auto", "cpu", "gpu"), metavar="NAME")


def ties() -> Any:
    """Return the option of methods that choose between equally good steps."""
    text = (
        "What breaks ties: names, so that the order of the columns does not matter, or the order of the columns, as in "
        "R's bnlearn."
    )
    return option("names", text, one_of("names", "columns"))


def memory_limit(
    text: str = "Bytes, or text such as 8GB; by default most of the free memory.", unset: str = "what is free"
) -> Any:
    """Return the option of methods that need much memory."""

    def check(_: str, value: Any) -> Any:
        parse_bytes(value)
        return value

    return option(None, text, Check("int or str", check), metavar="SIZE", unset=unset)


def n_best() -> Any:
    """Return the option of methods that can find more than one class."""
    text = 'How many best equivalence classes to find; details["best_classes"] lists them.'
    return option(1, text, whole(1), metavar="N")


def row_kinds(kinds: tuple[str, ...], text: str = "") -> Any:
    """Return the option of methods that cut an LP by rows: all of these kinds unless the user names some."""

    def check(name: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InputError(
                f"expected {name}= to be a list of kinds of rows, some of {quoted(kinds)}, but got {value!r}; "
                "change the option"
            )
        chosen = tuple(value)
        for kind in chosen:
            if kind not in kinds:
                raise InputError(f"expected {name}= to be some of {quoted(kinds)} but got {kind!r}; change the option")
        return chosen

    named = ", ".join(f'"{kind}"' for kind in kinds)
    return option(
        kinds,
        f"Kinds of rows besides clusters: some of {named}.{text}",
        Check("list of str", check),
        metavar="A,B",
        parse=lambda given: [kind.strip() for kind in given.split(",") if kind.strip()],
    )


# Options that ``dagopt learn`` has for every method; those of one method alone are flags where it is named.
FLAGGED = {
    "start": start(),
    "random_state": random_state(),
    "n_jobs": n_jobs(),
    "device": device(),
    "memory_limit": memory_limit(),
    "n_best": n_best(),
}


class Solver(Protocol[Posed]):
    """A method as a callable: options are one object, or given by name and checked before anything is done.

    ``plan`` is what was computed when the method was chosen, for methods that can go on from there; ``beside`` is for
    provers that take turns with searches.
    """

    options: type[Options]

    def __call__(
        self,
        posed: Posed,
        checked: Any = None,
        /,
        *,
        deadline: Deadline,
        progress: Progress,
        plan: Any = None,
        beside: Any = None,
        **options: Any,
    ) -> Answer:
        """Return the answer."""


def solver(
    kind: type[Taken],
) -> Callable[[Callable[Concatenate[Posed, Taken, Deadline, Progress, ...], Answer]], Solver[Posed]]:
    """Turn ``solve(problem, options, deadline, progress)`` into a method, with options as one object or by name."""

    def decorate(solve: Callable[Concatenate[Posed, Taken, Deadline, Progress, ...], Answer]) -> Solver[Posed]:
        @wraps(solve)
        def called(
            posed: Posed,
            checked: Any = None,
            /,
            *,
            deadline: Deadline,
            progress: Progress,
            plan: Any = None,
            beside: Any = None,
            **options: Any,
        ) -> Answer:
            taken = kind(**options) if checked is None else checked
            given = {} if plan is None else {"plan": plan}
            if beside is not None and "beside" in signature(solve).parameters:  # others need not know
                given["beside"] = beside
            return solve(posed, taken, deadline, progress, **given)

        made = cast(Solver[Posed], called)
        made.options = kind
        return made

    return decorate
