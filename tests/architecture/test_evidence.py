"""The page of evidence is what the kept results say, and nothing else."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def evidence() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "verify" / "_evidence.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_evidence_is_made_from_the_kept_results(evidence: ModuleType) -> None:
    assert evidence.PAGE.read_text() == evidence.page()


def test_every_kept_result_names_command_commit_and_date(evidence: ModuleType) -> None:
    for path in evidence.RESULTS.glob("*.json"):
        document = json.loads(path.read_text())
        assert document["command"].startswith("python -m verify ")
        assert document["commit"] and document["date"]
