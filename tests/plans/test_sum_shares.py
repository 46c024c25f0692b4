"""Shares and bases of estimates: intervals are shorter than with the declared ones, and the budget is never exceeded."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.core.domain import Domain
from dalenius.plans import sum_table
from dalenius.plans.sum_layouts import Layout
from dalenius.plans.sum_shares import PARTS, SHAPES, MeasuredLayout, choices, modelled, shared
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

PURE = {"definition": "pure", "epsilon": 1}
RHO = {"definition": "zero_concentrated", "rho": "1/200"}
MUCH = {"definition": "zero_concentrated", "rho": 20}
TABLES: dict[str, dict[str, Any]] = {
    "mean": {"of": "x"},
    "total": {"of": "x"},
    "variance": {"of": "x"},
    "standard_deviation": {"of": "x"},
    "ratio": {"of": "x", "other": "y"},
    "covariance": {"of": "x", "other": "y"},
    "correlation": {"of": "x", "other": "y"},
}
POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}


def domain(relation: str, size: int | None = None) -> Domain:
    return DatasetDocument.from_dict(
        {
            "dataset": {"name": "d", "population": "p"} | ({} if size is None else {"size": size}),
            "unit": {"relation": relation},
            "design": {"draws": "independent"},
            "variables": {
                "x": {"bounds": [0, 100], "step": 1, "missing": 0},
                "y": {"bounds": [10, 60], "step": 1, "missing": 10},
                "w": {"bounds": [1, 3], "step": 1, "missing": 1, "weight": True},
            },
        }
    ).domain()


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[MeasuredLayout, MeasuredLayout]]:
    """The declared layout and the one that is taken, of every plan."""
    seen: list[tuple[MeasuredLayout, MeasuredLayout]] = []

    def noted(start: MeasuredLayout, others: Sequence[Layout]) -> MeasuredLayout:
        made = shared(start, others)
        seen.append((start, made))
        return made

    monkeypatch.setattr(sum_table, "shared", noted)
    return seen


def asked(measure: str, privacy: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"table": {"measure": measure, **TABLES[measure], **more}, "privacy": privacy}


@pytest.mark.parametrize("measure", TABLES)
@pytest.mark.parametrize("privacy", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("kind", ["add-remove", "replace", "sized", "weighted"])
@pytest.mark.parametrize("error", ["noise", "sampling"])
def test_widths_are_smaller_by_their_product(measure: str, privacy: Any, kind: str, error: str, pairs: Any) -> None:
    here = domain("add-remove" if kind in ("add-remove", "weighted") else "replace", 1000 if kind == "sized" else None)
    more = {"weight": "w"} if kind == "weighted" else {}
    plan = plan_of(here, asked(measure, privacy, error=error, **more), POLICY)
    ((start, made),) = pairs
    assert made.widths.shape == (2 if error == "sampling" else 1, SHAPES)
    is_known = np.isfinite(made.widths)
    assert np.all(is_known == np.isfinite(start.widths)) and is_known.any()
    gained = np.where(is_known, np.log(start.widths) - np.log(made.widths), 0.0).sum(axis=1)
    assert made is start or gained @ np.array([2, 3])[: len(gained)] > 0.002 * is_known.sum()
    assert sum(made.shares) == sum(start.shares) == 1 and min(made.shares) >= Fraction(1, 20)
    if made is not start:
        assert {share * PARTS % 1 for share in made.shares} == {0}
        assert sum(made.shares[len(made.shares) - made.layout.spread :]) <= Fraction(1, 2)
    amount = next(iter(set(privacy) - {"definition"}))
    assert getattr(plan.reservation, amount) <= Fraction(privacy[amount])


@pytest.mark.parametrize("privacy", [PURE, RHO, MUCH], ids=["pure", "rho", "much"])
@pytest.mark.parametrize("measure", ["mean", "variance", "ratio", "correlation"])
def test_noise_for_a_few_shares_tells_the_widths_for_all(measure: str, privacy: Any, pairs: Any) -> None:
    """Noise is that of whole numbers, and its law changes with the share where there is much: a fiftieth."""
    plan_of(domain("replace"), asked(measure, privacy), POLICY)
    ((start, made),) = pairs
    expected = modelled(start.plan, made.layout, np.array([made.shares], dtype=np.float64))[:, 0]
    is_known = np.isfinite(made.widths)
    assert made is not start and is_known.any()
    assert expected[is_known] == pytest.approx(made.widths[is_known], rel=0.02)


@pytest.mark.parametrize("measure", ["covariance", "correlation"])
def test_products_are_measured_together_where_there_is_much(measure: str, pairs: Any) -> None:
    """Each sum by itself would be twice as noisy in skewed cells; whether noise is normal follows each part's share."""
    plan_of(domain("add-remove"), asked(measure, MUCH), POLICY)
    ((start, made),) = pairs
    assert len(made.parts) == 2 < len(start.parts)
    assert np.all(made.widths[0] < 0.8 * start.widths[0])


@pytest.mark.parametrize(
    ("measure", "privacy", "names"),
    [
        ("mean", PURE, {"squares of x from both bounds": "1"}),
        ("mean", RHO, {"total of x from both bounds": "19/20", "squares of x": "1/20"}),
        ("variance", PURE, {"fourths of x from both bounds": "1"}),
        ("ratio", PURE, {"squares and products of x and y from both bounds": "1"}),
    ],
)
def test_what_is_taken(measure: str, privacy: Any, names: dict[str, str], pairs: Any) -> None:
    plan_of(domain("add-remove"), asked(measure, privacy), POLICY)
    ((_, made),) = pairs
    taken = {part.measurement.name: str(share) for part, share in zip(made.parts, made.shares, strict=True)}
    assert taken == names


def test_what_is_read_keeps_half_of_its_declared_share(pairs: Any) -> None:
    plan_of(domain("add-remove"), asked("covariance", RHO), POLICY)
    ((start, _),) = pairs
    reads = len(start.parts) - start.layout.spread
    shares = choices(start.layout)
    assert len(shares) > 100 and shares.sum(axis=1) == pytest.approx(1)
    assert np.all(shares[:, :reads] >= np.array(start.shares[:reads], dtype=np.float64) / 2 - 1e-12)
    assert np.all(shares[:, reads:].sum(axis=1) <= 0.5) and shares.min() >= 0.05
    assert start.layout.parts[-1].name.startswith("influences") and shares[:, -1].min() == 0.3


def test_a_layout_that_cannot_be_measured_leaves_the_declared_one(pairs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dalenius.errors import Unsupported

    whole, calls = MeasuredLayout.of.__func__, []  # type: ignore[attr-defined]

    def once(cls: Any, *arguments: Any) -> MeasuredLayout:
        calls.append(arguments)
        if len(calls) > 1:
            raise Unsupported("no noise")
        return whole(cls, *arguments)  # type: ignore[no-any-return]

    monkeypatch.setattr(MeasuredLayout, "of", classmethod(once))
    plan_of(domain("add-remove"), asked("mean", PURE), POLICY)
    ((start, made),) = pairs
    assert len(calls) > 2 and made is start
