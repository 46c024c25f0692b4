"""Long convolutions in floats give the integers that one multiplication of long numbers gives."""

import random

import pytest

from dalenius.exact.convolution import _multiplied, convolved

BITS = 112
TOP = (1 << BITS) + 9


def lists(kind: str, left: int, right: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    chance = random.Random(left + right)
    if kind == "largest":
        return (TOP,) * left, (TOP,) * right
    bits = BITS if kind == "random" else 2
    return tuple(chance.getrandbits(bits) for _ in range(left)), tuple(chance.getrandbits(bits) for _ in range(right))


@pytest.mark.parametrize("kind", ["random", "largest", "tiny"])
@pytest.mark.parametrize(("left", "right"), [(1, 1), (3, 700), (200, 200), (257, 1500)])
def test_every_sum_is_exact_and_rounded_up(kind: str, left: int, right: int) -> None:
    a, b = lists(kind, left, right)
    assert convolved(a, b, BITS) == _multiplied(a, b, BITS, BITS + 1)
    assert convolved(a, a, BITS) == _multiplied(a, a, BITS, BITS + 1)


def test_the_widest_lists_of_the_largest_masses_are_exact() -> None:
    size, mass = 1 << 16, 1 << BITS
    whole = convolved((mass,) * size, (mass,) * size, BITS)
    assert all(whole[k] == mass * min(k + 1, 2 * size - 1 - k) for k in range(0, 2 * size - 1, 1009))


def test_an_empty_list_has_no_sums() -> None:
    assert convolved((), (1,), BITS) == ()
