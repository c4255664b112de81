"""What is published: one version everywhere, one list of dependencies, a README without anything relative."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

import dagopt

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA_NAMES = {"matplotlib-base": "matplotlib"}


def test_one_version_everywhere():
    """The citation and the conda recipe name the version of the package."""
    said = {
        "CITATION.cff": r"^version: (.+)$",
        "conda/meta.yaml": r'set version = "(.+)"',
    }
    for file, pattern in said.items():
        found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert found, file
        assert found[1] == dagopt.__version__, file


def test_the_conda_recipe_has_every_dependency():
    """Its run requirements are those of pyproject.toml, with the same bounds."""
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^  run:\n((?:    - .+\n)+)", recipe, re.MULTILINE)
    pairs = [line.strip("- ").split(" ") for line in listed.splitlines()]
    own = {f"{CONDA_NAMES.get(name, name)}{bound}" for name, bound in pairs}
    assert own == {*PROJECT["project"]["dependencies"], f"python{PROJECT['project']['requires-python']}"}


@pytest.mark.parametrize("repository", ["", "https://example.org/somebody/dagopt"])
def test_the_readme_of_the_index_has_nothing_relative(repository):
    """Pictures and links of the README become full addresses, or go where the repository is not known."""
    pytest.importorskip("setuptools")
    made = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["readme"]
    text = made((ROOT / "README.md").read_text(encoding="utf-8"), repository)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert all(target.startswith(("https://", "#")) for target in targets)
    assert ("](https://example.org" in text) == bool(repository)
