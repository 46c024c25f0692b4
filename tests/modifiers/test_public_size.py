"""A public number of rows is not measured; where it is not public it is."""

from typing import Any

import pytest
from tests.modifiers.asked import ROWS, TABLES, domain, plan

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.modifiers.public_size import PUBLIC_SIZE

COUNTED = [measure for measure in TABLES if measure not in ("total", "ratio")]


def size_of(measure: str, here: Any, **table: Any) -> int | None:
    law: Any = plan(measure, here, **table).law
    return EstimateLaw.of(law).size


@pytest.mark.parametrize("measure", COUNTED)
def test_it_is_known_where_everybody_is_in_one_cell(measure: str) -> None:
    assert size_of(measure, domain("replace")) == ROWS
    shorter, longer = (plan(measure, domain("replace"), **more) for more in ({}, {"where": {"h": ["c", "d"]}}))
    # Shares are chosen for both errors together, so that the one of the noise may grow a little.
    assert shorter.preview["std_error"] <= longer.preview["std_error"] * 1.01


@pytest.mark.parametrize(
    ("declared", "table"),
    [
        ({"relation": "add-remove"}, {}),
        ({"relation": "replace", "max_rows": 2}, {}),
        ({"relation": "replace", "missing": "drop"}, {}),
        ({"relation": "replace"}, {"rows": ["h"]}),
        ({"relation": "replace"}, {"where": {"h": ["c"]}}),
        ({"relation": "replace"}, {"weight": "w"}),
    ],
    ids=str,
)
def test_it_is_measured_where_it_is_not_public(declared: dict[str, Any], table: dict[str, Any]) -> None:
    assert size_of("variance", domain(**declared), **table) is None


def test_it_comes_after_weights_and_before_products() -> None:
    assert (PUBLIC_SIZE.place, PUBLIC_SIZE.owns) == (50, "size")
