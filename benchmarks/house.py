"""The structure of the package before and after, side by side.

python -m benchmarks.house BASE    (BASE: another checkout of the repository, such as a git worktree of an older commit)

Cycles and edges count imports inside functions too. Things of which there should be one are counted by the names
of their classes; an LP counts if its class calls HiGHS. A file name is shared if several modules have it.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rooms import cycles, room_of, sources, walls

HERE = Path(__file__).resolve().parents[1]
STORES = ("Pool", "FamilyPool", "FamilyArrays", "Families", "_Sets")
LPS = ("RestrictedMaster", "Relaxation")
ROOTS = ("RowPhase", "PricedRoot")
LONG, WIDE = 60, 8  # lines and arguments of a function that fits a screen
CONSTANT = re.compile(r"^[A-Z][A-Z0-9_]+(?:, [A-Z0-9_]+)* *(?::[^=]+)?= *\(?[-0-9.]", re.MULTILINE)
COMMENT = re.compile(r"^\s*#(?!!)", re.MULTILINE)


def counts(root: Path) -> dict[str, str]:
    """Return what is counted, in the order in which it is shown."""
    texts = sources(root / "src" / "dagopt")
    trees = {path: ast.parse(text) for path, text in texts.items()}
    edges = walls(texts)
    folders = {room_of(path) for path in texts if "/" in path}
    names = Counter(Path(path).name for path in texts)
    shared = [count for name, count in names.items() if count > 1 and name != "__init__.py"]
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    classes = [node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)]
    compiled = sum(any(ast.unparse(mark).startswith("njit") for mark in node.decorator_list) for node in functions)
    return {
        "rooms that are folders": str(len(folders)),
        "modules": str(len(texts)),
        "lines": f"{sum(text.count(chr(10)) for text in texts.values()):,}",
        "lines that are comments": str(sum(len(COMMENT.findall(text)) for text in texts.values())),
        "edges between rooms": str(sum(map(len, edges.values()))),
        "cycles between rooms": "; ".join(f"{len(group)} rooms" for group in cycles(edges)) or "0",
        "stores of families": str(sum(node.name in STORES for node in classes)),
        "LPs over families": str(sum(node.name in LPS and _calls(node, "LinearProgram") for node in classes)),
        "priced roots": str(sum(node.name in ROOTS for node in classes)),
        "places that build a Result": str(sum(_n_calls(tree, "Result") for tree in trees.values())),
        f"functions over {LONG} lines": str(sum(_lines(node) > LONG for node in functions)),
        "the same without docstrings": str(sum(_lines(node) - _documented(node) > LONG for node in functions)),
        f"functions with more than {WIDE} arguments": str(sum(_arguments(node) > WIDE for node in functions)),
        "file names shared": f"{len(shared)}, by {sum(shared)} modules",
        "numeric constants": str(sum(len(CONSTANT.findall(text)) for text in texts.values())),
        "compiled functions": str(compiled),
        "public kernels with a twin": _twins(root),
    }


def _n_calls(tree: ast.AST, name: str) -> int:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(isinstance(called, ast.Name) and called.id == name for called in calls)


def _calls(tree: ast.AST, name: str) -> bool:
    return _n_calls(tree, name) > 0


def _lines(function: ast.FunctionDef) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def _documented(function: ast.FunctionDef) -> int:
    first = function.body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return (first.end_lineno or 0) - first.lineno + 1 if is_text else 0


def _arguments(function: ast.FunctionDef) -> int:
    return len(function.args.args) + len(function.args.kwonlyargs)


def _twins(root: Path) -> str:
    """Return how many kernels are listed with a twin and without one; the list is in the tests."""
    path = root / "tests" / "kernels" / "test_twins.py"
    if not path.exists():
        return "no list"
    values = {
        target.id: ast.literal_eval(node.value)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name)
        if target.id in ("TWINS", "WITHOUT")
    }
    with_twin = sum(map(len, values["TWINS"].values()))
    return f"{with_twin} of {with_twin + len(values['WITHOUT'])}"


def worst(root: Path) -> Iterator[str]:
    """Yield the functions that are too long or take too many arguments."""
    for path, text in sources(root / "src" / "dagopt").items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (_lines(node) > LONG or _arguments(node) > WIDE):
                yield f"{path}:{node.lineno}: {node.name}: {_lines(node)} lines, {_arguments(node)} arguments"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house")
    parser.add_argument("base", type=Path, help="another checkout of the repository")
    parser.add_argument("--functions", action="store_true", help="list the functions that are too long or too wide")
    options = parser.parse_args()
    before, after = counts(options.base), counts(HERE)
    print("| | before | after |\n|---|---|---|")
    for what, value in after.items():
        print(f"| {what} | {before[what]} | {value} |")
    if options.functions:
        print("\n" + "\n".join(worst(HERE)))


if __name__ == "__main__":
    main()
