"""`dalenius perturbation`: tables are shown, exchanged and judged without data."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.errors import NotAllowed

REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["sex"]
[privacy]
definition = "approximate"
epsilon = 1.5
delta = 1e-4
mechanism = "truncated_normal"
[privacy.noise]
limit = 12
epsilon = 1.5
"""
DATASET = """
[dataset]
name = "few"
population = "few"
source = "few.csv"
public = true
[variables.sex]
categories = ["f", "m"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "request.toml").write_text(REQUEST)
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "few.csv").write_text("sex\nf\nm\nf\n")
    return tmp_path


def run(*words: str) -> str:
    outcome = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def test_the_noise_of_a_request_is_shown_as_a_table(folder: Path) -> None:
    lines = run("perturbation", "show", "request.toml", "--largest", "2").splitlines()
    assert len(lines) == 5 and max(map(len, lines)) <= 80
    assert " 0.1382 " in lines[1]
    assert "more outputs" in lines[-1]
    run("perturbation", "show", "request.toml", "--draw", "p.png")
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(run("perturbation", "show", "request.toml", "--json"))["name"] == "truncated_normal"


def test_what_is_exported_is_imported_and_released(folder: Path) -> None:
    run("perturbation", "export", "request.toml", "-o", "ptable.csv", "--largest", "20")
    part = run("perturbation", "import", "ptable.csv", "--epsilon", "1.5", "--delta", "1e-4")
    assert "2.44457e-05" in part
    (folder / "imported.toml").write_text(f'dataset = "dataset.toml"\n[table]\nrows = ["sex"]\n{part}')
    (folder / "policy.toml").write_text('[budget]\nrho = 1\ndelta = "1e-3"\n')
    planned = json.loads(run("plan", "imported.toml", "--json"))
    assert planned["mechanism"] == "perturbation_table"
    assert float(planned["cost"]["rho"]) == pytest.approx(0.060059, rel=1e-4)
    run("register", "dataset.toml", "--policy", "policy.toml")
    run("release", "imported.toml", "-o", "out")
    found = json.loads(run("perturbation", "audit", "out", "--json"))
    assert found["rows"] == 21
    shown = run("infer", "interval", "out", "--json")
    assert "equal tails of the kernel" in shown


def test_an_audit_says_the_exact_numbers(folder: Path) -> None:
    found = json.loads(run("perturbation", "audit", "request.toml", "--epsilon", "1.5", "--moves", "2", "--json"))
    first, second = found["moves"]
    # The paper's law: (2 m - 1) epsilon / (2 m + 1), and the mass at the end.
    assert first["largest_finite_loss"] == pytest.approx(1.5 * 23 / 25)
    assert first["impossible"] == pytest.approx(2.4445686e-05)
    assert second["largest_finite_loss"] == pytest.approx(1.5 * 44 / 25)
    assert "with probability 2.445e-05 a count of 0" in run("perturbation", "audit", "request.toml")


def test_a_table_that_gives_more_away_is_not_imported(folder: Path) -> None:
    run("perturbation", "export", "request.toml", "-o", "ptable.csv")
    with pytest.raises(NotAllowed, match="never shows"):
        run("perturbation", "import", "ptable.csv", "--epsilon", "1.5", "--delta", "1e-5")


def test_a_censored_law_and_untruncated_noise_have_a_table(folder: Path) -> None:
    (folder / "request.toml").write_text(
        REQUEST.split("[privacy]", maxsplit=1)[0] + '[privacy]\ndefinition = "pure"\nepsilon = 1\n'
    )
    text = (folder / "dataset.toml").read_text()
    (folder / "policy.toml").write_text("[table]\nthreshold = 3\n")
    (folder / "dataset.toml").write_text(
        text.replace('source = "few.csv"', 'source = "few.csv"\npolicy = "policy.toml"')
    )
    rows = run("perturbation", "export", "request.toml", "--largest", "4").splitlines()[1:]
    assert {int(row.split(",")[1]) for row in rows}.isdisjoint({-1, 1, 2})


def test_the_classical_design_is_written_and_refused(folder: Path) -> None:
    run("perturbation", "design", "--limit", "5", "--variance", "3", "-o", "classical.csv")
    assert run("perturbation", "design", "--limit", "5", "--variance", "3") == (folder / "classical.csv").read_text()
    lines = [line.split(",") for line in (folder / "classical.csv").read_text().splitlines()[1:]]
    rows = {a: {int(b): float(p) for i, b, p, *_ in lines if int(i) == a} for a in range(6)}
    assert rows[0] == {0: 1.0}
    for a in (1, 5):
        assert sum((b - a) * p for b, p in rows[a].items()) == pytest.approx(0, abs=1e-6)
    assert sum((b - 5) ** 2 * p for b, p in rows[5].items()) == pytest.approx(3, rel=1e-6)
    with pytest.raises(NotAllowed, match="never shows"):
        run("perturbation", "import", "classical.csv", "--epsilon", "1", "--delta", "1e-3")
