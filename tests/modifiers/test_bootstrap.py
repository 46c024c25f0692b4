"""Bootstrap errors: replicates of sums in place of products, for a guarantee with a delta."""

import pytest
from tests.modifiers.asked import POLICY, TABLES, domain

from dalenius.errors import DaleniusError, Unsupported
from dalenius.modifiers.bootstrap import BOOTSTRAP
from dalenius.testing.asking import plan_of

PRIVACY = {"definition": "approximate", "epsilon": 4, "delta": "1/1000000"}


def asked(measure: str, **more: object) -> dict[str, object]:
    table = {"measure": measure, **TABLES[measure], "error": "bootstrap", "replicates": 8, **more}
    return {"table": {key: value for key, value in table.items() if value is not None}, "privacy": PRIVACY}


@pytest.mark.parametrize("measure", ["mean", "total", "proportion"])
def test_it_plans_with_both_errors(measure: str) -> None:
    made = plan_of(domain(), asked(measure), POLICY)
    assert made.preview["std_error_with_sampling"] > made.preview["std_error"] > 0
    assert made.law.parameters["replicates"] == 8  # type: ignore[union-attr]


def test_there_is_no_statement_without_a_delta() -> None:
    with pytest.raises(DaleniusError):
        plan_of(domain(), asked("mean") | {"privacy": {"definition": "pure", "epsilon": 4}}, POLICY)


def test_its_key_belongs_to_it() -> None:
    assert BOOTSTRAP.belongs["replicates"].startswith('error = "bootstrap"')
    request = asked("mean", error=None)
    with pytest.raises(Unsupported, match="replicates"):
        plan_of(domain(), request, POLICY)
