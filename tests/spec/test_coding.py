"""Raw values against declarations: known readings, one by one."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.domain import Bounds, Categories, Variable
from dalenius.engines._columns import IntegerMap, code_floats, code_integers
from dalenius.spec.coding import DROPPED_NUMBER, Remark, canonical_text, category_reader, exact_number, number_reader


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (True, "true"),
        (np.int32(7), "7"),
        (np.float64("nan"), None),
        (np.bool_(False), "false"),
        (Decimal("2.50"), "2.5"),
        (Decimal("1E+2"), "100"),
        (Decimal("NaN"), None),
        (2**80, str(2**80)),
        (1e300, str(int(1e300))),
        (float("inf"), "inf"),
        (b"army", "army"),
        ("1.0", "1.0"),
        ("", ""),
        (date(2020, 1, 2), "2020-01-02"),
        (datetime(2020, 1, 2, 3), "2020-01-02 03:00:00"),
        (None, None),
    ],
)
def test_canonical_text(value: object, text: str | None) -> None:
    assert canonical_text(value) == text


def test_category_rules() -> None:
    read = category_reader(Categories(labels=("one", "rest"), values=("1", "9"), missing="rest", unseen="drop"))
    assert read("1") == (0, Remark.VALID)
    assert read(1.0) == (0, Remark.VALID)
    assert read(9) == (1, Remark.VALID)
    assert read(None) == (1, Remark.MISSING)
    assert read("one") == (-1, Remark.UNSEEN)
    assert read(b"\xff\xfe") == (-1, Remark.UNSEEN)


@pytest.mark.parametrize(
    ("value", "code", "note"),
    [
        ("0.25", 0, Remark.VALID),  # halves go to the even step
        ("0.75", 2, Remark.VALID),
        (0.75, 2, Remark.VALID),
        (" 3 ", 6, Remark.VALID),
        ("10.0001", 20, Remark.OUTSIDE),
        (2**70, 20, Remark.OUTSIDE),
        (-1e308, 0, Remark.OUTSIDE),
        (float("inf"), 20, Remark.OUTSIDE),
        ("1e999999", 20, Remark.OUTSIDE),
        ("1e-999999", 0, Remark.VALID),
        ("nan", 10, Remark.MISSING),
        ("", 10, Remark.MISSING),
        (None, 10, Remark.MISSING),
        ("1_0", 10, Remark.UNREADABLE),
        ("١", 10, Remark.UNREADABLE),
        ("ten", 10, Remark.UNREADABLE),
        ("9" * 500, 10, Remark.UNREADABLE),
        (True, 2, Remark.VALID),
        (date(2020, 1, 1), 10, Remark.UNREADABLE),
    ],
)
def test_number_rules(value: object, code: int, note: Remark) -> None:
    bounds = Bounds(lower=Fraction(0), upper=Fraction(10), step=Fraction(1, 2), missing="5")
    assert number_reader(bounds)(value) == (code, note)


def test_outside_may_drop() -> None:
    read = number_reader(Bounds(lower=Fraction(0), upper=Fraction(10), outside="drop"))
    assert read(11) == (DROPPED_NUMBER, Remark.OUTSIDE)
    assert read(None) == (DROPPED_NUMBER, Remark.MISSING)


def test_floats_are_the_decimals_they_print_as() -> None:
    assert exact_number(0.1) == Fraction(1, 10)
    assert exact_number(np.float32(0.5)) == Fraction(1, 2)


BOUNDS = st.builds(
    lambda low, width, step, missing, outside: Bounds(
        lower=low * step, upper=(low + width) * step, step=step, missing=missing, outside=outside
    ),
    st.integers(-1000, 1000),
    st.integers(0, 2000),
    st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(7, 2), Fraction(1, 100), Fraction(400), Fraction(1, 8)]),
    st.just("drop"),
    st.sampled_from(["clamp", "drop"]),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(BOUNDS, st.data())
def test_vectorised_numbers_equal_the_scalar_reader(bounds: Bounds, data: st.DataObject) -> None:
    variable = Variable(name="x", domain=bounds)
    read = number_reader(bounds)
    near = st.integers(2 * bounds.low - 5, 2 * bounds.high + 5).map(lambda n: float(n * bounds.step / 2))
    floats = data.draw(st.lists(st.one_of(near, st.floats()), max_size=20))
    assert code_floats(variable, np.array(floats, dtype=np.float64)).tolist() == [read(x)[0] for x in floats]
    wide = st.integers(-(2**63), 2**63 - 1)
    close = st.integers(int(bounds.lower) - 5, int(bounds.upper) + 5)
    integers = data.draw(st.lists(st.one_of(close, wide), max_size=20))
    coded = code_integers(bounds, np.array(integers, dtype=np.int64))
    assert coded is not None
    assert coded.tolist() == [read(x)[0] for x in integers]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-300, 70_000).map(str), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=10),
    st.sampled_from([np.int8, np.int16, np.int32, np.int64]),
)
def test_integer_maps_equal_the_scalar_reader(labels: list[str], values: list[int], kind: type) -> None:
    categories = Categories(labels=tuple(labels), unseen=labels[0])
    found = IntegerMap.of(categories)
    assert found is not None
    array = np.array([int(x) for x in labels] + values, dtype=np.int64).astype(kind)
    read = category_reader(categories)
    assert found.take(array).expand().tolist() == [read(int(x))[0] for x in array]


def test_a_map_never_grows_with_the_data() -> None:
    assert IntegerMap.of(Categories(labels=("0", str(10**9)))) is None
