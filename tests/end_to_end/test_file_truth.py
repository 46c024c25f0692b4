"""The independent truth of a file, counted by hand."""

from pathlib import Path

from tests.end_to_end.file_truth import FileTruth

LINES = "id,sex,member,pay\n1,f,yes,10\n1,f,no,\n2,m,,99\n3,,yes,26\n,m,yes,5\n"


def test_universe_filter_bounds_and_grid(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(LINES)
    file = FileTruth(path=path, unit="id", labels={"sex": {"f": "female"}}, bounds={"pay": (0, 50)})
    assert file.table("count(*)", {}, "sex") == {("female",): 2, ("m",): 1}
    assert file.table("count(*)", {"member": ["yes"]}, "sex") == {("female",): 1}
    assert file.table("count(*)", {"pay": {"at_least": 20}}) == {(): 2}
    assert file.table(f"sum({file.number('pay')})", {}, "sex") == {("female",): 10, ("m",): 50}
    assert file.values("pay", {}, "sex") == {("female",): [10.0], ("m",): [50.0]}
    assert file.has_missing("member")
    filled = FileTruth(path=path, unit="id", stand_ins={"sex": "m"}, steps={"pay": 20})
    assert filled.table("count(*)", {}, "sex") == {("f",): 2, ("m",): 2}
    assert filled.table(f"sum({filled.number('pay')})", {}) == {(): 0 + 100 + 20}
