"""Estimates of a list are made some cells at a time, and are the same."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from dalenius.algebra import listed
from dalenius.core.law import Joint
from dalenius.core.release import Block, Value
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of


def planned(places: int, measure: str, error: str) -> Any:
    other = {"missing": "p0", "unseen": "p0"}
    domain = load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "variables": {
                "place": {"categories": [f"p{k}" for k in range(places)], **other},
                "pay": {"bounds": [0, 100], "step": 1, "missing": "0"},
                "work": {"categories": ["full", "part", "none"], "missing": "none", "unseen": "none"},
            },
        }
    ).domain()
    table = {"rows": ["place"], "margins": [["place"], []], "measure": measure, "of": "pay", "error": error}
    if measure == "proportion":
        table |= {"of": "work", "among": ["full", "part"]}
    return plan_of(
        domain, {"table": table, "privacy": {"definition": "zero_concentrated", "rho": "1/2", "strategy": "interior"}}
    )


def released(plan: Any) -> tuple[Block, ...]:
    rng = np.random.default_rng(3)
    return tuple(step.block(Value(rng.integers(40, 90, step.space.size))) for step in plan.measurements)


@pytest.mark.parametrize(
    ("measure", "error"),
    [("mean", "sampling"), ("variance", "sampling"), ("mean", "noise"), ("proportion", "sampling")],
)
def test_pieces_show_what_all_cells_at_once_show(measure: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(11, measure, error)
    assert isinstance(plan.law, Joint)
    blocks = released(plan)
    shown = []
    for size in (1 << 16, 4, 3):
        monkeypatch.setattr(listed, "_PIECE", size)
        made = listed.estimates_of_lists(plan.law, blocks)[0]
        both = [made.values, made.variance, *made.ends(0.95, False), *made.ends(0.9, error == "sampling")]
        assert (made.sampled is None) == (error == "noise")
        shown.append([*both, made.values if made.sampled is None else made.sampled])
    assert len(shown[0][0]) == 11
    for other in shown[1:]:
        for first, second in zip(shown[0], other, strict=True):
            np.testing.assert_array_equal(np.broadcast_to(first, 11), second)


def test_a_long_list_never_holds_all_arrays_of_all_sums_twice() -> None:
    """Five sums of 300,000 cells are 12 MB, and what is shown of them is as much again."""
    plan = planned(300_000, "variance", "sampling")
    blocks = released(plan)
    sums = sum(block.values.nbytes for block in blocks)
    assert sums == 5 * 8 * 300_000
    tracemalloc.start()
    tables = plan.assemble(blocks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held = sum(array.nbytes for t in tables for array in (t.values, t.variance, t.sampled) if array is not None)
    # The sums once as they were measured and once as numbers, what is shown, and one piece.
    assert peak - held < 2 * sums + 25e6
