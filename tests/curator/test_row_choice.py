"""A registered version keeps the rule by which the rows of its persons were chosen."""

from dataclasses import replace

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.query import TableQuery
from dalenius.curator.curator import Curator
from dalenius.engines.memory import MemorySource
from dalenius.ledger import Ledger

ROWS = {"person": [f"p{i % 40}" for i in range(400)], "kind": [str(i) for i in range(400)]}
DOCUMENT = {
    "dataset": {"name": "visits", "population": "visitors", "public": True},
    "unit": {"id": "person", "max_rows": 2},
    "variables": {"kind": {"categories": [str(i) for i in range(400)]}},
}


def counts(curator: Curator) -> list[int]:
    labels = curator.domain.variable("kind").categories.labels
    axis = Axis(variable="kind", labels=labels, codes=tuple(range(400)))
    return curator.source.table(TableQuery(space=CellSpace((axis,)))).open_below_the_gate().tolist()


def opened(ledger: Ledger) -> Curator:
    return Curator.open(DOCUMENT, ledger=ledger, data=ROWS)


@pytest.mark.parametrize("rule", [1, 2, 3])
def test_the_rule_of_a_registered_version_stays(tmp_path, rule) -> None:
    """One registered before there were others: its ledger holds a fingerprint without a number."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        first = opened(ledger)
        first.holding.domain = replace(first.holding.domain, row_choice=rule)
        first.register(by="custodian")
        later = opened(ledger)
        assert later.domain.row_choice == rule
        later.register(by="custodian")  # the same again changes nothing
        domain = replace(later.domain, row_choice=rule)
        reference = MemorySource(domain, ROWS, ledger.secret("visitors"))
        kinds = np.concatenate([batch["kind"] for batch in reference.scan(["kind"])])
        assert counts(later) == np.bincount(kinds, minlength=400).tolist()
        other = MemorySource(replace(domain, row_choice=rule % 3 + 1), ROWS, ledger.secret("visitors"))
        others = np.concatenate([batch["kind"] for batch in other.scan(["kind"])])
        assert sorted(others.tolist()) != sorted(kinds.tolist())


def test_only_persons_have_rows_to_choose_from(tmp_path) -> None:
    """Without them a registration is what it always was; with them its fingerprint names the rule."""
    for unit, number in (({}, ""), (DOCUMENT["unit"], " row choice 3")):
        with Ledger.open(tmp_path / f"ledger{number}.sqlite") as ledger:
            curator = Curator.open({**DOCUMENT, "unit": unit}, ledger=ledger, data=ROWS)
            curator.register(by="custodian")
            fingerprint = curator.holding.registration().fingerprint
            assert fingerprint == curator.source.fingerprint(ledger.secret("visitors")) + number
