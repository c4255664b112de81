"""Tests of how memory is measured, read and shown."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import dagopt
from dagopt import memory
from dagopt.memory import available_bytes, parse_bytes, readable


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


@pytest.mark.parametrize("version", [1, 2])
def test_a_container_counts_files_in_the_cache_as_free(tmp_path, monkeypatch, version):
    """The limit less what is used, but for the cache, is left, with either version of cgroups."""
    limit, used, stat, cache = memory.CGROUPS[2 - version]
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory._left_in_cgroup() is None
    (tmp_path / limit).parent.mkdir(exist_ok=True)
    for name, text in ((limit, "1000\n"), (used, "400\n"), (stat, f"anon 1\n{cache} 150\n")):
        (tmp_path / name).write_text(text)
    assert memory._left_in_cgroup() == 750
    (tmp_path / stat).write_text("anon 9\n")
    assert memory._left_in_cgroup() == 600
    (tmp_path / used).write_text("1400\n")
    assert memory._left_in_cgroup() == 0
    (tmp_path / limit).write_text("max\n")
    assert memory._left_in_cgroup() is None


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
