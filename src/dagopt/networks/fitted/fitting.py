"""``fit``: the parameters of a given DAG."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dagopt.data.data_options import DataOptions
from dagopt.data.summarised import SummarisedMixedTable
from dagopt.data.table import ContinuousTable, DiscreteTable, MixedTable, Table, as_table
from dagopt.errors import InputError, quoted
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.order import is_sparse, parent_lists
from dagopt.networks.checks import Parents
from dagopt.networks.fitted.fitted_discrete import fit_discrete
from dagopt.networks.fitted.fitted_gaussian import fit_gaussian
from dagopt.networks.fitted.fitted_mixed import fit_mixed
from dagopt.networks.fitted.fitted_network import FittedNetwork
from dagopt.networks.rows import matched
from dagopt.options import with_options

__all__ = ["fit", "fit_table", "n_estimates", "table_like"]


@with_options(DataOptions)
def fit(data: object, dag: object, *, equivalent_sample_size: float = 0.0, **options: Any) -> FittedNetwork:
    """Fit the parameters of a DAG to data: regression equations or tables of probabilities.

    Parameters
    ----------
    data : path, frame, array or Table
        The data; see ``as_table``.
    dag : networkx graph, edge list, adjacency array or path
        The DAG; ``[i, j] = 1`` of an array means i → j. Columns that it does not name have no edges.
    equivalent_sample_size : float
        Weight, in rows, of a uniform Dirichlet prior on each table of discrete data; 0, the default, is maximum
        likelihood.
    {options}

    Returns
    -------
    FittedGaussian, FittedDiscrete or FittedMixed
        By the kind of the data.

    Examples
    --------
    >>> import dagopt
    >>> data, dag = dagopt.datasets.load("gaussian_test", n_samples=1000, random_state=0)
    >>> fitted = dagopt.fit(data, dag)
    >>> fitted.parameters.columns.tolist()
    ['node', 'term', 'estimate', 'standard_error', 't_value', 'p_value']
    """
    table = as_table(data, **options)
    graph = as_graph(dag, table.names)
    require_dag(graph)
    return fit_table(table, graph.adjacency, equivalent_sample_size)


def table_like(data: object, names: tuple[str, ...], table: Table | None, options: dict[str, Any]) -> Table:
    """Return the table of other data with the columns and levels of a known one; without other data, the known one.

    Parameters
    ----------
    data : path, frame, array, Table or None
        The other data, if any.
    names : tuple of str
        The columns to use, in order.
    table : Table or None
        The known table; None if a graph was learned without data.
    options : dict
        Passed to ``as_table``.
    """
    if data is None:
        if table is None:
            raise InputError("the graph was learned from local scores, without data; give the data to fit as data=")
        if options:
            raise InputError(f"the option {quoted(options)} is for other data; give them as data=, or leave it out")
        return table
    kind: str | dict[str, str] = "auto" if table is None else table.kind
    if isinstance(table, MixedTable):
        kind = {column.name: column.kind for column in table.columns}
    known: dict[str, Any] = {"columns": names, "kind": kind}
    if not isinstance(table, DiscreteTable | None) and table.transforms:
        known["transform"] = table.transforms
        ranked = {name: "ordinal" for name, own in table.transforms.items() if own.how == "rank"}
        known["kind"] = (dict.fromkeys(names, kind) if isinstance(kind, str) else kind) | ranked
    return matched(as_table(data, **known | options), names, table)


def fit_table(table: Table, adjacency: NDArray[np.int8], equivalent_sample_size: float = 0.0) -> FittedNetwork:
    """Fit the parameters of a DAG over exactly the columns of a table."""
    weight = _checked_weight(equivalent_sample_size)
    if is_sparse(adjacency):
        return _fit_sparse(table, adjacency)
    parents = _parents(adjacency)
    if isinstance(table, DiscreteTable):
        return fit_discrete(table, parents, weight)
    if weight:
        raise InputError(
            f"equivalent_sample_size= smooths tables of discrete data but the table is {table.kind}; omit it"
        )
    if isinstance(table, SummarisedMixedTable):
        table = table.sample
    return fit_mixed(table, parents) if isinstance(table, MixedTable) else fit_gaussian(table, parents)


def _fit_sparse(table: Table, adjacency: NDArray[np.int8]) -> FittedNetwork:
    """Fit the parameters of a DAG over very many columns; the answer has no network, which has a number per pair."""
    from dagopt.networks.fitted.fitted_wide import fit_wide

    if not isinstance(table, ContinuousTable):
        raise InputError(
            f"with {len(table.names):,} columns parameters are fitted to numbers but the table is {table.kind}; choose "
            f"fewer columns with columns="
        )
    found: Any = fit_wide(table, tuple(tuple(own.tolist()) for own in parent_lists(adjacency)))
    return cast(FittedNetwork, found)


def n_estimates(table: Table, adjacency: NDArray[np.int8]) -> int:
    """Return how many coefficients, or cells of tables, a fit of this DAG has."""
    if isinstance(table, ContinuousTable):
        return int(adjacency.sum()) + 2 * len(adjacency)
    if isinstance(table, MixedTable):
        return int(table.sizes @ (1 + adjacency.T @ table.sizes)) + len(adjacency)
    arity = table.arity.tolist()
    return sum(arity[j] * math.prod(arity[i] for i in own) for j, own in enumerate(_parents(adjacency)))


def _checked_weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise InputError(
            f"expected equivalent_sample_size= to be a number >= 0 but got {value!r}; 0 is maximum likelihood"
        )
    return float(value)


def _parents(adjacency: NDArray[np.int8]) -> Parents:
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in adjacency.T)
