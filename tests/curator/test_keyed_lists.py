"""Keyed lists by request: one list, one noise, bound to the file and the law; the release says that its guarantee is computational."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.law import IntArray
from dalenius.core.randomness import SystemRandomness
from dalenius.core.release import Release
from dalenius.curator import gate
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, NotAllowed, ParameterError
from dalenius.ledger import Ledger
from dalenius.measurements.keyed_list import KeyedList
from dalenius.publish import to_document
from dalenius.spec.load import load_dataset
from dalenius.spec.notes import in_language
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

DOMAIN = load_dataset(rule_kit.DATASET).domain()
REQUEST: dict[str, Any] = {
    "table": {"rows": ["sex"], "columns": ["region"], "keyed": True},
    "privacy": {"definition": "pure", "epsilon": 1},
}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """One secret, so that the noise of these tests is always the same."""
    monkeypatch.setattr(Ledger, "secret", lambda self, population: b"a secret of thirty-two bytes, all")


@contextmanager
def opened(
    ledger: Path, rows: dict[str, list[Any]] = rule_kit.ROWS, version: str = "1", **policy: Any
) -> Iterator[Curator]:
    own = rule_kit.DATASET["dataset"] | {"version": version}
    with Curator.open(
        rule_kit.DATASET | {"dataset": own}, data=rows, ledger=ledger, policy={**rule_kit.policy_of(None), **policy}
    ) as curator:
        curator.register()
        yield curator


def noise_of(release: Release, rows: dict[str, list[Any]]) -> IntArray:
    pairs = list(zip(rows["sex"], rows["region"], strict=True))
    counts = [pairs.count((s, r)) for s in ("female", "male") for r in ("north", "east", "south")]
    return np.asarray(release.blocks[0].values - np.array(counts))


def test_a_keyed_list_is_drawn_from_the_secret_and_priced_as_the_plain_one(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite") as curator:
        keyed = curator.plan(REQUEST)
        plain = curator.plan(REQUEST | {"table": {"rows": ["sex"], "columns": ["region"]}})
        assert keyed.cost == plain.cost and keyed.law == plain.law and keyed.strategy == "keyed_list"
        release = curator.release(REQUEST)
        (step,) = keyed.measurements
        assert isinstance(step, KeyedList)
        fingerprint = curator.holding.registration().fingerprint
        bound = step.with_secret(fingerprint=fingerprint, secret=curator.ledger.secret("toys"))
        drawn = bound.draw(SystemRandomness())
        assert np.array_equal(noise_of(release, rule_kit.ROWS), drawn)
        left = curator.left
        assert np.array_equal(curator.release(REQUEST).values, release.values) and curator.left == left
        # Another epsilon is another noise, not the same one on another scale.
        other = curator.release(REQUEST | {"privacy": {"definition": "pure", "epsilon": 2}})
        assert not np.array_equal(np.sign(noise_of(other, rule_kit.ROWS)), np.sign(drawn))
    with pytest.raises(ParameterError):
        step.draw(SystemRandomness())


def test_the_release_says_that_its_guarantee_is_computational(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite") as curator:
        release = curator.release(REQUEST)
    content = to_document(release)["provenance"]
    assert content["evidence"]["level"] == "computational"
    assert any("cannot be told from random bits" in said for said in content["evidence"]["assumptions"])
    (said,) = [warning for warning in release.provenance.warnings if "computational" in warning]
    assert "rechnerisch" in str(in_language(said, "de"))


def test_another_file_has_another_noise_and_a_planted_key_without_the_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {name: [*column, column[0]] for name, column in rule_kit.ROWS.items()}

    def is_exact_difference(ledger: Path) -> bool:
        noises = []
        for version, rows in (("1", rule_kit.ROWS), ("2", more)):
            with opened(ledger, rows, version) as curator:
                noises.append(noise_of(curator.release(REQUEST), rows))
        return np.array_equal(noises[0], noises[1])

    right = KeyedList.with_secret
    assert not is_exact_difference(tmp_path / "right.sqlite")
    monkeypatch.setattr(
        KeyedList, "with_secret", lambda self, *, fingerprint, secret: right(self, fingerprint="", secret=secret)
    )
    assert is_exact_difference(tmp_path / "planted.sqlite")


def test_a_policy_that_asks_for_proofs_refuses_a_keyed_list_before_anything_is_spent(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite", allow={"evidence": ["proved"]}) as curator:
        left = curator.left
        with pytest.raises(NotAllowed, match="computational"):
            curator.release(REQUEST)
        assert curator.left == left


@pytest.mark.parametrize("table", [{"margins": "all"}, {"sample": "1/2"}, {"measure": "median", "of": "age"}])
def test_keyed_noise_is_for_one_plain_table_of_counts(table: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError, match="keyed"):
        plan_of(DOMAIN, REQUEST | {"table": REQUEST["table"] | table})


def test_only_steps_that_are_keyed_are_given_the_secret() -> None:
    keyed = [name for name, step in registry.every("measurements").items() if hasattr(step, "with_secret")]
    assert keyed == ["keyed_list"]
    plan = plan_of(DOMAIN, {"table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 1}})
    assert gate.with_keys(plan, "a fingerprint", b"a secret of the tests") is plan
