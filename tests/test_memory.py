"""Tests of how memory is measured, read and shown."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dagopt
from dagopt import memory
from dagopt.deadline import Deadline
from dagopt.errors import OutOfMemory
from dagopt.memory import available_bytes, parse_bytes, readable
from dagopt.methods.memory_needed import announce_memory, memory_needed


@pytest.mark.parametrize(
    "size, expected",
    [
        (1, 1),
        (2.5e6, 2_500_000),
        ("512", 512),
        ("512 b", 512),
        ("1kB", 2**10),
        ("1.5MB", 3 * 2**19),
        ("8GB", 2**33),
        ("8 GiB", 2**33),
        (" 8g ", 2**33),
        (".5t", 2**39),
    ],
)
def test_sizes_are_read(size, expected):
    """Numbers are bytes; text may have a unit, in any case, with or without i and B."""
    assert parse_bytes(size) == expected


@pytest.mark.parametrize("size", ["", "lots", "8 XB", "1.2.3GB", ".", "-1GB", "0MB", 0, -5, float("nan"), float("inf")])
def test_sizes_that_are_none_are_refused(size):
    """What is no positive number of bytes is refused with what came."""
    with pytest.raises(dagopt.InputError, match=r"expected memory_limit= .* but got "):
        parse_bytes(size)


@pytest.mark.parametrize(
    "size, expected",
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (2e6, "2.0 MB"), (3.25e9, "3.2 GB"), (5e15, "5,000.0 TB")],
)
def test_sizes_are_shown(size, expected):
    """Sizes are shown with the unit that gives a short number."""
    assert readable(size) == expected


def test_free_memory_is_plausible():
    """Some memory is free, and not more than a machine can have."""
    assert 2**20 < available_bytes() < 2**50


@pytest.mark.parametrize(
    "cgroup, space, expected", [(None, None, 10), (4, None, 4), (40, 7, 7), (5, 7, 5), (0, None, 0)]
)
def test_the_smallest_of_machine_container_and_process(monkeypatch, cgroup, space, expected):
    """The limits of a container and of ``ulimit -v`` count where they are lower than what is free."""
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=10))
    monkeypatch.setattr(memory, "_left_in_cgroup", lambda: cgroup)
    monkeypatch.setattr(memory, "_left_of_address_space", lambda: space)
    assert available_bytes() == expected


def write_group(folder, kind, limit, used, cache=None):
    """Write the files of a group as the kernel shows them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / kind.limit).write_text(f"{limit}\n")
    (folder / kind.used).write_text(f"{used}\n")
    (folder / "memory.stat").write_text("anon 1\n" + (f"{kind.cache} {cache}\n" if cache is not None else ""))


@pytest.mark.parametrize("kind", memory.HIERARCHIES, ids=["v2", "v1"])
def test_a_container_counts_files_in_the_cache_as_free(tmp_path, monkeypatch, kind):
    """The limit less what is used, but for the cache, is left, with either version of cgroups."""
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "none")
    assert memory._left_in_cgroup() is None
    for limit, used, cache, expected in ((1000, 400, 150, 750), (1000, 400, None, 600), (1000, 1400, None, 0)):
        write_group(tmp_path / kind.folder, kind, limit, used, cache)
        assert memory._left_in_cgroup() == expected
    write_group(tmp_path / kind.folder, kind, "max", 400)
    assert memory._left_in_cgroup() is None


@pytest.mark.parametrize("kind", memory.HIERARCHIES, ids=["v2", "v1"])
def test_a_group_in_a_group_has_the_limits_of_both(tmp_path, monkeypatch, kind):
    """A batch job's group lies in others: the tightest of all on the way to the root counts, others' groups do not."""
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    (tmp_path / "own").write_text(f"12:cpu,cpuacct:/other\n3:{kind.controller}:/jobs/job 7/step\nnonsense\n")
    root = tmp_path / kind.folder
    write_group(root / "other", kind, 5, 0)
    write_group(root / "jobs" / "job 7" / "step", kind, "max", 100)
    assert memory._left_in_cgroup() is None
    write_group(root / "jobs" / "job 7", kind, 900, 100)
    assert memory._left_in_cgroup() == 800
    write_group(root / "jobs", kind, 1000, 700)
    assert memory._left_in_cgroup() == 300


def test_a_limit_of_the_address_space_is_kept():
    """Under ``ulimit -v`` no more is free than the limit leaves."""
    resource = pytest.importorskip("resource")
    code = "from dagopt.memory import available_bytes; print(available_bytes())"
    most = 2**31
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    assert 0 < int(ended.stdout) < most


LIMITED = """
import sys, psutil, resource
import numpy as np
import dagopt

method, kind, n, rows, spare = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
few = dagopt.simulate(n_nodes=6, n_samples=100, random_state=1, kind=kind).data
dagopt.learn(few, method, progress=False)
rng = np.random.default_rng(0)
if kind == "mixed":
    data = {f"X{j}": rng.normal(size=rows) if j % 2 else rng.choice(["a", "b", "c"], rows) for j in range(n)}
elif kind == "gaussian":
    data = {f"X{j}": rng.normal(size=rows) for j in range(n)}
else:
    data = {f"X{j}": [f"L{code}" for code in rng.integers(0, 3, rows)] for j in range(n)}
most = psutil.Process().memory_info().vms + spare * 10**6
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    found = dagopt.learn(data, method, time_limit=4, max_parents=3, progress=False)
    print("answer", found.status)
except dagopt.DagoptError as error:
    print("sentence", error)
"""


@pytest.mark.parametrize(
    "method, kind, n, rows, spare",
    [
        pytest.param("hc", "gaussian", 3000, 50, 60, marks=pytest.mark.slow),
        ("auto", "gaussian", 2000, 50, 40),
        ("exact", "gaussian", 26, 200, 100),
        pytest.param("gobnilp", "discrete", 40, 3000, 60, marks=pytest.mark.slow),
        ("branch-and-cut", "gaussian", 30, 1000, 60),
        pytest.param("cg-dca", "gaussian", 60, 500, 60, marks=pytest.mark.slow),
        pytest.param("tabu", "discrete", 400, 1000, 40, marks=pytest.mark.slow),
        ("cg-dca", "gaussian", 90, 2000, 30),  # no room for SCIP, which is loaded late
        pytest.param("cg-dca-paper", "discrete", 300, 2000, 30, marks=pytest.mark.slow),
        pytest.param("cg-dca-paper", "gaussian", 600, 300, 40, marks=pytest.mark.slow),
        pytest.param("branch-and-cut", "mixed", 100, 500, 40, marks=pytest.mark.slow),
        pytest.param("pc", "discrete", 1000, 2000, 40, marks=pytest.mark.slow),
    ],
)
def test_a_hard_limit_ends_in_an_answer_or_a_sentence(method, kind, n, rows, spare):
    """Under ``ulimit -v`` a run is not killed and has no traceback, whatever the method."""
    pytest.importorskip("resource")
    command = [sys.executable, "-c", LIMITED, method, kind, str(n), str(rows), str(spare)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-800:]
    assert ended.stdout.splitlines()[-1].startswith(("answer ", "sentence "))


def test_correlations_that_do_not_fit_are_refused_with_the_figure(monkeypatch):
    """Before anything is allocated."""
    table = dagopt.as_table(np.random.default_rng(0).normal(size=(10, 5_000)))
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**8)
    expected = r"the correlations of 5,000 columns with 10 rows would take 201.6 MB of memory but 100.0 MB are free"
    with pytest.raises(dagopt.InputError, match=expected):
        table.measure(Deadline())


@pytest.mark.parametrize("kind", ["numbers", "levels", "both"])
def test_a_run_that_does_not_fit_is_refused_with_the_figure(monkeypatch, kind):
    """Before it starts: what the pairs of columns take depends on the method, and on the levels of mixed tables."""
    rng = np.random.default_rng(0)
    numbers, levels = rng.normal(size=(10, 1500)), rng.integers(0, 3, (10, 1500)).astype(str)
    first = {"numbers": 1500, "levels": 0, "both": 750}[kind]
    table = dagopt.as_table({f"X{j}": (numbers if j < first else levels)[:, j] for j in range(1500)})
    assert memory_needed("hc", table) < memory_needed("order", table) < memory_needed("auto", table)
    monkeypatch.setattr(memory, "available_bytes", lambda: 101 * 10**6)
    said = rf"method 'order' on 1,500 columns and 10 rows would take {readable(memory_needed('order', table))} of"
    with pytest.raises(dagopt.InputError, match=said):
        dagopt.learn(table, "order", progress=False, max_parents=2)


def test_a_large_run_says_what_it_will_take(monkeypatch):
    """On the screen, before it starts; a small one says nothing."""
    notes = []
    shown = SimpleNamespace(note=notes.append)
    table = dagopt.as_table(np.random.default_rng(0).normal(size=(10, 50)))
    announce_memory("hc", table, shown)
    assert not notes
    monkeypatch.setattr("dagopt.methods.memory_needed.SHOWN", 100)
    announce_memory("hc", table, shown)
    assert notes[0].startswith(f"takes about {readable(memory_needed('hc', table))} of memory; ")


def test_memory_that_runs_out_is_a_sentence(monkeypatch):
    """An allocation that fails anywhere in a run: an error of dagopt that is a MemoryError too."""

    def fails(*arguments, **options):
        raise MemoryError("Unable to allocate 7.45 GiB for an array with shape (1, 1000000000)")

    monkeypatch.setattr("dagopt.learning.learning.read_posed", fails)
    with pytest.raises(dagopt.DagoptError, match=r"does not suffice: Unable to allocate 7.45 GiB, with .* free; give"):
        dagopt.learn(np.zeros((5, 3)), progress=False)


@pytest.mark.parametrize(
    ("kind", "said", "is_memory"),
    [
        (RuntimeError, "can't start new thread", True),
        (ImportError, "libscip.so.10.0: failed to map segment from shared object", True),
        (OSError, "[Errno 12] Cannot allocate memory", True),
        (RuntimeError, "another reason", False),
        (ImportError, "No module named 'pyscipopt'", False),
        (OSError, "[Errno 28] No space left on device", False),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_threads_and_libraries_without_memory_are_sentences(kind, said, is_memory, wrapped, monkeypatch):
    """A solver is loaded when it is first used, perhaps where no memory is left; other errors stay what they are."""

    def fails(*arguments, **options):
        if wrapped:
            raise OSError("could not load a library") from kind(said)
        raise kind(said)

    monkeypatch.setattr("dagopt.learning.learning.read_posed", fails)
    expected = OutOfMemory if is_memory else (OSError if wrapped else kind)
    with pytest.raises(expected, match="does not suffice" if is_memory else "could not load" if wrapped else None):
        dagopt.learn(np.zeros((5, 3)), progress=False)
