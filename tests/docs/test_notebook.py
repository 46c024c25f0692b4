"""The page on notebooks is run in a kernel, as in Jupyter: without ipywidgets, cell by cell, with what each cell shows."""

import base64
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "work-in-a-notebook.md"
SURVEY = ROOT / "docs" / "how-to" / "start-with-a-survey.md"
STATEMENT = "curator.ledger.reader.statement('adults-2024')"
REFUSED = "curator.count(by='regoin', rho=0.05)"
FURTHER = (
    "curator",
    "plan",
    "release.plot()",
    "print(release)",
    "curator.ledger.reader.statement('adults-2024')",
    REFUSED,
)
COMPLETED, INSPECTED = "curator.prop", "curator.mean"
MOST_LINES = 15


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, str]]:
    """What the cells show, by their last line and type of content."""
    folder = tmp_path_factory.mktemp("notebook")
    every = [*blocks_of(PAGE), *FURTHER, *blocks_of(SURVEY)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in every])
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / name.lower()))
        place = {"metadata": {"path": str(folder)}}
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place)
        with client.setup_kernel():
            for number, cell in enumerate(notebook.cells):
                cell.metadata["tags"] = ["raises-exception"] * (cell.source == REFUSED)
                client.execute_cell(cell, number)
            helped = run_sync(_help)(client.kc)
    shown = {cell.source.strip().splitlines()[-1]: _contents(cell.outputs) for cell in notebook.cells}
    return shown | {
        code: {key: str(words) for key, words in reply["content"].items()} for code, reply in helped.items()
    }


async def _help(kernel: Any) -> Mapping[str, Any]:
    """What the kernel proposes and explains while somebody types."""
    return {
        COMPLETED: await kernel.complete(COMPLETED, reply=True, timeout=60),
        INSPECTED: await kernel.inspect(INSPECTED, reply=True, timeout=60),
    }


def _contents(outputs: list[Mapping[str, Any]]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for output in outputs:
        kind = output["output_type"]
        if kind == "error":
            found["error"] = "\n".join(output["traceback"])
        else:
            found |= {output["name"]: output["text"]} if kind == "stream" else output["data"]
    return found


def test_no_widgets_are_installed_where_the_page_is_run() -> None:
    assert importlib.util.find_spec("ipywidgets") is None


def test_plan_release_and_statement_are_tables_in_a_notebook(shown: Mapping[str, Mapping[str, str]]) -> None:
    for cell in ("plan", "release", STATEMENT):
        assert "<table" in shown[cell]["text/html"] and shown[cell]["text/plain"].startswith("<")
    assert "± 6" in shown["plan"]["text/html"] and "± 6" in shown["release"]["text/html"]
    assert 'class="dataframe"' in shown['release.margin("region").to_frame()']["text/html"]


def test_a_picture_that_was_written_to_a_file_does_not_hide_the_next_one(
    shown: Mapping[str, Mapping[str, str]],
) -> None:
    assert shown['_ = release.plot("smokers.png")'] == {}
    assert base64.b64decode(shown["release.plot()"]["image/png"]).startswith(b"\x89PNG")


def test_a_refusal_is_printed_with_its_code(shown: Mapping[str, Mapping[str, str]]) -> None:
    assert shown["    print(refusal.code, curator.left)"]["stdout"].startswith("budget_exhausted rho 1.82")


def test_a_refusal_that_nobody_catches_is_one_sentence(shown: Mapping[str, Mapping[str, str]]) -> None:
    assert shown[REFUSED]["error"] == (
        "UnknownName [unknown_name]: There is no variable named 'regoin'. Did you mean 'region'? Declared: region, smokes."
    )


def test_a_curator_shows_variables_and_budget(shown: Mapping[str, Mapping[str, str]]) -> None:
    html = shown["curator"]["text/html"]
    assert "Smokes" in html and "north, south, west" in html and "Left of the budget: rho 1." in html


def test_verbs_are_completed_and_explained(shown: Mapping[str, Mapping[str, str]]) -> None:
    assert "curator.proportion" in shown[COMPLETED]["matches"] or "'proportion'" in shown[COMPLETED]["matches"]
    about = re.sub(r"\x1b\[[0-9;]*m", "", shown[INSPECTED]["data"])
    assert "error_at_most" in about and "plan=True" in about


def test_a_new_user_learns_in_fifteen_lines_whether_a_mean_changed(shown: Mapping[str, Mapping[str, str]]) -> None:
    block = blocks_of(SURVEY)[-1]
    lines = [line for line in block.splitlines() if line]
    assert len(lines) <= MOST_LINES
    answer = shown[lines[-1]]["text/plain"]
    found = re.search(
        r"change from all cells \(1\) to all cells \(2026\), per cent\n .*interval \[(\d+\.\d+), (\d+\.\d+)\]", answer
    )
    assert found is not None and 0 < float(found[1]) < float(found[2]) < 40
