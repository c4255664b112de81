"""Every fault that ``hunt.planted`` plants still fits the source, and is a fault of valid Python."""

from __future__ import annotations

import ast
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from hunt import planted
from hunt.faults import FAULTS
from hunt.planted import plant

ROOT = Path(__file__).parent.parent


@cache
def _meaning(text):
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.breaks)
def test_every_planted_edit_applies(fault, tmp_path):
    """The old text is there once, the new text makes another program, and its tests exist."""
    path = tmp_path / "src" / "dagopt" / fault.file
    path.parent.mkdir(parents=True)
    before = (ROOT / "src" / "dagopt" / fault.file).read_text()
    path.write_text(before)
    plant(fault, tmp_path)
    assert ast.dump(ast.parse(path.read_text())) != _meaning(before)
    tests = [ROOT / one.partition("::")[0] for one in fault.tests.split()]
    assert all(one.exists() for one in tests)
    assert not any(one == other or one in other.parents for one, other in permutations(tests, 2)), "given twice"


def test_there_are_many_of_them_and_each_is_named_once():
    """At least forty, in all parts."""
    assert len({fault.breaks for fault in FAULTS}) == len(FAULTS) >= 40


@pytest.mark.parametrize("alone", [True, False])
def test_a_finding_counts_only_if_the_tree_without_the_fault_does_not_have_it(alone, tmp_path, monkeypatch):
    """The first finding is in both trees; the second in both or in the copy alone."""

    def hunted(root, asked):
        seed = int(asked[asked.index("--seed") + 1])
        if seed > 1 or (alone and seed == 1 and root == planted.ROOT):
            return None
        return planted.FINDING.search(f"=== others {seed + 7}: a bound is too low\n")

    monkeypatch.setattr(planted, "_hunted", hunted)
    found = planted._finding(FAULTS[0], tmp_path, 60.0)
    assert found == ("hunt: others 8: a bound is too low" if alone else "")
