"""The result of a run: the graph, its score, what is proven about it, and why the run ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.by_name import by_name
from dagopt.data.findings import Finding
from dagopt.data.lags import Lags
from dagopt.data.table import TABLES, DiscreteTable
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag, extend_pdag
from dagopt.graph.dag import Graph
from dagopt.graph.known_directions import essential_given
from dagopt.graph.order import is_acyclic, is_sparse, parent_lists
from dagopt.graph.series_graph import SeriesGraph
from dagopt.problem import Problem
from dagopt.results.answer import Answer, Status
from dagopt.results.certificate import Certificate
from dagopt.results.directions import DIRECTED, Direction, directions_of
from dagopt.results.figures import Figures
from dagopt.results.proof import proof_of
from dagopt.results.provenance import Provenance

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

    from dagopt.networks.effects.effect import Effect
    from dagopt.networks.effects.mixture import EffectPosterior
    from dagopt.networks.fitted.fitted_network import FittedNetwork
    from dagopt.networks.model_check import ModelCheck
    from dagopt.networks.series.dynamics import Dynamics
    from dagopt.progress import Progress
    from dagopt.results.explanation import Explanation
    from dagopt.results.graph_sample import GraphSample
    from dagopt.results.rivals import Rivals

__all__ = ["Result", "Status", "result_of"]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A learned graph.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    adjacency : int8 array of shape (n, n)
        The graph: ``[i, j] = 1`` means i → j. A DAG, except for methods that learn a class (stable PC), where
        both ``[i, j]`` and ``[j, i]`` mean an undirected edge.
    score : float or None
        The score of the DAG, higher is better; None if the graph has no DAG.
    certificate : Certificate or None
        What is proven: no graph within its scope scores more than its bound.
    limited : Certificate or None
        What is proven over fewer graphs, because the method limited the parent sets by itself.
    status : {"optimal", "converged", "time_limit", "interrupted"}
        Why the run ended.
    method : str
        The name of the method, as in ``learn``.
    score_label : str
        What the score is, with its convention.
    seconds : float
        Wall-clock time of the run.
    n_samples : int
        Rows of data.
    trace : DataFrame
        What happened, one row per event.
    findings : tuple of Finding
        The doctor's warnings.
    notes : tuple of str
        What the method says about its choices.
    figures : Figures
        What the method and the checks measured.
    problem : Problem or None
        What was solved: the table, the score and the knowledge. None if there was no table (``.jkl`` files).
    provenance : Provenance or None
        The data with their hash, the question, the version, the date, and the command that repeats the run; None if
        the result was not made by ``learn``.
    reading_seconds : float
        How much of the time was spent reading and checking the table.
    lags : Lags or None
        How the columns are laid out in time, for a dynamic network; its score is that of the present given the past.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> result = dagopt.learn(data)
    >>> result.status, result.scope
    ('optimal', 'all DAGs')
    >>> result.graph
    <Graph: DAG, 4 nodes, 3 edges>
    >>> result.edges[["from", "to", "direction"]].iloc[0].tolist()
    ['X2', 'X0', 'open']
    """

    names: tuple[str, ...]
    adjacency: NDArray[np.int8]
    score: float | None
    status: Status
    method: str
    score_label: str = ""
    certificate: Certificate | None = None
    limited: Certificate | None = None
    seconds: float = 0.0
    n_samples: int = 0
    trace: pd.DataFrame = field(default_factory=pd.DataFrame)
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    figures: Figures = field(default_factory=Figures)
    problem: Problem | None = None
    provenance: Provenance | None = None
    reading_seconds: float = 0.0
    lags: Lags | None = None

    @cached_property
    def graph(self) -> Graph:
        """The learned graph with the column names; of a dynamic network a ``SeriesGraph``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.graph
        <Graph: DAG, 4 nodes, 3 edges>
        """
        return self._named(self.adjacency)

    def _named(self, adjacency: NDArray[np.int8]) -> Graph:
        return Graph(adjacency, self.names) if self.lags is None else SeriesGraph(adjacency, self.names, self.lags)

    @cached_property
    def _member(self) -> Graph | None:
        """The DAG; for a learned class one of its members, None if it has none."""
        if is_acyclic(self.adjacency):
            return self.graph
        member = extend_pdag(self.adjacency)
        return None if member is None else Graph(member, self.names)

    @cached_property
    def dag(self) -> nx.DiGraph | None:
        """The DAG as a networkx graph; for a learned class one of its members, None if it has none.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> sorted(result.dag.nodes)
        ['X0', 'X1', 'X2', 'X3']
        """
        return None if self._member is None else self._member.to_networkx()

    @cached_property
    def cpdag_adjacency(self) -> NDArray[np.int8]:
        """The essential graph: what the data and the knowledge can determine. Undirected edges are in both directions.

        An edge is undirected only if it has both directions among the equivalent DAGs that obey the required and
        forbidden edges and the tiers (Meek's rules with background knowledge).

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.cpdag_adjacency.tolist()
        [[0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]]
        """
        if not is_acyclic(self.adjacency):
            return self.adjacency
        if self.problem is None:
            return cpdag(self.adjacency)
        known, told = self.problem.knowledge, self.problem.score.directed_pairs
        must = known.directing(self.adjacency)
        must = must if told is None else must | ((self.adjacency != 0) & told)
        return essential_given(self.adjacency, must, known.may)

    @cached_property
    def cpdag(self) -> nx.DiGraph:
        """The essential graph as a networkx graph, undirected edges in both directions.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.cpdag.number_of_nodes()
        4
        """
        return Graph(self.cpdag_adjacency, self.names).to_networkx()

    @property
    def edges(self) -> pd.DataFrame:
        """One row per edge: ``from``, ``to``, ``direction`` and, if known, ``gain``, the loss without it.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.edges.columns.tolist()
        ['from', 'to', 'direction', 'gain']
        """
        gains = self.details.get("edge_gain") or {}
        words = self.directions()
        rows = [(a, b, words[a, b], gains.get(f"{a} -> {b}", np.nan)) for a, b in self.graph]
        frame = pd.DataFrame(rows, columns=["from", "to", "direction", "gain"])
        return frame if gains else frame.drop(columns="gain")

    @property
    def bound(self) -> float | None:
        """No DAG within ``scope`` scores more; None unless that is proven.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.bound - result.score < 1e-6
        True
        """
        return None if self.certificate is None else self.certificate.bound

    @property
    def scope(self) -> str | None:
        """The graphs that the bound covers; None without a bound.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.scope
        'all DAGs'
        """
        return None if self.certificate is None else self.certificate.scope

    @property
    def gap(self) -> float | None:
        """How many points of score a better DAG could have more than this one; None without a bound.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.gap < 1e-6
        True
        """
        return None if self.bound is None or self.score is None else self.bound - self.score

    @property
    def gap_share(self) -> float | None:
        """The gap as a share of what the graph explains: its score minus that of the graph without edges.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.gap_share < 1e-6
        True
        """
        empty = self.figures.empty_score
        if self.gap is None or self.score is None or empty is None or self.score <= empty:
            return None
        return max(self.gap, 0.0) / (self.score - empty)

    @property
    def proof(self) -> str:
        """How good the answer is proven to be, in words; numbers are rounded up.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.proof
        'proven optimal'
        """
        return proof_of(self)

    def targets(self, column: str) -> dict[str, list[str]]:
        """Return what each experiment changed: the children of its column, if ``learn`` had ``experiments=column``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=3, n_samples=400, degree=0, random_state=0)
        >>> data["trial"] = ["none"] * 200 + ["heat"] * 200
        >>> data.loc[200:, "X1"] += 3.0
        >>> dagopt.learn(data, experiments="trial").targets("trial")
        {'heat': ['X1']}
        """
        start = f"{column}="
        found = {name.removeprefix(start): k for k, name in enumerate(self.names) if name.startswith(start)}
        if not found:
            raise InputError(f"there is no experiment of a column {column!r}; learn with experiments={column!r}")
        return {name: [self.names[j] for j in np.flatnonzero(self.adjacency[k])] for name, k in found.items()}

    def directions(
        self, threshold: float = DIRECTED, *, time_limit: float | None = None
    ) -> dict[tuple[str, str], Direction]:
        """Return for each edge how sure its direction is: directed, leaning or open.

        The first call looks for the best graph with each edge reversed, which takes up to some seconds; the summary,
        the report and saved files call it.

        Parameters
        ----------
        threshold : float
            Points of score that the best graph with the edge reversed must lose for the edge to be ``directed``; an
            edge that loses less is ``leaning``. An ``open`` edge loses nothing: equivalent graphs have it in both
            directions. ``unchecked`` edges were not tried, for lack of time or because there are too many columns.
        time_limit : float, optional
            Seconds for the first call.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.directions()
        {('X2', 'X0'): 'open', ('X3', 'X0'): 'open', ('X3', 'X2'): 'open'}
        """
        if self.figures.reversal_loss is None and self.problem is not None:
            check = by_name("methods.reversals", "reversal_figures")
            score = None if self.score is None else self.score + self.problem.past_score
            figures = replace(self.figures, **check(self.problem, self.adjacency, score, time_limit))
            object.__setattr__(self, "figures", figures)  # as a cached property does
        return directions_of(self, threshold)

    @property
    def details(self) -> dict[str, Any]:
        """The figures that were measured, by name.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> "edge_gain" in result.details
        True
        """
        return self.figures.known()

    def fit(self, data: object = None, *, equivalent_sample_size: float = 0.0, **options: Any) -> FittedNetwork:
        """Fit the parameters of the DAG; for a learned class, those of one of its members.

        Parameters
        ----------
        data : path, frame, array or Table, optional
            Other data with these columns and, if discrete, no other levels; by default the data learned from.
        equivalent_sample_size : float
            Weight, in rows, of a uniform Dirichlet prior on each table of discrete data; 0, the default, is maximum
            likelihood.
        **options
            Options for other data, passed to ``as_table``.

        Returns
        -------
        FittedGaussian or FittedDiscrete
            Parameters with standard errors, and methods such as ``sample``, ``log_likelihood`` and ``predict``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> fitted = result.fit()
        >>> fitted.parameters.columns.tolist()
        ['node', 'term', 'estimate', 'standard_error', 't_value', 'p_value']
        """
        from dagopt.networks.fitted.fitting import fit_table, table_like

        if self._member is None:
            raise InputError(
                f"no DAG extends the graph that {self.method!r} learned; choose a direction for each undirected edge"
                " and use dagopt.fit(data, dag)"
            )
        if data is None:
            self._refuse_set_rows("result.fit(data)")
        own = None if self.problem is None else self.problem.table
        if data is None and own is None and is_sparse(self.adjacency):
            raise InputError(
                f"the table of {len(self.names):,} columns is not kept in the result; use result.fit(data), which "
                "gives the regression of each column"
            )
        table = table_like(data, self.names, own, options)
        fitted = fit_table(table, self._member.adjacency, equivalent_sample_size)
        if not self.graph.is_dag:
            fitted.notes = ("a class of DAGs was learned; the parameters are those of one member", *fitted.notes)
        return fitted

    def dynamics(self) -> Dynamics:
        """Return the fitted dynamic network: effects after some moments, forecasts, simulation.

        For results learned with ``lags=``.

        Examples
        --------
        >>> import dagopt
        >>> series, _ = dagopt.simulate_series(3, 300, random_state=0)
        >>> dynamics = dagopt.learn(series, lags=1).dynamics()
        >>> dynamics.predict(steps=2)["series"].tolist()[:3]
        ['x0', 'x1', 'x2']
        """
        from dagopt.networks.series.dynamics import dynamics_of

        fitted = self.fit()
        assert self.problem is not None
        return dynamics_of(fitted, self.problem.table)

    def predict(self, steps: int = 1, **options: Any) -> pd.DataFrame:
        """Forecast the next moments of a dynamic network; the options are those of ``dynamics().predict``.

        Examples
        --------
        >>> import dagopt
        >>> series, _ = dagopt.simulate_series(2, 100, random_state=0)
        >>> dagopt.learn(series, lags=1).predict(steps=2)["series"].tolist()
        ['x0', 'x1', 'x0', 'x1']
        """
        return self.dynamics().predict(steps, **options)

    def effect(
        self,
        cause: str | tuple[str, str],
        outcome: str,
        *,
        level: float = 0.95,
        over: str = "class",
        within: float | None = None,
        half_price: bool = True,
        time_limit: float | None = None,
    ) -> Effect:
        """Return the total effect of one column on another: how the outcome changes if the cause is set from outside.

        Parameters
        ----------
        cause : str or tuple of two str
            The column that is set; or two, set at once, of continuous or discrete tables. For numbers the effect of
            two is the change for one unit of each while the other is held; for levels that of both together.
        outcome : str
            The column that changes.
        level : float
            The level of the intervals.
        over : {"class", "dag"}
            Whether to use all DAGs that the data and the knowledge cannot tell apart, or only the learned one.
        within : float, optional
            Use every DAG within these points of the best instead, proven complete: by the recursion over all sets to
            about 25 columns, beyond by branch and cut. The hull of the intervals allows for the choice of the graph.
        half_price : bool
            For ``within`` and scores that charge for parameters, with discrete columns: whether every DAG that is
            within these points if a parameter costs half counts too. A parent of a column with levels can cost so many
            parameters that a weak one is in no DAG near the best although it acts.
        time_limit : float, optional
            Seconds, for ``within``.

        Returns
        -------
        Effect
            Every effect that these DAGs can have, each with its adjustment set, standard error and interval; whether
            it is the same in all of them; and what is assumed.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> print(str(result.effect("X0", "X2")).splitlines()[0])
        total effect of X0 on X2, 95% intervals
        >>> print(str(result.effect(("X0", "X1"), "X2")).splitlines()[0])
        total effect of X0 and X1 on X2, 95% intervals
        """
        from dagopt.networks.effects.effect import effect_in
        from dagopt.networks.effects.joint_effect import joint_effect_in

        if self.problem is None and is_sparse(self.adjacency):
            raise InputError(
                f"the table of {len(self.names):,} columns is not kept in the result; use dagopt.effect(data, "
                "result.cpdag, cause, outcome), or result.dag for the learned DAG alone"
            )
        if self.problem is None:
            raise InputError("the graph was learned without data; use dagopt.effect(data, graph, cause, outcome)")
        self._refuse_set_rows("dagopt.effect(data, result.cpdag, cause, outcome)")
        if over not in ("class", "dag"):
            raise InputError(f"expected over= to be 'class' or 'dag' but got {over!r}; change the option")
        if within is not None:
            if over != "class":
                raise InputError("over='dag' is for one DAG and within= for many; leave one of them out")
            near = by_name(
                "confidence.effect_within", "effect_within" if isinstance(cause, str) else "joint_effect_within"
            )
            certified: Effect = near(self, cause, outcome, within, level, time_limit, half_price)
            return certified
        if self._member is None:
            raise InputError(
                f"no DAG extends the graph that {self.method!r} learned, so it has no effects; choose a direction for"
                " each undirected edge and use dagopt.effect"
            )
        if over == "class" and self.problem.knowledge.path_keys:
            raise InputError(
                f"some DAGs of the class may go against {self.problem.knowledge.path_keys}, so that effects over the "
                "class are not known; use over='dag'"
            )
        graph = self.cpdag_adjacency if over == "class" else self._member.adjacency
        limits = self.problem.knowledge.at_most if over == "class" else None
        if isinstance(cause, str):
            return effect_in(self.problem.table, graph, cause, outcome, level, limits)
        return joint_effect_in(self.problem.table, graph, cause, outcome, level, limits)

    def effect_posterior(
        self,
        cause: str,
        outcome: str,
        *,
        level: float = 0.95,
        prior: str = "fair",
        method: str = "auto",
        random_state: int = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
        progress: bool | Progress | None = None,
    ) -> EffectPosterior:
        """Return the distribution of an effect averaged over all DAGs, by the probability of every parent set.

        A DAG has the weight e^score, so the score should be the logarithm of a marginal likelihood (``bge``, ``bdeu``)
        or approximate one (``bic``). The probabilities are exact up to 25 columns and sampled beyond.

        Parameters
        ----------
        cause, outcome : str
            The columns.
        level : float
            The level of the interval.
        prior : {"fair", "uniform"}
            The weight of parent sets before the data, as in ``edge_posterior``.
        method : {"auto", "exact", "sampled"}
            How the probabilities of parent sets are found, as in ``edge_posterior``.
        random_state : int
            The seed of the sampling.
        time_limit : float, optional
            Seconds.
        n_jobs : int, optional
            The number of threads; all cores for None and -1. The answer does not depend on it.
        memory_limit : int or str, optional
            Bytes, or text such as ``"8GB"``; by default most of the free memory.
        progress : bool, Progress or None
            Whether to show the run; on a terminal by default.

        Returns
        -------
        EffectPosterior
            Mean, interval, and the probabilities that the effect is positive, negative, or that there is none.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.effect_posterior("X0", "X2").summaries.columns.tolist()
        ['mean', 'lower', 'upper', 'positive', 'negative', 'zero']
        """
        self._refuse_set_rows("a result learned")
        if not isinstance(cause, str):
            raise InputError(
                "the posterior of an effect is that of one column; for two set at once use "
                "result.sample_graphs().query(outcome, do={...}), or result.effect with within="
            )
        average = by_name("confidence.effect_posterior", "effect_posterior")
        running = {"time_limit": time_limit, "n_jobs": n_jobs, "memory_limit": memory_limit, "progress": progress}
        how = {"prior": prior, "method": method, "random_state": random_state}
        found: EffectPosterior = average(self, cause, outcome, level=level, **how, **running)
        return found

    def log_likelihood(self, data: object) -> float:
        """Return the log-likelihood of other rows, with parameters from the rows learned from.

        Tables of discrete columns are smoothed by a prior with the weight of one row, so that unseen configurations are
        not impossible. For a dynamic network it is that of the present given the past, for a table of lagged columns.
        Transformed columns (``transform=``) are transformed in the same way, and the density is that of
        the transformed values.

        Parameters
        ----------
        data : path, frame, array or Table
            Rows with the same columns.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> more, _ = dagopt.simulate(n_nodes=4, n_samples=50, random_state=0)
        >>> round(result.log_likelihood(more))
        -1312
        """
        from dagopt.networks.fitted.fitting import table_like

        own = None if self.problem is None else self.problem.table
        fitted = self.fit(equivalent_sample_size=1.0 if own is not None and own.kind == "discrete" else 0.0)
        if self.lags is not None and isinstance(data, TABLES):
            from dagopt.networks.series.dynamics import Dynamics

            return Dynamics(fitted, self.lags, data).log_likelihood()
        if not isinstance(own, DiscreteTable | None) and own.transforms and not isinstance(data, TABLES):
            data = table_like(data, self.names, own, {})
        return fitted.log_likelihood(data)

    @cached_property
    def misfits(self) -> Mapping[str, str] | None:
        """The checks of residuals that fail, by edge or column, as the summary and the report have them.

        None if they were not made: without a DAG or rows, with interventions, or if they would take long.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.misfits
        {}
        """
        problem = self.problem
        if self.figures.misfits is not None or problem is None:
            return self.figures.misfits
        if problem.score.directed_pairs is not None or not is_acyclic(self.adjacency):
            return None
        from dagopt.networks.model_check import check_model, is_cheap

        parents = tuple(tuple(own.tolist()) for own in parent_lists(self.adjacency))
        if not is_cheap(problem.table, parents):
            return None
        return check_model(problem.table, parents, problem.score.degree).misfits

    def check(self) -> ModelCheck:
        """Check the residuals: linear effects, normal noise of one variance, independent rows.

        Returns
        -------
        ModelCheck
            One row per test in ``table``, those that fail in ``failed``, each with a remedy; ``plot()`` draws the
            residuals.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> print(result.check())
        all 13 checks of the residuals pass
        """
        from dagopt.networks.model_check import check_model

        if self.problem is None or self._member is None:
            raise InputError("residuals need data and a DAG, but the result has none; learn from the data again")
        self._refuse_set_rows("dagopt.learn(data).check()")
        parents = parent_lists(self._member.adjacency)
        return check_model(self.problem.table, tuple(tuple(own.tolist()) for own in parents), self.problem.score.degree)

    def explain(
        self,
        a: str,
        b: str,
        *,
        method: str = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
        random_state: int = 0,
        progress: bool | Progress | None = None,
    ) -> Explanation:
        """Say why two columns are joined or not, and what the score would lose otherwise.

        Parameters
        ----------
        a, b : str
            The columns.
        method : {"auto", "exact", "order", "branch-and-cut"}
            How the best other DAGs are found: exactly, by search, whose losses are upper bounds, or one by one by
            branch and cut, which proves the losses or bounds them on both sides. ``auto`` is exact if that fits in
            memory and takes at most about a minute, else search.
        time_limit : float, optional
            Seconds; what is not found by then is left out, with a note.
        n_jobs : int, optional
            The number of threads; all cores for None and -1.
        memory_limit : int or str, optional
            Memory limit of the exact method, in bytes or as text such as ``"8GB"``.
        random_state : int
            Seed of the searches.
        progress : bool, Progress or None
            Whether to show the run; on a terminal by default.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.explain("X0", "X2").neither.proven
        True
        """
        effort = by_name("methods.alternatives", "Effort")(method, n_jobs, memory_limit, random_state)
        explain = by_name("confidence.explain", "explain")
        found: Explanation = explain(self, a, b, effort, time_limit=time_limit, progress=progress)
        return found

    def regrets(
        self,
        *,
        method: str = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
        random_state: int = 0,
        progress: bool | Progress | None = None,
    ) -> pd.DataFrame:
        """Return what the score loses without each edge, the edges that matter most first.

        The parameters are those of ``explain``.

        Returns
        -------
        DataFrame
            ``from``, ``to``; ``fixed``, whether all equivalent DAGs that the constraints allow have this direction;
            ``local_loss`` when only this edge is dropped; the learned score minus that of the best DAG ``without`` the
            edge, with it ``reversed``, and with ``neither`` direction; ``at_least``, a proven lower bound on what is
            lost without the edge; ``proven``, whether these are exact rather than upper bounds; a ``note`` if the
            constraints allow no such DAG.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.regrets().columns.tolist()[:4]
        ['from', 'to', 'fixed', 'local_loss']
        """
        effort = by_name("methods.alternatives", "Effort")(method, n_jobs, memory_limit, random_state)
        regrets = by_name("confidence.explain", "regrets")
        found: pd.DataFrame = regrets(self, effort, time_limit=time_limit, progress=progress)
        return found

    def rivals(
        self,
        within: float = 3.0,
        *,
        most: int = 100_000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
        progress: bool | Progress | None = None,
    ) -> Rivals:
        """Return every DAG that scores nearly as much as the best one: proven complete, each once.

        By the recursion over all sets, to about 25 columns. Beyond, to 62 columns, cutting planes exclude most parent
        sets, and the recursion runs over the components of the rest. If the time is over before all DAGs are found, the
        parent sets that are not ruled out are kept: edges that all or none of them have are proven, others undecided.

        Parameters
        ----------
        within : float
            Points of score; 3 means that the best graph is at most e^3 = 20 times as likely as a rival.
        most : int
            The most DAGs that are listed, from the best down; all within the limit are counted.
        time_limit : float, optional
            Seconds.
        n_jobs : int, optional
            The number of threads; all cores for None and -1. The answer does not depend on it.
        memory_limit : int or str, optional
            Bytes, or text such as ``"8GB"``; by default most of the free memory.
        progress : bool, Progress or None
            Whether to show the run; on a terminal by default.

        Returns
        -------
        Rivals
            The DAGs and their number, their equivalence classes, and the edges that all, some or none of them have.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.rivals(within=1).count
        6
        """
        find = by_name("confidence.rivals", "rivals")
        options = {"time_limit": time_limit, "n_jobs": n_jobs, "memory_limit": memory_limit, "progress": progress}
        found: Rivals = find(self, within, most=most, **options)
        return found

    def sample_graphs(
        self,
        count: int = 200,
        *,
        prior: str = "fair",
        random_state: int = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        progress: bool | Progress | None = None,
    ) -> GraphSample:
        """Draw DAGs by their probability given the data, and ask all of them.

        A DAG has the weight e^score, so the score should be the logarithm of a marginal likelihood (``bge``, ``bdeu``)
        or approximate one (``bic``). Several walks go through the orders of the columns, as in ``edge_posterior`` with
        ``method="sampled"``, and a DAG is drawn from time to time.

        Parameters
        ----------
        count : int
            How many DAGs.
        prior : {"fair", "uniform"}
            The weight of parent sets before the data, as in ``edge_posterior``.
        random_state : int
            The seed. Without a time limit, the answer depends on it alone.
        time_limit : float, optional
            Seconds.
        n_jobs : int, optional
            The number of threads; all cores for None and -1. The answer does not depend on it.
        progress : bool, Progress or None
            Whether to show the run; on a terminal by default.

        Returns
        -------
        GraphSample
            The DAGs; ``edges``, and ``query`` and ``predict``, averaged over them, beside the learned graph.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> sample = dagopt.learn(data, score="bge").sample_graphs(100)
        >>> len(sample)
        100
        """
        self._refuse_set_rows("a result learned")
        draw = by_name("confidence.graph_sample", "sample_graphs")
        how = {"prior": prior, "random_state": random_state, "time_limit": time_limit}
        found: GraphSample = draw(self, count, **how, n_jobs=n_jobs, progress=progress)
        return found

    def summary(self) -> str:
        """Return a short summary: what was found, what is proven, why it ended.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> print(result.summary().splitlines()[0])
        4 columns, 300 rows; 3 edges
        """
        from dagopt.results.summary import summary_of

        return summary_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.to_dict()["status"]
        'optimal'
        """
        from dagopt.results.saving import plain_of

        return plain_of(self)

    def plot(self, ax: Axes | None = None, *, essential: bool = False, folded: bool = False) -> Axes:
        """Draw the graph in layers; ``essential`` draws the essential graph instead.

        A dynamic network is drawn with past and present side by side; ``folded`` draws one node per series, with the
        lags beside the edges.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.plot().figure.savefig("graph.png")
        """
        shown = self._named(self.cpdag_adjacency) if essential else self.graph
        drawn: Axes = by_name("report.plots", "plot_graph")(shown, ax, folded=folded)
        return drawn

    def plot_convergence(self, ax: Axes | None = None) -> Axes:
        """Draw the score, and the bound if there is one, against time, from the trace.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data, "order")
        >>> result.plot_convergence().figure.savefig("convergence.png")
        """
        drawn: Axes = by_name("report.plots", "plot_convergence")(self.trace, ax)
        return drawn

    def report(
        self,
        path: str | Path,
        *,
        regrets: pd.DataFrame | None = None,
        bootstrap: Any = None,
        posterior: Any = None,
        rivals: Rivals | None = None,
        with_data: bool = False,
    ) -> Path:
        """Write one self-contained HTML page about the result and return its path.

        Parameters
        ----------
        path : path
            The file, usually ``.html``; written completely or not at all.
        regrets : DataFrame, optional
            What ``regrets()`` returned.
        bootstrap : Bootstrap, optional
            What ``dagopt.bootstrap`` returned for the same columns.
        posterior : EdgePosterior, optional
            What ``dagopt.edge_posterior`` returned for the same columns.
        rivals : Rivals, optional
            What ``rivals()`` returned. Like the three above, it adds numbers to the table of edges and to the panel of
            an edge, and a note on what else fits.
        with_data : bool
            Whether the page holds a sample of up to 400 rows, for its scatter plots. By default it holds counts, means
            and quartiles of at least five rows, and no row.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.report("report.html").name
        'report.html'
        """
        with_evidence = by_name("report.edge_confidence", "with_evidence")
        told = with_evidence(self, regrets=regrets, bootstrap=bootstrap, posterior=posterior, rivals=rivals)
        written: Path = by_name("report.html", "write_report")(told, path, with_data=with_data)
        return written

    def _refuse_set_rows(self, instead: str) -> None:
        """Raise an error if some rows behind the result were set from outside."""
        if self.problem is not None and self.problem.score.directed_pairs is not None:
            raise InputError(
                f"some rows set columns from outside and say nothing about the causes of these columns; use {instead}"
                " with the rows that were only observed"
            )

    def widget(self, *, height: int = 640, with_data: bool = False) -> Any:
        """Return the graph of the report for a notebook, where clicks are seen from Python; needs the extra ``widget``.

        Parameters
        ----------
        height : int
            Pixels.
        with_data : bool
            Whether the view holds a sample of the rows; without it, only counts, means and quartiles.

        Returns
        -------
        ReportWidget
            Its ``chosen`` is what was clicked last: ``{"column": ...}``, ``{"from": ..., "to": ..., "direction": ...}``
            or empty; ``observe`` tells of a change.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> shown = result.widget()
        >>> shown.chosen
        {}
        """
        return by_name("report.widget", "widget_of")(self, height=height, with_data=with_data)

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, completely or not at all; ``Result.load`` reads it, without data and trace.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.save("result.json")
        >>> dagopt.Result.load("result.json").status
        'optimal'
        """
        from dagopt.results.saving import save_result

        save_result(self, path)

    def save_proof(self, path: str | Path) -> None:
        """Write what an independent checker needs, as JSON: the graph, its score, the bound, and what they are about.

        ``dagopt.verify(path, data)`` and ``dagopt verify`` check it without the methods and scores of the library: they
        score the sets of columns and find the best DAG anew. For up to 30 columns, all continuous or all discrete,
        with complete rows, and for penalised likelihoods (BIC, EBIC, AIC) and BDeu, whatever the method; others are
        refused.

        Parameters
        ----------
        path : path
            The file, usually ``.json``; written completely or not at all.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.save_proof("proof.json")
        >>> print(str(dagopt.verify("proof.json", data))[:9])
        verified:
        """
        from dagopt.results.proof_writing import save_proof

        save_proof(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that ``save`` wrote, or ``dagopt learn --out`` as ``result.json``.

        The data and the trace are not in the file: ``fit`` needs ``data=``, and effects need ``dagopt.effect``.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> result.save("result.json")
        >>> dagopt.Result.load("result.json").graph == result.graph
        True
        """
        from dagopt.results.saving import load_result

        return load_result(path)

    def _repr_html_(self) -> str:
        return str(by_name("report.notebook", "result_html")(self))

    def __repr__(self) -> str:
        score = "no score" if self.score is None else f"score {self.score:.4f}"
        proof = "nothing proven" if self.gap is None else f"gap {self.gap:.4f} over {self.scope}"
        size = f"{len(self.names)} columns, {self.graph.n_edges} edges"
        return f"<dagopt.Result: {size}, {score}, {proof}, {self.status}, {self.method}>"

    def __str__(self) -> str:
        return self.summary()


def result_of(answer: Answer, names: tuple[str, ...], score_label: str, **more: Any) -> Result:
    """Return the result of an answer: the one place where results are made.

    Parameters
    ----------
    answer : Answer
        What a method returned.
    names : tuple of str
        The columns.
    score_label : str
        What the score is.
    **more
        Further fields of the result, such as ``seconds`` and ``problem``.
    """
    taken = {one.name: getattr(answer, one.name) for one in fields(answer)}
    return Result(names=names, score_label=score_label, **taken, **more)
