"""Tests of what a GPU refuses, with a device that is made up; its kernels are tested in ``test_subset_dp_gpu.py``."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import dagopt
from dagopt.methods.exact import gpu
from every_dag import continuous_table, discrete_table


def small_device():
    """Return a device that takes 18 to 20 columns."""
    module = SimpleNamespace(FEWEST_NODES=18, plan_gpu=lambda n, free: SimpleNamespace() if 18 <= n <= 20 else None)
    return module, "a small device", 10**9


@pytest.mark.parametrize(
    ("table", "score", "said"),
    [
        (continuous_table(5, 0), "bic", "5 columns are too few .* at least 18"),
        (continuous_table(21, 0, n_samples=50), "bic", "21 columns do not fit on a small device with 1.0 GB free"),
        (discrete_table(25, 0), "bdeu", "at most 24 columns with this score, .* got 25"),
        (continuous_table(18, 0, n_samples=50), lambda node, parents: -float(len(parents)), "same for equivalent DAGs"),
    ],
)
def test_a_refusal_gives_its_reason(table, score, said, monkeypatch):
    """Too few columns, too many, and scores that differ between equivalent DAGs each have their own sentence."""
    monkeypatch.setattr(gpu, "find_device", small_device)
    with pytest.raises(dagopt.InputError, match=said):
        dagopt.learn(table, "exact", score=score, device="gpu", progress=False)
