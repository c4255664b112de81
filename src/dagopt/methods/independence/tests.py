"""Tests of conditional independence by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dagopt.data.table import ContinuousTable, MixedTable, Table
from dagopt.errors import InputError, unknown_name
from dagopt.methods.independence.contingency import ChiSquareTest, LikelihoodRatioTest
from dagopt.methods.independence.correlation import FisherZTest, StudentTest
from dagopt.methods.independence.independence_test import IndependenceTest, Separation
from dagopt.methods.method_options import n_jobs
from dagopt.options import Options, anything, option, share

__all__ = [
    "TESTS",
    "ChiSquareTest",
    "FisherZTest",
    "IndependenceTest",
    "LikelihoodRatioTest",
    "Separation",
    "StudentTest",
    "TestOptions",
    "make_test",
]

TESTS = {
    "t": "exact t test of partial correlation, for continuous data (the default there)",
    "z": "Fisher's z test of partial correlation, for continuous data",
    "g2": "G² test of mutual information, for discrete data (the default there)",
    "chi2": "Pearson's χ² test, for discrete data",
}

_CONTINUOUS = {"t": StudentTest, "z": FisherZTest}
_DISCRETE = {"g2": LikelihoodRatioTest, "chi2": ChiSquareTest}


def make_test(table: Table, test: str | IndependenceTest = "auto") -> IndependenceTest:
    """Return the test of a given name for a table.

    Parameters
    ----------
    table : Table
        The data; its kind decides what ``"auto"`` means.
    test : str or IndependenceTest
        One of ``TESTS`` or ``"auto"``; a test over as many variables as the table has columns is used as it is.
    """
    if isinstance(test, IndependenceTest):
        if test.n_nodes != len(table.names):
            raise InputError(
                f"expected a test over the {len(table.names)} columns of the table but got one over {test.n_nodes} "
                f"variables; give a test of this table"
            )
        return test
    if test not in ("auto", *TESTS):
        raise unknown_name("test", test, ["auto", *TESTS])
    if isinstance(table, ContinuousTable):
        if test in _DISCRETE:
            raise InputError(f"test {test!r} needs discrete data but the table is continuous; use 't' or discretize=")
        return _CONTINUOUS["t" if test == "auto" else test](table.correlation, table.n_samples)
    if isinstance(table, MixedTable):
        raise InputError(
            "tests of independence need columns of one kind but the table is mixed; use discretize=, or a method that "
            "maximises a score, such as 'auto' or 'hc'"
        )
    if test in _CONTINUOUS:
        raise InputError(f"test {test!r} needs continuous data but the table is discrete; use 'g2'")
    return _DISCRETE["g2" if test == "auto" else test].of(table)


@dataclass(frozen=True)
class TestOptions(Options):
    """Options of methods that test for conditional independence."""

    __test__ = False  # not a pytest test

    test: Any = option(
        "auto",
        "The test: t (exact) or z (Fisher) for continuous data, g2 or chi2 for discrete data, or an IndependenceTest; "
        "auto is the first of each.",
        anything("str or IndependenceTest"),
    )
    alpha: float = option(
        0.05,
        "The level of each test: pairs with a larger p-value count as independent.",
        share(remedy="0.05 is usual"),
    )
    n_jobs: int | None = n_jobs()
