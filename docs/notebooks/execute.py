"""Run the notebooks of this folder from top to bottom and store their outputs: ``make notebooks``.

What they write goes into a temporary folder. Progress, the times of cells and the versions of the machine are not
stored; pictures are stored with few colours.
"""

from __future__ import annotations

import base64
import io
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

COLOURS = 96
HERE = Path(__file__).resolve().parent


def execute(path: Path) -> None:
    """Run one notebook and replace it by itself with new outputs."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        options = {"timeout": 600, "record_timing": False, "coalesce_streams": True}
        NotebookClient(notebook, kernel_name="python3", resources=where, **options).execute()
    for cell in notebook.cells:
        if "outputs" in cell:  # lines of progress, with their seconds, are not stored
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = small(output.data["image/png"])
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def small(picture: str) -> str:
    """Return a PNG with a palette, which the eye hardly tells from the original."""
    content = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE).save(content, "PNG", optimize=True)
    return base64.b64encode(content.getvalue()).decode()


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    for notebook in [Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb")):
        print(f"running {notebook.name} ...", flush=True)
        execute(notebook)
