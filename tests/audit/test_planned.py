"""A request is audited by exact losses at neighbours that its declaration allows; a plan that lies is found out."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.audit.definitions import compare_definitions
from dalenius.audit.planned import audit_plan
from dalenius.cli.main import app
from dalenius.core.neighbours import Neighbours
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.spec.load import load_dataset
from dalenius.statistics.count import Count
from dalenius.testing.asking import plan_of

DATASET = {
    "dataset": {"name": "staff", "population": "staff", "version": "1"},
    "unit": {"id": "person", "max_rows": 2},
    "variables": {
        "sex": {"categories": ["f", "m"], "column": "gender"},
        "town": {"categories": ["n", "s", "w"]},
        "pay": {"bounds": [0, 20], "step": 1, "missing": 0},
    },
}
COUNTS = {"table": {"rows": ["sex"], "columns": ["town"]}, "privacy": {"definition": "pure", "epsilon": 1}}
TOTALS = {
    "table": {"rows": ["sex"], "measure": "total", "of": "pay"},
    "privacy": {"definition": "zero_concentrated", "rho": 0.5},
}


@pytest.mark.parametrize("request_document", [COUNTS, TOTALS], ids=["counts", "totals"])
def test_a_true_plan_is_kept_and_its_charge_is_reached(request_document: dict[str, object]) -> None:
    domain = load_dataset(DATASET).domain()
    result = audit_plan(domain, plan_of(domain, request_document), pairs=60)
    assert result.is_kept
    assert result.largest == pytest.approx(1, abs=1e-6)


def test_a_plan_that_takes_two_rows_of_a_person_for_one_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Count.sensitivity

    def wrong(self: Count, neighbours: Neighbours) -> object:
        return right(self, replace(neighbours, max_rows=1))

    monkeypatch.setattr(Count, "sensitivity", wrong)
    domain = load_dataset(DATASET).domain()
    result = audit_plan(domain, plan_of(domain, COUNTS), pairs=60)
    assert not result.is_kept
    assert result.largest > 1.9


def test_a_guarantee_at_the_data_at_hand_is_refused_by_name() -> None:
    document = DATASET | {"unit": {"relation": "replace"}}
    domain = load_dataset(document).domain()
    request = {"table": {"measure": "median", "of": "pay"}, "privacy": {"definition": "individual", "epsilon": 1}}
    policy = {"allow": {"acknowledge": ["individual"]}, "floors": {"pay": 1}}
    with pytest.raises(Unsupported, match="inspect plan"):
        audit_plan(domain, plan_of(domain, request, policy))


def test_the_verb_audits_a_request_document(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET))
    (tmp_path / "request.json").write_text(json.dumps({"dataset": "dataset.json"} | COUNTS))
    runner = CliRunner()
    arguments = ["audit", "request", str(tmp_path / "request.json"), "--pairs", "40"]
    answer = runner.invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    assert "never above" in answer.output
    assert json.loads(runner.invoke(app, [*arguments, "--json"]).output)["is_kept"] is True


def test_the_verb_refutes_a_claim_by_samples(tmp_path: Path) -> None:
    noise = sample(DiscreteLaplace(2), 40_000, RecordedRandomness("samples")).reshape(2, -1)
    for name, values in (("first", noise[0]), ("second", noise[1] + 1)):
        np.savetxt(tmp_path / f"{name}.txt", values, fmt="%d")
    runner, files = CliRunner(), [str(tmp_path / f"{name}.txt") for name in ("first", "second")]
    true = runner.invoke(app, ["audit", "samples", *files, "--claimed", "2"])
    assert true.exit_code == 0
    assert "not contradicted" in true.output
    false = runner.invoke(app, ["audit", "samples", *files, "--claimed", "1", "--json"])
    assert false.exit_code == 1
    assert json.loads(false.output)["is_refuted"] is True


def test_the_verb_bounds_epsilon_by_guesses() -> None:
    arguments = ["audit", "guesses", "--canaries", "100", "--guesses", "100", "--correct", "100"]
    answer = CliRunner().invoke(app, arguments)
    assert "at least 3.493" in answer.output


def test_definitions_are_compared_by_enumeration() -> None:
    kinds = {row.noise: row.smallest for row in compare_definitions(1.0)}
    assert kinds["total, declared bounds"]["pure"] == pytest.approx(1)
    assert kinds["total, range of the data"]["pure"] == float("inf")
    assert kinds["total, range of the data"]["bootstrap"] == pytest.approx(1)
    assert kinds["total, range of the data"]["individual"] == pytest.approx(3)
    assert kinds["median, local sensitivity"]["individual"] == pytest.approx(1)
    assert kinds["median, local sensitivity"]["random"] < 1
    with pytest.raises(ParameterError):
        compare_definitions(1.0, (0.5, 0.5))
    certain = {row.noise: row.smallest for row in compare_definitions(1.0, (1.0, 0.0, 0.0))}
    assert certain["median, local sensitivity"]["random"] == 1
    assert "median" in CliRunner().invoke(app, ["audit", "definitions"]).output
