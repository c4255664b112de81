"""The pages in docs/: their code prints what they show, their links lead somewhere, every public name is in them."""

import ast
import inspect
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import typer

import dagopt
from benchmarks.rooms import drawn
from dagopt import cli
from dagopt.cli.output import graph_files
from dagopt.data.data_options import DataOptions
from dagopt.graph import FORMATS
from dagopt.methods.independence.tests import TESTS
from dagopt.methods.registry import METHODS
from dagopt.scores import SCORES
from dagopt.sklearn import StructureLearner
from outputs import BLOCK, printed, same, steps

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "dagopt"
PAGES = {page.relative_to(DOCS).as_posix(): page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))}
FRONT = {"../README.md": (ROOT / "README.md").read_text(encoding="utf-8")}

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
BAD_INPUT = 2


def blocks(page: str) -> list[tuple[str, str]]:
    """Return (language, text) of the fenced blocks of a page."""
    return BLOCK.findall((PAGES | FRONT)[page])


def prose(page: str) -> str:
    """Return a page without its fenced blocks."""
    return BLOCK.sub("", (PAGES | FRONT)[page])


def anchors(text: str) -> set[str]:
    """Return the anchors that the headings of a page have on GitHub."""
    headings = re.findall(r"^#+ +(.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def section(page: str, title: str) -> str:
    """Return the text of a page under a heading, to the next one."""
    found = re.search(rf"^### `{re.escape(title)}`\n(.*?)(?=^##|\Z)", PAGES[page], re.MULTILINE | re.DOTALL)
    assert found, f"docs/{page} has no heading ### `{title}`"
    return found[1]


def section_below(page: str, title: str) -> str:
    """Return the text of a page under a heading of the second level, to the next one."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGES[page], re.MULTILINE | re.DOTALL)
    assert found, f"docs/{page} has no heading ## {title}"
    return found[1]


def finding_codes() -> set[str]:
    """Return the codes of all findings that the source can make."""
    codes = set()
    for file in (PACKAGE / "data").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                code = node.args[1]
                parts = [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]
                codes |= {part.value for part in parts if isinstance(part, ast.Constant)}
    return codes


def lacking(page: str, names) -> list[str]:
    """Return the names that a page does not have in code type."""
    spelled = set(re.findall(r"[\w.-]+", " ".join(re.findall(r"`([^`\n]+)`", prose(page)))))
    return sorted(name for name in names if name not in spelled)


@pytest.mark.parametrize("page", PAGES | FRONT)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """Python blocks print the output below them; each ``dagopt`` line of a shell block finds good input."""
    monkeypatch.chdir(tmp_path)
    dagopt.datasets.load("asia", n_samples=200, random_state=0).data.to_csv("data.csv", index=False)  # "your" table
    namespace = {"__name__": "page"}
    for step in steps((PAGES | FRONT)[page]):
        if step.language == "python":
            said = printed(step.text, f"docs/{page}", namespace)
            if step.shown is not None:
                assert same(said, step.shown), f"python docs/_site/outputs.py docs/{page} writes:\n{said}"
        elif step.language == "sh":
            for line in step.text.splitlines():
                if line.startswith("dagopt "):
                    assert cli.run(shlex.split(line, comments=True)[1:]) != BAD_INPUT, (line, capsys.readouterr().err)
        elif step.language == "toml":
            dagopt.Constraints(**tomllib.loads(step.text))


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("12 edges, 0.44 s", "12 edges, 31 s", True),
        ("12 edges", "13 edges", False),
        ("-12211.42", "-12211.41", True),
        ("a -> b", "b -> a", False),
        ("(200, 183)", "(200,  184)", False),
        ("x 1", "x", False),
    ],
)
def test_outputs_are_compared_by_words_and_numbers(one, other, agree):
    """Seconds and last digits may differ, nothing else."""
    assert same(one, other) is agree


def test_an_output_belongs_to_the_code_right_above_it():
    """A block of text after a sentence is no output, nor is one after a command."""
    page = "```python\n1\n```\n\n```text\n2\n```\n\n```sh\n3\n```\n```text\n4\n```\n"
    page += "```python\n5\n```\nno\n```text\n6\n```\n"
    found = [(step.text, step.shown) for step in steps(page)]
    assert found == [("1\n", "2\n"), ("3\n", None), ("4\n", None), ("5\n", None), ("6\n", None)]


@pytest.mark.parametrize("page", PAGES | FRONT)
def test_every_link_leads_somewhere(page):
    """Relative links name a file that exists, and a heading in it."""
    for target in LINK.findall(prose(page)):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (DOCS / page).parent / path if path else DOCS / page
        assert file.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page}: {target}"


def test_every_page_can_be_reached():
    """The navigation of the site names every page, and only pages that exist or are made from the repository."""
    named = set(re.findall(r"^ +- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    made = {"changelog.md", "contributing.md", "security.md"}
    made |= {f"notebooks/{book.stem}.md" for book in (DOCS / "notebooks").glob("*.ipynb")}
    assert set(PAGES) - named == set(), "name the page under nav: in mkdocs.yml"
    assert named - set(PAGES) == made


@pytest.mark.parametrize("page", PAGES)
def test_lists_begin_after_an_empty_line(page):
    """GitHub shows a list right after a paragraph as a list, the site does not."""
    lines = prose(page).splitlines()
    for above, line in pairwise(lines):
        if re.match(r"(- |\d+\. )", line):
            assert not above.strip() or re.match(r"(- |\d+\. |  )", above), line


def test_the_reference_has_every_public_name():
    """Each name of ``dagopt.__all__`` is taken from its docstring on a page of the reference."""
    named = {name for page in PAGES for name in re.findall(r"^::: dagopt\.(\w+)", PAGES[page], re.MULTILINE)}
    modules = {name for name in dagopt.__all__ if inspect.ismodule(getattr(dagopt, name))}
    assert set(dagopt.__all__) - modules <= named


def test_every_public_name_is_in_the_index():
    """Each name of ``dagopt.__all__`` has its heading in api.md, with all its own parameters."""
    shared = set(inspect.signature(StructureLearner).parameters)
    for name in dagopt.__all__:
        text = section("api.md", name)
        thing = getattr(dagopt, name)
        if inspect.ismodule(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        own = set(inspect.signature(thing).parameters)
        if inspect.isclass(thing) and issubclass(thing, StructureLearner):
            own -= shared
        if name != "as_table":  # which has the options of data for all
            own -= set(DataOptions.defaults())
        assert not [word for word in own if not re.search(rf"\b{word}\b", text)], name


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_described_with_its_options(name):
    """api.md has every option of the method with its default, and the guide says when to use it."""
    text = section("api.md", name)
    for option, default in METHODS[name].options().items():
        spelled = re.search(rf"`{option}=([^`]+)`", text)
        assert spelled, f"{name}: {option}"
        assert ast.literal_eval(spelled[1]) == default, f"{name}: {option}"
    assert not lacking("user_guide.md", [name])


@pytest.mark.parametrize("page", ["api.md", "user_guide.md"])
def test_names_that_users_type_are_on_the_pages(page):
    """Commands, findings, graph formats, scores, tests and bundled networks."""
    commands = typer.main.get_command(cli.app).commands
    assert len(finding_codes()) >= 10
    for names in (commands, finding_codes(), FORMATS, SCORES, dagopt.datasets.names()):
        assert lacking(page, names) == []
    assert lacking("api.md", [*TESTS, *graph_files()]) == []
    assert lacking("algorithms.md", TESTS) == []


def test_every_option_of_a_command_is_in_the_index():
    """The options that ``--help`` shows are listed in api.md."""
    listed = set(re.findall(r"--[a-z-]+", PAGES["api.md"]))
    for command in typer.main.get_command(cli.app).commands.values():
        longest = {max(parameter.opts, key=len) for parameter in command.params if parameter.opts[0].startswith("-")}
        names = {name for name in longest if name not in ("--help", "--penalty")}
        assert names <= listed, command.name


def test_the_picture_of_the_rooms_is_drawn_from_the_imports():
    """architecture.md shows what ``python -m benchmarks.rooms`` prints."""
    assert f"```text\n{drawn()}\n```" in section_below("architecture.md", "Layers")


def test_the_map_has_every_part():
    """architecture.md names each module and package directly below dagopt."""
    parts = [path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    chart, _ = [text for language, text in blocks("architecture.md") if language == "text"]
    for part in parts:
        assert re.search(rf"^  {re.escape(part.name)}/?\s", chart, re.MULTILINE), part.name


def test_the_range_of_branch_and_cut_is_the_same_everywhere():
    """Pages, estimators and the list of methods say for how many columns it is, in the same words."""
    places = [PAGES[page] for page in ("index.md", "user_guide.md", "proofs.md")]
    places += [METHODS["branch-and-cut"].about, inspect.getdoc(dagopt.BranchAndCut)]
    for text in places:
        assert re.search(r"25 to 100 (continuous )?columns with a sparse graph", " ".join(text.split()))
