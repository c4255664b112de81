"""Discrete networks as text in the Bayesian interchange format (``.bif``)."""

from __future__ import annotations

import os
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError, quoted
from dagopt.files import read_text, write_text
from dagopt.graph.formats.bif_blocks import Block, read_blocks
from dagopt.graph.formats.bif_spelling import spelled, spelled_levels, written_properties
from dagopt.memory import require_memory
from dagopt.networks.discrete_network import SUM_TOLERANCE, DiscreteNetwork, table_shape

__all__ = ["format_bif", "parse_bif", "read_bif", "write_bif"]

PRINTED = 1e-3  # the sum of a row of a file may differ from 1 by this much: published tables are rounded


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
    Rows whose sum differs from 1 by at most 0.001 are divided by their sum.
    """
    return parse_bif(read_text(path), str(path))


def write_bif(
    network: DiscreteNetwork, path: str | os.PathLike[str], *, name: str = "unknown", comment: str = ""
) -> None:
    """Write a discrete network to a BIF file, completely or not at all.

    Parameters
    ----------
    network : DiscreteNetwork
        What to write; :func:`read_bif` returns exactly the same.
    path : path
        The file; an existing one is replaced.
    name : str
        The name in the network block.
    comment : str
        Lines for the top of the file.
    """
    write_text(format_bif(network, name=name, comment=comment), path)


def parse_bif(text: str, source: str = "BIF text") -> DiscreteNetwork:
    """Return the network a BIF text describes; ``source`` names the text in errors."""
    read = read_blocks(text, source)
    names, parents = read.names, read.parents
    levels = tuple(read.variables.values())
    try:
        shapes = [table_shape(names, levels, parents, j) for j in range(len(names))]
        require_memory(2 * np.dtype(float).itemsize * sum(map(prod, shapes)), "the tables of this network")
        tables = [
            _fill(source, name, read.probabilities[name], shape, [levels[i] for i in own])
            for name, shape, own in zip(names, shapes, parents, strict=True)
        ]
    except InputError as error:
        raise error if str(error).startswith(source) else InputError(f"{source}: {error}") from None
    try:
        return DiscreteNetwork(names, levels, parents, tuple(tables))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def format_bif(network: DiscreteNetwork, *, name: str = "unknown", comment: str = "") -> str:
    """Return a discrete network as BIF text; every probability reads back as the same float.

    Names and levels that other readers do not accept are written as plain words, with the true ones in properties.
    """
    lines = [f"// {line}".rstrip() for line in comment.splitlines()]
    lines += [f"network {spelled([name])[0]} {{", "}"]
    words = spelled(network.names)
    levels = [spelled_levels(own) for own in network.levels]
    for j, word in enumerate(words):
        lines += [f"variable {word} {{", f"  type discrete [ {len(levels[j])} ] {{ {', '.join(levels[j])} }};"]
        lines += [f"  {line}" for line in written_properties(network.names[j], word, network.levels[j], levels[j])]
        lines.append("}")
    for j, word in enumerate(words):
        parents = network.parents[j]
        given = " | " + ", ".join(words[i] for i in parents) if parents else ""
        lines.append(f"probability ( {word}{given} ) {{")
        rows = network.tables[j].reshape(-1, len(levels[j])).tolist()
        for labels, row in zip(product(*(levels[i] for i in parents)), rows, strict=True):
            start = f"({', '.join(labels)})" if parents else "table"
            lines.append(f"  {start} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _fill(
    source: str, name: str, block: Block, shape: tuple[int, ...], levels: list[tuple[str, ...]]
) -> NDArray[np.float64]:
    """Return the table of one block, complete and with rows that sum to 1."""
    table = np.full(shape, np.nan)
    default = None
    for line, key, numbers in block.rows:
        where = f"{source}, line {line}"
        wanted = prod(shape) if key == "table" else shape[-1]
        if len(numbers) != wanted:
            raise InputError(f"{where}: expected {wanted} probabilities for {name!r} but got {len(numbers)}")
        if key == "default":
            default = _normalised(where, name, np.array(numbers))
            continue
        index = () if key == "table" else _index(where, name, key, levels)
        if not np.isnan(table[index]).all():
            raise InputError(f"{where}: expected each row of {name!r} once but got this one again; remove one")
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
        raise InputError(f"{where}: expected {len(levels)} parent levels for {name!r} but got {quoted(labels)}")
    for label, own in zip(labels, levels, strict=True):
        if label not in own:
            raise InputError(f"{where}: unknown level {label!r} of a parent of {name!r}; there are: {quoted(own)}")
    return tuple(own.index(label) for label, own in zip(labels, levels, strict=True))


def _normalised(where: str, name: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = rows.sum(axis=-1, keepdims=True)
    worst = float(np.abs(sums - 1).max())
    if worst > PRINTED:
        raise InputError(f"{where}: expected probabilities of {name!r} that sum to 1 but got a sum off by {worst:.3g}")
    return rows / np.where(np.abs(sums - 1) > SUM_TOLERANCE, sums, 1.0)
