"""The data options: one definition for ``as_table``, ``learn``, the estimators and every command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagopt.errors import InputError
from dagopt.options import Check, Options, anything, one_of, option, truth, whole

__all__ = ["NEED_ROWS", "DataOptions"]

NEED_ROWS = (  # options that have no meaning without the rows
    "transform", "discretize", "bins", "n_samples", "lags", "time", "within", "groups", "centre_groups", "weights",
    "weighting",
)  # fmt: skip


def _named(text: str) -> str | dict[str, str]:
    """Return one word for all columns, or a mapping written as ``age=continuous,grade=discrete``."""
    if "=" not in text:
        return text
    pairs = [part.rpartition("=") for part in _listed(text)]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _each_of(*choices: str | None) -> Check:
    """Return the check for one of a few words, or for a mapping of columns to them."""
    plain = one_of(*choices)

    def run(name: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return plain.run(name, value)
        return {
            str(column): own if callable(own) else plain.run(name, own)  # a function that was fitted to other data
            for column, own in value.items()
        }

    return Check(f"{plain.words} or mapping", run, plain.choices)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _whole(text: str) -> int | str:
    return int(text) if text.strip().lstrip("-").isdigit() else text


def _yes(text: str) -> bool:
    if text.strip().lower() not in ("yes", "no"):
        raise InputError(f"expected yes or no but got {text!r}; change the option")
    return text.strip().lower() == "yes"


def _lags(name: str, value: Any) -> Any:
    return value if value == "auto" else whole(1).run(name, value)


@dataclass(frozen=True)
class DataOptions(Options):
    """How a table is made from a source of data."""

    columns: Sequence[str | int] | None = option(
        None,
        "The columns to use, by name or position, in this order.",
        anything("sequence of str or int"),
        metavar="A,B,C",
        unset="all",
        parse=_listed,
        of_source=True,
    )
    exclude: Sequence[str | int] | None = option(
        None,
        "Columns to leave out, by name or position.",
        anything("sequence of str or int"),
        metavar="A,B,C",
        unset="none",
        parse=_listed,
        of_source=True,
    )
    kind: str | Mapping[str, str] = option(
        "auto",
        "How columns are read: auto goes by type (floats, and whole numbers with more than 10 values, are continuous; "
        "other whole numbers, booleans, categories and text are discrete), continuous reads whole numbers as numbers, "
        "discrete takes each distinct number as a level, ordinal takes normal scores of levels that have an order, "
        "count takes roots of counts, whose variance is then even. For single columns a mapping, or on the command "
        "line age=continuous,grade=discrete.",
        _each_of("auto", "continuous", "discrete", "ordinal", "count"),
        metavar="KIND",
        parse=_named,
    )
    transform: str | Mapping[str, Any] | None = option(
        None,
        "Transform continuous columns: log takes logarithms, root roots of counts, rank normal scores of ranks (the "
        "nonparanormal), auto does so for columns that are skewed or have heavy tails. For single columns a mapping, "
        "or on the command line income=log,age=rank.",
        _each_of(None, "log", "root", "rank", "auto"),
        metavar="HOW",
        unset="no",
        parse=_named,
    )
    discretize: str | Mapping[str, str] | None = option(
        None,
        "Cut continuous columns into levels with equal numbers of rows (quantile) or of equal width (interval). For "
        "single columns a mapping, or on the command line age=quantile,grade=interval: these are cut even if they are "
        "whole numbers with few values.",
        _each_of(None, "quantile", "interval"),
        metavar="HOW",
        unset="no",
        parse=_named,
    )
    bins: int = option(3, "The number of levels of a discretized column.", whole(2), metavar="N")
    missing: str = option(
        "error",
        "What to do with missing cells: error stops, drop leaves their rows out, em treats them as missing at random "
        "and uses all other cells, level makes them an extra level of discrete columns.",
        one_of("error", "drop", "em", "level"),
        metavar="HOW",
    )
    na_values: Iterable[str] = option(
        (),
        "Further spellings of 'missing' in text files.",
        anything("iterable of str"),
        flag="--na",
        metavar="X,Y",
        unset="none",
        parse=lambda text: tuple(text.split(",")),
        of_source=True,
    )
    n_samples: int | None = option(
        None,
        "The number of rows behind the data, which are a covariance matrix with the names in the header.",
        whole(2),
        flag="--covariance",
        metavar="ROWS",
        unset="no",
        of_source=True,
    )
    lags: int | str | None = option(
        None,
        "Rows are moments in time: learn a dynamic network, with edges within a moment and from each of this many "
        "moments before. auto chooses the number by score, on the same rows.",
        Check("int or 'auto'", _lags),
        metavar="P",
        unset="no",
        parse=_whole,
        of_source=True,
    )
    time: Any = option(
        None,
        "What orders the moments: a column of numbers or dates, or several, the slowest first, such as year,quarter; "
        "not part of the graph. The rows as they stand unless given.",
        anything("str or sequence"),
        metavar="A,B",
        unset="the order of the rows",
        parse=_listed,
        of_source=True,
    )
    within: bool = option(
        True,
        "With lags, whether edges within a moment are allowed.",
        truth(),
        metavar="yes|no",
        parse=_yes,
        of_source=True,
    )
    weights: str | Sequence[Any] | None = option(
        None,
        "How much each row counts: a column of the data, which is then not part of the graph, or one number per row. "
        "Whole numbers say how often a row occurs; others are survey weights, whose effective number of rows counts in "
        "the score.",
        anything("str or sequence of float"),
        metavar="COLUMN",
        unset="no",
        of_source=True,
    )
    weighting: str = option(
        "auto",
        "What weights mean: frequency says how often a row occurs, survey how much of the population it stands for; "
        "auto takes whole numbers as frequencies.",
        one_of("auto", "frequency", "survey"),
        metavar="HOW",
    )
    groups: Any = option(
        None,
        "Which unit each row belongs to, such as a patient or a firm: a column, or several, which are then not part of "
        "the graph, or one entry per row. Bootstrap and cross-validation keep the rows of a unit together; with lags, "
        "the past of a row is in its own unit.",
        anything("str or sequence"),
        metavar="A,B",
        unset="no",
        parse=_listed,
        of_source=True,
    )
    centre_groups: bool = option(
        False,
        "Whether to remove the mean of each group from every column, so that only differences within groups count; "
        "needs continuous columns.",
        truth(),
    )
