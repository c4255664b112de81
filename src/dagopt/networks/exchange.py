"""Networks as objects of other packages (pgmpy, pyAgrum), and files that pyAgrum writes."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dagopt.errors import InputError
from dagopt.files import read_text, write_text
from dagopt.graph.formats.bif_spelling import spelled, spelled_levels
from dagopt.networks.bif import write_bif
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.gaussian_network import GaussianNetwork

__all__ = ["PYAGRUM_FILES", "pgmpy_network", "pyagrum_network", "write_network"]

PYAGRUM_FILES = (".net", ".xdsl", ".dsl", ".bifxml", ".uai")


def pgmpy_network(network: object) -> Any:
    """Return a ``DiscreteBayesianNetwork`` or a ``LinearGaussianBayesianNetwork`` of pgmpy."""
    models = _package("pgmpy.models")
    if not isinstance(network, GaussianNetwork | DiscreteNetwork):
        raise InputError(f"pgmpy has no model for a {type(network).__name__}; write it as JSON")
    edges = list(network.dag.edges)
    if isinstance(network, GaussianNetwork):
        model = models.LinearGaussianBayesianNetwork(edges)
        continuous = import_module("pgmpy.factors.continuous")
        tables = [
            continuous.LinearGaussianCPD(
                name,
                [float(network.intercepts[j]), *network.weights[list(own), j].tolist()],
                float(np.sqrt(network.variances[j])),
                [network.names[i] for i in own],
            )
            for j, (name, own) in enumerate(zip(network.names, network.parents, strict=True))
        ]
    else:
        model = models.DiscreteBayesianNetwork(edges)
        discrete = import_module("pgmpy.factors.discrete")
        tables = [_pgmpy_table(discrete, network, j) for j in range(len(network.names))]
    model.add_nodes_from(network.names)
    model.add_cpds(*tables)
    return model


def _pgmpy_table(discrete: Any, network: DiscreteNetwork, node: int) -> Any:
    own = network.parents[node]
    arity = len(network.levels[node])
    given: dict[str, Any] = {}
    if own:
        given = {"evidence": [network.names[i] for i in own], "evidence_card": [len(network.levels[i]) for i in own]}
    return discrete.TabularCPD(
        network.names[node],
        arity,
        network.tables[node].reshape(-1, arity).T,
        state_names={network.names[i]: list(network.levels[i]) for i in (node, *own)},
        **given,
    )


def pyagrum_network(network: object) -> Any:
    """Return a ``BayesNet`` of pyAgrum with the same names and levels."""
    if not isinstance(network, DiscreteNetwork):
        raise InputError(
            "pyAgrum's BayesNet holds discrete columns but the network has continuous ones; see to_pgmpy()"
        )
    return _bayes_net(_package("pyagrum"), network, list(network.names), [list(own) for own in network.levels])


def _bayes_net(gum: Any, network: DiscreteNetwork, names: list[str], levels: list[list[str]]) -> Any:
    net = gum.BayesNet("dagopt")
    for name, labels in zip(names, levels, strict=True):
        net.add(gum.LabelizedVariable(name, name, labels))
    for j, own in enumerate(network.parents):
        for i in own:
            net.addArc(names[i], names[j])
    for j, own in enumerate(network.parents):
        table = net.cpt(names[j])
        axes = [(*own, j).index(names.index(name)) for name in reversed(table.names)]
        table.fillWith(network.tables[j].transpose(axes).ravel().tolist())
    return net


def write_network(network: DiscreteNetwork, path: str | os.PathLike[str], comment: str = "") -> None:
    """Write a discrete network by the suffix of the file, completely or not at all; all but ``.bif`` need pyAgrum.

    Names and levels that the formats of other programs do not accept are written as plain words.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".bif":
        write_bif(network, path, comment=comment)
        return
    if suffix not in PYAGRUM_FILES:
        known = ", ".join((".bif", *PYAGRUM_FILES))
        raise InputError(f"expected a network file ending in {known} but got {str(path)!r}; rename it")
    gum = _package("pyagrum")
    net = _bayes_net(gum, network, spelled(network.names), [spelled_levels(own) for own in network.levels])
    with TemporaryDirectory() as folder:
        file = os.path.join(folder, f"network{suffix}")
        gum.saveBN(net, file)
        write_text(read_text(file), path)


def _package(name: str) -> Any:
    """Import an optional package, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        root = name.partition(".")[0]
        install = "'dagopt[inference]'" if root == "pyagrum" else root
        raise InputError(f"this needs the package {root}, which is not installed; pip install {install}") from None
