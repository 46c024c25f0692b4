"""Counts of a secret sample: unbiased, with the stated error, and priced as guaranteed."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

DOMAIN = load_dataset(rule_kit.DATASET).domain()
PURE = {"definition": "pure", "epsilon": 1}
RUNS = 300


def test_estimates_are_of_all_records_with_the_stated_error() -> None:
    plan = plan_of(DOMAIN, {"table": {"rows": ["sex"], "sample": "1/2"}, "privacy": PURE}, rule_kit.policy_of(None))
    assert Fraction(plan.cost.epsilon or 0) <= 1
    source = MemorySource.open(DOMAIN, rule_kit.ROWS)
    values, variances = [], []
    for seed in range(RUNS):
        passed = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness(seed))
        (table,) = plan.assemble(passed.blocks)
        values.append(table.values)
        variances.append(table.variance)
    observed, stated = np.var(values, axis=0), np.mean(variances, axis=0)
    # Four standard errors of a mean, and of a variance of about normal numbers.
    assert (np.abs(np.mean(values, axis=0) - [18, 9]) < 4 * np.sqrt(stated / RUNS)).all()
    assert (np.abs(observed / stated - 1) < 4 * sqrt(2 / RUNS) + 0.1).all()


@pytest.mark.parametrize(
    ("sample", "privacy"), [("3/2", PURE), ("0", PURE), ("1/2", {"definition": "zero_concentrated", "rho": 1})]
)
def test_what_is_no_sample_or_not_amplified_is_refused(sample: str, privacy: dict[str, object]) -> None:
    with pytest.raises(DaleniusError, match="sample"):
        plan_of(DOMAIN, {"table": {"rows": ["sex"], "sample": sample}, "privacy": privacy}, rule_kit.policy_of(None))
