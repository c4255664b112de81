"""The table of the user guide: what works with which kind of table and score, cell by cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dagopt
from made_tables import mixed_frame

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "user_guide.md"
CONTINUOUS = dagopt.simulate(5, 200, 1.0, random_state=0).data
DISCRETE = dagopt.datasets.load("asia", n_samples=300, random_state=0)[0].iloc[:, :5]
MIXED = mixed_frame(1, 5, 200)


def targets(data):
    """Return what each row sets: nothing, or one of the first two columns."""
    names = [None, None, *data.columns[:2]]
    return np.random.default_rng(0).choice(np.array(names, dtype=object), len(data)).tolist()


def own(node, parents):
    """Return a score that likes one edge."""
    return (2.0 if node == "X1" and "X0" in parents else 0.0) - len(parents)


KINDS = {
    "continuous": (CONTINUOUS, {}),
    "continuous, BGe": (CONTINUOUS, {"score": "bge"}),
    'continuous, `"basis"`': (CONTINUOUS, {"score": "basis"}),
    'continuous, `transform="rank"`': (CONTINUOUS, {"transform": "rank"}),
    "discrete": (DISCRETE, {}),
    "discrete, BDeu": (DISCRETE, {"score": "bdeu"}),
    "mixed": (MIXED, {}),
    'mixed, `"cg"`': (mixed_frame(1, 4, 400), {"score": "cg"}),
    "continuous, with interventions": (CONTINUOUS, {"interventions": targets(CONTINUOUS)}),
    "discrete, with interventions": (DISCRETE, {"interventions": targets(DISCRETE)}),
    "mixed, with interventions": (MIXED, {"interventions": targets(MIXED)}),
    "a function of your own": (CONTINUOUS, {"score": own}),
}


def learned(data, options, method="exact", **more):
    """Return a result."""
    return dagopt.learn(data, method, progress=False, **options, **more)


def with_holes(data):
    """Return the table without a few cells."""
    return data.mask(np.random.default_rng(0).random(data.shape) < 0.03)


ACTS = {
    "search": lambda data, told: learned(data, told, "order").score is not None,
    "proof": lambda data, told: learned(data, told).status == learned(data, told, "branch-and-cut").status == "optimal",
    "bound": lambda data, told: learned(data, told, "hc").bound is not None,
    "best classes": lambda data, told: len(learned(data, told, n_best=3).figures.best_classes) == 3,
    "regrets": lambda data, told: len(learned(data, told).regrets()) > 0,
    "posterior": lambda data, told: dagopt.edge_posterior(data, progress=False, **told) is not None,
    "bootstrap": lambda data, told: dagopt.bootstrap(data, 2, progress=False, **told) is not None,
    "effects": lambda data, told: all(
        learned(data, told).effect(data.columns[i], data.columns[j]) is not None for i, j in ((0, 2), (0, 1), (1, 0))
    ),
    "queries": lambda data, told: learned(data, told).fit() is not None,
    "EM": lambda data, told: learned(with_holes(data), told, missing="em").status == "optimal",
}


def cells():
    """Return the rows of the table as lists of texts, the heads first."""
    text = GUIDE.read_text().split("### What works with what")[1].split("###")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_each_cell_is_true(kind):
    """What is promised works; what is not is an error with a way out, or for the bound none."""
    (_, *heads), *rows = cells()
    assert set(KINDS) == {row[0] for row in rows}
    assert set(ACTS) == set(heads)
    promised = dict(zip(heads, next(row for row in rows if row[0] == kind)[1:], strict=True))
    data, told = KINDS[kind]
    for act, cell in promised.items():
        if cell == "yes":
            assert ACTS[act](data, told), act
        elif act == "bound":
            assert not ACTS[act](data, told)
        else:
            with pytest.raises(dagopt.InputError, match=r"use|give|leave|only learn"):
                ACTS[act](data, told)
