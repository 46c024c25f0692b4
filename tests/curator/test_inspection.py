"""The custodian's report on a plan: exact numbers from the data, for the guarded door."""

import pytest

from dalenius.core.domain import Domain
from dalenius.curator.inspection import inspect_plan, rows_of
from dalenius.engines.memory import MemorySource
from dalenius.errors import ParameterError, Unsupported
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.testing.asking import plan_of

DATASET = {
    "dataset": {
        "name": "farms",
        "population": "farms",
        "version": "1",
        "source": "farms.csv",
        "public": True,
    },
    "unit": {"relation": "replace"},
    "variables": {
        "status": {"categories": ["owner", "share"]},
        "output": {"bounds": [0, 1000], "step": 1, "missing": 0},
    },
}
POLICY = PolicyDocument.model_validate(
    {"allow": {"acknowledge": ["bootstrap", "individual"]}, "floors": {"output": 5}}
)
COLUMNS = {"status": ["owner", "share", "owner", "elsewhere"], "output": [10, 400, 30, 900]}


def domain() -> Domain:
    return DatasetDocument.model_validate(DATASET).domain()


def plan(definition, table, **options):
    document = {"table": table, "privacy": {"definition": definition, "epsilon": 1, "options": options}}
    return plan_of(domain(), RequestDocument.model_validate(document), POLICY)


TABLE = {"rows": ["status"], "measure": "total", "of": "output"}
LIST = {"measure": "total", "of": "output"}


def test_totals():
    source = MemorySource.of(domain(), COLUMNS)
    report = inspect_plan(plan("bootstrap", TABLE), source, record=0)
    assert report["sensitivity of the whole table"] == 430
    assert report["scales"] == [430.0, 430.0]
    assert len(report["expected losses"]) == 5
    assert report["claims"]["own value"] == 10
    assert report["dominance"][1]["(n, k)"]
    with pytest.raises(ParameterError):
        inspect_plan(plan("bootstrap", TABLE), source, record=99)


def test_order_statistics():
    source = MemorySource.of(domain(), COLUMNS)
    report = inspect_plan(plan("individual", LIST, statistic="median"), source)
    assert (report["exact answer"], report["sensitivity"]) == (30, 370)
    assert report["against an intruder who knows the algorithm"]["delta at least"] >= 0
    within = inspect_plan(plan("bootstrap", LIST, statistic="median"), source)
    assert within["sensitivity"] == 890
    assert "against an intruder who knows the algorithm" not in within
    with pytest.raises(Unsupported):
        inspect_plan(plan("bootstrap", TABLE, statistic="largest_total"), source)


def test_rows_follow_the_declared_rules():
    source = MemorySource.of(domain(), COLUMNS)
    step = plan("bootstrap", TABLE).measurements[0]
    cells, values = rows_of(source, step.statistic.query.space, (), "output")
    assert cells.tolist() == [0, 1, 0, -1]
    assert values.tolist() == [10, 400, 30, 900]
