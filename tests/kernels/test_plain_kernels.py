"""Kernels in plain Python: the same answers, and the change to compiled ones when the work grows."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dagopt
from dagopt.kernels import plain as plain_kernels
from dagopt.kernels.lattice.best_orders import Tables, extend
from dagopt.kernels.lattice.best_parents import Block, Shape, fill
from dagopt.kernels.lattice.subsets import Allowed
from dagopt.kernels.plain import compiled_or_python, new_pass, plain, repeated
from dagopt.kernels.store import Kernel, njit
from dagopt.scores import gaussian


@njit(cache=False)
def _twice(x):
    return 2 * x


@njit(cache=False)
def _sum_of_twice(values):
    total = 0.0
    for value in values:
        total += _twice(value)
    return total


@pytest.fixture
def fresh(monkeypatch):
    """Return a kernel as if nothing had been called yet."""
    if not hasattr(_sum_of_twice, "py_func"):
        pytest.skip("compilation is switched off")
    monkeypatch.setattr(plain_kernels, "_steps", {})
    monkeypatch.setattr(Kernel, "loaded", True)
    return njit(cache=False)(_sum_of_twice.py_func)


def test_plain_python_calls_plain_python(fresh):
    """The kernels that a kernel calls are not compiled either."""
    before = len(_twice.signatures)
    assert plain(fresh)(np.arange(4.0)) == 12.0
    assert len(_twice.signatures) == before
    assert not fresh.signatures


def test_work_that_adds_up_is_compiled(fresh):
    """A kernel is compiled when its steps reach the limit, or would if what is done is repeated."""
    assert compiled_or_python(fresh, plain_kernels.MOST_PLAIN_STEPS + 1) is fresh
    assert compiled_or_python(fresh, plain_kernels.MOST_PLAIN_STEPS) is not fresh
    assert compiled_or_python(fresh, 1) is fresh
    plain_kernels._steps.clear()
    with repeated(100):
        assert compiled_or_python(fresh, plain_kernels.MOST_PLAIN_STEPS // 10) is fresh
        for _ in range(100):
            new_pass()
            assert compiled_or_python(fresh, plain_kernels.MOST_PLAIN_STEPS // 100) is not fresh
        assert compiled_or_python(fresh, 1) is fresh
    plain_kernels._steps.clear()
    assert compiled_or_python(fresh, plain_kernels.MOST_PLAIN_STEPS // 10) is not fresh


def test_stored_kernels_wait_for_work_that_is_worth_loading_numba(fresh, monkeypatch):
    """Before numba is loaded, the steps of all kernels count together; then what is stored is used."""
    monkeypatch.setattr(plain_kernels, "is_stored", lambda kernel: True)
    assert compiled_or_python(fresh, 1) is fresh
    monkeypatch.setattr(Kernel, "loaded", False)
    assert compiled_or_python(fresh, plain_kernels.LOADING_STEPS + 1) is fresh
    assert compiled_or_python(fresh, plain_kernels.LOADING_STEPS // 2) is not fresh
    other = njit(cache=False)(_twice.py_func)
    assert compiled_or_python(other, plain_kernels.LOADING_STEPS) is other
    assert compiled_or_python(other, plain_kernels.LOADING_STEPS // 2) is not other


def test_a_compiled_kernel_is_used(fresh):
    """Whatever the work."""
    fresh(np.arange(3.0))
    assert compiled_or_python(fresh, 1) is fresh


def test_the_recursion_is_the_same_uncompiled():
    """Closed tables and orders, number by number."""
    if not hasattr(fill, "py_func"):
        pytest.skip("compilation is switched off")
    n = 7
    potential = np.random.default_rng(0).normal(size=1 << n)
    found = []
    for make in (plain, lambda kernel: kernel):
        tables = Tables(np.empty((n, 1, 1 << (n - 1))), np.empty((0, 1, 1 << n)), np.empty((0, 1, 1 << n)))
        opt = np.full(1 << n, -np.inf)
        opt[0] = 0.0
        for node, table in enumerate(tables.places):
            tiles = 2 if node < 6 else 1
            make(fill)(potential, node, Shape(n, 0), Block(0, 0), Allowed(True, 0, 0, 0), table, 0, tiles)
        make(extend)(tables, Shape(n, 0), 0, opt, np.array([0]))
        found.append((tables.places, opt))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("kind", ["levels", "numbers"])
def test_a_small_table_is_learned_without_compiling(kind, tmp_path):
    """With an empty cache, nothing is compiled, and DAG and score are those of the compiled kernels."""
    data, _ = dagopt.simulate(6, 200, 1.0, 1)
    if kind == "levels":
        data = data.apply(lambda column: np.digitize(column, column.quantile([0.3, 0.7])).astype(str))
    path = tmp_path / "data.csv"
    data.to_csv(path, index=False)
    program = (
        "import dagopt, sys\n"
        "r = dagopt.learn(sys.argv[1], progress=False)\n"
        "print(r.provenance.compile_seconds, repr(r.score))"
    )
    if kind == "levels":
        program = program.replace("progress", "kind='discrete', progress")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    told = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, env=environment)
    seconds, score = map(float, told.stdout.split())
    assert seconds == 0.0
    options = {"kind": "discrete"} if kind == "levels" else {}
    assert score == pytest.approx(dagopt.learn(path, progress=False, **options).score, rel=1e-12)


def test_long_coordinates_count_as_many_steps(monkeypatch):
    """Where columns are long vectors of coordinates, a set takes as many steps as they are long, or more."""
    rng = np.random.default_rng(0)
    near = rng.normal(size=(300, 1)) + 1e-6 * rng.normal(size=(300, 80))
    score = dagopt.make_score(dagopt.as_table(near), "bic")
    assert not score.logdets_suffice
    counted = []
    monkeypatch.setattr(gaussian, "compiled_or_python", lambda kernel, steps: counted.append(steps) or kernel)
    score.local(0, [1, 2])
    score.removals(0, [1, 2])
    score.local_many([0, 1], [[2], [3, 4]])
    assert min(counted) >= 4 * 80
