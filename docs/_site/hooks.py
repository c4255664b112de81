"""What MkDocs does beside its plugins: formulas as MathML, notebooks and files of the repository as pages.

Everything happens while the site is built; the pages load nothing from elsewhere.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from reference import described

ROOT = Path(__file__).resolve().parents[2]
# Files of the repository that are pages of the site too.
BORROWED = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
# Names of functions, after which a formula has a little room.
FUNCTION = re.compile(r"(<mi>(?:log|exp|det|min|max|Pr)</mi>)(?=<m(?:i|n|row|frac|style|over|sub|sup|subsup)\b)")
DIRECTIVE = re.compile(r"^::: dagopt\.([\w.]+)$", re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s]+?)(#[^)\s]*)?(\))")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the borrowed files and the notebooks as pages."""
    for source, page in BORROWED.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        shown = _notebook(json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=shown))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put in what docstrings say; point links to notebooks and to files of the repository at their pages."""
    markdown = DIRECTIVE.sub(lambda found: described(found[1]), markdown)
    here = posixpath.dirname(page.file.src_uri)

    def pointed(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", here, found[2]))
        if target in BORROWED:
            new = posixpath.relpath(BORROWED[target], here or ".")
        elif target.startswith("docs/") and target.endswith(".ipynb"):
            new = posixpath.relpath(target[len("docs/") :], here or ".").replace(".ipynb", ".md")
        else:
            return found[0]
        return f"{found[1]}{new}{found[3] or ''}{found[4]}"

    return LINK.sub(pointed, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Replace every formula by MathML."""

    def mathml(found: re.Match[str]) -> str:
        made = convert(unescape(found[3]).strip(), display="block" if found[2] == "[" else "inline")
        made = FUNCTION.sub(r'\1<mspace width="0.17em"/>', made)
        return f'<div class="formula">{made}</div>' if found[2] == "[" else made

    return FORMULA.sub(mathml, html)


def on_post_build(*, config: Any) -> None:
    """Make sure that no page loads anything from elsewhere."""
    loads = re.compile(r"""<(?:script|img|iframe|link (?!rel="canonical"))[^>]*(?:src|href)=["']?(?:https?:)?//""")
    for page in Path(config.site_dir).rglob("*.html"):
        if found := loads.search(page.read_text(encoding="utf-8")):
            raise PluginError(f"{page.name} loads something from elsewhere: {found[0]}")


def _notebook(book: dict[str, Any]) -> str:
    """Return a notebook as Markdown, with its stored outputs."""
    parts = []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts += [f"```python\n{source}\n```", *map(_output, cell["outputs"])]
    return "\n\n".join(filter(None, parts)) + "\n"


def _output(output: dict[str, Any]) -> str:
    """Return an output of a cell: a picture, a table or text."""
    if output["output_type"] == "stream":
        return "```text\n" + "".join(output["text"]).rstrip() + "\n```"
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        return f'<img alt="what the code above draws" src="data:image/png;base64,{picture}">'
    if "text/html" in data and "<table" in "".join(data["text/html"]):
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        return '<div class="output">' + re.sub(r"\n\s*", "", table) + "</div>"
    if "text/plain" in data:
        return "```text\n" + "".join(data["text/plain"]).rstrip() + "\n```"
    return ""
