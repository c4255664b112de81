"""Everything that is near the best DAG: rivals, effects in all of them, probabilities of parents, directions of edges.

Tables of up to four columns are compared with all DAGs in extended precision. Tables of five to nine columns go both
ways that large tables and small ones go, the recursion and the cutting planes, and both must find the same graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np

import dagopt
from hunt import others, provers
from hunt.claims import watched
from hunt.record import Wrong
from hunt.tables import NAMES
from hunt.truth import Known, Local, all_dags, bits, class_of, edge_probabilities, is_dag, parents_of

SAME = 1e-7  # points of a score of usual size: losses may differ by this
EDGE = 1e-6  # points around a limit within which a DAG may be counted or not
DIRECTED = 3.0  # points that a directed edge is worth


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    rng = np.random.default_rng([seed, number, 11])
    part = (_small, _both_ways)[number % 2]
    try:
        with watched():
            part(rng, counts)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
    except Exception as error:  # whatever it is, it is a finding
        return f"{type(error).__name__}: {error}\npython -m hunt near --seed {seed} --only {number}"
    return None


@cache
def _dags(n: int) -> list[tuple[int, ...]]:
    return list(all_dags(n))


# --- few columns, all DAGs ----------------------------------------------------------------------------------------


def _small(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Check everything about a table of up to four columns against the list of all DAGs."""
    case = _case(rng)
    if case.n > 4:
        return
    known, asked = drawn_knowledge(rng, case.n)
    result = dagopt.learn(case.given(), str(rng.choice(["auto", "exact", "hc"])), progress=False, constraints=asked,
                          **case.options)  # fmt: skip
    counts[f"tables: {case.kind}"] += 1
    allowed = [dag for dag in _dags(case.n) if all(known.allows(i, mask) for i, mask in enumerate(dag))]
    scores = np.array([float(sum(case.local[i, mask] for i, mask in enumerate(dag))) for dag in allowed])
    size = max(abs(scores[np.isfinite(scores)].max()), 1.0)
    slack = EDGE * max(size / 1e3, 1.0)
    losses = dict(zip(allowed, scores.max() - scores, strict=True))
    for cutting in (False, True):
        with by_cutting_planes(cutting):
            _check_rivals(result, losses, slack, rng, counts)
            _check_effect(result, losses, slack, rng, counts)
    _check_directions(result, losses, slack, counts)
    if rng.random() < 0.5:
        _check_posterior(result, case.local, known, rng, counts)


def _case(rng: np.random.Generator) -> others.Case:
    """Draw a table with a usual score."""
    while True:
        case = others.DRAWN[int(rng.integers(len(others.DRAWN)))](rng)
        if case.unit == 1.0:  # not scores of one's own of 1e12 or 1e-150
            return case


def drawn_knowledge(rng: np.random.Generator, n: int) -> tuple[Known, dict[str, Any]]:
    """Draw constraints, most times none, as plain data and as ``learn`` takes them."""
    if rng.random() < 0.6 or n < 3:
        return Known(), {}
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    chosen = [pairs[k] for k in rng.permutation(len(pairs))[: int(rng.integers(1, 4))]]
    required = chosen[:1] if rng.random() < 0.5 else []
    forbidden = [pair for pair in chosen if pair not in required]
    limit = int(rng.integers(1, n)) if rng.random() < 0.5 else None
    known = Known(required=tuple(required), forbidden=tuple(forbidden), max_parents=limit)

    def named(edges: list[tuple[int, int]]) -> list[tuple[str, str]]:
        return [(NAMES[a], NAMES[b]) for a, b in edges]

    asked: dict[str, Any] = {"required": named(required), "forbidden": named(forbidden)}
    return known, asked | ({} if limit is None else {"max_parents": limit})


@contextmanager
def by_cutting_planes(cutting: bool) -> Iterator[None]:
    """Let small tables go the way of large ones."""
    if not cutting:
        yield
        return
    no = lambda *arguments, **options: False  # noqa: E731
    with (
        patch("dagopt.confidence.rivals.by_recursion", no),
        patch("dagopt.confidence.effect_within.by_recursion", no),
    ):
        yield


def _check_rivals(
    result: dagopt.Result, losses: dict[tuple[int, ...], float], slack: float, rng: np.random.Generator,
    counts: Counter[str],
) -> None:  # fmt: skip
    """Compare the DAGs within some points, their losses, their classes and their parent sets with all DAGs."""
    within = float(rng.choice([0.0, 0.5, 3.0, 12.0]))
    try:
        rivals = result.rivals(within, progress=False)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts["lists of rivals"] += 1
    listed = {tuple(map(int, dag)): float(loss) for dag, loss in zip(rivals.parents, rivals.losses, strict=True)}
    if rivals.count is not None and not len(listed) == len(rivals.losses) == rivals.count:
        raise Wrong(
            f"rivals within {within}: {len(rivals.losses)} listed, {len(listed)} different, {rivals.count} said"
        )
    for dag, loss in losses.items():
        if loss < within - slack and dag not in listed:
            raise Wrong(f"rivals within {within}: {dag} loses {loss!r} and is missing")
    for dag, loss in listed.items():
        if dag not in losses or not abs(loss - losses[dag]) <= slack or losses[dag] > within + slack:
            raise Wrong(f"rivals within {within}: {dag} is said to lose {loss!r}, but loses {losses.get(dag)!r}")
    classes = len({class_of(dag) for dag in listed})
    if rivals.n_classes != classes:
        raise Wrong(f"rivals within {within}: {rivals.n_classes} classes are said, but there are {classes}")
    said = {
        (int(i), int(mask)): float(loss)
        for i, mask, loss in zip(rivals.family_node, rivals.family_parents, rivals.family_loss, strict=True)
    }
    _compare_families(said, _family_losses(losses), within, slack, "rivals")


def _family_losses(losses: dict[tuple[int, ...], float]) -> dict[tuple[int, int], float]:
    """Return what the best DAG with each parent set loses."""
    found: dict[tuple[int, int], float] = {}
    for dag, loss in losses.items():
        for i, mask in enumerate(dag):
            found[i, mask] = min(loss, found.get((i, mask), np.inf))
    return found


def _compare_families(
    said: dict[tuple[int, int], float], true: dict[tuple[int, int], float], within: float, slack: float, what: str
) -> None:
    for family, loss in true.items():
        if loss < within - slack and family not in said:
            raise Wrong(f"{what} within {within}: the parent set {family} loses {loss!r} and is missing")
    for family, loss in said.items():
        if not abs(loss - true.get(family, np.inf)) <= slack:
            raise Wrong(f"{what} within {within}: {family} is said to lose {loss!r}, but loses {true.get(family)!r}")


def _check_effect(
    result: dagopt.Result, losses: dict[tuple[int, ...], float], slack: float, rng: np.random.Generator,
    counts: Counter[str],
) -> None:  # fmt: skip
    """Compare the parent sets of a cause within some points with those of all DAGs."""
    within, (cause, outcome) = float(rng.choice([0.0, 1.0, 6.0])), rng.permutation(len(result.names))[:2]
    try:
        effect = result.effect(result.names[cause], result.names[outcome], within=within)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts["effects within"] += 1
    table = effect.table
    if "price" in table:  # those at half the price of parameters lose another number
        table = table[table["price"] == "full"]
    said = {
        (int(cause), mask_of_parents(parents, result.names)): float(loss)
        for parents, loss in zip(table["parents"], table["loss"], strict=True)
    }
    true = {family: loss for family, loss in _family_losses(losses).items() if family[0] == cause}
    _compare_families(said, true, within, slack, "an effect")


def mask_of_parents(parents: str, names: tuple[str, ...]) -> int:
    """Return parents such as ``{a, b}`` as bits."""
    return sum(1 << names.index(one) for one in parents.strip("{}").split(", ") if one)


def _check_directions(
    result: dagopt.Result, losses: dict[tuple[int, ...], float], slack: float, counts: Counter[str]
) -> None:
    """Check that an edge that is called directed is in every DAG within three points of the learned one."""
    if not is_dag(result.adjacency):
        return
    own = losses[tuple(parents_of(result.adjacency))]
    place = {name: k for k, name in enumerate(result.names)}
    words = result.directions()  # which also finds the edges that are directed because the other way is forbidden
    told = result.figures.told_edges or {}
    for (a, b), word in words.items():
        if f"{a} -> {b}" in told:
            continue
        counts[f"edges {word}"] += 1
        without = min((loss for dag, loss in losses.items() if not dag[place[b]] >> place[a] & 1), default=np.inf)
        if word == "directed" and without - own <= DIRECTED - slack:
            raise Wrong(f"{a} -> {b} is called directed, but a DAG without it loses {without - own!r}")


def _check_posterior(
    result: dagopt.Result, local: Local, known: Known, rng: np.random.Generator, counts: Counter[str]
) -> None:
    """Check that the probabilities of the parents of a cause add up to those of the edges into it."""
    cause, outcome = map(int, rng.permutation(len(result.names))[:2])
    prior = str(rng.choice(["fair", "uniform"]))
    try:
        found = result.effect_posterior(result.names[cause], result.names[outcome], prior=prior, progress=False)
    except dagopt.InputError as error:
        counts[f"refused: {str(error)[:50]}"] += 1
        return
    counts["posteriors of effects"] += 1
    rows = found.table.drop_duplicates("parents")
    edges = np.zeros(len(result.names))
    for parents, share in zip(rows["parents"], rows["probability_of_parents"], strict=True):
        edges[bits(mask_of_parents(parents, result.names))] += float(share)
    true = edge_probabilities(local, len(result.names), known, prior)[:, cause].astype(np.float64)
    if not np.abs(edges * found.covered / max(rows["probability_of_parents"].sum(), 1e-9) - true).max() <= 1e-5:
        raise Wrong(f"the probabilities of parents of {result.names[cause]} give edges {edges}, but these have {true}")


# --- more columns, both ways --------------------------------------------------------------------------------------


def _both_ways(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Find the DAGs near the best one by the recursion and by cutting planes over components."""
    case = provers.numbers(rng, 5, 9) if rng.random() < 0.5 else provers.levels(rng, 7)
    if rng.random() < 0.4:
        case = provers.knowledge(rng, case)
    result = dagopt.learn(case.data, "exact", progress=False, **case.options)
    within = float(rng.choice([0.0, 1.0, 4.0]))
    cause, outcome = (result.names[k] for k in rng.permutation(len(result.names))[:2])
    seen: list[tuple[Any, ...]] = []
    for cutting in (False, True):
        with by_cutting_planes(cutting):
            rivals = result.rivals(within, most=3000, progress=False)
            effect = result.effect(cause, outcome, within=within)
        counts[f"both ways, by {'cutting planes' if cutting else 'the recursion'}"] += 1
        listed = {tuple(map(int, dag)): loss for dag, loss in zip(rivals.parents, rivals.losses, strict=True)}
        sets = dict(zip(map(str, effect.table["parents"]), effect.table["loss"], strict=True))
        seen.append((rivals.count, rivals.best, listed if rivals.is_complete else {}, sets))
    slack = EDGE * max(abs(result.score or 0.0) / 1e3, 1.0)
    (count, best, dags, sets), (other_count, other_best, other_dags, other_sets) = seen
    if abs(best - other_best) > slack:
        raise Wrong(f"the best DAG has {best!r} by the recursion and {other_best!r} by cutting planes")
    for one, other, what in ((dags, other_dags, "DAGs"), (sets, other_sets, "parent sets")):
        for key in one.keys() ^ other.keys():
            loss = one.get(key, other.get(key, 0.0))
            if loss < within - slack and (what == "parent sets" or (count is not None and other_count is not None)):
                raise Wrong(f"{what} within {within}: {key}, which loses {loss!r}, is found one way only")
        for key in one.keys() & other.keys():
            if abs(one[key] - other[key]) > slack:
                raise Wrong(f"{what} within {within}: {key} loses {one[key]!r} one way and {other[key]!r} the other")
