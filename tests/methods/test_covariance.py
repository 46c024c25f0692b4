"""Covariance: the known answer on fixed records that have both numbers."""

import numpy as np
import pytest
from tests.methods.pairs import asked

from dalenius.curator.memo import plan_digest
from dalenius.spec.load import load_dataset, load_policy
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of


def test_the_answer_is_the_known_one() -> None:
    table = asked({"rows": ["g"], "measure": "covariance", "of": "x", "other": "y"})[0]
    known = [np.cov([0, 1, 2], [1, 1, 3])[0, 1], np.cov([2, 4, 6], [1, 2, 4])[0, 1]]
    assert table.values == pytest.approx(known, abs=0.2)


def test_rows_that_may_lack_the_number_have_a_law_and_a_key_of_their_own() -> None:
    """Over rows with both numbers it is another question than over all rows, and neither answer is served for the other."""
    request = {
        "table": {"measure": "covariance", "of": "income", "other": "age"},
        "privacy": {"definition": "zero_concentrated", "rho": 1},
    }
    variables = rule_kit.DATASET["variables"]
    lacking = rule_kit.DATASET | {"variables": variables | {"income": variables["income"] | {"missing": "drop"}}}
    every, dropping = (
        plan_of(load_dataset(document).domain(), request, {}) for document in (rule_kit.DATASET, lacking)
    )
    assert "counted" not in every.law.parameters.get("more", {})
    assert dropping.law.parameters["more"]["counted"] == "rows with income and age"
    policy = load_policy(rule_kit.policy_of(None))
    assert plan_digest(every, policy) != plan_digest(dropping, policy)
