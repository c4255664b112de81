"""Tables, headline and pictures from made records, against means taken by hand."""

import re

import pytest

from dagopt.data.table import as_table
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.methods.auto import choose
from dagopt.methods.exact.plan import estimate_exact
from dagopt.networks.simulate import simulate
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from experiments.design import designs
from experiments.figures import Results, below_best, gap, ratio_text, seconds_text
from experiments.headline import headline
from experiments.layout import as_latex, as_markdown, as_values, with_runs
from experiments.page import make_page
from experiments.plots import plot_cells, plot_profiles, shares_within, write_plots
from experiments.published import published
from experiments.records import Record, Run
from experiments.store import bundled_records
from experiments.tables import make_table

CELL = "n15-N5000-d1.0"
LABEL = "(15, 5000, 1.0)"


def made(seed, method, *, cell=CELL, options=None, status="converged", score=-1000.0, true=-1000.0, **figures):
    """Return a record."""
    return Record.of(
        Run(cell, seed, method, options or {}, 600.0), status=status, score=score, true_score=true, **figures
    )


@pytest.fixture
def records():
    """Return a few runs on one cell: two of cg-dca-paper, three of exact, one of which failed."""
    return [
        made(0, "cg-dca-paper", score=-1001.0, seconds=4.0, shd=3, precision=0.5, recall=0.5, date="2025-01-02"),
        made(1, "cg-dca-paper", score=-999.0, seconds=60.0, shd=6, precision=0.7, recall=0.9, machine="2 cores"),
        made(0, "exact", score=-998.0, seconds=0.1, shd=1, precision=1.0, recall=1.0, status="optimal"),
        made(1, "exact", score=-999.0, seconds=0.3, shd=2, precision=0.8, recall=1.0, status="optimal"),
        Record.without_answer(Run(CELL, 2, "exact", {}, 600.0), "failed", "x"),
    ]


def values(table, part=0):
    """Return the numbers of a part of a table by row and heading."""
    shown = as_values(table)["parts"][part]
    return {label: dict(zip(shown["columns"], row, strict=True)) for label, row in shown["rows"].items()}


def test_a_row_has_the_papers_figure_ours_and_the_ratio(records):
    """Mean gaps are floored at 0 run by run; the paper's row of the cell is (0.03, 25.76) for CG-DCA."""
    table = make_table(designs()["table1"], Results(records))
    row = values(table)[LABEL]
    assert row["CG-DCA paper"] == 0.03
    assert row["CG-DCA cg-dca-paper"] == pytest.approx((0.1 + 0.0) / 2)
    assert row["CG-DCA ratio"] == pytest.approx(0.05 / 0.03)
    assert row["exact"] == 0.0
    assert (row["GOBNILP gobnilp"], row["GOBNILP ratio"]) == ("not run", "no ratio")
    assert row["runs"] == 2
    assert "order" not in row
    times = values(table, 1)
    assert times[LABEL]["CG-DCA ratio"] == pytest.approx(32 / 25.76)
    assert times["mean of the cells run"]["CG-DCA paper"] == 25.76
    assert values(table, 2)[LABEL] == {"runs": 2, "cg-dca-paper": 0.0, "exact": 100.0}
    spread = values(table, 3)[LABEL]
    assert (spread["least"], spread["median"], spread["largest"]) == pytest.approx((0.0, 0.05, 0.1))
    assert spread["runs as good as the paper's mean"] == 1
    ends = values(table, 4)[LABEL]
    assert (ends["CG-DCA paper"], ends["CG-DCA cg-dca-paper"]) == ("0.00, 0.24", "0.000, 0.100")


def test_the_notes_count_the_optima_over_the_same_parent_sets(records):
    """Of two runs of gobnilp one has the score that exact proves over three parents; a run without is not counted."""
    exact = [made(seed, "exact", options={"max_parents": 3}, status="optimal", score=-1002.0) for seed in (0, 1)]
    found = [made(seed, "gobnilp", score=score) for seed, score in ((0, -1002.0), (1, -1002.5), (2, -1002.0))]
    notes = make_table(designs()["table1"], Results([*records, *exact, *found])).notes
    assert any("proven by exact, three parents, in 1 of 2 runs" in note for note in notes)


def test_a_figure_that_is_worse_is_marked(records):
    """To the paper's digits: 0.05 is worse than 0.03, an equal or better one is not marked."""
    text = as_markdown(make_table(designs()["table1"], Results(records)))
    rows = [line for line in text.splitlines() if line.startswith(f"| {LABEL}")]
    assert r"| 0.03 | 0.050\* | 1.7 |" in rows[0]
    close = [made(0, "cg-dca-paper", score=-1000.34, seconds=4.0), *records[2:]]
    assert "0.034 | 1.1" in as_markdown(make_table(designs()["table1"], Results(close)))


def test_what_was_not_run_is_said(records):
    """Runs made, of how many, and how they ended stand below a table."""
    limited = made(2, "cg-dca-paper", status="time_limit", seconds=600.0)
    notes = make_table(designs()["table1"], Results([*records, limited])).notes
    assert "cg-dca-paper: 3 of 240 runs, 1 stopped by the time limit (600 s)." in notes
    assert "gobnilp: 0 of 240 runs." in notes
    assert "exact: 3 of 240 runs, 1 without an answer." in notes
    empty = make_table(designs()["table3"], Results([]))
    assert any("pc: 0 of 3 runs" in note for note in empty.notes)


def unanswered(seed, method, status, error, cell=CELL):
    """Return a record without an answer."""
    return Record.without_answer(Run(cell, seed, method, {}, 600.0), status, error)


@pytest.mark.parametrize(
    ("status", "error", "shown", "meant"),
    [
        ("failed", "MemoryError: 9 GiB", "over memory", "over memory: the process ended for want of memory."),
        ("killed", "ended by signal 9, perhaps for want of memory", "over memory", "over memory: the process ended"),
        ("killed", "ended 900 s after its start, the limit being 600 s", "stopped after 600 s", "stopped after: the"),
        ("failed", "ValueError: no", "failed", "failed: the method raised an error."),
    ],
)
def test_a_cell_without_an_answer_has_its_reason(records, status, error, shown, meant):
    """The reason stands in the cell, what it means below the table; a reason that does not occur is not explained."""
    table = make_table(designs()["table1"], Results([*records, unanswered(0, "gobnilp", status, error)]))
    assert values(table)[LABEL]["GOBNILP gobnilp"] == shown
    assert any(note.startswith(meant) for note in table.notes)
    assert not any(note.startswith("no figure") for note in table.notes)


def test_a_run_without_a_score_is_not_called_not_run(records):
    """A graph of pc may have no DAG: no gap, but seconds."""
    table = make_table(designs()["table1"], Results([*records, made(0, "pc", score=None, seconds=0.5)]))
    assert values(table, 1)[LABEL]["pc"] == 0.5
    assert (
        values(make_table(designs()["table9"], Results([made(0, "pc", seconds=None)])))[LABEL]["PC pc"] == "no figure"
    )


def test_figures_of_stopped_runs_are_marked(records):
    """A time limit makes seconds less and gaps larger than they could be, which the cell and a note say."""
    stopped = made(0, "gobnilp", status="time_limit", seconds=600.0)
    text = as_markdown(make_table(designs()["table1"], Results([*records, stopped])))
    assert "| 600† " in text.replace(r"\*", "")
    assert "- †: some of the runs" in text
    assert "†" not in as_markdown(make_table(designs()["table1"], Results(records)))


@pytest.mark.parametrize("results", [Results([]), Results(bundled_records())], ids=["no runs", "bundled"])
@pytest.mark.parametrize("name", list(designs()))
def test_no_cell_is_empty(name, results):
    """Every cell of every table has a figure, a word or a reason."""
    for grid in make_table(designs()[name], results).grids:
        for row in grid.rows:
            assert len(row.boxes) == len(grid.headings)
            assert all(box.text.strip(" -") for box in row.boxes), (grid.title, row)


def test_a_figure_has_no_words_beside_it():
    """A cell has a number, perhaps with marks, or a reason; not both."""
    for design in designs().values():
        for grid in make_table(design, Results(bundled_records())).grids:
            texts = [box.text for row in grid.rows for box in row.boxes]
            assert not [text for text in texts if re.match(r"[-+]?[0-9.]+[a-z]", text.replace("e-", ""))]


def test_the_terminal_leaves_out_rows_without_runs(records):
    """Of 24 cells one has runs; the mean of it stays, the others are counted in a note. Without runs nothing goes."""
    whole = make_table(designs()["table1"], Results(records))
    shown = with_runs(whole)
    assert [row.label for row in shown.grids[0].rows] == [LABEL, "mean of the cells run"]
    assert len(whole.grids[0].rows) == 25
    assert any(note.startswith("23 rows have no runs") for note in shown.notes)
    empty = make_table(designs()["headline"], Results([]))
    assert with_runs(empty) == empty


def test_methods_that_were_not_run_are_named():
    """A column that is left out is named below the table."""
    notes = make_table(designs()["peers"], Results([made(0, "exact", cell="n15-N5000-d0.5", seconds=1.0)])).notes
    assert any(
        note.startswith("Not shown, because no run has been recorded: order, causal-learn-boss") for note in notes
    )


def test_every_published_number_is_shown():
    """Without a single run each table still has all of the paper's figures, as they are printed."""
    for name, source in published().items():
        text = as_markdown(make_table(designs()[name], Results([])))
        shown = re.findall(r"-?\d+(?:\.\d+)?", text)
        for given in source.values.values():
            assert str(given) in shown, (name, given)


def test_strategies_are_compared_over_the_seeds_that_all_have():
    """Ours are means over common seeds; the paper's are its three scores against their best."""
    options = {entry.options["init"]: entry.options for entry in designs()["table4"].entries}
    records = [
        made(seed, "cg-dca", options=options[init], score=score)
        for init, scores in (("hybrid", (-100.0, -102.0)), ("random", (-101.0, -101.5)), ("warm", (-104.0,)))
        for seed, score in enumerate(scores)
    ]
    row = values(make_table(designs()["table4"], Results(records)), 1)[LABEL]
    assert [row[f"{init} ours"] for init in ("hybrid", "random", "warm")] == pytest.approx([0.0, 1.0, 4.0])
    paper = [-101954.63, -101939.75, -101975.70]
    assert [row[f"{init} paper"] for init in ("hybrid", "random", "warm")] == pytest.approx(below_best(paper))


def test_entries_of_one_label_share_a_column():
    """Exact on LUCAS is over all parent sets, on INSURANCE over small ones, in the same column."""
    records = [
        made(None, "exact", cell="lucas", shd=0),
        made(None, "exact", cell="insurance", options={"max_parents": 3}, shd=9),
        made(None, "exact", cell="alarm", shd=1),
    ]
    shd = values(make_table(designs()["table3"], Results(records)), 2)
    assert (shd["LUCAS"]["exact"], shd["INSURANCE"]["exact"], shd["ALARM"]["exact"]) == (0, 9, "too many columns")


# --- headline -------------------------------------------------------------------------------------------------


def test_the_headline_is_our_default_beside_the_best_of_the_paper(records):
    """Signed and floored gap, SHD against the least of five, seconds; each cell where ours is above is named."""
    (row,) = [row for row in headline(designs()["headline"], Results(records)) if row.n_runs]
    assert row.cell.label == LABEL
    assert row.gap == pytest.approx(-0.15)
    assert (row.floored_gap, row.shd, row.seconds) == (0.0, 1.5, pytest.approx(0.2))
    assert (row.best_gap.value, row.best_shd.value, row.best_method) == (0.03, 4.80, "PC")
    assert row.paper_seconds.value == 25.76
    assert row.above == ()
    worse = [made(0, "exact", score=-1000.4, seconds=26.0, shd=5)]
    (row,) = [row for row in headline(designs()["headline"], Results(worse)) if row.n_runs]
    assert row.above == ("gap", "shd", "seconds")
    table = make_table(designs()["headline"], Results(worse))
    assert f"Cells where ours is above in shd: {LABEL}." in table.notes


def test_the_best_of_the_paper_is_the_least_by_brute_force():
    """In every cell, over the five methods of table 6."""
    values = published()["table6"].values
    for row in headline(designs()["headline"], Results([])):
        least = min(given.value for key, given in values.items() if key[:2] == (row.cell.name, "shd"))
        assert row.best_shd.value == least
        assert (row.n_runs, row.gap, row.above) == (0, None, ())


# --- how it is written ----------------------------------------------------------------------------------------


def test_markdown_and_latex_have_the_same_boxes(records):
    """Every row of a part is in both, box by box, and LaTeX's columns add up."""
    for name in ("table1", "table6", "headline", "section51"):
        table = make_table(designs()[name], Results(records))
        markdown, latex = as_markdown(table), as_latex(table)
        rows = [row for grid in table.grids for row in grid.rows]
        plain = latex.replace("$^{*}$", "*").replace(r"\_", "_").replace(r"\%", "%")
        for row in rows:
            boxes = [row.label, *(box.text for box in row.boxes)]
            assert "| " + " | ".join(boxes).replace("*", r"\*") + " |" in markdown
            assert " & ".join(boxes) + r" \\" in plain
        assert latex.count(r"\begin{table}") == latex.count(r"\end{tabular}") == len(table.grids)
        for grid, body in zip(table.grids, re.findall(r"\\toprule(.*?)\\bottomrule", latex, re.DOTALL), strict=True):
            widths = [int(found) for found in re.findall(r"\\multicolumn\{(\d+)\}", body)]
            assert sum(widths) in (0, len(grid.headings))


def test_a_page_says_with_what_when_and_how_it_was_made(records, tmp_path):
    """Command, dates, machines, every table, and pictures by their place beside the page."""
    results = Results(records)
    tables = [make_table(design, results) for design in designs().values()]
    picture = tmp_path / "images" / "profiles.png"
    page = make_page(tables, results, "python -m experiments show all", [picture], tmp_path)
    assert page.startswith("# ")
    for expected in ("`python -m experiments show all`", "2025-01-02", "- 2 cores (1 run)", "(images/profiles.png)"):
        assert expected in page
    for design in designs().values():
        assert f"## {design.place}: {design.title}" in page


def test_numbers_are_written_to_be_read():
    """Seconds and ratios over many sizes keep two digits or more and are read back to within 5 %."""
    for exponent in range(-3, 5):
        for factor in (1.0, 2.46, 9.87):
            number = factor * 10.0**exponent
            assert float(ratio_text(number)) == pytest.approx(number, rel=0.05)
            if number > 0.01:
                assert float(seconds_text(number)) == pytest.approx(number, rel=0.05)


# --- pictures -------------------------------------------------------------------------------------------------


def test_steps_of_a_profile_are_counts(rng):
    """At each step the share is the number of values up to it."""
    values = rng.integers(1, 6, 30).astype(float)
    places, shares = shares_within(values, 40)
    assert places == sorted(set(values))
    assert shares == pytest.approx([sum(value <= place for value in values) / 40 for place in places])


def test_pictures_are_drawn(records, tmp_path):
    """Lines are the means of the cells, profiles run to the share that has an answer, and files are written."""
    ended = [record for record in records if record.ended]
    figure = plot_cells(ended)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[2].get_lines()}
    assert lines["cg-dca-paper (1)"] == pytest.approx([32.0])
    assert lines["exact (1)"] == pytest.approx([0.2])
    source = published()["table1"]
    for n, shown in zip((15, 20, 25), lines["paper's CG-DCA"], strict=True):
        own = [
            given.value
            for key, given in source.values.items()
            if key[0].startswith(f"n{n}-") and key[1:] == ("seconds", "CG-DCA", "mean")
        ]
        assert shown == pytest.approx(sum(own) / 8)
    profile = {line.get_label(): line for line in plot_profiles(ended).axes[0].get_lines()}
    assert profile["exact (2)"].get_xdata()[1] == pytest.approx(1.0)
    assert profile["cg-dca-paper (2)"].get_xdata()[1:3] == pytest.approx([40.0, 200.0])
    written = write_plots(Results(records), tmp_path)
    assert [path.read_bytes()[:4] for path in written] == [b"\x89PNG"] * 2
    assert write_plots(Results([]), tmp_path) == []


def test_bundled_results_fill_every_part_they_should():
    """From the records that come with the package the headline has cells, and no gap of exact is above 0.00."""
    rows = [row for row in headline(designs()["headline"], Results(bundled_records())) if row.n_runs]
    assert rows
    assert all(round(row.floored_gap, 2) == 0 for row in rows)
    assert gap(made(0, "exact", score=None)) is None


def test_the_default_method_is_the_one_of_the_headline():
    """On the largest cell, with 8 GB and two cores, auto takes the method that the headline is about."""
    table = as_table(simulate(25, 200, 2.0, 0).data)
    problem = Problem(table, make_score(table, "bic"), Constraints().resolve(table.names))
    workers = Workers(Deadline(), NoProgress(), 2)
    chosen = choose(problem, estimate_exact(problem, 8 * 10**9, 2), workers)
    assert chosen.method == designs()["headline"].entries[0].name
