"""The paper's figures as they are kept, number by number against the paper's own text."""

import re
import tomllib
from decimal import Decimal
from importlib.resources import files

import pytest

from experiments.design import designs
from experiments.published import published

KEPT = tomllib.loads((files("experiments") / "published.toml").read_text("utf-8"), parse_float=Decimal)
TABLES = [f"table{k}" for k in range(1, 11)]
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def paper(shared):
    """Return the text of the paper."""
    return (shared / "paper" / "cg-dca.tex").read_text()


def rows_of(paper: str, label: str) -> dict[str, list[str]]:
    """Return the numbers of a table's rows as they are printed, by the cell that a row begins with."""
    start = paper.index(rf"\label{{{label}}}")
    body = paper[start : paper.index(r"\end{tabular}", start)]
    body = re.sub(r"\\phantom\{0*\}", "", body)
    body = re.sub(r"\\textbf\{([^{}]*)\}", r"\1", body)
    rows = {}
    for line in body.split(r"\\"):
        simulated = re.search(r"\(\s*(\d\d),\s*(\d{4,5}),\s*(\d\.\d)\)\s*&(.*)", line, re.DOTALL)
        named = re.search(r"(LUCAS|INSURANCE|ALARM)\s*&(.*)", line, re.DOTALL)
        if simulated:
            n, samples, degree, rest = simulated.groups()
            rows[f"n{n}-N{samples}-d{degree}"] = NUMBER.findall(rest)
        elif named:
            rows[named[1].lower()] = NUMBER.findall(named[2])
    return rows


@pytest.mark.parametrize("name", TABLES)
def test_every_number_of_a_table_is_the_papers(paper, name):
    """No number is lacking, none is added, and each has the digits that are printed."""
    kept = {cell: [str(value) for value in row] for cell, row in KEPT[name]["rows"].items()}
    assert kept == rows_of(paper, KEPT[name]["label"])


def test_the_numbers_of_section_5_1_are_the_papers(paper):
    """Seconds on the Gaussian test set, and of the first pricing, as the sentences have them."""
    start = paper.index(rf"\label{{{KEPT['section51']['label']}}}")
    text = paper[start : paper.index(r"\subsection", start)]
    kept = published()["section51"]
    for sentence, cell, figure, method in (
        (
            r"CG-DCA successfully learns the exact ground truth structure in \$(.+?)\$ s",
            "gaussian_test",
            "seconds",
            "CG-DCA",
        ),
        (r"CG-MINLP requires \$(.+?)\$ s", "gaussian_test", "seconds", "CG-MINLP"),
        (r"using MINLP takes an average of \$(.+?)\$ s", "n20-N5000-d1.0", "first_pricing", "CG-MINLP"),
        (r"DCA method takes \$(.+?)\$ second per node", "n20-N5000-d1.0", "first_pricing", "CG-DCA"),
    ):
        assert str(kept.get(cell, figure, method)) == re.search(sentence, text)[1]
    assert len(kept.values) == 4


def test_tables_of_the_paper_agree_with_each_other():
    """Table 2 is a part of table 6, table 3 of table 8, and table 1 has the times of the hybrid start."""
    tables = published()
    for part, whole in (("table2", "table6"), ("table3", "table8")):
        assert tables[part].values.items() <= tables[whole].values.items()
    for (cell, figure, method, statistic), value in tables["table1"].values.items():
        if (figure, method, statistic) == ("seconds", "CG-DCA", "mean"):
            assert value == tables["table5"].get(cell, "seconds", "hybrid")
        low, high = (tables["table1"].get(cell, figure, method, end).value for end in ("min", "max"))
        assert low <= value.value <= high


def test_every_table_has_a_design_whose_columns_it_has():
    """Cells and the paper's methods of a design are those of the published table, with none left out."""
    for name in (*TABLES, "section51"):
        design, table = designs()[name], published()[name]
        assert {cell.name for cell in design.cells} == {key[0] for key in table.values}
        for figure in {key[1] for key in table.values}:
            assert {entry.paper for entry in design.entries if entry.paper} == set(table.methods(figure))
        assert {key[1] for key in table.values} <= {panel.figure for panel in design.panels}
