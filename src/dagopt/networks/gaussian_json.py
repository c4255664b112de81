"""Gaussian networks as small JSON files."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from dagopt.errors import InputError
from dagopt.files import read_text, write_text
from dagopt.networks.gaussian_network import GaussianNetwork

__all__ = ["format_gaussian_json", "parse_gaussian_json", "read_gaussian_json", "write_gaussian_json"]

FORMAT = "dagopt gaussian network 1"


def read_gaussian_json(path: str | os.PathLike[str]) -> GaussianNetwork:
    """Read a Gaussian network that :func:`write_gaussian_json` wrote."""
    return parse_gaussian_json(read_text(path), str(path))


def write_gaussian_json(network: GaussianNetwork, path: str | os.PathLike[str], *, description: str = "") -> None:
    """Write a Gaussian network to a JSON file, completely or not at all.

    Parameters
    ----------
    network : GaussianNetwork
        What to write; :func:`read_gaussian_json` returns exactly the same.
    path : path
        The file; an existing one is replaced.
    description : str
        What the network is and where it comes from.

    Notes
    -----
    The file holds an object with ``format``, ``description`` and ``nodes``; each node has a ``name``, an
    ``intercept``, a ``variance`` and ``parents``, which maps the name of each parent to its coefficient.
    """
    write_text(format_gaussian_json(network, description=description), path)


def parse_gaussian_json(text: str, source: str = "JSON text") -> GaussianNetwork:
    """Return the network a JSON text describes; ``source`` names the text in errors."""
    nodes = _nodes(text, source)
    names = [_entry(source, node, "name", str) for node in nodes]
    position = {name: k for k, name in enumerate(names)}
    weights = np.zeros((len(names), len(names)))
    for j, node in enumerate(nodes):
        for parent, weight in _entry(source, node, "parents", dict).items():
            if parent not in position:
                raise InputError(f"{source}: the parent {parent!r} of {names[j]!r} is not a node; add it")
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                raise InputError(f"{source}: expected a number from {parent!r} to {names[j]!r} but got {weight!r}")
            weights[position[parent], j] = weight
    intercepts = np.array([_entry(source, node, "intercept", float) for node in nodes])
    variances = np.array([_entry(source, node, "variance", float) for node in nodes])
    try:
        return GaussianNetwork(tuple(names), weights, intercepts, variances)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def format_gaussian_json(network: GaussianNetwork, *, description: str = "") -> str:
    """Return a Gaussian network as JSON text; every number reads back as the same float."""
    parents = network.parents
    nodes = [
        {
            "name": name,
            "intercept": float(network.intercepts[j]),
            "variance": float(network.variances[j]),
            "parents": {network.names[i]: float(network.weights[i, j]) for i in parents[j]},
        }
        for j, name in enumerate(network.names)
    ]
    return json.dumps({"format": FORMAT, "description": description, "nodes": nodes}, indent=2) + "\n"


def _nodes(text: str, source: str) -> list[Any]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"{source}: expected JSON but got text that is not: {error}") from None
    except RecursionError:
        raise InputError(f"{source}: expected JSON with nodes but got too many nested levels; check the file") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f'{source}: expected an object with "format": {FORMAT!r} but got something else')
    nodes = content.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise InputError(f'{source}: expected a list of nodes but got {nodes!r}; add "nodes"')
    return nodes


def _entry(source: str, node: Any, key: str, kind: type) -> Any:
    value = node.get(key) if isinstance(node, dict) else None
    wanted = (int, float) if kind is float else kind
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise InputError(f"{source}: expected a {kind.__name__} {key!r} in every node but got {value!r}")
    return value
