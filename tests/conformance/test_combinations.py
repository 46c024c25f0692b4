"""Which combinations are refused is written down here: a refusal that is not listed fails, and so does one that ended.

The first part is section 5 of the design, as far as estimators of sums are concerned; the second what
`docs/decisions/0016-sums-estimators-modifiers.md` refuses beyond it.
"""

import pytest
from tests.docs.test_site import tool

from dalenius.testing.combinations import SHAPES, methods
from dalenius_lab.combinations import Combination, matrix

EVERY = ("correlation", "covariance", "mean", "proportion", "ratio", "standard_deviation", "total", "variance")
EVERYWHERE = tuple(SHAPES)
BY_DESIGN: dict[str, tuple[tuple[str, ...], str, tuple[str, ...], str]] = {
    "what is cut off is what the number measures": (
        ("correlation", "covariance", "standard_deviation", "variance"),
        "learned_bounds",
        EVERYWHERE,
        "What learned bounds cut off is what this number measures",
    ),
    "there is no value to cut": (("proportion",), "learned_bounds", EVERYWHERE, "there is no value to cut"),
    "cells cut at different bounds do not add up": (("total",), "learned_bounds", ("list",), "do not add up"),
}
BEYOND: dict[str, tuple[tuple[str, ...], str, tuple[str, ...], str]] = {
    "replicates of lists": (EVERY, "bootstrap", ("list",), "Replicates of lists of margins have no price"),
    "learned bounds in margins": (("mean",), "learned_bounds", ("list",), "is one table"),
    # And totals with an error of sampling, among the pairs.
    "learned bounds of ratios": (("ratio",), "learned_bounds", EVERYWHERE, "Bounds are learned for means"),
}
# Two at once: that a modifier is refused with an estimator, it is with another modifier beside it, too.
PAIRS = {
    ("weighted", "learned_bounds"): ("mean", "total"),
    ("weighted", "bootstrap"): ("proportion",),
    ("learned_bounds", "bootstrap"): EVERY,
    ("learned_bounds", "sampling"): ("total",),
}


@pytest.fixture(scope="module")
def cells() -> tuple[Combination, ...]:
    return tuple(matrix())


def test_every_refusal_is_listed_and_gives_its_reason(cells: tuple[Combination, ...]) -> None:
    refused = {(cell.estimator, cell.modifiers[0], cell.shape): cell.refusal for cell in cells if cell.refusal}
    listed = {
        (estimator, modifier, shape): reason
        for names, modifier, shapes, reason in (*BY_DESIGN.values(), *BEYOND.values())
        for estimator in names
        for shape in shapes
    }
    assert refused.keys() == listed.keys()
    for place, reason in listed.items():
        assert reason in refused[place], place


def test_at_most_five_kinds_are_refused_beyond_the_design() -> None:
    """The three above, weights with learned bounds, and replicates of weighted classes."""
    assert len(BEYOND) + 2 <= 5
    assert tuple(sorted(methods())) == EVERY


def test_every_pair_of_modifiers_plans_but_those_that_are_listed(cells: tuple[Combination, ...]) -> None:
    single = {(cell.estimator, cell.modifiers[0]) for cell in cells if cell.refusal and cell.shape == "table"}
    for cell in matrix(together=2, shapes=("table",)):
        is_listed = cell.estimator in PAIRS.get(cell.modifiers, ())
        is_listed |= any((cell.estimator, modifier) in single for modifier in cell.modifiers)
        assert bool(cell.refusal) == is_listed, cell


def test_the_page_is_what_is_planned(cells: tuple[Combination, ...]) -> None:
    page = tool("combinations_page")
    assert page.made(cells) == page.PAGE.read_text(encoding="utf-8")
