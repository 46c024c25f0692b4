"""Weighted counts: known sums of weights, one table and a list."""

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of


@pytest.mark.parametrize("margins", [None, [["sex", "region"], ["sex"]]])
def test_sums_of_weights_are_the_known_ones(margins: list[list[str]] | None) -> None:
    domain = load_dataset(rule_kit.DATASET).domain()
    table = {"rows": ["sex"], "weight": "weight"} | (
        {} if margins is None else {"columns": ["region"], "margins": margins}
    )
    request = {"table": table, "privacy": {"definition": "zero_concentrated", "rho": 400}}
    plan = plan_of(domain, request, rule_kit.policy_of(None))
    source = MemorySource.open(domain, rule_kit.ROWS)
    passed = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness("weights"))
    shown = next(made for made in plan.assemble(passed.blocks) if made.space.name == "sex")
    np.testing.assert_allclose(shown.values, [9 * 2.5, 9 * 2.0], atol=1)
