"""What pyproject.toml cannot say: a README that reads well outside the repository, and where the repository is.

A package index shows neither relative pictures nor relative links. If ``DAGOPT_REPOSITORY`` is set to the address of the
repository (the release workflow sets it), they become full addresses; otherwise pictures are left out and links become
plain text.
"""

import os
import re
from pathlib import Path

from setuptools import setup

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")
PAGES = {"Source": "", "Issues": "/issues", "Changelog": "/blob/HEAD/CHANGELOG.md"}


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
    )
