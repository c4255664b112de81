"""Structural EM: discrete data with missing cells, imputed from the last learned network until it no longer changes.

The first network is that of the complete rows, if there are enough; otherwise cells are first filled in from the
frequencies of their column. Each round learns a DAG from the completed rows, fits its tables, and fills in every
missing cell again from its distribution in the network, given its Markov blanket as last completed (Friedman 1998;
bnlearn's ``structural.em`` also imputes). Cells are filled in proportion to probabilities, not by the most probable
level, which would overstate every dependence.

References
----------
Friedman (1998). The Bayesian structural EM algorithm. UAI.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.data.incomplete import IncompleteLevels
from dagopt.data.table import DiscreteTable
from dagopt.deadline import Deadline
from dagopt.networks.fitted.fitting import fit_table
from dagopt.results.result import Result

__all__ = ["MOST_ROUNDS", "imputed", "structural_em"]

MOST_ROUNDS = 25  # of filling in and learning, which ends earlier if the graph stays
SWEEPS = 5  # passes over the columns with missing cells in one round
PRIOR_ROWS = 1.0  # weight of the uniform prior, so that no level is impossible


def structural_em(data: IncompleteLevels, solve: Callable[[DiscreteTable], Result], deadline: Deadline) -> Result:
    """Return the result on the last completion of the data.

    Parameters
    ----------
    data : IncompleteLevels
        The columns.
    solve : callable
        Learns from a complete table.
    deadline : Deadline
        The clock.
    """
    codes = data.first_completion()
    whole = data.complete_rows()
    result = solve(data.table(codes) if whole is None else whole)
    if whole is not None and result.dag is not None:
        codes = imputed(data, codes, result)
        result = solve(data.table(codes))
    seen = {result.cpdag_adjacency.tobytes()}
    why = f"not settled after {MOST_ROUNDS} rounds"
    rounds = 1
    while rounds < MOST_ROUNDS:
        if deadline.reason is not None or result.dag is None:
            why = "stopped by the clock" if deadline.reason is not None else "the graph has no DAG to impute from"
            break
        codes = imputed(data, codes, result)
        before, result = result.cpdag_adjacency, solve(data.table(codes))
        rounds += 1
        now = result.cpdag_adjacency.tobytes()
        if np.array_equal(before, result.cpdag_adjacency) or now in seen:
            why = (
                "the graph no longer changed"
                if np.array_equal(before, result.cpdag_adjacency)
                else "an earlier graph came back"
            )
            break
        seen.add(now)
    note = (
        f"missing cells: {data.n_missing} in {data.n_incomplete} of {data.n_rows} rows, imputed by structural EM "
        f"in {rounds} rounds ({why}); score and bound are those of the completed rows"
    )
    figures = replace(result.figures, missing_cells=data.n_missing, em_rounds=rounds)
    return replace(result, notes=(note, *result.notes), figures=figures)


def imputed(data: IncompleteLevels, codes: Ints, result: Result) -> Ints:
    """Return the cells with the missing ones filled in again from the network of a result."""
    table = data.table(codes)
    order = {name: k for k, name in enumerate(result.names)}
    adjacency = np.zeros_like(result.adjacency)
    for tail, head in result.dag.edges if result.dag is not None else ():
        adjacency[order[tail], order[head]] = 1
    fitted = fit_table(table, adjacency, PRIOR_ROWS)
    logs = [np.log(own) for own in fitted.network.tables]  # type: ignore[union-attr]
    codes = codes.copy()
    for _ in range(SWEEPS):
        for j, column in enumerate(data.columns):
            rows = np.flatnonzero(column.missing)
            if len(rows):
                weights = _posterior(logs, fitted.parents, codes[:, rows], j, len(column.levels))
                codes[j, rows] = data.chosen(j, rows, weights)
    return codes


def _posterior(logs: list[Floats], parents: tuple[tuple[int, ...], ...], codes: Ints, node: int, levels: int) -> Floats:
    """Return the probabilities, up to a factor, of the levels of a node given all other cells of each row."""
    concerned = [node, *(j for j, own in enumerate(parents) if node in own)]
    total = np.zeros((codes.shape[1], levels))
    for level in range(levels):
        for j in concerned:
            place = tuple(np.full(codes.shape[1], level) if i == node else codes[i] for i in (*parents[j], j))
            total[:, level] += logs[j][place]
    return np.asarray(np.exp(total - total.max(axis=1, keepdims=True)))
