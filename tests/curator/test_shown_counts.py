"""Rules on what may be shown of counts are part of the published law: no document holds what they hide."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.algebra.tabulation import bounds
from dalenius.core.law import Additive, Censored, Withheld, law_from_dict
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator import rules as curator_rules
from dalenius.curator.curator import Curator
from dalenius.errors import NotAllowed, Unsupported
from dalenius.inference import independence, intervals
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.postprocess import largest_error
from dalenius.publish.to_json import from_json, write_json

DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "unit": {"relation": "replace"},
    "variables": {
        "a": {"categories": [f"a{i}" for i in range(6)], "missing": "a0", "unseen": "a0"},
        "b": {"categories": ["u", "v", "w"], "missing": "u", "unseen": "u"},
    },
}
ROWS = {"a": [f"a{i * i % 6}" for i in range(40)] + ["a1"] * 30, "b": ["u", "v", "u", "u"] * 10 + ["w"] * 30}
PLAIN = {"table": {"rows": ["a"], "columns": ["b"]}, "privacy": {"definition": "pure", "epsilon": "0.7"}}
MARGINS = {
    "table": {"rows": ["a"], "columns": ["b"], "margins": "all"},
    "privacy": {"definition": "zero_concentrated", "rho": "0.3"},
}


def opened(folder: Path, rules: dict[str, Any], seed: int = 4) -> Curator:
    policy = {"table": rules, "budget": {"rho": 400, "delta": "0.01"}}
    rng = RecordedRandomness(seed)
    curator = Curator.open(DATASET, ledger=folder / "l.sqlite", data=ROWS, rng=rng, policy=policy)
    curator.register()
    return curator


def released(folder: Path, request: dict[str, Any], rules: dict[str, Any], seed: int = 4) -> Release:
    with opened(folder, rules, seed) as curator:
        return curator.release(request)


def numbers(document: Any) -> list[float]:
    """Every number of the blocks and tables of a release document, but for errors."""
    parts = [*document["blocks"], *document["tables"]]
    return [value for part in parts for value in part["values"] if value is not None]


@pytest.mark.parametrize("request_", [PLAIN, MARGINS], ids=["plain", "margins"])
@pytest.mark.parametrize(("rules", "least"), [({"threshold": 5}, 5), ({"nonnegative": True}, 1)])
def test_a_document_holds_no_count_that_a_rule_hides(
    tmp_path: Path, request_: dict[str, Any], rules: dict[str, Any], least: int
) -> None:
    plain = released(tmp_path, request_, {})
    assert any(value < least and value != 0 for value in numbers(json.loads(write_json(plain))))
    other = tmp_path / "ruled"
    other.mkdir()
    document = json.loads(write_json(released(other, request_, rules)))
    assert all(value == 0 or value >= least for value in numbers(document))
    assert all(float(value).is_integer() for value in numbers(document))


def test_the_law_of_a_single_table_is_the_censored_one(tmp_path: Path) -> None:
    release = released(tmp_path, PLAIN, {"threshold": 5})
    assert isinstance(release.law, Censored) and release.law.least == 5
    assert [block.law for block in release.blocks] == [release.law]
    assert from_json(write_json(release)).law == release.law
    assert any("below 5" in warning for warning in release.provenance.warnings)


def test_several_blocks_are_withheld_and_what_is_shown_keeps_its_intervals(tmp_path: Path) -> None:
    release = released(tmp_path, MARGINS, {"nonnegative": True})
    assert release.blocks == () and isinstance(release.law, Withheld)
    for table in release.tables:
        lower, upper = bounds(release, table)
        assert np.all((lower <= table.values) & (table.values <= upper)) and np.isfinite(upper).all()
    with pytest.raises(Unsupported, match="withheld"):
        intervals(release)


@pytest.mark.parametrize("least", [1, 2, 5, 12])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_cover_every_exact_count(least: int, confidence: float) -> None:
    """Summed over the whole law, for every count that the rule can touch."""
    law = Censored(Additive(DiscreteLaplace("1/3")), least)
    for exact in range(60):
        shown = np.array([0, *range(least, exact + 200)])
        probability = law.pmf(exact, shown)
        assert probability.sum() == pytest.approx(1, abs=1e-12)
        lower, upper = law.ends(shown.astype(float), confidence)
        assert probability[(lower <= exact) & (exact <= upper)].sum() >= confidence - 1e-12


@pytest.mark.parametrize("least", [1, 3, 20])
def test_the_stated_error_is_the_largest_over_all_exact_counts(least: int) -> None:
    law = Censored(Additive(DiscreteLaplace("1/2")), least)
    errors = []
    for exact in range(least + 60):
        shown = np.array([0, *range(least, exact + 200)])
        errors.append(float(law.pmf(exact, shown) @ (shown - exact) ** 2))
    assert max(errors) <= law.variance * (1 + 1e-9) and law.variance <= max(*errors, law.additive.variance) * (1 + 1e-6)
    assert law_from_dict(law.to_dict()) == law


def test_normal_values_have_no_larger_error_than_is_stated() -> None:
    rng = np.random.default_rng(3)
    for variance, least in ((4.0, 1), (4.0, 8), (100.0, 5), (0.3, 6)):
        stated = largest_error(np.array([variance]), least)[0]
        for exact in range(0, 40, 3):
            seen = np.rint(exact + rng.normal(0, variance**0.5, 40_000))
            shown = np.where(seen >= least, seen, 0)
            assert np.mean((shown - exact) ** 2) <= stated * 1.03


def test_inference_uses_the_law_of_what_is_shown(tmp_path: Path) -> None:
    release = released(tmp_path, PLAIN, {"threshold": 5})
    found = intervals(release)
    assert any("below 5" in note for note in found.notes)
    hidden = np.asarray(found.values) == 0
    assert hidden.any() and np.all(found.lower[hidden] == 0) and np.all(found.upper[hidden] >= 4)
    lower, upper = bounds(release, release.table)
    assert np.array_equal(lower, found.lower) and np.array_equal(upper, found.upper)
    assert 0 <= independence(release, replicates=99).p_value <= 1


def test_a_test_through_hidden_counts_keeps_its_level() -> None:
    """Independent Poisson counts seen through a threshold: about five in a hundred are rejected at 5 %."""
    from dataclasses import replace

    from dalenius.inference.channel import CensoredShift
    from dalenius.inference.noise import Noise
    from dalenius.inference.observation import from_values

    rng, rejected, law = np.random.default_rng(11), 0, Additive(DiscreteLaplace("1"))
    channel = CensoredShift(Noise.of(law), 5)
    mean = np.outer([8.0, 4.0, 3.0], [1.0, 2.0])
    for number in range(120):
        shown = channel.send(rng.poisson(mean), rng)
        seen = replace(from_values(np.zeros((3, 2), dtype=int), law), values=shown, channel=channel)
        rejected += independence(seen, replicates=99, seed=number).p_value <= 0.05
    assert rejected <= 14


def test_sums_of_hidden_counts_are_refused(tmp_path: Path) -> None:
    from dalenius.inference import difference

    release = released(tmp_path, PLAIN, {"threshold": 5})
    with pytest.raises(Unsupported, match="below 5"):
        intervals(release, "a")
    with pytest.raises(Unsupported, match="below 5"):
        difference(release, {"a": "a0"}, {"a": "a1"})


def test_a_table_stored_under_the_older_rule_is_not_served_for_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What hid nothing in its blocks stays in the ledger; the same request is another question today, and charged."""
    with opened(tmp_path, {"threshold": 5}) as curator:
        with monkeypatch.context() as older:
            older.setattr(curator_rules, "shaped", lambda plan, rules, least: plan)
            stored = curator.release(PLAIN)
        charges = [entry for entry in curator.ledger.reader.entries("p") if entry.kind == "charge"]
        asked = curator.release(PLAIN)
        after = [entry for entry in curator.ledger.reader.entries("p") if entry.kind == "charge"]
        assert len(after) == len(charges) + 1
        assert asked.provenance.ledger_entry != stored.provenance.ledger_entry
        assert curator.release(PLAIN).provenance.ledger_entry == asked.provenance.ledger_entry


def test_a_cap_on_the_variance_is_kept_by_what_is_shown(tmp_path: Path) -> None:
    """Laplace noise of epsilon 0.7 has a variance below 9; hiding counts below 30 errs by more."""
    with opened(tmp_path, {"threshold": 30, "variance_cap": 17}) as curator, pytest.raises(NotAllowed):
        curator.plan(PLAIN)
    other = tmp_path / "b"
    other.mkdir()
    with opened(other, {"nonnegative": True, "variance_cap": 17}) as curator:
        assert curator.plan(PLAIN).measurements
