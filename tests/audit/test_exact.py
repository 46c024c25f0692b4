"""Exact audits: they find what is planted, and enclose what is known."""

from fractions import Fraction
from math import exp

import pytest
from tests.audit.exact_losses import (
    hockey_stick,
    kernel_delta,
    kernel_max_log_ratio,
    kernel_rows,
    max_log_ratio,
    product_hockey_stick,
)

from dalenius.core.law import Kernel
from dalenius.errors import TooLarge
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction


def test_halved_noise_is_caught():
    claimed, planted = F(1), DiscreteLaplace(F(2))
    assert hockey_stick(planted, 1, claimed)[0] > F(1, 10)
    assert max_log_ratio(planted, 1)[0] > claimed
    assert hockey_stick(DiscreteLaplace(F(1)), 1, claimed)[1] < F(1, 10**30)


def test_bounds_are_narrow_and_ordered():
    for epsilon in (F(0), F(1, 2), F(3)):
        low, high = hockey_stick(TruncatedLaplace(F(1), 10), 2, epsilon)
        assert low <= high <= low + F(1, 10**40)


def test_one_direction_can_be_worse():
    rows = [{0: F(1)}, {0: F(1, 2), 1: F(1, 2)}]
    assert kernel_delta(rows, F(10))[0] == F(1, 2)
    assert kernel_max_log_ratio(rows) is None


def test_products():
    law = TruncatedLaplace(F(1), 6)
    p = F(exp(-6)) / F(1 + 2 * sum(exp(-k) for k in range(1, 7)))
    low, high = product_hockey_stick(law, (1, 1), F(2))
    assert float(low) == pytest.approx(float(p * (2 - p)), rel=1e-12) and high - low < F(1, 10**30)
    with pytest.raises(TooLarge):
        product_hockey_stick(DiscreteLaplace(F(1, 50)), (1, 1), F(1))


def test_kernels():
    kernel = Kernel(name="response", firsts=(0, 0), rows=((3, 1), (1, 3)), scale=4)
    rows = kernel_rows(kernel, 1)
    assert kernel_delta(rows, F(0)) == (F(1, 2), F(1, 2))
    low, high = kernel_max_log_ratio(rows)
    assert float(low) == pytest.approx(1.0986122886681098) and high - low < F(1, 2**50)
    assert kernel_delta(rows, high)[0] == 0
    assert kernel_rows(kernel, 2)[2] == {1: F(1, 4), 2: F(3, 4)}
