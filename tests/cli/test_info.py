"""``dagopt info`` and shell completion."""

import json
import os
import subprocess
import sys
from importlib.metadata import version

import dagopt
from dagopt import cli


def test_info_names_versions_and_machine(capsys):
    """The version of dagopt, of every dependency as installed, and the number of cores are there."""
    assert cli.run(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dagopt"] == dagopt.__version__
    assert found["packages"].get("numpy") == version("numpy")
    assert str(os.cpu_count()) in found["cores"]
    assert found["gpu"]


def test_info_is_lines_for_people(capsys):
    """Without --json every fact is a line of its own."""
    assert cli.run(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["dagopt", dagopt.__version__]
    assert any(line.startswith("memory ") for line in lines)


def test_shells_complete_commands():
    """A shell that asks what follows ``dagopt le`` gets ``learn``."""
    asked = os.environ | {"_DAGOPT_COMPLETE": "complete_bash", "COMP_WORDS": "dagopt le", "COMP_CWORD": "1"}
    call = [sys.executable, "-c", "from dagopt.cli import main; main()"]
    answer = subprocess.run(call, env=asked, capture_output=True, text=True, check=False)
    assert answer.stdout.split() == ["learn"]
