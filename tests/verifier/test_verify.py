"""Proof files: honest ones are verified, changed ones are refused, and the checker stands on its own."""

from __future__ import annotations

import ast
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import dagopt
from dagopt import memory
from dagopt.data.table import as_table
from dagopt.errors import InputError
from dagopt.verifier.best import Allowed, best_score, bytes_needed, is_acyclic
from dagopt.verifier.counts import CountLocals, Joints
from dagopt.verifier.gaussian import WIDE, GaussianLocals, gaussian_joints
from dagopt.verifier.proof_file import digest

PACKAGE = Path(dagopt.__file__).parent / "verifier"


def discrete(n_samples=200, columns=6):
    """Return rows of the network asia."""
    return dagopt.datasets.load("asia", n_samples=n_samples, random_state=3)[0].iloc[:, :columns]


def continuous(n_nodes=6, degree=2.0):
    """Return rows of a random Gaussian network."""
    return dagopt.simulate(n_nodes=n_nodes, n_samples=150, degree=degree, random_state=5)[0]


@pytest.fixture
def proof(tmp_path):
    """Return the function that learns, saves the proof and returns its path and the result."""

    def saved(data, method="exact", **options):
        result = dagopt.learn(data, method, progress=False, **options)
        result.save_proof(tmp_path / "proof.json")
        return tmp_path / "proof.json", result

    return saved


def changed(path, **claims):
    """Change some entries of a proof file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | claims))
    return path


# --- honest proofs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["bic", "aic", "ebic", "loglik", "bdeu", 2.5])
def test_honest_proofs_of_levels_are_verified(proof, score):
    """The checker finds the same best score with its own counts."""
    path, result = proof(discrete(), score=score)
    verdict = dagopt.verify(path, discrete())
    assert verdict, str(verdict)
    assert "no other of all DAGs over the 6 columns scores more" in str(verdict)
    assert verdict.best == pytest.approx(result.score, abs=1e-7)
    assert verdict.score == pytest.approx(result.score, abs=1e-7)


@pytest.mark.parametrize("options", [{"score": "bic"}, {"score": "aic"}, {"score": "ebic"}, {"convention": "bnlearn"}])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_honest_proofs_of_numbers_are_verified(proof, options, shift):
    """The checker finds the same best score with its own determinants, also far from zero."""
    path, result = proof(continuous() + shift, **options)
    verdict = dagopt.verify(path, continuous() + shift)
    assert verdict, str(verdict)
    assert verdict.best == pytest.approx(result.score, abs=1e-6)


@pytest.mark.parametrize("method", ["auto", "branch-and-cut", "gobnilp", "cg-dca", "hc"])
@pytest.mark.parametrize("made", [discrete, continuous])
def test_every_method_can_save_a_proof(proof, method, made):
    """A proof of optimality or of a bound, whatever made it."""
    path, result = proof(made(), method)
    verdict = dagopt.verify(path, made())
    assert verdict, str(verdict)
    assert verdict.best <= result.bound
    assert ("no other" in verdict.sentence) == (result.status == "optimal")


def test_knowledge_is_part_of_the_proof(proof):
    """Required and forbidden edges and limits narrow the search; the sentence names them."""
    data = continuous()
    _, free = proof(data)
    (a, b), (c, d) = free.graph.directed_edges[:2]  # both are in the best graph
    known = {"required": [(b, a)], "forbidden": [(c, d), (d, c)]}
    path, _ = proof(data, constraints=known, max_parents=2)
    verdict = dagopt.verify(path, data)
    assert verdict, str(verdict)
    assert "with at most 2 parents, 1 required edge, 2 forbidden edges" in str(verdict)
    assert "more than the bound" in str(dagopt.verify(changed(path, max_parents=[5] * 6), data))
    assert "break the constraints" in str(dagopt.verify(changed(path, forbidden=[[b, a]]), data))
    assert "break the constraints" in str(dagopt.verify(changed(path, forbidden=[], max_parents=[1] * 6), data))


# --- changed proofs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [discrete, continuous])
@pytest.mark.parametrize("by", [-100.0, -1.0, -1e-2, -1e-4, 1e-2, 1.0, 100.0])
def test_changed_scores_and_bounds_are_refused(proof, made, by):
    """A score that the graph does not have, and a bound that is not one, or that proves nothing."""
    path, result = proof(made())
    assert "the graph scores" in str(dagopt.verify(changed(path, score=result.score + by), made()))
    verdict = dagopt.verify(changed(path, score=result.score, bound=result.bound + by), made())
    assert not verdict
    assert ("more than the bound" if by < 0 else "does not prove") in verdict.sentence


@pytest.mark.parametrize("made", [discrete, continuous])
def test_every_changed_edge_is_refused(proof, made):
    """Each pair in turn is joined, parted or turned: the score differs, there is a cycle, or it is as good."""
    path, result = proof(made())
    honest = json.loads(path.read_text())
    for a, b in itertools.permutations(honest["names"], 2):
        edges = [edge for edge in honest["edges"] if edge != [a, b]]
        if len(edges) == len(honest["edges"]):
            edges = [edge for edge in edges if edge != [b, a]] + [[a, b]]
        verdict = dagopt.verify(changed(path, edges=edges, score=result.score, bound=honest["bound"]), made())
        equal = verdict.score is not None and abs(verdict.score - result.score) < 1e-6
        assert bool(verdict) == equal, (a, b)
        # with the score that belongs to these edges the bound proves nothing, and with that bound there is a better one
        if verdict.score is not None and not equal:
            again = changed(path, edges=edges, score=verdict.score)
            assert "does not prove" in str(dagopt.verify(again, made()))
            assert "more than the bound" in str(dagopt.verify(changed(again, bound=verdict.score), made()))


def test_changed_data_are_refused(proof):
    """Each cell in turn, a row less, a column renamed, another kind; also if the digest was changed to fit."""
    data = discrete(60, 4)
    path, _ = proof(data, score="aic")
    for row, column in itertools.product(range(0, 60, 7), data.columns):
        other = data.copy()
        other.loc[row, column] = "yes" if data.loc[row, column] == "no" else "no"
        assert "SHA-256" in str(dagopt.verify(path, other))
    assert "60 rows but the data have 59" in str(dagopt.verify(path, data.iloc[1:]))
    assert "is about the columns" in str(dagopt.verify(path, data.rename(columns={data.columns[0]: "other"})))
    numbers = data.apply(lambda own: own.astype("category").cat.codes.astype(float))
    assert "rows of discrete columns" in str(dagopt.verify(path, numbers, kind="continuous"))
    numbers = continuous()
    path, _ = proof(numbers)
    other = numbers.copy()
    other.iloc[0, 0] += 0.5
    assert "the graph scores" in str(dagopt.verify(changed(path, sha256=digest(as_table(other))), other))


@pytest.mark.parametrize("made", [discrete, continuous])
@pytest.mark.parametrize("factor", [0.5, 0.99, 1.01, 2.0])
def test_another_penalty_is_refused(proof, made, factor):
    """The cost of a parameter belongs to the score."""
    path, _ = proof(made())
    scoring = json.loads(path.read_text())["scoring"]
    scoring["parameter_cost"] *= factor
    assert "the graph scores" in str(dagopt.verify(changed(path, scoring=scoring), made()))


@pytest.mark.parametrize(
    "claims",
    [
        {"format": "dagopt proof 2"},
        {"names": []},
        {"names": ["asia", "asia", "tub", "smoke", "lung", "bronc"]},
        {"names": [f"X{j}" for j in range(31)]},
        {"edges": [["asia", "nobody"]]},
        {"edges": [["asia", "asia"]]},
        {"max_parents": [1]},
        {"score": None},
        {"score": float("nan")},
        {"bound": float("inf")},
        {"rounding": -1.0},
        {"optimal": 1},
        {"scoring": {"kind": "mine"}},
    ],
)
def test_broken_files_are_named(proof, claims):
    """A file that is no proof is an error that names it and the remedy."""
    path, _ = proof(discrete())
    with pytest.raises(InputError, match=r"proof\.json.*save the proof again"):
        dagopt.verify(changed(path, **claims), discrete())


# --- the checker by itself ------------------------------------------------------------------------------------


def dags(n):
    """Return the parents, as bits, of every DAG over n columns."""
    sets = [[own for own in range(1 << n) if not own >> i & 1] for i in range(n)]
    return [parents for parents in itertools.product(*sets) if is_acyclic(list(parents))]


@pytest.mark.parametrize("n_low", [1, 2, 3, 4])
def test_the_best_is_that_of_all_dags(n_low):
    """Random joint scores with random rules, in blocks of any size: the best of all 543 DAGs of four columns."""
    rng = np.random.default_rng(0)
    everything = dags(4)
    assert len(everything) == 543
    for _ in range(10):
        joints, costs = rng.normal(size=16), rng.exponential(size=4)
        may = [int(rng.integers(16)) & ~(1 << i) for i in range(4)]
        rules = [Allowed(int(rng.integers(4)) // 3 * (own & -own), own, int(rng.integers(1, 4))) for own in may]
        scores = GaussianLocals(joints, costs, rules)

        def total(parents, joints=joints, costs=costs):
            return sum(joints[own | 1 << i] - joints[own] - costs[own.bit_count()] for i, own in enumerate(parents))

        fits = [own for own in everything if all(rule.holds(one) for rule, one in zip(rules, own, strict=True))]
        best = max(map(total, fits), default=-math.inf)
        assert best_score(scores, 4, n_low) == pytest.approx(best, abs=1e-12)
        for shown in fits[:: len(fits) // 5 + 1]:
            own = sum(scores.own(i, one) for i, one in enumerate(shown))
            assert own == pytest.approx(total(shown), abs=1e-12)


@pytest.mark.parametrize("kind", ["bic", "bdeu"])
def test_sets_that_are_left_out_are_never_best(kind):
    """Every local score of every set, against the best listed subset of it; with rules and few rows."""
    rng = np.random.default_rng(1)
    arity = [2, 3, 2, 2, 4, 2]
    for n_rows in (5, 40, 300):
        codes = np.array([rng.integers(levels, size=n_rows) for levels in arity])
        codes[2] = (codes[0] + codes[3] + (rng.random(n_rows) < 0.1)) % 2
        prior = 1.5 if kind == "bdeu" else 0.0
        rules = [Allowed(int(rng.integers(2)) * (2 if i != 1 else 1), 63 & ~(1 << i), 5 - i % 2) for i in range(6)]

        def price(i, sets, more, kind=kind):
            cells = [math.prod(a for j, a in enumerate(arity) if int(one) >> j & 1) for one in sets]
            return np.array(cells, dtype=WIDE) * 2**more * (1.1 * (arity[i] - 1) if kind == "bic" else 0.0)

        joints = Joints(codes, np.ones(n_rows, dtype=np.int64), arity, prior)
        scores = CountLocals(joints, price, arity if kind == "bdeu" else None, rules)
        for i, rule in enumerate(rules):
            for low in (3, 6):
                tables = [np.full(1 << (low - (i < low)), -np.inf) for _ in range(1 << (6 - low))]
                for high, table in enumerate(tables):
                    scores.raise_to(table, i, high, low)
                listed = {}
                for inside in (one for one in range(64) if not one >> i & 1):
                    place = inside & ((1 << low) - 1)
                    place = place >> (i + 1) << i | place & ((1 << i) - 1) if i < low else place
                    listed[inside] = tables[inside >> low][place]
                for chosen in listed:
                    own = [one for one in listed if one & ~chosen == 0]
                    best = max((scores.own(i, one) for one in own if rule.holds(one)), default=-math.inf)
                    assert max(listed[one] for one in own) == pytest.approx(best, abs=1e-9)


def test_joints_are_those_of_the_textbook():
    """Determinants by numpy, counts one by one, and the gamma function of the standard library."""
    values = continuous(4, 1.0).to_numpy()
    joints, rounding = gaussian_joints(values)
    for chosen in range(1, 16):
        own = [j for j in range(4) if chosen >> j & 1]
        covariance = np.cov(values[:, own], rowvar=False, bias=True).reshape(len(own), len(own))
        expected = -len(values) / 2 * (np.linalg.slogdet(covariance)[1] + len(own) * (1 + math.log(2 * math.pi)))
        assert float(joints[chosen]) == pytest.approx(expected, rel=1e-12)
    assert 0 < rounding < 1e-3
    table = as_table(discrete(100, 4))
    arity = [len(own) for own in table.levels]
    for prior in (0.0, 0.7):
        counted = Joints(table.codes, table.weights, arity, prior)
        for chosen in range(16):
            own = [j for j in range(4) if chosen >> j & 1]
            cells: dict[tuple[int, ...], int] = {}
            for row, weight in zip(table.codes.T, table.weights, strict=True):
                key = tuple(int(row[j]) for j in own)
                cells[key] = cells.get(key, 0) + int(weight)
            p = prior / math.prod(arity[j] for j in own)
            terms = [math.lgamma(c + p) - math.lgamma(p) if prior else c * math.log(c) for c in cells.values()]
            sums, occur = counted.of(np.array([chosen]), len(own))
            assert float(sums[0]) == pytest.approx(sum(terms), abs=1e-9)
            assert occur[0] == len(cells)
        assert 0 < counted.rounding < 1e-3


def test_the_checker_shares_only_the_reading_of_tables():
    """It imports nothing of the methods and scores, and nothing besides numpy and the standard library."""
    shared = ("dagopt.data", "dagopt.errors", "dagopt.memory", "dagopt.options", "dagopt.schema", "dagopt.verifier")
    found = set()
    for file in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    assert {name for name in found if name.startswith("dagopt") and not name.startswith(shared)} == set()
    outside = {name.split(".")[0] for name in found} - {"dagopt", "numpy"}
    assert outside == {
        "__future__",
        "collections",
        "concurrent",
        "dataclasses",
        "functools",
        "hashlib",
        "itertools",
        "math",
        "os",
        "pathlib",
        "typing",
    }


# --- what has no proof file -----------------------------------------------------------------------------------


def test_what_cannot_be_checked_is_refused(tmp_path):
    """Too many columns, other scores, missing cells and covariances, and results without data: one sentence each."""
    path = tmp_path / "proof.json"

    def refused(message, data, method="exact", **options):
        result = dagopt.learn(data, method, progress=False, **options)
        with pytest.raises(InputError, match=message):
            result.save_proof(path)
        assert not path.exists()
        return result

    wide = dagopt.simulate(n_nodes=31, n_samples=100, degree=1, random_state=0)[0]
    refused("at most 30 columns", wide, "hc")
    result = refused("the score is 'BGe", continuous(), score="bge")
    refused("proved nothing about a DAG", continuous(), "pc")
    result.save(tmp_path / "result.json")
    with pytest.raises(InputError, match="the result has none"):
        dagopt.Result.load(tmp_path / "result.json").save_proof(path)
    holes = continuous()
    holes.iloc[0, 0] = np.nan
    refused("needs complete rows", holes, missing="em")
    refused("needs complete rows", None, covariance=continuous().cov(), n_samples=150)


def test_what_does_not_fit_into_memory_is_an_error(proof, monkeypatch):
    """The sentence has what is needed and what is free; the estimate is that of the tables."""
    path, _ = proof(continuous())
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    monkeypatch.setattr(memory, "MATTERS", 0)
    with pytest.raises(InputError, match=r"checking a proof about 6 columns would take .* but 1\.0 kB are free"):
        dagopt.verify(path, continuous())
    assert 12e9 < bytes_needed(30) + (8 << 30) < 18e9
    assert bytes_needed(22) < 1e9


def test_dependent_columns_decide_nothing(proof):
    """If a column is a combination of others the checker says so instead of dividing by nothing."""
    data = continuous()
    path, _ = proof(data)
    other = data.copy()
    other.iloc[:, 0] = other.iloc[:, 1] + other.iloc[:, 2]
    changed(path, sha256=digest(as_table(other)))
    assert "scores have no upper limit" in str(dagopt.verify(path, other))
