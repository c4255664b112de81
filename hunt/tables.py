"""Random instances: tables of every family, with scores, conventions and constraints, from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hunt.truth import Known, Local, Real, all_local, bdeu, bge, gaussian, multinomial

FAMILIES = (
    "gaussian", "small", "wide", "near-collinear", "tied", "duplicated", "scaled", "shifted", "heavy tails",
    "discrete", "sparse levels", "copied levels", "one level",
)  # fmt: skip
CONTINUOUS = FAMILIES[:9]
NAMES = "abcdef"


@dataclass(frozen=True, eq=False)
class Instance:
    """A table with a question.

    Attributes
    ----------
    family : str
        How the table was drawn.
    values : array of shape (rows, columns)
        Numbers, or codes of levels.
    score : str or float
        As for ``learn``.
    options : dict
        ``convention`` and ``equivalent_sample_size``.
    known : Known
        The constraints.
    """

    family: str
    values: np.ndarray
    score: str | float
    options: dict[str, Any]
    known: Known

    @property
    def is_continuous(self) -> bool:
        """Whether the columns are numbers."""
        return self.values.dtype.kind == "f"

    @property
    def n(self) -> int:
        """Number of columns."""
        return self.values.shape[1]

    def data(self) -> dict[str, Any]:
        """Return the table in the form for ``learn``."""
        if self.is_continuous:
            return {NAMES[j]: self.values[:, j] for j in range(self.n)}
        return {NAMES[j]: [f"L{code}" for code in self.values[:, j]] for j in range(self.n)}

    def arguments(self) -> dict[str, Any]:
        """Return the score and the constraints as arguments of ``learn``."""
        known = self.known
        constraints = {
            "required": [(NAMES[a], NAMES[b]) for a, b in known.required],
            "forbidden": [(NAMES[a], NAMES[b]) for a, b in known.forbidden],
            "tiers": [[NAMES[j] for j in group] for group in known.tiers],
            "max_parents": {NAMES[j]: most for j, most in enumerate(known.limits)} or known.max_parents,
        }
        if known.pairs:
            constraints["superstructure"] = [(NAMES[a], NAMES[b]) for a, b in known.pairs]
        return {"score": self.score, "constraints": constraints, **self.options}

    def truth(self) -> tuple[Local, np.ndarray | None]:
        """Return the score of every family in extended precision, and the factor of numbers."""
        rows = len(self.values)
        ess = Real(self.options.get("equivalent_sample_size", 1.0))
        penalty = {"bic": np.log(Real(rows)) / 2, "aic": Real(1), "loglik": Real(0)}.get(str(self.score))
        if penalty is None and self.score not in ("bge", "bdeu"):
            penalty = Real(self.score)
        factor = None
        if self.score == "bge":
            local, factor = bge(self.values, ess)
        elif self.is_continuous:
            local, factor = gaussian(self.values, penalty, self.options.get("convention", "paper"))
        else:
            arity = [len(np.unique(column)) for column in self.values.T]
            local = bdeu(self.values, arity, ess) if self.score == "bdeu" else multinomial(self.values, arity, penalty)
        return all_local(local, self.n), factor

    def permuted(self, order: np.ndarray) -> Instance:
        """Return the same instance with its columns in another order (and other names)."""
        known = self.known.moved([int(j) for j in order])
        return replace(self, values=np.ascontiguousarray(self.values[:, order]), known=known)


def draw(seed: int, number: int, family: str | None = None) -> Instance:
    """Return the instance with this number under this seed."""
    rng = np.random.default_rng([seed, number])
    family = FAMILIES[number % len(FAMILIES)] if family is None else family
    n = int(rng.integers(2, 7))
    values = _numbers(rng, n, family) if family in CONTINUOUS else _levels(rng, n, family)
    n, options = values.shape[1], {}
    if family in CONTINUOUS:
        score = rng.choice(["bic", "bic", "aic", "loglik", "bge", "number"])
        if score != "bge" and rng.random() < 0.3:
            options["convention"] = "bnlearn"
        if score == "bge":
            options["equivalent_sample_size"] = float(rng.choice([0.1, 1.0, 7.5]))
    else:
        score = rng.choice(["bic", "bic", "aic", "loglik", "bdeu", "bdeu", "number"])
        if score == "bdeu":
            any_size = 10.0 ** rng.uniform(-6, 12)
            options["equivalent_sample_size"] = float(rng.choice([0.01, 1.0, 20.0, any_size, any_size]))
    score = float(np.round(rng.exponential(4.0), 3)) if score == "number" else str(score)
    known = _known(rng, n)
    if family == "wide":
        most = int(rng.integers(1, max(min(n - 1, len(values) - 2), 1) + 1))
        known = replace(known, max_parents=max(most, known.max_parents or 0, _needed(known)), limits=())
    return Instance(family, values, score, options, known)


def _needed(known: Known) -> int:
    heads = [b for _, b in known.required]
    return max((heads.count(b) for b in heads), default=0)


def _linear(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5), 1)
    values = np.zeros((rows, n))
    for j in range(n):
        values[:, j] = values @ weights[:, j] + rng.normal(size=rows)
    return values[:, rng.permutation(n)]


def _numbers(rng: np.random.Generator, n: int, family: str) -> np.ndarray:
    rows = int(rng.integers(max(n + 2, 8), 120))
    if family == "small":
        return _linear(rng, n + 2 + int(rng.integers(0, 3)), n)
    if family == "wide":
        n = int(rng.integers(4, 7))
        values = _linear(rng, int(rng.integers(4, n + 1)), n)
        if rng.random() < 0.5:
            a, b, c = rng.choice(n, size=3, replace=False)
            values[:, c] = values[:, a] + (rng.integers(1, 4) * values[:, b] if rng.random() < 0.5 else values[:, b])
        return values
    if family == "near-collinear":
        rows = int(rng.choice([50, 1000, 20000]))
        values = _linear(rng, rows, n)
        noise = 10.0 ** rng.uniform(-5.3, -1.0)
        if rng.random() < 0.4:  # all of one source
            return rng.normal(size=(rows, 1)) + noise * rng.normal(size=(rows, n))
        for _ in range(int(rng.integers(1, 3))):
            a, b = rng.choice(n, size=2, replace=False)
            values[:, b] = values[:, a] + noise * rng.normal(size=rows)
        return values
    values = _linear(rng, rows, n)
    if family == "tied":
        return np.round(values, int(rng.integers(0, 2)))
    if family == "duplicated":
        return np.repeat(values, 3, axis=0)
    if family == "scaled":
        return values * 10.0 ** rng.uniform(-120, 120, n)
    if family == "shifted":
        return values + 10.0 ** rng.uniform(0, 7, n)
    if family == "heavy tails":
        return values * rng.standard_cauchy(size=(rows, 1)) ** 3
    return values


def _levels(rng: np.random.Generator, n: int, family: str) -> np.ndarray:
    rows = int(rng.integers(2, 150))
    arity = rng.integers(2, 12 if family == "sparse levels" else 4, n)
    codes = np.zeros((rows, n), dtype=np.int64)
    for j in range(n):
        drawn = rng.integers(0, arity[j], rows)
        source = codes[:, int(rng.integers(0, max(j, 1)))] % arity[j]
        codes[:, j] = np.where((j > 0) & (rng.random(rows) < 0.6), source, drawn)
    if family == "copied levels" and n > 1:
        codes[:, n - 1] = codes[:, 0]
    if family == "one level":
        codes[:, int(rng.integers(0, n))] = 0
    return codes


def _known(rng: np.random.Generator, n: int) -> Known:
    """Draw constraints that one order of the columns obeys; none half of the time."""
    if rng.random() < 0.5:
        return Known()
    order = rng.permutation(n).tolist()
    pairs = [(order[a], order[b]) for a in range(n) for b in range(a + 1, n)]
    required = tuple(pair for pair in pairs if rng.random() < 0.1)
    forbidden = tuple(
        (a, b) for a in range(n) for b in range(n) if a != b and (a, b) not in required and rng.random() < 0.15
    )
    tiers: tuple[tuple[int, ...], ...] = ()
    if rng.random() < 0.4 and n > 2:
        cut = int(rng.integers(1, n))
        tiers = (tuple(order[:cut]), tuple(j for j in order[cut:] if rng.random() < 0.8))
    known = Known(required, forbidden, tiers)
    if rng.random() < 0.4:
        known = replace(known, max_parents=max(int(rng.integers(0, n)), _needed(known)))
    elif rng.random() < 0.3:
        needed = [sum(b == j for _, b in required) for j in range(n)]
        known = replace(known, limits=tuple(max(int(rng.integers(0, n)), least) for least in needed))
    if rng.random() < 0.3:
        joined = tuple(pair for pair in pairs if pair in required or rng.random() < 0.6)
        known = replace(known, pairs=joined or tuple(pairs[:1]))
    return known
