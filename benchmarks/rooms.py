"""The rooms of the package, and the picture of them that docs/architecture.md shows.

python -m benchmarks.rooms

A room is a folder or a module directly below ``dagopt``; ``dagopt`` itself is the front, ``__init__.py``. The source is
parsed, not imported, so imports inside functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "dagopt"


class Import(NamedTuple):
    """One imported module: its full name and its line."""

    module: str
    line: int


@cache
def sources(package: Path = PACKAGE) -> dict[str, str]:
    """Return the text of every module by its path below the package."""
    files = sorted(package.rglob("*.py"))
    return {file.relative_to(package).as_posix(): file.read_text(encoding="utf-8") for file in files}


def room_of(path: str) -> str:
    """Return the room of the module at this path below the package."""
    return "dagopt" if path == "__init__.py" else Path(path).parts[0].removesuffix(".py")


def imports_of(path: str, text: str, rooms: set[str]) -> list[Import]:
    """Return every import in the source of the module at ``path`` below the package."""
    package = ["dagopt", *Path(path).parts[:-1]]
    return [Import(module, node.lineno) for node in _importing(text) for module in _modules(node, package, rooms)]


@cache
def _importing(text: str) -> list[ast.AST]:
    """Return the nodes of a source that may import something."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


def _modules(node: ast.AST, package: list[str], rooms: set[str]) -> list[str]:
    """Return the names of the modules that a node of the tree imports."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            base = package[: len(package) - level + 1] if level else []
            source = ".".join([*base, *([module] if module else [])])
            return [_member(source, alias.name, rooms) for alias in names]
        case ast.Call(
            func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(module)), *_]
        ):
            return [module] if called in ("import_module", "__import__") else []
    return []


def _member(source: str, name: str, rooms: set[str]) -> str:
    """Return what ``from source import name`` imports, where it matters: a part of the front, or the front."""
    whole = f"{source}.{name}"
    return whole if whole == "dagopt.__version__" or whole.removeprefix("dagopt.") in rooms else source


def target(module: str) -> str | None:
    """Return the room of an imported module; None if it is none of the package."""
    first, *rest = module.split(".")
    return None if first != "dagopt" or rest == ["__version__"] else (rest or ["dagopt"])[0]


def walls(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the rooms that each room imports from."""
    rooms = {room_of(path) for path in texts}
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for path, text in texts.items():
        for module, _ in imports_of(path, text, rooms):
            other = target(module)
            if other in rooms and other != room_of(path):
                found[room_of(path)].add(other)
    return found


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of rooms that reach each other."""
    below = {room: _below(room, edges) for room in edges}
    groups = {tuple(sorted({room} | {other for other in below[room] if room in below[other]})) for room in edges}
    return sorted(list(group) for group in groups if len(group) > 1)


def _below(room: str, edges: dict[str, set[str]]) -> set[str]:
    """Return all rooms that a room reaches."""
    found: set[str] = set()
    waiting = [room]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def picture(edges: dict[str, set[str]]) -> str:
    """Draw rooms without a cycle, the highest first, each with the rooms it rests on.

    A room stands one above the highest room that it imports from. Left out are rooms below others that are named.
    """
    below = {room: _below(room, edges) for room in edges}
    height: dict[str, int] = {}
    for room in sorted(edges, key=lambda one: (len(below[one]), one)):
        height[room] = 1 + max((height[other] for other in edges[room]), default=-1)
    lines = []
    for room in sorted(edges, key=lambda one: (-height[one], one)):
        rests_on = sorted(edges[room] - set().union(*(below[other] for other in edges[room])))
        lines.append(f"{height[room]:>2}  {room:<13}{', '.join(rests_on)}".rstrip())
    return "\n".join(["    room         rests on, with all that these rest on", *lines])


def drawn(package: Path = PACKAGE) -> str:
    """Return the picture of a package; what the front loads at first use is in its stub."""
    return picture(walls(sources(package) | {"__init__.py": (package / "__init__.pyi").read_text(encoding="utf-8")}))


def main() -> None:
    print(drawn())


if __name__ == "__main__":
    main()
