"""Mean: the known answer on fixed records."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    table = ask(rows=["sex"], measure="mean", of="income", amount=900)[0]
    assert np.abs(table.values - [30.5, 80]).max() <= 0.2


def test_both_errors_are_given_on_request(ask: Callable[..., Any]) -> None:
    table, counts = ask(rows=["sex"], measure="mean", of="income", error="sampling", amount=900)
    assert np.abs(table.values - [30.5, 80]).max() <= 0.2
    assert np.abs(counts.values - [60, 39]).max() <= 0.1
    values = [np.arange(1, 61), np.arange(61, 100)]
    known = [v.std(ddof=1) / np.sqrt(len(v)) for v in values]
    assert np.abs(np.sqrt(table.sampled) / known - 1).max() < 0.03


def test_a_public_number_of_rows_is_not_paid_for() -> None:
    variables = {"x": {"bounds": [0, 100], "step": 1, "missing": "0"}}
    request = {
        "table": {"measure": "mean", "of": "x", "error": "noise"},
        "privacy": {"definition": "pure", "epsilon": 1},
    }

    def planned(size: dict[str, int], relation: str, **more: Any) -> Any:
        dataset = {
            "dataset": {"name": "d", "population": "p"} | size,
            "unit": {"relation": relation},
            "variables": variables,
        }
        return plan_of(DatasetDocument.from_dict(dataset).domain(), request | more, {})

    (public,) = planned({"size": 1000}, "replace").measurements
    assert public.name == "total of x" and public.mechanism.parameters["rate"] == Fraction(1, 100)
    for plan in (planned({}, "replace"), planned({"size": 1000}, "add-remove")):
        assert plan.measurements[0].name == "total of x from both bounds"
    filtered = request["table"] | {"where": {"x": {"at_least": 1}}}
    (private,) = planned({"size": 1000}, "replace", table=filtered).measurements
    assert private.name == "total of x from both bounds"
