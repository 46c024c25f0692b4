"""The page of evidence is what the kept results say, and nothing else."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "verify" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def evidence() -> ModuleType:
    return loaded("_evidence")


def test_the_page_of_evidence_is_made_from_the_kept_results(evidence: ModuleType) -> None:
    assert evidence.PAGE.read_text() == evidence.page()


def test_every_kept_result_names_command_source_and_date(evidence: ModuleType) -> None:
    for path in evidence.RESULTS.glob("*.json"):
        document = json.loads(path.read_text())
        assert document["command"].startswith("python -m verify ")
        assert document["source"] and not document["has_uncommitted_changes"] and document["date"]


def test_every_mutant_changes_a_line_that_stands_in_the_code_once() -> None:
    mutants = loaded("mutation").mutants()
    assert 40 <= len(mutants) <= 160
    assert all((ROOT / test.split("::")[0]).is_file() for mutant in mutants for test in mutant.tests)
