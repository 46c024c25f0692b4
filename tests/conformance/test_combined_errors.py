"""Errors of every combination that plans are judged, by no test of its author; at length by `verify/combinations.py`."""

from dataclasses import replace
from itertools import cycle

import pytest
from verify import _combined_errors as combined_errors

from dalenius.testing import error_kit, error_worlds
from dalenius.testing.combinations import methods
from dalenius.testing.simulated import in_world
from dalenius_lab.combinations import Combination


@pytest.mark.parametrize("estimator", sorted(methods()))
def test_errors_of_combinations_are_what_they_are_stated_to_be(estimator: str) -> None:
    """Coverage of both errors of every table, and of one number where a public size makes that another plan.

    Each is judged in one world, so that every world has its turn; lists take minutes and are left to `verify`.
    """
    tables = [*combined_errors.cells(estimator, shapes=("table",))]
    numbers = [replace(cell, shape="number") for cell in tables if cell.modifiers == ("public_size",)]
    assert len(tables) > 3
    assert numbers
    for cell, world in zip([*tables, *numbers], cycle(error_worlds.WORLDS), strict=False):
        example = combined_errors.replicated(cell, combined_errors.THIN)
        simulated = in_world(example, world, combined_errors.name_of(cell))
        assert simulated, cell
        found = [finding for table in simulated for finding in error_kit.judge_coverage(table, world)]
        unkept = [str(finding) for finding in found if not combined_errors.is_listed(cell, finding)]
        assert not unkept, (cell, unkept)


def test_a_halved_error_is_seen_in_a_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thin part is no formality: what is stated at a quarter of its variance is red."""
    from dalenius.algebra import intervals

    honest = intervals.reach
    monkeypatch.setattr(intervals, "reach", lambda *args, **keywords: honest(*args, **keywords) / 2)
    for shape in ("number", "table"):
        example = combined_errors.replicated(
            Combination("ratio", ("weighted",), shape),
            replace(combined_errors.THIN, cells=200, limited=200, numbers=200),
        )
        unkept = [f for table in in_world(example, "skewed", "half") for f in error_kit.judge_coverage(table, "skewed")]
        assert unkept, shape
