"""What pyproject.toml cannot say: a README that reads well outside the repository, where that is, and compiled kernels.

A package index shows neither relative pictures nor relative links. If ``DAGOPT_REPOSITORY`` is set to the address of
the repository (the release workflow sets it), they become full addresses; otherwise pictures are left out and links
become plain text.

If ``DAGOPT_KERNELS`` names a folder of compiled kernels (``python -m dagopt.kernels.warming FOLDER`` writes one), the
wheel ships them and is for this Python and this kind of machine. Otherwise it is for all, and kernels are compiled at
first use.
"""

import os
import platform
import re
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")
PAGES = {"Source": "", "Issues": "/issues", "Changelog": "/blob/HEAD/CHANGELOG.md"}

KERNELS = os.environ.get("DAGOPT_KERNELS", "")


class Compiled(Distribution):
    """A package that contains machine code."""

    def has_ext_modules(self) -> bool:
        """Say so, which makes the wheel one for this Python and this kind of machine."""
        return True


class BuildWithKernels(build_py):
    """Copies the compiled kernels beside the modules."""

    def run(self) -> None:
        """Copy both."""
        super().run()
        target = Path(self.build_lib, "dagopt", "kernels", "compiled")
        shutil.rmtree(target, ignore_errors=True)  # of an earlier build
        target.mkdir(parents=True)
        for path in sorted(Path(KERNELS).glob("*.kernel")):
            shutil.copy(path, target)


def with_kernels() -> dict[str, object]:
    """Return what ``setup`` has to know if kernels are shipped."""
    if not KERNELS:
        return {}
    found: dict[str, object] = {"distclass": Compiled, "cmdclass": {"build_py": BuildWithKernels}}
    if sys.platform == "linux":  # machine code of kernels calls libm alone, which all of these have
        found["options"] = {"bdist_wheel": {"plat_name": f"manylinux2014_{platform.machine()}"}}
    return found


def readme(text: str, repository: str) -> str:
    """Return the README with nothing relative in it."""
    if not repository:
        return LINK.sub(r"\1", PICTURE.sub("", text))
    text = PICTURE.sub(rf"![\1]({repository}/raw/HEAD/\2)\n\n", text)
    return LINK.sub(rf"[\1]({repository}/blob/HEAD/\2)", text)


if __name__ == "__main__":
    repository = os.environ.get("DAGOPT_REPOSITORY", "").rstrip("/")
    setup(
        long_description=readme(Path(__file__).with_name("README.md").read_text(encoding="utf-8"), repository),
        long_description_content_type="text/markdown",
        project_urls={name: repository + path for name, path in PAGES.items()} if repository else {},
        **with_kernels(),
    )
