"""A tighter proof changes the noise of new releases; what was published before still answers, for free."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dalenius import Curator
from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.memo import plan_digest
from dalenius.errors import Unsupported
from dalenius.ledger import Ledger
from dalenius.ledger.policy import adopt
from dalenius.spec.load import load_dataset, load_policy
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

DATASET: dict[str, Any] = {
    "dataset": {"name": "toy", "population": "toy", "public": True},
    "variables": {"sex": {"categories": ["female", "male"]}, "vote": {"categories": ["yes", "no"]}},
}
POLICY: dict[str, Any] = {"budget": {"rho": 60, "delta": "1/100"}}
ROWS = {"sex": ["female", "male"] * 8, "vote": ["yes", "no", "no", "yes"] * 4}
CONCENTRATED = {"definition": "zero_concentrated", "rho": "1/4", "delta": "1e-6", "mechanism": "truncated_normal"}
PROBABILISTIC = {"definition": "probabilistic", "epsilon": 1, "delta": "1e-6", "mechanism": "discrete_gaussian"}


def curator(ledger: Path, policy: dict[str, Any] = POLICY) -> Curator:
    return Curator.open(DATASET, ledger=ledger, policy=policy, data=ROWS, rng=RecordedRandomness("published before"))


def entries(folder: Path) -> int:
    with Ledger.open(folder) as ledger:
        return len(ledger.reader.entries("toy"))


def test_another_rule_another_request_and_another_file_are_charged(tmp_path: Path) -> None:
    request = {"table": {"rows": ["sex"]}, "privacy": CONCENTRATED}
    store = tmp_path / "ledger.sqlite"
    with curator(store) as first:
        first.register(by="custodian")
        entry = first.release(request).provenance.ledger_entry
    ruling = POLICY | {"table": {"nonnegative": True}}
    with curator(store) as second:
        adopt(second.ledger, second.domain, load_policy(ruling), by="custodian")
    with curator(store, ruling) as ruled:
        assert ruled.release(request).provenance.ledger_entry != entry
        adopt(ruled.ledger, ruled.domain, load_policy(POLICY), by="custodian")
    with curator(store) as second:
        other = {"table": {"rows": ["vote"]}, "privacy": CONCENTRATED}
        smaller = {"table": {"rows": ["sex"]}, "privacy": CONCENTRATED | {"rho": "1/5"}}
        laplace = {"table": {"rows": ["sex"]}, "privacy": CONCENTRATED | {"mechanism": "truncated_laplace"}}
        found = [second.release(r).provenance.ledger_entry for r in (other, smaller, laplace)]
        assert entry not in found and len(set(found)) == 3


def test_named_noise_does_not_answer_a_request_that_leaves_the_choice_open(tmp_path: Path) -> None:
    store = tmp_path / "ledger.sqlite"
    with curator(store) as only:
        only.register(by="custodian")
        named = only.release({"table": {"rows": ["sex"]}, "privacy": PROBABILISTIC})
        free = {k: v for k, v in PROBABILISTIC.items() if k != "mechanism"}
        chosen = only.release({"table": {"rows": ["sex"]}, "privacy": free})
        assert chosen.provenance.mechanism != named.provenance.mechanism
        assert chosen.provenance.ledger_entry != named.provenance.ledger_entry


NUMBERS: dict[str, Any] = {
    "dataset": {"name": "toy", "population": "toy", "public": True, "size": 40},
    "unit": {"relation": "replace"},
    "variables": {"x": {"bounds": [0, 9], "step": 1, "missing": 0}, "y": {"bounds": [0, 9], "step": 1, "missing": 0}},
}
PAIRS = {"x": [k % 10 for k in range(40)], "y": [k * 3 % 10 for k in range(40)]}
OPEN: dict[str, Any] = POLICY | {"allow": {"acknowledge": ["individual"]}, "floors": {"x": 1}}
LOCAL = {"definition": "individual", "epsilon": 1}
RHO = {"definition": "zero_concentrated", "rho": 1}


@pytest.mark.parametrize(
    ("first", "second", "privacy"),
    [
        ({"measure": "variance", "of": "x"}, {"measure": "variance", "of": "x", "error": "sampling"}, RHO),
        ({"measure": "correlation", "of": "x", "other": "y"}, {"measure": "correlation", "of": "y", "other": "x"}, RHO),
    ],
    ids=["the usual error", "turned round"],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_another_spelling_of_one_question_is_answered_from_the_first(
    first: dict[str, Any], second: dict[str, Any], privacy: dict[str, Any], is_reversed: bool, tmp_path: Path
) -> None:
    asked = [{"table": table, "privacy": privacy} for table in (first, second)]
    if is_reversed:
        asked.reverse()
    with Curator.open(NUMBERS, ledger=tmp_path / "ledger.sqlite", policy=OPEN, data=PAIRS) as opened:
        opened.register(by="custodian")
        one = opened.release(asked[0])
        before = len(opened.ledger.reader.entries("toy"))
        two = opened.release(asked[1])
        assert len(opened.ledger.reader.entries("toy")) == before
        assert two.table.values.tolist() == one.table.values.tolist()
        # A different question is not.
        other = {"table": {"measure": "covariance", "of": "x", "other": "y"}, "privacy": RHO}
        opened.release(other)
        assert len(opened.ledger.reader.entries("toy")) > before


def test_what_leaving_a_key_out_means_is_what_its_default_says() -> None:
    """Every key of every method with a default: written or left out, the plan is the same, so that one answers the other."""
    domain = load_dataset(rule_kit.DATASET).domain()
    compared = 0
    for name in registry.names("methods"):
        method = registry.get("methods", name)
        for example in method.examples[:1]:
            for key, field in method.Parameters.model_fields.items():
                if field.default is None or key in example["table"]:
                    continue
                value = str(field.default) if isinstance(field.default, Fraction) else field.default
                stated = {**example, "table": {**example["table"], key: value}}
                try:
                    plans = [plan_of(domain, dict(text), rule_kit.policy_of(None)) for text in (example, stated)]
                except Unsupported:
                    # A key that is not used is refused, whatever it says.
                    continue
                digests = {plan_digest(plan, load_policy({})) for plan in plans}
                assert len(digests) == 1, (name, key)
                compared += 1
    assert compared >= 10
