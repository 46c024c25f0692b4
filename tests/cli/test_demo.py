"""The first command of the README, from beginning to end."""

import json
from pathlib import Path

from typer.testing import CliRunner

from dalenius.cli.main import app


def run(folder: Path, *more: str) -> str:
    done = CliRunner().invoke(app, ["demo", "-o", str(folder), *more], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_demo_releases_and_says_how_far_off_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    text = run(folder)
    assert "22 cells with noise" in " ".join(text.split())
    assert (folder / "release" / "table.html").is_file()
    # The second time the stored release answers, so the numbers are the same.
    report = json.loads(run(folder, "--json"))
    assert report["cells"] == 22
    assert 0 <= report["mean_absolute_error"] <= report["largest_error"]
    assert f"{report['mean_absolute_error']:.2f}" in text
    assert 0 <= report["covered"] <= 1
