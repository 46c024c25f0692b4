"""The custodian's report on a plan: exact numbers from the data, for the guarded door."""

import json
from collections.abc import Iterator
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.audit import sensitivity as brute
from dalenius.cli.main import app
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Relation
from dalenius.curator.curator import Curator
from dalenius.curator.inspection import inspect_plan, rows_of
from dalenius.engines.memory import MemorySource
from dalenius.errors import ParameterError, Unsupported
from dalenius.ledger import Ledger
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.testing.asking import plan_of
from dalenius_lab.brute import everywhere
from dalenius_lab.brute import smooth as smooth_of

DATASET = {
    "dataset": {"name": "farms", "population": "farms", "version": "1", "source": "farms.csv", "public": True},
    "unit": {"relation": "replace"},
    "variables": {
        "status": {"categories": ["owner", "share"]},
        "output": {"bounds": [0, 1000], "step": 1, "missing": 0},
    },
}
POLICY = PolicyDocument.model_validate({"allow": {"acknowledge": ["bootstrap", "individual"]}, "floors": {"output": 5}})
COLUMNS = {"status": ["owner", "share", "owner", "elsewhere"], "output": [10, 400, 30, 900]}


def domain() -> Domain:
    return DatasetDocument.model_validate(DATASET).domain()


def plan(definition, table, **keys):
    document = {"table": table | keys, "privacy": {"definition": definition, "epsilon": 1}}
    return plan_of(domain(), RequestDocument.model_validate(document), POLICY)


TABLE = {"rows": ["status"], "measure": "total", "of": "output"}
LIST = {"measure": "total", "of": "output"}


def test_totals():
    source = MemorySource.open(domain(), COLUMNS)
    report = inspect_plan(plan("bootstrap", TABLE), source, record=0)
    assert report["sensitivity of the whole table"] == 430
    assert report["scales"] == [430.0, 430.0]
    assert len(report["expected losses"]) == 5
    assert report["claims"]["own value"] == 10
    assert report["dominance"][1]["(n, k)"]
    with pytest.raises(ParameterError):
        inspect_plan(plan("bootstrap", TABLE), source, record=99)


def test_order_statistics():
    source = MemorySource.open(domain(), COLUMNS)
    report = inspect_plan(plan("individual", LIST, measure="median"), source)
    assert (report["exact answer"], report["sensitivity"]) == (30, 370)
    assert report["against an intruder who knows the algorithm"]["delta at least"] >= 0
    within = inspect_plan(plan("bootstrap", LIST, measure="median"), source)
    assert within["sensitivity"] == 890
    assert "against an intruder who knows the algorithm" not in within
    with pytest.raises(Unsupported):
        inspect_plan(plan("bootstrap", TABLE, measure="largest_total"), source)


def test_rows_follow_the_declared_rules():
    source = MemorySource.open(domain(), COLUMNS)
    step = plan("bootstrap", TABLE).measurements[0]
    cells, values = rows_of(source, step.statistic.query.space, (), "output")
    assert cells.tolist() == [0, 1, 0, -1]
    assert values.tolist() == [10, 400, 30, 900]


ROWS = {"status": ["owner", "share", "owner"], "output": [1, 4, 6], "hectares": [1, 3, 2]}
TINY = {
    **DATASET,
    "dataset": {**DATASET["dataset"], "size": 3},
    "variables": {
        "hectares": {"bounds": [1, 3], "step": 1, "missing": 1},
        "status": DATASET["variables"]["status"],
        "output": {"bounds": [0, 9], "step": 1, "missing": 0},
    },
}


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    folder = tmp_path_factory.mktemp("inspection")
    document = DatasetDocument.model_validate(TINY)
    with Curator.open(ROWS, document, policy=POLICY, ledger=Ledger.open(folder / "ledger.sqlite")) as opened:
        opened.register()
        yield opened


FUNCTIONS = {
    "total": sum,
    "mean": lambda x: Fraction(sum(x), 3),
    "variance": lambda x: Fraction(sum(v * v for v in x) * 3 - sum(x) ** 2, 6),
    "median": lambda x: sorted(x)[1],
    "maximum": max,
    "range": lambda x: max(x) - min(x),
}


@pytest.mark.parametrize("measure", FUNCTIONS)
def test_sensitivities_of_a_request_are_those_of_brute_force(curator: Curator, measure: str) -> None:
    asked = {"table": {"measure": measure, "of": "output"}, "privacy": {"definition": "individual", "epsilon": 6}}
    found = curator.inspection.sensitivity(asked).reveal()
    data, function = tuple(ROWS["output"]), FUNCTIONS[measure]
    assert found["at these data"] == pytest.approx(float(brute.local(function, data, range(10), Relation.REPLACE)))
    assert found["between data sets made of these records"] == pytest.approx(
        float(everywhere(function, data, 3, Relation.REPLACE))
    )
    assert found["on any data"] >= found["at these data"]
    if measure in ("median", "maximum"):
        smooth = smooth_of(function, data, range(10), Fraction(exp(-1)), Relation.REPLACE, 3)
        assert found["smooth, beta = 1"] == pytest.approx(float(smooth), rel=1e-9)


def test_a_ratio_has_a_sensitivity_at_the_data_and_none_everywhere(curator: Curator) -> None:
    table = {"measure": "ratio", "of": "output", "other": "hectares", "error": "noise"}
    found = curator.inspection.sensitivity({"table": table, "privacy": {"definition": "pure", "epsilon": 1}}).reveal()
    pairs = tuple(sorted(zip(ROWS["output"], ROWS["hectares"], strict=True)))
    universe = [(x, y) for x in range(10) for y in range(1, 4)]
    by_force = brute.local(
        lambda rows: Fraction(sum(x for x, _ in rows), sum(y for _, y in rows)), pairs, universe, Relation.REPLACE
    )
    assert found["at these data"] == pytest.approx(float(by_force))
    assert "no global sensitivity" in found["on any data"]


def test_tables_have_sensitivities_too_and_each_look_is_a_line_of_the_ledger(curator: Curator) -> None:
    before = len(curator.ledger.reader.notes("farms", "inspection"))
    privacy = {"definition": "pure", "epsilon": 1}
    counts = curator.inspection.sensitivity({"table": {"rows": ["status"]}, "privacy": privacy})
    assert str(counts).startswith("CONFIDENTIAL")
    assert counts.reveal()["at these data"] == counts.reveal()["on any data"] == 2
    totals = {"table": {"rows": ["status"], "measure": "total", "of": "output"}, "privacy": privacy}
    assert curator.inspection.sensitivity(totals).reveal()["between data sets made of these records"] == 10
    assert len(curator.ledger.reader.notes("farms", "inspection")) == before + 2
    with pytest.raises(Unsupported, match="median"):
        curator.inspection.sensitivity(
            {"table": {"rows": ["status"], "measure": "mode"}, "privacy": privacy | {"epsilon": 1}}
        )


def test_the_verbs_print_losses_sensitivities_and_a_function_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "farms.csv").write_text("status,output,hectares\nowner,1,1\nshare,4,3\nowner,6,2\n")
    (tmp_path / "dataset.json").write_text(json.dumps(TINY))
    (tmp_path / "policy.json").write_text(json.dumps({"budget": {"rho": 9, "delta": "1e-6"}}))
    privacy = {"definition": "pure", "epsilon": 1}
    for name, table in (("counts", {"rows": ["status"]}), ("list", {"measure": "total", "of": "output"})):
        document = {"dataset": "dataset.json", "table": table, "privacy": privacy}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    (tmp_path / "own.py").write_text("def odd(values):\n    return sum(v % 2 for v in values)\n")

    def run(*words: str) -> str:
        answer = CliRunner().invoke(app, list(words))
        assert answer.exit_code == 0, answer.output
        return answer.output

    counts, values = (str(tmp_path / f"{name}.json") for name in ("counts", "list"))
    run("register", str(tmp_path / "dataset.json"), "--policy", str(tmp_path / "policy.json"))
    run("release", counts, "-o", str(tmp_path / "out"))
    losses = run("inspect", "losses", counts, str(tmp_path / "out"), "--by", "carla")
    assert "CONFIDENTIAL" in losses and "hellinger" in losses
    assert "at these data: 8.0" in run("inspect", "sensitivity", values)
    own = run("inspect", "sensitivity", values, "--function", f"{tmp_path / 'own.py'}:odd")
    assert "found: 1.0" in own and "is exact: True" in own
    for wrong in ("own.py:even", "nowhere.py:odd", "odd"):
        refused = CliRunner().invoke(app, ["inspect", "sensitivity", values, "--function", str(tmp_path / wrong)])
        assert refused.exit_code != 0
