"""The paper's figures, from ``published.toml``."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["Given", "Published", "published"]


class Given(NamedTuple):
    """A number of the paper, and its number of decimals."""

    value: float
    digits: int

    def __str__(self) -> str:
        return f"{self.value:.{self.digits}f}"


class Published:
    """The figures of one table of the paper.

    Parameters
    ----------
    label : str
        The LaTeX label of the table.
    values : dict
        The figures by cell, figure, method and statistic (``mean``, ``min``, ``max``).
    """

    def __init__(self, label: str, values: dict[tuple[str, str, str, str], Given]) -> None:
        self.label = label
        self.values = values

    def get(self, cell: str, figure: str, method: str, statistic: str = "mean") -> Given | None:
        """Return a figure, or None if the paper has none."""
        return self.values.get((cell, figure, method, statistic))

    def methods(self, figure: str) -> list[str]:
        """Return the methods with this figure, in the paper's order."""
        return list(dict.fromkeys(method for _, one, method, _ in self.values if one == figure))


@cache
def published() -> dict[str, Published]:
    """Return the figures of every table."""
    text = (files("experiments") / "published.toml").read_text("utf-8")
    tables = {}
    for name, table in tomllib.loads(text, parse_float=Decimal).items():
        columns = [_column(column) for column in table["columns"]]
        values = {
            (cell, *column): Given(float(value), _digits(value))
            for cell, row in table["rows"].items()
            for column, value in zip(columns, row, strict=True)
            if value == value  # else nan
        }
        tables[name] = Published(table["label"], values)
    return tables


def _column(text: str) -> tuple[str, str, str]:
    """Return figure, method and statistic of a column, the mean by default."""
    figure, method, *statistic = text.split("/")
    return figure, method, statistic[0] if statistic else "mean"


def _digits(value: Decimal | int) -> int:
    """Return the number of decimals of a number as written."""
    exponent = Decimal(value).as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0
