"""Gradients of dual numbers against differences."""

from collections.abc import Callable

import numpy as np
import pytest

from dalenius.algebra.dual import Dual, exp, log, sqrt

AT = np.array([[2.0, 0.5], [3.0, 4.0]])
FORMULAS: dict[str, Callable[[Dual, Dual], Dual]] = {
    "sum": lambda a, b: 2 + a + b + 1.0,
    "difference": lambda a, b: 3 - a - (b - 2),
    "product": lambda a, b: -a * b * 2,
    "quotient": lambda a, b: a / b / 4 + 1 / b,
    "power": lambda a, b: a**3 * b**2,
    "root": lambda a, b: sqrt(a * b + 1),
    "logarithm": lambda a, b: log(a + b),
    "exponential": lambda a, b: exp(a - b),
    "array": lambda a, b: np.array([1.0, 2.0]) * a - np.array([3.0, 4.0]) / b,
}


def dual(values: np.ndarray) -> tuple[Dual, Dual]:
    first, second = np.eye(2)[:, :, None]
    return Dual(values[0], first), Dual(values[1], second)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_gradient_of_a_formula_is_that_of_differences(name: str) -> None:
    made, step = FORMULAS[name](*dual(AT)), 1e-6
    for place in range(2):
        move = np.zeros((2, 1))
        move[place] = step
        up, down = (FORMULAS[name](*dual(AT + side * move)).values for side in (1, -1))
        slope = np.broadcast_to(made.gradient[place], 2)
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-9)
