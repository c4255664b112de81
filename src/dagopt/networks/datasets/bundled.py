"""The bundled networks: the files, what is read from them, and data drawn from them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import NamedTuple

import networkx
import pandas as pd

from dagopt.errors import unknown_name
from dagopt.networks.bif import parse_bif
from dagopt.networks.checks import RandomState
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.gaussian_json import parse_gaussian_json
from dagopt.networks.gaussian_network import GaussianNetwork

__all__ = ["Dataset", "describe", "load", "load_network", "names"]

DEFAULT_SAMPLES = 5000  # rows drawn unless the caller says how many
_FILES = {
    "alarm": "alarm.bif",
    "asia": "asia.bif",
    "gaussian_test": "gaussian_test.json",
    "insurance": "insurance.bif",
    "lucas": "lucas.bif",
}


class Dataset(NamedTuple):
    """Data drawn from a bundled network, and the network's DAG."""

    data: pd.DataFrame
    dag: networkx.DiGraph


def names() -> list[str]:
    """Return the names of the bundled networks."""
    return list(_FILES)


def load(name: str, n_samples: int | None = None, random_state: RandomState = 0) -> Dataset:
    """Draw data from a bundled network.

    Parameters
    ----------
    name : str
        One of :func:`names`, in any case; ``-`` and ``.`` stand for ``_``.
    n_samples : int, optional
        Number of rows, 5000 by default.
    random_state : int, Generator or None
        The same seed gives the same data; None draws different data each time.

    Returns
    -------
    Dataset
        ``data`` (categorical columns, or floats for a Gaussian network) and the true ``dag``.
    """
    network = load_network(name)
    rows = DEFAULT_SAMPLES if n_samples is None else n_samples
    return Dataset(network.sample(rows, random_state), network.dag)


def load_network(name: str) -> DiscreteNetwork | GaussianNetwork:
    """Return a bundled network with its parameters; it is read only once and cannot be changed."""
    return _parsed(_known(name))


def describe() -> pd.DataFrame:
    """Return a table of the bundled networks: kind, size, parameters and source."""
    rows = []
    for name in names():
        network = load_network(name)
        sizes = [len(own) for own in network.parents]
        rows.append(
            {
                "name": name,
                "kind": "discrete" if isinstance(network, DiscreteNetwork) else "gaussian",
                "nodes": len(network.names),
                "edges": sum(sizes),
                "parameters": network.n_parameters,
                "largest_parent_set": max(sizes),
                "source": _source(name),
            }
        )
    return pd.DataFrame(rows)


def _known(name: str) -> str:
    plain = str(name).strip().lower().replace("-", "_").replace(".", "_")
    if plain not in _FILES:
        raise unknown_name("network", name, names())
    return plain


def _text(name: str) -> str:
    return (files("dagopt") / "networks" / "datasets" / "files" / _FILES[name]).read_text(encoding="utf-8")


@cache
def _parsed(name: str) -> DiscreteNetwork | GaussianNetwork:
    parse = parse_bif if _FILES[name].endswith(".bif") else parse_gaussian_json
    return parse(_text(name), _FILES[name])


def _source(name: str) -> str:
    """Return the description at the top of the file."""
    text = _text(name)
    if _FILES[name].endswith(".json"):
        return str(json.loads(text)["description"])
    head = takewhile(lambda line: line.startswith("//"), text.splitlines())
    return " ".join(line.removeprefix("//").strip() for line in head)
