"""Gaussian networks as small JSON files."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from dagopt.errors import InputError, unknown_name
from dagopt.files import read_text, write_text
from dagopt.memory import require_memory
from dagopt.networks.checks import checked_names
from dagopt.networks.gaussian_network import GaussianNetwork
from dagopt.schema import JSON_BYTES, check, items, mapping, number, parse_json, record, text

__all__ = ["format_gaussian_json", "parse_gaussian_json", "read_gaussian_json", "write_gaussian_json"]

FORMAT = "dagopt gaussian network 1"
NODE = record(name=text(), intercept=number(), variance=number(), parents=mapping(number()))
SCHEMA = record(format=text(FORMAT), description=text(), nodes=items(NODE, least=1))
COPIES = 4  # of the array of weights while a network is made


def read_gaussian_json(path: str | os.PathLike[str]) -> GaussianNetwork:
    """Read a Gaussian network that :func:`write_gaussian_json` wrote."""
    return parse_gaussian_json(read_text(path, bytes_per_byte=JSON_BYTES), str(path))


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


def parse_gaussian_json(content: str, source: str = "JSON text") -> GaussianNetwork:
    """Return the network a JSON text describes; ``source`` names the text in errors."""
    nodes = check(SCHEMA, parse_json(content, source), source, "correct it, or write the network again")["nodes"]
    try:
        return _network(nodes)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _network(nodes: list[dict[str, Any]]) -> GaussianNetwork:
    names = checked_names([node["name"] for node in nodes])
    require_memory(COPIES * np.dtype(float).itemsize * len(names) ** 2, f"a network of {len(names):,} nodes")
    position = {name: k for k, name in enumerate(names)}
    weights = np.zeros((len(names), len(names)))
    for j, node in enumerate(nodes):
        for parent, weight in node["parents"].items():
            if parent not in position:
                raise unknown_name(f"parent of {names[j]!r}:", parent, names)
            weights[position[parent], j] = weight
    intercepts, variances = (np.array([node[key] for node in nodes]) for key in ("intercept", "variance"))
    return GaussianNetwork(names, weights, intercepts, variances)


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
