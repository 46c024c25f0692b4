"""The frequency-table paper: every printed number is met, or the reason is known."""

from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from dalenius_lab.reproductions.items import items, plots, run
from dalenius_lab.verbs.reproduce import reproduce


def verdicts(item: str) -> dict[str, str]:
    return {row.name: row.verdict for row in run(item)}


def test_table_2_has_120_entries_and_all_agree() -> None:
    rows = run("ft.table2")
    assert len(rows) == 120
    assert {row.verdict for row in rows} <= {"equal", "rounding"}
    first = next(r for r in rows if r.name == "laplace eps=1.5 m=7 a=0 within=1")
    assert first.paper == 0.96
    assert first.ours == pytest.approx(0.9593, abs=1e-3)


def test_deltas_agree_and_corrections_are_named() -> None:
    rows = {row.name: row for row in run("ft.deltas")}
    printed = [r for name, r in rows.items() if name.startswith("delta") and "(" in name and "could" not in name]
    assert len(printed) == 14
    assert {r.verdict for r in printed} == {"rounding"}
    assert rows["delta laplace eps=1 m=10 (5.1)"].ours == pytest.approx(2.098060e-5, rel=1e-6)
    assert rows["delta of truncated laplace could be much smaller (4.11)"].ours is False
    assert rows["expected |b - a| untruncated laplace eps=1"].corrected == pytest.approx(0.850918128)
    assert rows["delta laplace eps=1 m=10 d=7 overlapping cells"].corrected == pytest.approx(0.14408, abs=1e-5)
    assert [name for name, r in rows.items() if r.verdict == "differs"] == [
        "normal m with the delta of laplace m=7, eps=3"
    ]


def test_section_7_deviations() -> None:
    rows = {row.name: row for row in run("ft.section7")}
    assert rows["sd 2-way margin from the interior, t=4 C=10"].ours == pytest.approx(14.1421, abs=1e-3)
    assert rows["sd 2-way margin, only 2-way margins perturbed"].ours == pytest.approx(8.4853, abs=1e-3)
    assert rows["sd any cell, everything perturbed"].ours == pytest.approx(21.2132, abs=1e-3)
    assert "differs" not in verdicts("ft.section7").values()


@pytest.mark.statistical
@pytest.mark.parametrize("item", ["ft.figure1", "ft.figure2", "ft.figure3"])
def test_claims_of_the_figures(item: str) -> None:
    """Fixed seeds; every claim of the text holds, or lies within Monte-Carlo error."""
    assert "differs" not in verdicts(item).values()


def test_command_line(tmp_path: Path) -> None:
    import json

    app = Typer()
    app.command()(reproduce)
    runner = CliRunner()
    result = runner.invoke(app, ["ft.section7", "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["item"] == "ft.section7"
    assert set(document["rows"][0]) == {"name", "paper", "ours", "corrected", "verdict", "z"}
    assert "ft.table2" in runner.invoke(app, ["--list"]).stdout
    drawn = runner.invoke(app, ["ft.figure2", "--plot", str(tmp_path)])
    assert drawn.exit_code == 0
    assert (tmp_path / "ft.figure2.png").stat().st_size > 10_000
    assert runner.invoke(app, ["ft.table9"]).exit_code != 0


def test_items_are_found() -> None:
    assert {"ft.table2", "ft.deltas", "ft.section7", "ft.figure1", "ft.figure2", "ft.figure3"} <= set(items())
    assert {"ft.figure1", "ft.figure2", "ft.figure3"} <= set(plots())
