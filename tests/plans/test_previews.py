"""What a plan of an estimate states is what is released in a cell whose values are spread evenly."""

from collections.abc import Mapping
from typing import Any

import pytest

from dalenius.core import registry
from dalenius.testing import error_kit
from dalenius.testing.simulated import QUICK, ReplicatedExample

LARGE = {"definition": "approximate", "epsilon": 20, "delta": "1e-4"}


def found(measure: str, more: Mapping[str, Any], privacy: Mapping[str, Any] | None = None) -> list[str]:
    """Judgements of the kit that are not kept."""
    example = registry.get("methods", measure).examples[0]
    asked = {"table": {**example["table"], **more}, "privacy": privacy or example["privacy"]}
    return [str(one) for one in error_kit.judge_preview(ReplicatedExample.of(measure, asked, QUICK))]


@pytest.mark.parametrize("measure", [m for m in registry.names("methods") if m in registry.names("estimators")])
def test_previews_of_weighted_estimates_state_both_errors(measure: str) -> None:
    assert not found(measure, {"weight": "weight", "error": "sampling"})


@pytest.mark.parametrize("more", [{}, {"weight": "weight"}], ids=["plain", "weighted"])
def test_previews_of_resampled_variances_state_both_errors(more: dict[str, str]) -> None:
    assert not found("variance", {"error": "bootstrap", "replicates": 40, **more}, LARGE)
