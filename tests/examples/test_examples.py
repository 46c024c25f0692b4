"""Every script of examples/ runs, and what it shows is what it released."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Run by tests that start a server: tests/engines/test_postgresql.py and test_spark.py.
WITH_SERVERS = ("postgresql_table", "spark_folder")
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.stem not in ("notebook", *WITH_SERVERS))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
KINDS = (
    "plan",
    "release",
    "mean",
    "margins",
    "table",
    "intervals",
    "estimate",
    "test",
    "model",
    "combined",
    "posterior",
    "batch",
    "total",
    "median",
    "quantiles",
    "standard_deviation",
    "proportion",
    "range_count",
    "mode",
)


def run(script: Path, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(script), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_every_example_runs(script: Path, tmp_path: Path) -> None:
    assert run(script, folder=tmp_path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_notebook_runs_and_is_stored_without_output(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat, nbclient = (
        pytest.importorskip("nbformat"),
        pytest.importorskip("nbclient"),
    )  # not with the oldest versions
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 4 and not any(cell.outputs for cell in code)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert code[-1].outputs[0]["data"]["text/html"].count("<table>") == 1


def test_an_example_that_needs_a_server_is_run_by_a_test_that_starts_one() -> None:
    for name in WITH_SERVERS:
        engine = name.partition("_")[0]
        assert f'"{name}"' in (EXAMPLES.parent / f"tests/engines/test_{engine}.py").read_text()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("notebook")
    return run(EXAMPLES / "notebook.py", "out", folder=folder), folder / "out"


def test_the_notebook_shows_and_draws_every_kind_of_result(notebook: tuple[str, Path]) -> None:
    said, folder = notebook
    for kind in (*KINDS, "planned batch", "statement"):
        page = (folder / f"{kind}.html").read_text()
        assert "<table" in page and page.count("<div") == page.count("</div")
    for kind in KINDS[1:]:
        assert (folder / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert "budget_exhausted" in said


def test_what_the_notebook_prints_is_two_lines_a_result(notebook: tuple[str, Path]) -> None:
    said, _ = notebook
    assert len(re.findall(r"^<[^\n]*\n [^\n]*>$", said, re.MULTILINE)) >= len(KINDS) + 1
