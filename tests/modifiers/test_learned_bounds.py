"""Learned bounds are for means; what they cut off is what other numbers measure."""

import pytest
from tests.modifiers.asked import TABLES, plan

from dalenius.core import registry
from dalenius.errors import DaleniusError, Unsupported
from dalenius.modifiers.learned_bounds import LEARNED_BOUNDS

LEARN = {"learn": "1/4", "clip": [0, 5, 10, 20]}


def test_a_mean_learns_its_bounds_first() -> None:
    made = plan("mean", **LEARN)
    assert made.strategy == "learned_bounds"
    assert made.measurements[0].name == "bounds of x"


@pytest.mark.parametrize("measure", [measure for measure in TABLES if measure not in ("mean", "total")])
def test_other_numbers_say_why_not(measure: str) -> None:
    estimator = registry.get("estimators", measure)
    reason = LEARNED_BOUNDS.refuses(estimator)
    assert ("measures" in reason) == estimator.cuts_bias
    with pytest.raises(Unsupported, match=reason[:30]):
        plan(measure, **LEARN)


@pytest.mark.parametrize("more", [{"margins": "all", "rows": ["h"]}, {"weight": "w"}, {"error": "bootstrap"}], ids=str)
def test_what_it_is_not_combined_with_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(DaleniusError):
        plan("mean", **LEARN, **more)


def test_the_usual_share_and_candidates_have_one_spelling() -> None:
    canonical = LEARNED_BOUNDS.canonical({**LEARN, "beyond": "0.01"})
    assert "beyond" not in canonical and canonical["clip"] == ["0", "5", "10", "20"]
    assert LEARNED_BOUNDS.canonical({"error": "noise"}) == {"error": "noise"}
