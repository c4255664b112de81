"""The blocks of a BIF text: variables with their levels, and rows of probabilities as they were read."""

from __future__ import annotations

from dataclasses import dataclass, field

from dagopt.errors import InputError, quoted
from dagopt.graph.formats.bif_scanner import Scanner, shown
from dagopt.graph.formats.bif_spelling import read_property

__all__ = ["Block", "BlocksOfText", "read_blocks"]

Parents = tuple[tuple[int, ...], ...]


@dataclass
class Block:
    """A probability block as it was read: rows are (line, parents' levels or keyword, numbers)."""

    line: int
    parents: list[str]
    rows: list[tuple[int, tuple[str, ...] | str, list[float]]] = field(default_factory=list)


@dataclass
class BlocksOfText:
    """All blocks of a text: the levels of each variable, and the probability block of each."""

    source: str
    variables: dict[str, tuple[str, ...]]
    probabilities: dict[str, Block]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order of the text."""
        return tuple(self.variables)

    @property
    def parents(self) -> Parents:
        """The parents of each variable, by position and in the order of its block."""
        position = {name: k for k, name in enumerate(self.variables)}
        return tuple(tuple(position[other] for other in self.probabilities[name].parents) for name in self.variables)


@dataclass
class _Meaning:
    """What the words of a file stand for, if its properties say so: names, and levels, by word."""

    names: dict[str, str] = field(default_factory=dict)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_blocks(text: str, source: str) -> BlocksOfText:
    """Read every block of a text; check that each variable has one and that each parent is a variable.

    Parameters
    ----------
    text : str
        The BIF text.
    source : str
        The name of the text in errors.
    """
    scanner = Scanner(text, source)
    variables: dict[str, tuple[str, ...]] = {}
    blocks: dict[str, Block] = {}
    meaning = _Meaning()
    while (keyword := scanner.next()) is not None:
        if keyword == "network":
            _parse_network(scanner)
        elif keyword == "variable":
            _parse_variable(scanner, variables, meaning)
        elif keyword == "probability":
            _parse_probability(scanner, blocks)
        else:
            scanner.fail(f"expected a network, variable or probability block but got {keyword!r}")
    if not variables:
        raise InputError(f"{source}: expected variable blocks but got none; is this a BIF file?")
    _check_families(source, variables, blocks)
    return _with_true_names(BlocksOfText(source, variables, blocks), meaning)


def _with_true_names(read: BlocksOfText, meaning: _Meaning) -> BlocksOfText:
    """Return the blocks with every word replaced by what it stands for; unchanged if that would be ambiguous."""
    names = {word: meaning.names.get(word, word) for word in read.variables}
    levels = {word: meaning.levels.get(word, own) for word, own in read.variables.items()}
    fits = all(len(set(levels[word])) == len(own) for word, own in read.variables.items())
    if not fits or len(set(names.values())) < len(names):
        return read
    true = {word: dict(zip(own, levels[word], strict=True)) for word, own in read.variables.items()}
    blocks = {}
    for word, block in read.probabilities.items():
        rows = [
            (
                line,
                key
                if isinstance(key, str) or len(key) != len(block.parents)
                else tuple(true[own].get(level, level) for own, level in zip(block.parents, key, strict=True)),
                numbers,
            )
            for line, key, numbers in block.rows
        ]
        blocks[names[word]] = Block(block.line, [names[own] for own in block.parents], rows)
    return BlocksOfText(read.source, {names[word]: levels[word] for word in read.variables}, blocks)


def _check_families(source: str, variables: dict[str, tuple[str, ...]], blocks: dict[str, Block]) -> None:
    """Raise unless every variable has a probability block over distinct, existing variables."""
    if missing := [name for name in variables if name not in blocks]:
        raise InputError(
            f"{source}: expected a probability block for every variable but got none for {quoted(missing)}"
        )
    for name, block in blocks.items():
        for other in (name, *block.parents):
            if other not in variables:
                raise InputError(f"{source}, line {block.line}: variable {other!r} has no variable block; add it")
        if len({name, *block.parents}) <= len(block.parents):
            raise InputError(f"{source}, line {block.line}: expected different variables but got {name!r} twice")


def _parse_network(scanner: Scanner) -> None:
    while not scanner.is_mark(token := scanner.next(), "{"):
        if token is None:
            scanner.fail("expected '{' after the name of the network but got the end of the file")
    while not scanner.is_mark(token := scanner.next(), "}"):
        if token != "property":
            scanner.fail(f"expected a property or '}}' in the network block but got {shown(token)}")
        scanner.read_property()


def _parse_variable(scanner: Scanner, variables: dict[str, tuple[str, ...]], meaning: _Meaning) -> None:
    name = scanner.next()
    if name is None or scanner.is_mark(name, "{}()[]|,;"):
        scanner.fail(f"expected the name of a variable but got {shown(name)}")
    if name in variables:
        scanner.fail(f"expected each variable once but got {name!r} again; remove one of the blocks")
    scanner.expect("{")
    while not scanner.is_mark(token := scanner.next(), "}"):
        if token == "property":
            true_name, true_levels = read_property(scanner.read_property())
            if true_name is not None:
                meaning.names[name] = true_name
            if true_levels is not None:
                meaning.levels[name] = true_levels
        elif token == "type" and name not in variables:
            variables[name] = _parse_levels(scanner, name)
        else:
            scanner.fail(f"expected one type, properties or '}}' for {name!r} but got {shown(token)}")
    if name not in variables:
        scanner.fail(f"expected 'type discrete [ k ] {{ levels }};' for {name!r} but got no type")


def _parse_levels(scanner: Scanner, name: str) -> tuple[str, ...]:
    kind = scanner.next()
    if kind != "discrete":
        scanner.fail(f"expected {name!r} to be discrete but got {shown(kind)}; only discrete networks are read")
    scanner.expect("[")
    count = scanner.next()
    scanner.expect("]")
    scanner.expect("{")
    levels = scanner.names("}")
    if count != str(len(levels)):
        scanner.fail(
            f"expected {count} levels for {name!r} but got {len(levels)}: {quoted(levels)};"
            " put levels with spaces or marks in quotes"
        )
    if not levels or len(set(levels)) < len(levels):
        scanner.fail(f"expected different levels for {name!r} but got {quoted(levels) or 'none'}; rename")
    scanner.expect(";")
    return tuple(levels)


def _parse_probability(scanner: Scanner, blocks: dict[str, Block]) -> None:
    scanner.expect("(")
    line = scanner.line
    names = scanner.names(")")
    if not names or names[0] in blocks:
        scanner.fail(f"expected the name of a new variable but got {quoted(names[:1]) or 'none'}")
    block = blocks[names[0]] = Block(line, names[1:])
    scanner.expect("{")
    while not scanner.is_mark(token := scanner.next(), "}"):
        line = scanner.line
        if token == "property":
            scanner.read_property()
        elif scanner.is_mark(token, "("):
            labels = tuple(scanner.names(")"))
            block.rows.append((line, labels, _parse_numbers(scanner)))
        elif token in ("table", "default"):
            block.rows.append((line, token, _parse_numbers(scanner)))
        else:
            scanner.fail(f"expected '(levels)', table, default or '}}' but got {shown(token)}")


def _parse_numbers(scanner: Scanner) -> list[float]:
    numbers = []
    for token in scanner.names(";"):
        try:
            number = float(token)
        except ValueError:
            scanner.fail(f"expected a probability but got {token!r}")
        if not 0 <= number <= 1:
            scanner.fail(f"expected a probability in [0, 1] but got {token}")
        numbers.append(number)
    return numbers
