"""The site of the documentation: search works in pages that are opened as files."""

import re
from pathlib import Path

import pytest

from browser import Browser, chromium

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(chromium() is None, reason="there is no Chromium")
def test_search_works_from_files(tmp_path):
    """A small site with the plugins and the script of the real one finds a word, and loads nothing from elsewhere."""
    pytest.importorskip("material")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    real = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    parts = re.findall(r"^(?:extra|plugins):\n(?:[ ].*\n)+", real, re.MULTILINE)
    docs = tmp_path / "docs"
    (docs / "_site").mkdir(parents=True)
    (docs / "below").mkdir()
    (docs / "index.md").write_text("# One\n\nsubmodular rows\n")
    (docs / "below" / "page.md").write_text("# Two\n\nanother sentence\n")
    (docs / "_site" / "iframe-worker.js").write_text((ROOT / "docs" / "_site" / "iframe-worker.js").read_text())
    config = "site_name: small\ntheme:\n  name: material\n  font: false\n" + "".join(parts)
    (tmp_path / "mkdocs.yml").write_text(config)
    build(load_config(str(tmp_path / "mkdocs.yml")))
    with Browser(tmp_path / "profile") as browser:
        browser.open(tmp_path / "site" / "below" / "page.html")
        browser.click(".md-search__input")
        browser.type("submodular")
        browser.until("/start searching|matching/.test(document.querySelector('.md-search-result__meta').textContent)")
        browser.key("Shift")  # the page looks at the words when a key is released
        browser.until("document.querySelectorAll('.md-search-result__item').length === 1")
        assert "/site/index.html" in browser.run("document.querySelector('.md-search-result__link').href")
        assert browser.problems == []
