"""Tests of how memory is measured, read and shown."""

from __future__ import annotations

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
    "free, cgroup, expected",
    [(10, None, 10), (10, 4, 4), (4, 10, 4), (None, 7, 7), (None, None, 2 * 2**30)],
)
def test_smaller_of_what_is_free_and_what_is_left_to_the_container(monkeypatch, free, cgroup, expected):
    """A container's limit counts where it is lower; where nothing can be found out, 2 GiB are assumed."""
    monkeypatch.setattr(memory, "_from_meminfo", lambda: free)
    monkeypatch.setattr(memory, "_from_windows", lambda: None)
    monkeypatch.setattr(memory, "_from_sysconf", lambda: None)
    monkeypatch.setattr(memory, "_from_cgroup", lambda: cgroup)
    assert available_bytes() == expected


@pytest.mark.parametrize(
    "files, expected",
    [
        ({"max": "1000\n", "current": "400\n", "stat": "anon 9\n"}, 600),
        ({"max": "1000\n", "current": "400\n", "stat": "anon 9\ninactive_file 300\nactive_file 7\n"}, 900),
        ({"max": "1000\n", "current": "1400\n", "stat": ""}, 0),
        ({"max": "max\n", "current": "400\n", "stat": ""}, None),
        ({}, None),
    ],
)
def test_limit_of_a_container(monkeypatch, tmp_path, files, expected):
    """The container's files give what is left, cached files not counted; None without a limit or without them."""
    for name, content in files.items():
        (tmp_path / f"memory.{name}").write_text(content)
    monkeypatch.setattr(memory, "Path", lambda path: tmp_path / str(path).rpartition("/")[2])
    assert memory._from_cgroup() == expected


def test_full_container_has_no_memory_left(monkeypatch):
    """A container that has used up its memory has none available, whatever the machine has free."""
    monkeypatch.setattr(memory, "_from_meminfo", lambda: 10**9)
    monkeypatch.setattr(memory, "_from_cgroup", lambda: 0)
    assert available_bytes() == 0
