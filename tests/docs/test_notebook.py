"""The page on notebooks is run in a kernel, as in Jupyter: without ipywidgets, cell by cell, with what each cell shows."""

import base64
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "work-in-a-notebook.md"
FURTHER = ("plan", "release.plot()", "print(release)", "curator.ledger.reader.statement('adults-2024')")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, str]]:
    """What the cells show, by their last line and type of content."""
    folder = tmp_path_factory.mktemp("notebook")
    cells = [*re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL), *FURTHER]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / name.lower()))
        place = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    return {cell.source.strip().splitlines()[-1]: _contents(cell.outputs) for cell in notebook.cells}


def _contents(outputs: list[Mapping[str, Any]]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for output in outputs:
        found |= {output["name"]: output["text"]} if output["output_type"] == "stream" else output["data"]
    return found


def test_no_widgets_are_installed_where_the_page_is_run() -> None:
    assert importlib.util.find_spec("ipywidgets") is None


def test_plan_release_and_statement_are_tables_in_a_notebook(shown: Mapping[str, Mapping[str, str]]) -> None:
    for cell in ("plan", "release", FURTHER[-1]):
        assert "<table>" in shown[cell]["text/html"] and shown[cell]["text/plain"].startswith("<")
    assert "± 6" in shown["plan"]["text/html"] and "± 6" in shown["release"]["text/html"]
    assert 'class="dataframe"' in shown['release.margin("region").to_frame()']["text/html"]


def test_a_picture_that_was_written_to_a_file_does_not_hide_the_next_one(
    shown: Mapping[str, Mapping[str, str]],
) -> None:
    assert shown['_ = release.plot("smokers.png")'] == {}
    assert base64.b64decode(shown["release.plot()"]["image/png"]).startswith(b"\x89PNG")


def test_a_refusal_is_printed_with_its_code(shown: Mapping[str, Mapping[str, str]]) -> None:
    assert shown["    print(refusal.code, curator.left)"]["stdout"].startswith("budget_exhausted rho 1.82")
