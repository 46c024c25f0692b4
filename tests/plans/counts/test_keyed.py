"""Keyed lists: the same noise at every call on the same file, other noise on another, and a note that says so."""

from typing import Any

import numpy as np

from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.spec.load import load_dataset
from dalenius.spec.notes import note
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

DOMAIN = load_dataset(rule_kit.DATASET).domain()


def planned(**keys: Any) -> Any:
    request = {"table": {"rows": ["region"], **keys}, "privacy": {"definition": "pure", "epsilon": "1/10"}}
    return plan_of(DOMAIN, request, rule_kit.policy_of(None))


def test_the_file_and_not_the_call_makes_the_noise() -> None:
    plan, source = planned(keyed=True), MemorySource.open(DOMAIN, rule_kit.ROWS)

    def released(fingerprint: str, seed: str) -> Any:
        ready = gate.with_keys(plan, fingerprint, b"a secret of the population")
        passed = gate.run(ready, source, plan.neighbours, plan.reservation, RecordedRandomness(seed))
        return plan.assemble(passed.blocks)[0].values

    first = released("one", "a")
    np.testing.assert_array_equal(first, released("one", "b"))
    assert not np.array_equal(first, released("two", "a"))


def test_it_is_priced_as_the_plain_table_and_says_what_it_rests_on() -> None:
    keyed, plain = planned(keyed=True), planned()
    assert keyed.cost == plain.cost and keyed.preview == plain.preview
    assert note("keyed_list") in keyed.warnings and note("keyed_list") not in plain.warnings
