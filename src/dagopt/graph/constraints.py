"""What a user knows about the graph before it is learned, by the names of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.lags import Lags
from dagopt.errors import InputError, unknown_name
from dagopt.graph.dag import Graph, as_graph, find_cycle, is_array, is_bare
from dagopt.graph.edge_prior import Believed, kept_prior, log_odds_of, named_prior
from dagopt.graph.knowledge import Knowledge, reaching
from dagopt.graph.knowledge_files import read_knowledge, write_knowledge
from dagopt.graph.order import COPIES
from dagopt.memory import require_memory

__all__ = ["Constraints"]

Edge = tuple[str, str]

KEYS = ["required", "forbidden", "tiers", "max_parents", "superstructure", "before", "ancestors", "edge_prior"]


@dataclass(frozen=True)
class Constraints:
    """What is known about the graph before it is learned.

    Parameters
    ----------
    required : iterable of (str, str)
        Edges (from, to) that every answer has.
    forbidden : iterable of (str, str)
        Edges (from, to) that no answer has; list both directions to forbid any edge between two columns.
    tiers : sequence of sequences of str
        Groups of columns in order of time: no edge goes from a later to an earlier tier. Columns in no
        tier are not restricted.
    max_parents : int or mapping of str to int, optional
        The largest number of parents, for every column or for those named.
    superstructure : graph, optional
        The only pairs that may be joined, in either direction: anything that ``as_graph`` accepts, such as an
        undirected networkx graph, pairs of columns or the path of a graph file. Its directions are ignored. Columns
        that it does not mention have no edges.
    before : iterable of (str, str)
        Pairs (A, B): A comes before B. All edges follow one order of the columns in which this holds, so that no path
        leads from B to A.
    ancestors : iterable of (str, str)
        Pairs (A, B): a path of one or more edges leads from A to B.
    edge_prior : table, optional
        How probable edges are before the data are seen, all others one half: rows (from, to, probability) or a mapping
        of pairs to probabilities, a DataFrame with the columns from, to and probability or log_odds, a square
        DataFrame of probabilities with names, an array of probabilities in the order of the columns, or the path of a
        CSV file with one of the tables.

    Examples
    --------
    >>> import dagopt
    >>> known = dagopt.Constraints(required=[("smoke", "lung")], tiers=[["smoke"], ["lung", "xray"]])
    >>> bool(known.resolve(["lung", "smoke", "xray"]).must[1, 0])
    True
    """

    required: Sequence[Edge] = ()
    forbidden: Sequence[Edge] = ()
    tiers: Sequence[Sequence[str]] = ()
    max_parents: int | Mapping[str, int] | None = None
    superstructure: Any = None
    before: Sequence[Edge] = ()
    ancestors: Sequence[Edge] = ()
    edge_prior: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "before", _edges(self.before, "before"))
        object.__setattr__(self, "ancestors", _edges(self.ancestors, "ancestors"))
        object.__setattr__(self, "edge_prior", kept_prior(self.edge_prior))
        object.__setattr__(self, "required", _edges(self.required, "required"))
        object.__setattr__(self, "forbidden", _edges(self.forbidden, "forbidden"))
        object.__setattr__(self, "tiers", _groups(self.tiers))
        object.__setattr__(self, "superstructure", _kept_graph(self.superstructure))
        limits = self.max_parents
        for name, limit in limits.items() if isinstance(limits, Mapping) else [(None, limits)]:
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0):
                whose = "" if name is None else f" of {name!r}"
                raise InputError(f"expected max_parents{whose} to be a whole number >= 0 but got {limit!r}; change it")

    @classmethod
    def read(cls, path: str | Path) -> Constraints:
        """Read a TOML or JSON file with any of the keys of ``Constraints``, or a knowledge file of Tetrad.

        Examples
        --------
        >>> import dagopt
        >>> known = dagopt.Constraints(required=[("smoke", "lung")], max_parents=2)
        >>> known.write("known.toml")
        >>> dagopt.Constraints.read("known.toml") == known
        True
        """
        content = read_knowledge(path)
        for key in content:
            if key not in KEYS:
                raise unknown_name(f"key in the knowledge file {path}", key, KEYS)
        try:
            return cls(**content)
        except InputError as error:
            raise InputError(f"in the knowledge file {path}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known as plain values, by the keys of ``Constraints``; an edge prior as probabilities.

        Examples
        --------
        >>> import dagopt
        >>> known = dagopt.Constraints(required=[("smoke", "lung")], max_parents=2)
        >>> known.to_dict()
        {'required': [['smoke', 'lung']], 'max_parents': 2}
        """
        found: dict[str, Any] = {key: [list(edge) for edge in getattr(self, key)] for key in ("required", "forbidden")}
        found["tiers"] = [list(group) for group in self.tiers]
        for key in ("before", "ancestors"):
            found[key] = [list(pair) for pair in getattr(self, key)]
        found["edge_prior"] = [[a, b, 1 / (1 + math.exp(-odds))] for a, b, odds in self.edge_prior or ()]
        found["superstructure"] = self._pairs_joined()
        found = {key: value for key, value in found.items() if value}
        if self.max_parents is not None:
            limits = self.max_parents
            found["max_parents"] = dict(limits) if isinstance(limits, Mapping) else int(limits)
        return found

    def _pairs_joined(self) -> list[list[Any]]:
        graph = self.superstructure
        if isinstance(graph, Graph):
            return [list(edge) for edge in [*graph.directed_edges, *graph.undirected_edges]]
        return [list(pair) for pair in graph or ()]

    def write(self, path: str | Path) -> None:
        """Write a TOML file, or a JSON file by its suffix, that ``read`` reads.

        Examples
        --------
        >>> import dagopt
        >>> known = dagopt.Constraints(required=[("smoke", "lung")], max_parents=2)
        >>> known.write("known.toml")
        >>> print(open("known.toml").read())
        required = [["smoke", "lung"]]
        max_parents = 2
        """
        write_knowledge(self.to_dict(), path)

    @classmethod
    def of(cls, given: Constraints | Mapping[str, Any] | None) -> Constraints:
        """Return constraints from a value of ``constraints=``: constraints, a mapping with the same keys, or None.

        Examples
        --------
        >>> import dagopt
        >>> dagopt.Constraints.of({"max_parents": 2}).max_parents
        2
        """
        if given is None or isinstance(given, Constraints):
            return given or cls()
        if not isinstance(given, Mapping):
            raise InputError(
                f"expected constraints= to be a dagopt.Constraints or a dict but got {type(given).__name__}; change it"
            )
        for key in given:
            if key not in KEYS:
                raise unknown_name("key in constraints=", key, KEYS)
        return cls(**given)

    def believing(self, edge_prior: Any) -> Constraints:
        """Return the constraints with an edge prior, which may be given once.

        Examples
        --------
        >>> import dagopt
        >>> known = dagopt.Constraints(max_parents=2).believing([("smoke", "lung", 0.9)])
        >>> [edge[:2] for edge in known.to_dict()["edge_prior"]]
        [['smoke', 'lung']]
        """
        if edge_prior is None:
            return self
        if self.edge_prior is not None:
            raise InputError("edge_prior is given twice, by itself and in constraints=; give it once")
        return replace(self, edge_prior=edge_prior)

    def resolve(self, names: Sequence[str], lags: Lags | None = None) -> Knowledge:
        """Return the knowledge about these columns, or raise an error that names a contradiction.

        Parameters
        ----------
        names : sequence of str
            The columns.
        lags : Lags, optional
            How they are laid out in time. ``x`` is then the present of a series, ``x(t-2)`` the same two moments
            before, and ``x(t-*)`` its past at every lag.

        Examples
        --------
        >>> import dagopt
        >>> known = dagopt.Constraints(required=[("smoke", "lung")], max_parents=2)
        >>> known.resolve(["lung", "smoke"]).must.astype(int).tolist()
        [[0, 0], [1, 0]]
        """
        prior = named_prior(self.edge_prior, names if lags is None else lags.series)
        if prior != self.edge_prior:
            return replace(self, edge_prior=prior).resolve(names, lags)
        if lags is not None and lags.count:
            return self._spelled(lags)._in_time(lags)
        index = {name: k for k, name in enumerate(names)}
        self._check_names(names)
        n = len(names)
        require_memory(COPIES * n**2, f"knowledge about {n:,} columns")
        must = np.zeros((n, n), dtype=bool)
        for a, b in self.required:
            must[index[a], index[b]] = True
        may = np.ones((n, n), dtype=bool)
        np.fill_diagonal(may, False)
        if self.superstructure is not None:
            joined = as_graph(self.superstructure, names).adjacency != 0
            may &= joined | joined.T
            self._check_superstructure(names, may)
        for a, b in self.forbidden:
            may[index[a], index[b]] = False
        tier = {name: t for t, group in enumerate(self.tiers) for name in group}
        for a in tier:
            for b in tier:
                if tier[a] > tier[b]:
                    may[index[a], index[b]] = False
        at_most = np.full(n, n - 1, dtype=np.int64)
        if isinstance(self.max_parents, Mapping):
            for name, limit in self.max_parents.items():
                at_most[index[name]] = n - 1 if limit is None else min(limit, n - 1)
        elif self.max_parents is not None:
            at_most[:] = min(self.max_parents, n - 1)
        self._check_contradictions(names, must, at_most, tier)
        before = self._order(names, must)
        if before is not None:
            may &= ~before.T
        paths = tuple((index[a], index[b]) for a, b in self.ancestors)
        for start, end in paths:
            may[end, start] = False
        full = must.sum(axis=0) == at_most
        may[:, full] &= must[:, full]
        _check_paths(names, paths, must if before is None else must | before, may)
        odds = log_odds_of(self.edge_prior, names)
        inside = self.superstructure is not None
        return Knowledge(must, may, at_most, inside, before=before, log_odds=odds, ancestors=paths)

    def _order(self, names: Sequence[str], must: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Return which column comes before which, by ``before`` and the required edges, transitively closed."""
        if not self.before:
            return None
        index = {name: k for k, name in enumerate(names)}
        known = must.copy()
        for a, b in self.before:
            known[index[a], index[b]] = True
        known = reaching(known)
        if known.diagonal().any():
            where = [names[int(k)] for k in np.flatnonzero(known.diagonal())]
            raise InputError(
                f"before= and the required edges contradict each other: {', '.join(map(repr, where[:4]))} would come "
                f"before itself; remove one of the pairs"
            )
        return known

    def _spelled(self, lags: Lags) -> Constraints:
        """Return the constraints with names such as x(t-*) replaced by the columns that they mean."""

        def pairs(edges: Sequence[Edge]) -> list[Edge]:
            return [(a, b) for first, second in edges for a in lags.spelled(first) for b in lags.spelled(second)]

        limits = self.max_parents
        return replace(
            self,
            required=pairs(self.required),
            forbidden=pairs(self.forbidden),
            before=pairs(self.before),
            ancestors=pairs(self.ancestors),
            edge_prior=[
                Believed(a, b, odds)
                for tail, head, odds in self.edge_prior or ()
                for a in lags.spelled(tail)
                for b in lags.spelled(head)
            ]
            or None,
            tiers=[[one for name in group for one in lags.spelled(name)] for group in self.tiers],
            max_parents=dict.fromkeys(lags.series, limits) if isinstance(limits, int | np.integer) else limits,
        )

    def _in_time(self, lags: Lags) -> Knowledge:
        """Return the knowledge about lagged columns, into which no edge goes."""
        names = lags.names
        self._check_names(names)
        place, allowed = {name: k for k, name in enumerate(names)}, lags.allowed()
        against = [(a, b) for a, b in self.required if not allowed[place[a], place[b]]]
        if against:
            a, b = against[0]
            why = "edges within a moment are excluded by within=False"
            if place[b] >= lags.n_series:
                why = f"{b!r} is in the past, and edges lead into the present alone"
            raise InputError(f"required edge {a} -> {b}: {why}; remove the edge")
        known = self.resolve(names)
        return replace(known, may=known.may & allowed, lags=lags)

    def _check_superstructure(self, names: Sequence[str], may: NDArray[np.bool_]) -> None:
        index = {name: k for k, name in enumerate(names)}
        outside = [(a, b) for a, b in self.required if not may[index[a], index[b]]]
        if outside:
            raise InputError(
                f"the required edges {_arrows(outside)} are not in the superstructure; add the pairs to it or remove "
                f"the edges"
            )

    def _check_names(self, names: Sequence[str]) -> None:
        limits = self.max_parents if isinstance(self.max_parents, Mapping) else {}
        groups = {
            "required edges": [end for edge in self.required for end in edge],
            "forbidden edges": [end for edge in self.forbidden for end in edge],
            "tiers": [name for group in self.tiers for name in group],
            "pairs of before=": [end for pair in self.before for end in pair],
            "pairs of ancestors=": [end for pair in self.ancestors for end in pair],
            "edge_prior": [end for tail, head, _ in self.edge_prior or () for end in (tail, head)],
            "max_parents": list(limits),
        }
        for where, mentioned in groups.items():
            for name in mentioned:
                if name not in names:
                    raise unknown_name(f"column in the {where}:", name, list(names))

    def _check_contradictions(
        self, names: Sequence[str], must: NDArray[np.bool_], at_most: NDArray[np.int64], tier: Mapping[str, int]
    ) -> None:
        both = [edge for edge in self.required if edge in set(self.forbidden)]
        if both:
            raise InputError(f"edge {_arrows(both)} is both required and forbidden; remove it from one of the two")
        for a, b in self.required:
            if a in tier and b in tier and tier[a] > tier[b]:
                raise InputError(
                    f"required edge {a} -> {b} goes back in time: {a!r} is in tier {tier[a] + 1} and {b!r} in tier "
                    f"{tier[b] + 1}; remove the edge or move one of the columns"
                )
        if not must.any():
            return
        back_and_forth = np.argwhere(must & must.T)  # for find_cycle this is an undirected edge, not a cycle
        cycle = back_and_forth[0].tolist() if len(back_and_forth) else find_cycle(must.astype(np.int8))
        if cycle is not None:
            edges = [(names[a], names[b]) for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True)]
            raise InputError(f"the required edges {_arrows(edges)} form a cycle; remove one of them")
        for i in map(int, np.flatnonzero(must.sum(axis=0) > at_most)):
            edges = [(names[int(j)], names[i]) for j in np.flatnonzero(must[:, i])]
            raise InputError(
                f"{names[i]!r} may have at most {at_most[i]} parents but {len(edges)} are required: {_arrows(edges)}; "
                f"raise max_parents or remove required edges"
            )


def _check_paths(
    names: Sequence[str], paths: Sequence[tuple[int, int]], known: NDArray[np.bool_], may: NDArray[np.bool_]
) -> None:
    """Raise an error if a path of ``ancestors`` is against the others, the order, or the edges that are allowed."""
    if not paths:
        return
    ordered, possible = known.copy(), reaching(may)
    for a, b in paths:
        ordered[a, b] = True
    circular = reaching(ordered).diagonal()
    for a, b in paths:
        if circular[a] and circular[b]:
            raise InputError(
                f"the path from {names[a]!r} to {names[b]!r} of ancestors= contradicts the other paths, before= or "
                f"the required edges, which put {names[b]!r} first; remove one of them"
            )
        if not possible[a, b]:
            raise InputError(
                f"no allowed edges lead from {names[a]!r} to {names[b]!r}, so that the path of ancestors= cannot "
                "exist; remove the pair, or allow more edges"
            )


def _edges(edges: Iterable[Any], what: str) -> tuple[Edge, ...]:
    """Return the edges as pairs of names, each once."""
    found: dict[Edge, None] = {}
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise InputError(f"expected the {what} edges to be a list of pairs (from, to) but got {edges!r}; correct it")
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Iterable) or len(edge := tuple(edge)) != 2:
            raise InputError(f"expected each {what} edge to be a pair (from, to) but got {edge!r}; correct it")
        a, b = str(edge[0]), str(edge[1])
        if a == b:
            raise InputError(f"the {what} edge {a} -> {b} joins a column with itself; remove it")
        found[a, b] = None
    return tuple(found)


def _kept_graph(graph: Any) -> Graph | tuple[tuple[Any, Any], ...] | None:
    """Return a superstructure as a value that does not change: a graph, or pairs of names or positions."""
    if graph is None:
        return None
    if is_array(graph):
        return tuple((int(i), int(j)) for i, j in np.argwhere(np.asarray(graph) != 0))
    if not is_bare(graph):
        return as_graph(graph)
    as_graph(graph)  # raises now if something is wrong with it
    return tuple((a, b) for a, b in graph)


def _groups(tiers: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """Return the tiers as tuples of names, or raise an error if a column is in two of them."""
    groups = []
    where: dict[str, int] = {}
    if isinstance(tiers, str) or not isinstance(tiers, Iterable):
        raise InputError(f"expected tiers to be a list of lists of columns but got {tiers!r}; correct it")
    for t, group in enumerate(tiers):
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise InputError(f"expected each tier to be a list of columns but got {group!r}; correct it")
        names = tuple(str(name) for name in group)
        for name in names:
            if name in where:
                raise InputError(
                    f"column {name!r} is listed in tier {where[name] + 1} and in tier {t + 1}; list it once"
                )
            where[name] = t
        groups.append(names)
    return tuple(groups)


def _arrows(edges: Sequence[Edge]) -> str:
    shown = ", ".join(f"{a} -> {b}" for a, b in edges[:6])
    return shown if len(edges) <= 6 else f"{shown} and {len(edges) - 6} more"
