"""Six fixed records with two numbers, two that lack one, and the answer to a request on them."""

from collections.abc import Mapping
from typing import Any

from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Table
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

DATASET = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "g": {"categories": ["a", "b"]},
        "x": {"bounds": [0, 10], "step": 1},
        "y": {"bounds": [0, 10], "step": 1},
        "z": {"bounds": [-1, 1], "step": 1},
    },
}
COLUMNS = {
    "g": ["a", "a", "a", "b", "b", "b", "a", "b"],
    "x": [0, 1, 2, 2, 4, 6, 9, None],
    "y": [1, 1, 3, 1, 2, 4, None, 10],
    "z": [0] * 8,
}


def asked(table: Mapping[str, Any], epsilon: int = 900) -> tuple[Table, ...]:
    """Tables shown, with so large a budget that noise hardly shows; the last records lack y, or x."""
    domain = DatasetDocument.from_dict(DATASET).domain()
    request = {"table": dict(table), "privacy": {"definition": "pure", "epsilon": epsilon}}
    plan = plan_of(domain, request, {})
    source = MemorySource.open(domain, COLUMNS)
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness("pairs"))
    return plan.assemble(passage.blocks)
