"""Knowledge survives a way through files, and Tetrad's files are read."""

from pathlib import Path

import pytest

from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints

SHARED = Path(__file__).parents[3] / "shared" / "bench" / "tables" / "auto-mpg.knowledge.txt"


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("limits", [None, 3, {"a b": 2, "d": 1}])
def test_knowledge_survives_a_file(tmp_path, suffix: str, limits) -> None:
    """What is written is read again."""
    known = Constraints(
        required=[("a b", "d")],
        forbidden=[("d", "c"), ("c", "d")],
        tiers=[["a b"], ["c", "d"]],
        max_parents=limits,
        superstructure=[("a b", "d"), ("c", "a b")],
        before=[("a b", "c")],
        edge_prior=[("c", "d", 0.8), ('"e"', "d", 0.25)],
    )
    known.write(tmp_path / f"known{suffix}")
    again = Constraints.read(tmp_path / f"known{suffix}")
    assert again.to_dict() == known.to_dict()
    assert again.before == known.before
    assert [one.log_odds for one in again.edge_prior] == pytest.approx([one.log_odds for one in known.edge_prior])


def test_tetrad_knowledge_is_read(tmp_path) -> None:
    """Tiers, forbidden and required edges; a star forbids edges inside a tier."""
    text = "/knowledge\naddtemporal\n\n1* x y\n2 z\n\nforbiddirect\n\nz w\n\nrequiredirect\nx z\n"
    (tmp_path / "k.txt").write_text(text)
    known = Constraints.read(tmp_path / "k.txt")
    assert known.tiers == (("x", "y"), ("z",))
    assert known.required == (("x", "z"),)
    assert set(known.forbidden) == {("x", "y"), ("y", "x"), ("z", "w")}
    (tmp_path / "bad.txt").write_text("/knowledge\nforbiddirect\nz\n")
    with pytest.raises(InputError, match="line 3"):
        Constraints.read(tmp_path / "bad.txt")


@pytest.mark.skipif(not SHARED.exists(), reason="needs the reference data")
def test_a_file_of_tetrad_is_read() -> None:
    """The published file has five tiers."""
    assert [len(tier) for tier in Constraints.read(SHARED).tiers] == [3, 1, 1, 1, 2]
