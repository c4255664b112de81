"""The recursion on a GPU; all but the refusals need CuPy and a CUDA device."""

import numpy as np
import pytest

import dagopt
from dagopt.data.table import as_table
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.exact import gpu as gpu_module
from dagopt.methods.exact.gpu import gpu_run
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores import make_score
from dagopt.workers import Workers

FREE = dagopt.Constraints()
KNOWN = dagopt.Constraints(
    required=[("X0", "X5")], forbidden=[("X1", "X2"), ("X2", "X1")], tiers=[["X3"], ["X4", "X6"]], max_parents=4
)


def has_gpu() -> bool:
    """Say whether CuPy finds a device."""
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:
        return False


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="needs CuPy and a CUDA device")


def problem_of(data, score="bic", constraints=FREE):
    """Return a problem."""
    table = as_table(data)
    return Problem(table, make_score(table, score), constraints.resolve(table.names))


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_a_gpu_asked_for_in_vain_is_refused_with_the_remedy():
    """Without CuPy or a device, device="gpu" says what to install, and auto falls back to the CPU."""
    data = dagopt.simulate(22, 200, 1.0, 0).data
    with pytest.raises(InputError, match=r"dagopt\[gpu\]"):
        dagopt.learn(data, "exact", device="gpu", progress=False)
    workers = Workers(Deadline(), NoProgress())
    assert gpu_run(problem_of(data), "auto", workers) is None


@pytest.mark.parametrize(("limit", "n_nodes", "looked"), [(2.0, 22, 0), (60.0, 22, 1), (None, 22, 1), (None, 12, 0)])
def test_a_gpu_is_looked_for_only_where_there_is_time_for_it(monkeypatch, limit, n_nodes, looked):
    """To load CuPy takes a second or more, which is all that a short limit allows a search."""
    calls = []

    def find():
        calls.append(1)
        raise InputError("no device")

    monkeypatch.setattr(gpu_module, "find_device", find)
    data = dagopt.simulate(n_nodes, 100, 1.0, 0).data
    assert gpu_run(problem_of(data), "auto", Workers(Deadline(limit), NoProgress())) is None
    assert len(calls) == looked


@needs_gpu
@pytest.mark.parametrize("constraints", [FREE, KNOWN])
@pytest.mark.parametrize("score", ["bic", "bge"])
def test_the_gpu_finds_the_score_of_the_cpu(score, constraints):
    """GPU and CPU find the same optimum, with and without knowledge, for both kinds of Gaussian score."""
    data = dagopt.simulate(19, 500, 1.5, 3).data
    options = {"score": score, "constraints": constraints, "progress": False}
    on_cpu = dagopt.learn(data, "exact", device="cpu", **options)
    on_gpu = dagopt.learn(data, "exact", device="gpu", **options)
    assert on_gpu.status == "optimal"
    assert on_gpu.score == pytest.approx(on_cpu.score, abs=1e-6)


@needs_gpu
@pytest.mark.parametrize("high_bits", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_blocks_and_precision_keep_the_score_within_the_stated_error(high_bits, dtype):
    """Blocked tables and float32 storage give a DAG whose score is within twice the stated error of the optimum."""
    from dagopt.methods.exact import subset_dp_gpu as gpu

    n = 20
    data = dagopt.simulate(n, 500, 1.5, 4).data
    problem = problem_of(data)
    matrix, log_scale, constant, power = problem.score.logdets
    everything = np.array([(1 << n) - 1 - (1 << i) for i in range(n)])
    solver = gpu.GpuSubsetDP(
        matrix,
        constant,
        power,
        np.zeros(n, dtype=np.int64),
        everything,
        np.full(n, n - 1),
        gpu.GpuPlan(n, high_bits, dtype, 0),
        log_scale=log_scale,
    )
    adjacency, _, largest = solver.run()
    optimum = dagopt.learn(data, "exact", device="cpu", progress=False).score
    allowed = 2 * gpu.rounding_error(n, largest, dtype) + 1e-6
    assert problem.score.total(adjacency) >= optimum - allowed
