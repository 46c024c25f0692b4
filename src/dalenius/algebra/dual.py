"""Dual numbers: values of every cell with their derivatives by the sums that they are made of.

A formula is written once, with ordinary arithmetic; nobody writes a gradient, so that nobody forgets one. `gradient`
has a row for each sum and a column for each cell, or one column for all.
"""

from dataclasses import dataclass
from typing import Union

import numpy as np

from dalenius.core.law import FloatArray

Number = Union["Dual", FloatArray, float]


@dataclass(frozen=True, eq=False, slots=True)
class Dual:
    """A number in each cell, and how far it moves with each sum."""

    values: FloatArray
    gradient: FloatArray

    # Arrays leave arithmetic with duals to the duals.
    __array_ufunc__ = None

    def __add__(self, other: Number) -> "Dual":
        if isinstance(other, Dual):
            return Dual(self.values + other.values, self.gradient + other.gradient)
        return Dual(self.values + other, self.gradient)

    def __neg__(self) -> "Dual":
        return Dual(-self.values, -self.gradient)

    def __sub__(self, other: Number) -> "Dual":
        if isinstance(other, Dual):
            return Dual(self.values - other.values, self.gradient - other.gradient)
        return Dual(self.values - other, self.gradient)

    def __rsub__(self, other: FloatArray | float) -> "Dual":
        return -self + other

    def __mul__(self, other: Number) -> "Dual":
        if isinstance(other, Dual):
            return Dual(self.values * other.values, self.gradient * other.values + other.gradient * self.values)
        return Dual(self.values * other, self.gradient * other)

    def __truediv__(self, other: Number) -> "Dual":
        if isinstance(other, Dual):
            return self * other.mapped(1 / other.values, -1 / other.values**2)
        return self * (1 / other)

    def __rtruediv__(self, other: FloatArray | float) -> "Dual":
        return self.mapped(1 / self.values, -1 / self.values**2) * other

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, power: int) -> "Dual":
        return self.mapped(self.values**power, power * self.values ** (power - 1))

    def mapped(self, values: FloatArray, slope: FloatArray) -> "Dual":
        """A function of it, by its values and its derivative there."""
        return Dual(values, self.gradient * slope)


def sqrt(x: Dual) -> Dual:
    root = np.sqrt(x.values)
    return x.mapped(root, 1 / (2 * root))


def log(x: Dual) -> Dual:
    return x.mapped(np.log(x.values), 1 / x.values)


def exp(x: Dual) -> Dual:
    value = np.exp(x.values)
    return x.mapped(value, value)
