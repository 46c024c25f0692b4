"""Ninety-nine fixed records, and the answer to a request on them with so large a budget that noise hardly shows."""

from collections.abc import Callable
from typing import Any

import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Table
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

DATASET = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "unit": {"relation": "replace"},
    "variables": {
        "sex": {"categories": ["female", "male"], "missing": "male", "unseen": "male"},
        "job": {"categories": ["yes", "no"], "missing": "no", "unseen": "no"},
        "income": {"bounds": [0, 200], "step": 1, "missing": "0"},
    },
}
COLUMNS = {"sex": ["female"] * 60 + ["male"] * 39, "job": ["yes", "no", "yes"] * 33, "income": list(range(1, 100))}
POLICY = {"allow": {"acknowledge": ["individual", "bootstrap"]}, "floors": {"individual": 1, "bootstrap": 1}}

Ask = Callable[..., tuple[Table, ...]]


@pytest.fixture
def ask() -> Ask:
    """Tables shown for a request."""
    domain = DatasetDocument.from_dict(DATASET).domain()
    source = MemorySource.open(domain, COLUMNS)

    def answer(definition: str = "pure", amount: object = 40, *, strategy: str | None = None, **table: Any) -> Any:
        amounts = {"rho" if definition == "zero_concentrated" else "epsilon": amount}
        amounts |= {"delta": table.pop("delta")} if "delta" in table else {}
        named = {} if strategy is None else {"strategy": strategy}
        plan = plan_of(domain, {"table": table, "privacy": {"definition": definition} | amounts | named}, POLICY)
        passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness("methods"))
        return plan.assemble(passage.blocks)

    return answer
