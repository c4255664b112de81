"""`Questions`: what can be asked of any network, whatever is known or missing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dagopt.arrays import Floats
from dagopt.errors import InputError, checked_whole
from dagopt.networks.checks import RandomState, as_generator, checked_given
from dagopt.networks.network_cells import cells_of, event_of, frame_of, position_of, row_of, values_of

if TYPE_CHECKING:
    from dagopt.networks.inference.engine import Engine, Model

__all__ = ["Expectation", "Questions"]


@dataclass(frozen=True)
class Expectation:
    """The distribution of a continuous column.

    Attributes
    ----------
    name : str
        The column.
    mean, std : float
        Mean and standard deviation of its distribution, which is normal in a Gaussian network.
    standard_error : float
        The standard error of the mean if it comes from draws; 0 if it is exact.
    """

    name: str
    mean: float
    std: float
    standard_error: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval around the mean that contains a share of a normal distribution, 0.95 by default."""
        from scipy.special import ndtri

        if not 0 < level < 1:
            raise InputError(f"expected level= to be between 0 and 1 but got {level!r}; change the option")
        reach = float(ndtri((1 + level) / 2)) * self.std
        return self.mean - reach, self.mean + reach

    def _repr_html_(self) -> str:
        return pd.Series({"mean": self.mean, "std": self.std}, name=self.name).to_frame().T.to_html()


class Questions(ABC):
    """Queries, predictions and draws from a network, given whatever is known.

    Evidence and events are mappings by column. The value of a discrete column is a level, as text or as the number
    that it spells; that of a continuous column is a number. Data can be a path, a frame, an array or a Table, with any
    columns or cells missing.
    """

    _fixed: Mapping[int, float] = {}

    @property
    @abstractmethod
    def _model(self) -> Model:
        """The network behind the answers."""

    @property
    @abstractmethod
    def _engine(self) -> Engine:
        """The engine that answers."""

    def query(self, target: str, evidence: Mapping[str, object] | None = None) -> pd.Series[float] | Expectation:
        """Return the distribution of a column given the values of others.

        Parameters
        ----------
        target : str
            The column.
        evidence : mapping of str to value, optional
            What is known.

        Returns
        -------
        Series or Expectation
            Discrete: the probability of each level. Continuous: ``mean``, ``std`` and ``interval()``. If the answer
            comes from draws, ``attrs["standard_error"]`` or ``standard_error`` has its standard error.
        """
        node = position_of(self._model, target)
        row = self._row(evidence)
        if not np.isnan(row[0, node]):
            raise InputError(f"the target {target!r} is also in the evidence; leave it out of one of the two")
        found = self._engine.posterior(node, row)
        if np.isnan(found.figures[0]).any():
            raise self._impossible(evidence)
        errors = None if found.errors is None else found.errors[0].tolist()
        levels = self._model.levels_of(node)
        if levels is None:
            mean, std = found.figures[0].tolist()
            return Expectation(target, mean, std, errors[0] if errors else 0.0)
        answer = pd.Series(found.figures[0], index=pd.Index(list(levels), name=target), name="probability")
        if errors:
            answer.attrs["standard_error"] = dict(zip(levels, errors, strict=True))
        return answer

    def probability(self, event: Mapping[str, object], evidence: Mapping[str, object] | None = None) -> float:
        """Return the probability that some columns have certain values, given the values of others.

        Parameters
        ----------
        event : mapping of str to value
            For a discrete column a level, or a list of possible levels; for a continuous one an interval
            ``(low, high)``, with None for no limit.
        evidence : mapping of str to value, optional
            What is known.

        Returns
        -------
        float
        """
        wanted = event_of(self._model, event)
        row = self._row(evidence)
        for node in wanted:
            if not np.isnan(row[0, node]):
                name = self._model.names[node]
                raise InputError(f"column {name!r} is in the event but already known; leave it out of one of the two")
        if np.isneginf(self._engine.log_evidence(row)[0]):
            raise self._impossible(evidence)
        return self._engine.probability(wanted, row)[0]

    def predict(self, data: object, column: str, *, given: str = "all") -> pd.Series[Any]:
        """Return a column as the network expects it in each row: its mean, or its most probable level.

        Parameters
        ----------
        data : path, frame, array or Table
            The rows. Their values of ``column`` itself are ignored.
        column : str
            What to predict.
        given : {"all", "parents", "blanket"}
            Predict from every known cell, from those of the parents only, or from those of the Markov blanket
            (parents, children and their other parents), which is as good as all cells if all of it is known.

        Returns
        -------
        Series
            Missing where the known cells of a row are impossible in the network.
        """
        node, figures, index = self._posteriors(data, column, given)
        if self._model.levels_of(node) is None:
            return values_of(self._model, node, figures[:, 0], index)
        impossible = np.isnan(figures).any(axis=1)
        best = np.where(impossible, np.nan, np.argmax(np.where(np.isnan(figures), 0, figures), axis=1))
        return values_of(self._model, node, best, index)

    def predict_proba(self, data: object, column: str, *, given: str = "all") -> pd.DataFrame:
        """Return the distribution of a column in each row: the probability of each level, or ``mean`` and ``std``.

        The parameters are those of ``predict``.
        """
        node, figures, index = self._posteriors(data, column, given)
        return pd.DataFrame(figures, index=index, columns=list(self._model.levels_of(node) or ("mean", "std")))

    def impute(self, data: object, *, draw: bool = False, random_state: RandomState = 0) -> pd.DataFrame:
        """Return the columns of the network with every missing cell filled in.

        Parameters
        ----------
        data : path, frame, array or Table
            The rows; missing columns are also filled in.
        draw : bool
            Draw the missing cells of a row from their joint distribution given the others, as multiple imputation
            needs; by default each gets its mean or most probable level.
        random_state : int, Generator or None
            Seed of the draws.
        """
        cells, index = self._cells(data)
        if draw:
            possible = ~np.isneginf(self._engine.log_evidence(cells))
            filled = cells.copy()
            filled[possible] = self._engine.complete(cells[possible], as_generator(random_state))
            return frame_of(self._model, filled, index)
        filled = cells.copy()
        for node in range(cells.shape[1]):
            rows = np.flatnonzero(np.isnan(cells[:, node]))
            if len(rows):
                figures = self._engine.posterior(node, cells[rows]).figures
                discrete = self._model.levels_of(node) is not None
                best = np.argmax(np.where(np.isnan(figures), 0, figures), axis=1) if discrete else figures[:, 0]
                filled[rows, node] = np.where(np.isnan(figures).any(axis=1), np.nan, best)
        return frame_of(self._model, filled, index)

    def sample(
        self, n_samples: int, random_state: RandomState = None, *, evidence: Mapping[str, object] | None = None
    ) -> pd.DataFrame:
        """Draw rows from the network, given the values of some columns.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, Generator or None
            Seed, generator, or fresh entropy.
        evidence : mapping of str to value, optional
            What is known in every row.

        Returns
        -------
        DataFrame
            Floats, or categories with the levels as text.
        """
        n_samples = checked_whole("n_samples", n_samples, 1)
        row = self._row(evidence)
        if np.isneginf(self._engine.log_evidence(row)[0]):
            raise self._impossible(evidence)
        cells = self._engine.complete(np.repeat(row, n_samples, axis=0), as_generator(random_state))
        return frame_of(self._model, cells, pd.RangeIndex(n_samples))

    def do(self, values: Mapping[str, object]) -> Questions:
        """Return the network in which columns are set from outside, whatever their parents.

        Parameters
        ----------
        values : mapping of str to value
            The columns that are set, and their values. The edges into them are removed.

        Returns
        -------
        Questions
            Answers ``query``, ``probability``, ``predict``, ``impute`` and ``sample``.

        Notes
        -----
        The answer is causal only if the DAG is: each edge a cause, and no hidden common cause of two columns.
        """
        from dagopt.networks.intervened import Intervened

        row = row_of(self._model, values, self._fixed, "do")
        return Intervened(self._model, {int(node): float(row[0, node]) for node in np.flatnonzero(~np.isnan(row[0]))})

    def to_pgmpy(self) -> Any:
        """Return the network as an object of pgmpy, which must be installed."""
        from dagopt.networks.exchange import pgmpy_network

        return pgmpy_network(self._model)

    def to_pyagrum(self) -> Any:
        """Return a discrete network as a ``BayesNet`` of pyAgrum (``pip install 'dagopt[inference]'``)."""
        from dagopt.networks.exchange import pyagrum_network

        return pyagrum_network(self._model)

    def _row(self, evidence: Mapping[str, object] | None) -> Floats:
        return row_of(self._model, evidence, self._fixed, "evidence")

    def _cells(self, data: object) -> tuple[Floats, pd.Index[Any]]:
        """Return the rows of data, with the columns set from outside filled in."""
        cells, index = cells_of(self._model, data)
        for node, cell in self._fixed.items():
            cells[:, node] = cell
        return cells, index

    def _posteriors(self, data: object, column: str, given: str) -> tuple[int, Any, pd.Index[Any]]:
        """Return the node of a column, its distribution in each row, and the index of the rows."""
        if given == "all":
            node = position_of(self._model, column)
            needed: tuple[int, ...] = tuple(range(len(self._model.names)))
        else:
            node, needed = checked_given(self._model.names, self._model.parents, column, given)
        cells, index = self._cells(data)
        kept = np.full_like(cells, np.nan)
        kept[:, [*needed, *self._fixed]] = cells[:, [*needed, *self._fixed]]
        return node, self._engine.posterior(node, kept).figures, index

    def _impossible(self, evidence: Mapping[str, object] | None) -> InputError:
        said = ", ".join(f"{name}={value}" for name, value in (evidence or {}).items())
        return InputError(
            f"the evidence {said} has probability zero in this network; correct it, or fit the network with"
            " equivalent_sample_size= above 0, which makes every level possible"
        )
