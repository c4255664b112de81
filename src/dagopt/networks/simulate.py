"""Random networks and data drawn from them, as in section 5.2 of the CG-DCA paper."""

from __future__ import annotations

import math
from math import prod
from typing import NamedTuple

import networkx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.errors import InputError, checked_whole, unknown_name
from dagopt.graph.order import MOST_DENSE
from dagopt.networks.checks import RandomState, as_generator
from dagopt.networks.discrete_network import DiscreteNetwork, table_shape
from dagopt.networks.gaussian_network import GaussianNetwork
from dagopt.networks.mixed_network import MixedNetwork
from dagopt.networks.random_mixed import draw_mixed

__all__ = ["Simulation", "random_discrete_network", "random_gaussian_network", "random_mixed_network", "simulate"]

KINDS = ("gaussian", "discrete", "mixed")
DISCRETE_SHARE = 0.5  # of the variables of a mixed network
MOST_DRAWN_CELLS = 10**7  # 80 MB of probabilities


class Simulation(NamedTuple):
    """Simulated data and the DAG it was drawn from."""

    data: pd.DataFrame
    dag: networkx.DiGraph


def simulate(
    n_nodes: int = 20,
    n_samples: int = 1000,
    degree: float = 1.0,
    random_state: RandomState = None,
    *,
    kind: str = "gaussian",
    levels: int | None = None,
) -> Simulation:
    """Draw a random network and data from it.

    Parameters
    ----------
    n_nodes, n_samples : int
        Number of variables and of rows.
    degree : float
        Expected number of parents of a node, from 0 to (n_nodes - 1) / 2.
    random_state : int, Generator or None
        With a seed, the draws depend on it together with the three numbers above.
    kind : {"gaussian", "discrete", "mixed"}
        Linear-Gaussian equations, probability tables, or half the columns of each kind (see ``MixedNetwork``).
    levels : int, optional
        Levels of every discrete column; 2 to 4, drawn for each, unless given.

    Returns
    -------
    Simulation
        ``data`` with columns X0, X1, ... and ``dag`` over them; for Gaussian networks its edges have a
        ``weight`` and its nodes a ``variance``.

    Notes
    -----
    Every pair in a random order becomes an edge with probability 2 degree / (n_nodes - 1). Coefficients are
    uniform in ±[0.5, 2] and noise variances uniform in [0.7, 1.2], section 5.2 of [1]_.

    References
    ----------
    .. [1] Yang et al., Inexact Column Generation for Bayesian Network Structure Learning via
       Difference-of-Submodular Optimization, arXiv:2505.11089.

    Examples
    --------
    >>> data, dag = simulate(n_nodes=5, n_samples=100, random_state=0)
    >>> data.shape, list(dag)
    ((100, 5), ['X0', 'X1', 'X2', 'X3', 'X4'])
    """
    n_nodes, degree = _checked_design(n_nodes, degree)
    n_samples = checked_whole("n_samples", n_samples, 1)
    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    if levels is not None and kind == "gaussian":
        raise InputError(f"levels={levels!r} is for discrete columns but kind is {kind!r}; leave it out")
    rng = _generator(random_state, n_nodes, n_samples, degree)
    if kind == "mixed":
        mixed = random_mixed_network(n_nodes, degree, random_state=rng, levels=levels)
        return Simulation(mixed.sample(n_samples, rng), mixed.dag)
    if kind == "discrete":
        discrete = random_discrete_network(n_nodes, degree, random_state=rng, levels=levels)
        return Simulation(discrete.sample(n_samples, rng), discrete.dag)
    if n_nodes > MOST_DENSE:
        return _simulate_many(n_nodes, n_samples, degree, rng)
    network, order = _draw_gaussian(n_nodes, degree, rng)
    return Simulation(network.sample(n_samples, rng, order=order.tolist()), network.dag)


def _generator(random_state: RandomState, n_nodes: int, n_samples: int, degree: float) -> np.random.Generator:
    """Return the generator of a simulation; with a seed it also depends on the size."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return as_generator(random_state)
    seed = checked_whole("random_state", random_state, 0)
    return np.random.default_rng([seed, n_nodes, n_samples, int(10 * degree)])


def random_gaussian_network(n_nodes: int, degree: float = 1.0, random_state: RandomState = None) -> GaussianNetwork:
    """Draw a random DAG with coefficients in ±[0.5, 2] and noise variances in [0.7, 1.2].

    Parameters
    ----------
    n_nodes : int
        Number of variables, X0, X1, ...
    degree : float
        Expected number of parents of a node, from 0 to (n_nodes - 1) / 2.
    random_state : int, Generator or None
        Seed, generator, or fresh entropy.
    """
    n_nodes, degree = _checked_design(n_nodes, degree)
    return _draw_gaussian(n_nodes, degree, as_generator(random_state))[0]


def random_discrete_network(
    n_nodes: int,
    degree: float = 1.0,
    max_levels: int = 4,
    random_state: RandomState = None,
    *,
    levels: int | None = None,
) -> DiscreteNetwork:
    """Draw a random DAG with 2 to ``max_levels`` levels per node and rows uniform on the simplex.

    Parameters
    ----------
    n_nodes : int
        Number of variables, X0, X1, ...
    degree : float
        Expected number of parents of a node, from 0 to (n_nodes - 1) / 2.
    max_levels : int
        The most levels of a variable; they are called s0, s1, ...
    random_state : int, Generator or None
        Seed, generator, or fresh entropy.
    levels : int, optional
        The number of levels of every variable, instead of a draw.
    """
    n_nodes, degree = _checked_design(n_nodes, degree)
    max_levels = checked_whole("max_levels", max_levels, 2)
    rng = as_generator(random_state)
    order = rng.permutation(n_nodes)
    edges = np.triu(rng.random((n_nodes, n_nodes)) < _edge_probability(n_nodes, degree), 1)
    parents: list[tuple[int, ...]] = [()] * n_nodes
    for place, node in enumerate(order):
        parents[node] = tuple(sorted(order[edges[:, place]].tolist()))
    names = _names(n_nodes)
    if levels is None:
        arities = rng.integers(2, max_levels + 1, n_nodes).tolist()
    else:
        arities = [checked_whole("levels", levels, 2)] * n_nodes
    spelled = tuple(tuple(f"s{k}" for k in range(arity)) for arity in arities)
    shapes = [table_shape(names, spelled, parents, j) for j in range(n_nodes)]
    if (cells := sum(map(prod, shapes))) > MOST_DRAWN_CELLS:
        raise InputError(
            f"the tables drawn would have {cells:,} cells, expected at most {MOST_DRAWN_CELLS:,};"
            " lower degree or levels"
        )
    tables = tuple(rng.dirichlet(np.ones(shape[-1]), size=shape[:-1]) for shape in shapes)
    return DiscreteNetwork(names, spelled, tuple(parents), tables)


def random_mixed_network(
    n_nodes: int,
    degree: float = 1.0,
    max_levels: int = 4,
    random_state: RandomState = None,
    *,
    levels: int | None = None,
) -> MixedNetwork:
    """Draw a random DAG over continuous and discrete variables, half of each kind, with edges between any kinds.

    The parameters are those of ``random_discrete_network``; levels are those of the discrete variables.
    """
    n_nodes, degree = _checked_design(n_nodes, degree)
    max_levels = checked_whole("max_levels", max_levels, 2)
    rng = as_generator(random_state)
    discrete = rng.permutation(n_nodes) < round(DISCRETE_SHARE * n_nodes)
    drawn = rng.integers(2, max_levels + 1, n_nodes)
    if levels is not None:
        drawn = np.full(n_nodes, checked_whole("levels", levels, 2))
    return draw_mixed(_names(n_nodes), _edge_probability(n_nodes, degree), np.where(discrete, drawn, 0), rng)


def _draw_gaussian(n_nodes: int, degree: float, rng: np.random.Generator) -> tuple[GaussianNetwork, NDArray[np.int64]]:
    """Return a network and the order in which it was drawn; published results depend on this order of draws."""
    probability = _edge_probability(n_nodes, degree)
    order = rng.permutation(n_nodes)
    weights = np.zeros((n_nodes, n_nodes))
    for place, parent in enumerate(order):
        for child in order[place + 1 :]:
            if rng.random() < probability:
                weights[parent, child] = rng.uniform(0.5, 2) * rng.choice([-1, 1])
    variances = rng.uniform(0.7, 1.2, n_nodes)
    return GaussianNetwork(_names(n_nodes), weights, np.zeros(n_nodes), variances), order


def _simulate_many(n_nodes: int, n_samples: int, degree: float, rng: np.random.Generator) -> Simulation:
    """Draw as ``_draw_gaussian`` does, with other draws of the edges: there is no array of all pairs."""
    order = rng.permutation(n_nodes)
    pairs = n_nodes * (n_nodes - 1) // 2
    n_edges = int(rng.binomial(pairs, _edge_probability(n_nodes, degree)))
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < n_edges:
        drawn = np.unique(np.append(drawn, rng.integers(0, pairs, n_edges - len(drawn))))
    later = ((1 + np.sqrt(1 + 8 * drawn.astype(np.float64))) / 2).astype(np.int64)  # the row of a triangle, to rounding
    later -= later * (later - 1) // 2 > drawn
    later += later * (later + 1) // 2 <= drawn
    earlier = drawn - later * (later - 1) // 2
    weights = rng.uniform(0.5, 2, n_edges) * rng.choice([-1, 1], n_edges)
    variances = rng.uniform(0.7, 1.2, n_nodes)
    columns = rng.standard_normal((n_nodes, n_samples))
    ends = np.searchsorted(later, np.arange(n_nodes), side="right")
    for place, node in enumerate(order.tolist()):
        own = slice(ends[place - 1] if place else 0, ends[place])
        columns[node] = math.sqrt(variances[node]) * columns[node] + weights[own] @ columns[order[earlier[own]]]
    names = _names(n_nodes)
    dag = networkx.DiGraph()
    dag.add_nodes_from((names[k], {"variance": float(variances[k])}) for k in range(n_nodes))
    ends_of = zip(order[earlier].tolist(), order[later].tolist(), weights.tolist(), strict=True)
    dag.add_weighted_edges_from((names[a], names[b], weight) for a, b, weight in ends_of)
    return Simulation(pd.DataFrame(columns.T, columns=list(names)), dag)


def _checked_design(n_nodes: int, degree: float) -> tuple[int, float]:
    n_nodes = checked_whole("n_nodes", n_nodes, 2)
    most = (n_nodes - 1) / 2
    try:
        value = float(degree)
    except (TypeError, ValueError):
        value = np.nan
    if not 0 <= value <= most:
        raise InputError(f"expected degree= to be from 0 to {most:g} for {n_nodes} nodes but got {degree!r}; lower it")
    return n_nodes, value


def _edge_probability(n_nodes: int, degree: float) -> float:
    return min(1.0, 2 * degree / (n_nodes - 1))


def _names(n_nodes: int) -> tuple[str, ...]:
    return tuple(f"X{k}" for k in range(n_nodes))
