"""Methods of other packages, as functions from a table to the adjacency of a graph; used if installed.

causal-learn: stable PC, GES, BOSS and GRaSP; pgmpy: hill climbing. All use continuous data and BIC.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.table import ContinuousTable, Table
from dagopt.errors import InputError

__all__ = ["ADAPTERS", "Adapter", "from_causal_learn"]

Adjacency = NDArray[np.int8]


@dataclass(frozen=True)
class Adapter:
    """A method of another package.

    Attributes
    ----------
    module, package : str
        What to import, and what to install for it.
    search : callable
        From the data to the adjacency of a DAG or PDAG.
    """

    module: str
    package: str
    search: Callable[[pd.DataFrame], Adjacency]

    @property
    def installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.module) is not None

    def __call__(self, table: Table) -> Adjacency:
        """Run the method on continuous data, silently and always with the same random numbers."""
        if not isinstance(table, ContinuousTable):
            raise InputError(f"expected continuous data for {self.package} but got discrete; use a method of dagopt")
        frame = pd.DataFrame(table.values, columns=list(table.names))
        np.random.seed(0)  # noqa: NPY002 (these packages draw from the global generator)
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.search(frame), dtype=np.int8)


def from_causal_learn(graph: NDArray[np.int64]) -> Adjacency:
    """Return the adjacency of a graph in causal-learn's encoding.

    There ``graph[i, j] = -1`` and ``graph[j, i] = 1`` mean i → j; -1 both ways is undirected. An edge with two
    arrowheads, 1 both ways, means that the tests disagree on its direction; it is undirected here.
    """
    tail = (graph == -1) & (graph.T != 0)
    disputed = (graph == 1) & (graph.T == 1)
    return np.asarray(tail | disputed, dtype=np.int8)


def _causal_learn_pc(data: pd.DataFrame) -> Adjacency:
    from causallearn.search.ConstraintBased.PC import pc

    return from_causal_learn(pc(data.to_numpy(), alpha=0.05, stable=True, show_progress=False).G.graph)


def _causal_learn_ges(data: pd.DataFrame) -> Adjacency:
    from causallearn.search.ScoreBased.GES import ges

    return from_causal_learn(ges(data.to_numpy(), score_func="local_score_BIC_from_cov")["G"].graph)


def _causal_learn_boss(data: pd.DataFrame) -> Adjacency:
    from causallearn.search.PermutationBased.BOSS import boss

    return from_causal_learn(boss(data.to_numpy(), score_func="local_score_BIC_from_cov").graph)


def _causal_learn_grasp(data: pd.DataFrame) -> Adjacency:
    from causallearn.search.PermutationBased.GRaSP import grasp

    return from_causal_learn(grasp(data.to_numpy(), score_func="local_score_BIC_from_cov").graph)


def _pgmpy_hc(data: pd.DataFrame) -> Adjacency:
    from pgmpy.estimators import HillClimbSearch

    found = HillClimbSearch(data).estimate(scoring_method="bic-g", show_progress=False)
    place = {name: k for k, name in enumerate(data.columns)}
    dag = np.zeros((len(place), len(place)), dtype=np.int8)
    for tail, head in found.edges():
        dag[place[tail], place[head]] = 1
    return dag


ADAPTERS = {
    "causal-learn-pc": Adapter("causallearn", "causal-learn", _causal_learn_pc),
    "causal-learn-ges": Adapter("causallearn", "causal-learn", _causal_learn_ges),
    "causal-learn-boss": Adapter("causallearn", "causal-learn", _causal_learn_boss),
    "causal-learn-grasp": Adapter("causallearn", "causal-learn", _causal_learn_grasp),
    "pgmpy-hc": Adapter("pgmpy", "pgmpy", _pgmpy_hc),
}
