"""Discrete networks as text in the Bayesian interchange format (``.bif``)."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dagopt.data.bayesnet import SUM_TOLERANCE, DiscreteNetwork, table_shape
from dagopt.errors import InputError, quoted

__all__ = ["format_bif", "parse_bif", "read_bif", "write_bif"]

PRINTED = 1e-3  # rows of a file may miss 1 by this much: published tables are rounded
_BLANK = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_WORD = re.compile(r'(?:(?!//|/\*)[^\s{}()\[\]|,;"])+')
_PROPERTY = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^";])*;', re.DOTALL)
_KEYWORDS = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}


def read_bif(path: str | os.PathLike[str]) -> DiscreteNetwork:
    """Read a discrete network from a BIF file.

    Parameters
    ----------
    path : path
        A UTF-8 text file.

    Returns
    -------
    DiscreteNetwork
        Variables, levels and parents in the order of the file.

    Notes
    -----
    Blocks may come in any order, commas and bars are separators, properties are skipped. A ``table`` for a
    node with parents lists the node's own levels slowest and the last parent fastest, as JavaBayes does.
    Rows that miss a sum of 1 by at most 0.001 are divided by their sum.
    """
    return parse_bif(read_text(path), str(path))


def write_bif(
    network: DiscreteNetwork, path: str | os.PathLike[str], *, name: str = "unknown", comment: str = ""
) -> None:
    """Write a discrete network to a BIF file, which appears whole or not at all.

    Parameters
    ----------
    network : DiscreteNetwork
        What to write; :func:`read_bif` gives back exactly the same.
    path : path
        The file; one that is there is replaced.
    name : str
        The name in the network block.
    comment : str
        Lines for the head of the file.
    """
    write_text(path, format_bif(network, name=name, comment=comment))


def parse_bif(text: str, source: str = "BIF text") -> DiscreteNetwork:
    """Return the network a BIF text describes; ``source`` names the text in errors."""
    scanner = _Scanner(text, source)
    variables: dict[str, tuple[str, ...]] = {}
    blocks: dict[str, _Block] = {}
    while (keyword := scanner.next()) is not None:
        if keyword == "network":
            _parse_network(scanner)
        elif keyword == "variable":
            _parse_variable(scanner, variables)
        elif keyword == "probability":
            _parse_probability(scanner, blocks)
        else:
            scanner.fail(f"expected a network, variable or probability block, got {keyword!r}")
    if not variables:
        raise InputError(f"{source}: expected variable blocks, got none; is this a BIF file?")
    return _assemble(source, variables, blocks)


def format_bif(network: DiscreteNetwork, *, name: str = "unknown", comment: str = "") -> str:
    """Return a discrete network as BIF text; every probability reads back as the same float."""
    lines = [f"// {line}".rstrip() for line in comment.splitlines()]
    lines += [f"network {_quote(name)} {{", "}"]
    for variable, levels in zip(network.names, network.levels, strict=True):
        listed = ", ".join(map(_quote, levels))
        lines += [
            f"variable {_quote(variable)} {{",
            f"  type discrete [ {len(levels)} ] {{ {listed} }};",
            "}",
        ]
    for j, variable in enumerate(network.names):
        parents = network.parents[j]
        given = " | " + ", ".join(_quote(network.names[i]) for i in parents) if parents else ""
        lines.append(f"probability ( {_quote(variable)}{given} ) {{")
        rows = network.tables[j].reshape(-1, len(network.levels[j])).tolist()
        for labels, row in zip(product(*(network.levels[i] for i in parents)), rows, strict=True):
            start = f"({', '.join(map(_quote, labels))})" if parents else "table"
            lines.append(f"  {start} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file, with every way this can fail as one sentence."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: expected a file, found none; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: expected a file, got a folder; name a file in it") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8 text, got byte {error.start} outside it; convert it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r}: expected a readable file, got: {error}") from None
    if not text.strip():
        raise InputError(f"{path}: expected a network, got an empty file; write it again")
    return text


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 file beside its place and then move it there, so that no half file is ever seen."""
    place = Path(path)
    if place.is_dir():
        raise InputError(f"{path}: expected a file name, got a folder; name a file in it")
    beside = place.with_name(f".{place.name}.{uuid.uuid4().hex}.tmp")
    try:
        beside.write_bytes(text.encode("utf-8"))
        os.replace(beside, place)
    except UnicodeEncodeError:
        raise InputError(f"{path}: expected names that UTF-8 can hold, got a lone surrogate; rename") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r}: expected a folder to write into, got: {error}") from None
    finally:
        with contextlib.suppress(OSError, ValueError):
            beside.unlink()


def _quote(name: str) -> str:
    if _WORD.fullmatch(name) and name not in _KEYWORDS:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass
class _Scanner:
    """Hands out the tokens of a text one by one and knows the line of the last."""

    text: str
    source: str
    place: int = 0
    start: int = 0
    literal: bool = False  # whether the last token stood in quotes
    counted: int = 0  # the lines up to this place have been counted
    lines: int = 1

    def next(self) -> str | None:
        """Return the next token, unquoted, or None at the end."""
        while blank := _BLANK.match(self.text, self.place):
            self.place = blank.end()
        self.start = self.place
        if self.place == len(self.text):
            return None
        string = _QUOTED.match(self.text, self.place)
        self.literal = string is not None
        if string:
            self.place = string.end()
            return re.sub(r"\\(.)", r"\1", string[1], flags=re.DOTALL)
        if word := _WORD.match(self.text, self.place):
            self.place = word.end()
            return word[0]
        if self.text[self.place] in '"/':
            self.fail("expected a closed string or comment, got one without an end; close it")
        self.place += 1
        return self.text[self.start]

    def is_mark(self, token: str | None, marks: str) -> bool:
        """Say whether the last token is one of these punctuation marks, and not a quoted name."""
        return token is not None and len(token) == 1 and token in marks and not self.literal

    def expect(self, wanted: str) -> None:
        """Read the next token, which must be ``wanted``."""
        token = self.next()
        if token != wanted or self.literal:
            self.fail(f"expected {wanted!r}, got {_shown(token)}")

    def names(self, closing: str) -> list[str]:
        """Read names up to a closing mark; commas and bars only separate."""
        found: list[str] = []
        while not self.is_mark(token := self.next(), closing):
            if token is None or self.is_mark(token, "{}()[];"):
                self.fail(f"expected a name or {closing!r}, got {_shown(token)}")
            if not self.is_mark(token, ",|"):
                found.append(token)
        return found

    def skip_property(self) -> None:
        """Pass over the rest of a property, up to its semicolon."""
        rest = _PROPERTY.match(self.text, self.place)
        if rest is None:
            self.fail("expected ';' after the property, got the end of the file; add it")
        self.place = rest.end()

    @property
    def line(self) -> int:
        """The line on which the last token starts."""
        self.lines += self.text.count("\n", self.counted, self.start)
        self.counted = self.start
        return self.lines

    def fail(self, message: str) -> NoReturn:
        """Raise with the place of the last token."""
        raise InputError(f"{self.source}, line {self.line}: {message}")


@dataclass
class _Block:
    """A probability block as it was read: rows are (line, parents' levels or keyword, numbers)."""

    line: int
    parents: list[str]
    rows: list[tuple[int, tuple[str, ...] | str, list[float]]] = field(default_factory=list)


def _shown(token: str | None) -> str:
    return "the end of the file" if token is None else repr(token)


def _parse_network(scanner: _Scanner) -> None:
    while not scanner.is_mark(token := scanner.next(), "{"):
        if token is None:
            scanner.fail("expected '{' after the name of the network, got the end of the file")
    while not scanner.is_mark(token := scanner.next(), "}"):
        if token != "property":
            scanner.fail(f"expected a property or '}}' in the network block, got {_shown(token)}")
        scanner.skip_property()


def _parse_variable(scanner: _Scanner, variables: dict[str, tuple[str, ...]]) -> None:
    name = scanner.next()
    if name is None or scanner.is_mark(name, "{}()[]|,;"):
        scanner.fail(f"expected the name of a variable, got {_shown(name)}")
    if name in variables:
        scanner.fail(f"expected each variable once, got {name!r} again; remove one of the blocks")
    scanner.expect("{")
    while not scanner.is_mark(token := scanner.next(), "}"):
        if token == "property":
            scanner.skip_property()
        elif token == "type" and name not in variables:
            variables[name] = _parse_levels(scanner, name)
        else:
            scanner.fail(f"expected one type, properties or '}}' for {name!r}, got {_shown(token)}")
    if name not in variables:
        scanner.fail(f"expected 'type discrete [ k ] {{ levels }};' for {name!r}, got no type")


def _parse_levels(scanner: _Scanner, name: str) -> tuple[str, ...]:
    kind = scanner.next()
    if kind != "discrete":
        scanner.fail(f"expected {name!r} to be discrete, got {_shown(kind)}; only discrete networks are read")
    scanner.expect("[")
    count = scanner.next()
    scanner.expect("]")
    scanner.expect("{")
    levels = scanner.names("}")
    if count != str(len(levels)):
        scanner.fail(
            f"expected {count} levels for {name!r}, got {len(levels)}: {quoted(levels)};"
            " put levels with spaces or marks in quotes"
        )
    if not levels or len(set(levels)) < len(levels):
        scanner.fail(f"expected different levels for {name!r}, got {quoted(levels) or 'none'}; rename")
    scanner.expect(";")
    return tuple(levels)


def _parse_probability(scanner: _Scanner, blocks: dict[str, _Block]) -> None:
    scanner.expect("(")
    line = scanner.line
    names = scanner.names(")")
    if not names or names[0] in blocks:
        scanner.fail(f"expected the name of a variable not met before, got {quoted(names[:1]) or 'none'}")
    block = blocks[names[0]] = _Block(line, names[1:])
    scanner.expect("{")
    while not scanner.is_mark(token := scanner.next(), "}"):
        line = scanner.line
        if token == "property":
            scanner.skip_property()
        elif scanner.is_mark(token, "("):
            labels = tuple(scanner.names(")"))
            block.rows.append((line, labels, _parse_numbers(scanner)))
        elif token in ("table", "default"):
            block.rows.append((line, token, _parse_numbers(scanner)))
        else:
            scanner.fail(f"expected '(levels)', table, default or '}}', got {_shown(token)}")


def _parse_numbers(scanner: _Scanner) -> list[float]:
    numbers = []
    for token in scanner.names(";"):
        try:
            number = float(token)
        except ValueError:
            scanner.fail(f"expected a probability, got {token!r}")
        if not 0 <= number <= 1:
            scanner.fail(f"expected a probability in [0, 1], got {token}")
        numbers.append(number)
    return numbers


def _assemble(source: str, variables: dict[str, tuple[str, ...]], blocks: dict[str, _Block]) -> DiscreteNetwork:
    """Turn the blocks into tables, now that every variable's levels are known."""
    names = tuple(variables)
    position = {name: k for k, name in enumerate(names)}
    if missing := [name for name in names if name not in blocks]:
        raise InputError(f"{source}: expected a probability block for every variable, none for {quoted(missing)}")
    for name, block in blocks.items():
        for other in (name, *block.parents):
            if other not in position:
                raise InputError(f"{source}, line {block.line}: variable {other!r} has no variable block; add it")
        if len({name, *block.parents}) <= len(block.parents):
            raise InputError(f"{source}, line {block.line}: expected different variables, got {name!r} twice")
    parents = tuple(tuple(position[other] for other in blocks[name].parents) for name in names)
    levels = tuple(variables.values())
    tables = []
    for j, name in enumerate(names):
        shape = table_shape(names, levels, parents, j)
        tables.append(_fill(source, name, blocks[name], shape, [levels[i] for i in parents[j]]))
    try:
        return DiscreteNetwork(names, levels, parents, tuple(tables))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _fill(
    source: str, name: str, block: _Block, shape: tuple[int, ...], levels: list[tuple[str, ...]]
) -> NDArray[np.float64]:
    """Return the table of one block, complete and with rows that sum to 1."""
    table = np.full(shape, np.nan)
    default = None
    for line, key, numbers in block.rows:
        where = f"{source}, line {line}"
        wanted = prod(shape) if key == "table" else shape[-1]
        if len(numbers) != wanted:
            raise InputError(f"{where}: expected {wanted} probabilities for {name!r}, got {len(numbers)}")
        if key == "default":
            default = _normalised(where, name, np.array(numbers))
            continue
        index = () if key == "table" else _index(where, name, key, levels)
        if not np.isnan(table[index]).all():
            raise InputError(f"{where}: expected each row of {name!r} once, got this one again; remove one")
        values = np.array(numbers).reshape(shape[-1], *shape[:-1]) if key == "table" else np.array(numbers)
        table[index] = _normalised(where, name, np.moveaxis(values, 0, -1))
    if (empty := np.isnan(table[..., 0])).any():
        if default is None:
            first = np.unravel_index(int(np.argmax(empty)), empty.shape)
            row = f" for ({', '.join(own[k] for own, k in zip(levels, first, strict=True))})" if levels else ""
            raise InputError(f"{source}, line {block.line}: {name!r} has no probabilities{row}; add the row")
        table[empty] = default
    return table


def _index(where: str, name: str, labels: tuple[str, ...] | str, levels: list[tuple[str, ...]]) -> tuple[int, ...]:
    if len(labels) != len(levels):
        raise InputError(f"{where}: expected {len(levels)} parent levels for {name!r}, got {quoted(labels)}")
    for label, own in zip(labels, levels, strict=True):
        if label not in own:
            raise InputError(f"{where}: unknown level {label!r} of a parent of {name!r}; there are: {quoted(own)}")
    return tuple(own.index(label) for label, own in zip(labels, levels, strict=True))


def _normalised(where: str, name: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = rows.sum(axis=-1, keepdims=True)
    worst = float(np.abs(sums - 1).max())
    if worst > PRINTED:
        raise InputError(f"{where}: expected probabilities of {name!r} that sum to 1, got a sum off by {worst:.3g}")
    return rows / np.where(np.abs(sums - 1) > SUM_TOLERANCE, sums, 1.0)
