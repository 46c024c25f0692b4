"""The bytes of a release document: those of the standard library, however the numbers are written."""

import json
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive, Withheld
from dalenius.core.release import Block, Provenance, Release, Subject, Table
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.publish._document import as_read, from_json, to_document, write_json

LAW = Additive(DiscreteLaplace(Fraction(1)))
ODD = [0.0, -0.0, 1e-5, 9.99e-5, 1e-4, 1e15, 1e16, 1.5e300, 5e-324, float("nan"), 2.0**62, 2.0**70, 0.1 + 0.2]
NUMBERS = st.lists(st.one_of(st.floats(allow_infinity=False), st.sampled_from(ODD)), min_size=1, max_size=6)


def release(numbers: list[float], variance: list[float]) -> Release:
    labels = tuple(f'ä\u2028\x01"{i}' for i in range(len(numbers)))
    axis = Axis(variable="v", labels=labels, codes=tuple(range(len(numbers))))
    space = CellSpace((axis,), frozenset({(0,)}))
    whole = np.arange(-1, len(numbers) - 1, dtype=np.int64) * 2**61
    table = Table(name="v", space=space, values=np.array(numbers), variance=np.array(variance))
    provenance = Provenance(
        dataset="d", population="p", version="1", definition="pure", budget={}, neighbours={"rows": 1}, cost={},
        mechanism="m", strategy="table", evidence={"a": ("b", 1e-7)}, software="s", request={"cells": [["a"]]},
        digest="0", warnings=("w",),
    )  # fmt: skip
    return Release(
        blocks=(Block(name="v", space=space, values=whole, law=LAW, parameters={"k": Fraction(1, 3)}),),
        tables=(table, replace(table, name="w")),
        law=Withheld("because"),
        provenance=provenance,
        adjustments=({"name": "clamping", "at": 0.5},),
        subject=Subject(rows=("v",), labels={"v": "V"}),
    )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(NUMBERS, st.floats(0, 1e9))
@example(numbers=ODD, one=0.25)
@example(numbers=[1.0, 2.5, float("nan")], one=1e-7)
def test_the_bytes_are_those_of_the_standard_library(numbers: list[float], one: float) -> None:
    for variance in (numbers, [one] * len(numbers)):
        original = release(numbers, variance)
        plain = json.dumps(to_document(original), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert write_json(original) == plain.encode()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(NUMBERS)
@example(numbers=ODD)
def test_what_is_answered_unparsed_is_what_would_be_read(numbers: list[float]) -> None:
    original = release(numbers, numbers)
    quick, parsed = as_read(original), from_json(write_json(original))
    assert write_json(quick) == write_json(parsed)
    for mine, other in zip((*quick.blocks, *quick.tables), (*parsed.blocks, *parsed.tables), strict=True):
        for part in fields(mine):
            a, b = getattr(mine, part.name), getattr(other, part.name)
            if isinstance(a, np.ndarray):
                assert a.dtype == b.dtype
                assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True)
                assert not (np.signbit(a) & (a == 0)).any() or a.dtype == np.int64
            else:
                assert a == b
    for name in ("law", "provenance", "adjustments", "status", "subject"):
        assert getattr(quick, name) == getattr(parsed, name)


@pytest.mark.parametrize("values", [np.array([1, 2], dtype=np.int32), np.arange(6)[::2]])
def test_whole_numbers_of_any_layout(values: np.ndarray) -> None:
    original = release([1.0], [1.0])
    changed = replace(original, blocks=(replace(original.blocks[0], values=values),))
    assert json.loads(write_json(changed))["blocks"][0]["values"] == values.tolist()
